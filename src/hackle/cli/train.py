"""`hackle train`: train one model, given a method's name or the folder of a run to resume."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import torch
import tyro

from hackle.cli.words import Device, Root, Trust, run_command, say, take_option
from hackle.core.design import REGIMES
from hackle.core.errors import HackleError
from hackle.core.method import about
from hackle.core.parts import name_of
from hackle.core.types import Run, shown_fields


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """Options of training that do not change the weights, also accepted when a run is resumed."""

    keep_state: bool = True
    """Keep the optimisers' states in --out at the end, so that the run can be lengthened by more --steps."""
    root: Root = None
    device: Device = None
    log_every: int = 100
    """Steps between two points of the curves."""
    held_out_every: int = 1_000
    """Steps between two points of the curves with the ELBO of held-out images, if there are any."""
    score_every: int = 0
    """Steps between two quick scorings of the model, which join the curves; 0 is never."""
    score_metrics: str = "all"
    """The metrics of these scorings: any that the protocol quick supports, and your own path.py:function."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions(LoopOptions):
    """The options of every method besides its own and the fields of `Run` shown to users."""

    architecture: str
    """Networks: `hackle train --help` lists them. Your own: path.py:name."""
    initialisation: Literal["glorot", "torch"] = "glorot"
    """Initial weights of these networks: Glorot-uniform with zero biases, or PyTorch's default."""
    out: Path | None = None
    """The run's folder; without it the trained model is not saved."""
    resume: bool = False
    """Resume from the checkpoint in --out."""
    resize: int | None = None
    """Scale the images to squares of this many pixels, such as 64; this is part of the record's data set."""
    pad: int | None = None
    """Centre the images on black squares of this many pixels; with --resize their proportions are kept."""


def _run_options(default: Run) -> Any:
    """An option for each field of `Run` shown to users, with this run's values; the precision may depend on the
    device."""
    kinds, seen = get_type_hints(Run), shown_fields()
    kinds |= {"precision": Literal["auto", *get_args(kinds["precision"])], "start_from": Path | None}
    helps = {name: each.about for name, each in seen.items()}
    helps["precision"] += " auto is bfloat16 for autoencoders on CUDA, else float32."
    helps["start_from"] = "Folder of a run whose weights to begin with; the record keeps its hash."
    named = {"start_from": "from"}
    options = [(name, Annotated[kinds[name], tyro.conf.arg(help=helps[name], name=named.get(name))]) for name in seen]
    made = dataclasses.make_dataclass("RunOptions", options, frozen=True)
    return made(**{name: getattr(default, name) for name in seen} | {"precision": "auto", "start_from": None})


def main(words: list[str]) -> None:
    """Train one model by a method's name, or resume the one in a folder."""
    from hackle.datasets import sized
    from hackle.nets import ARCHITECTURES, Own
    from hackle.objectives import OBJECTIVES
    from hackle.studies.presets import PRESETS, default_run
    from hackle.train import find_device

    if words[:1] in ([], ["-h"], ["--help"]):
        print(
            "usage: hackle train METHOD [--preset NAME] [--dataset NAME] [--steps N] [--seed S] [--out DIR] [options]\n"
            "       hackle train --resume --out DIR [--steps N]\n\n"
            f"methods:        {', '.join(OBJECTIVES)}\n"
            f"presets:        {', '.join(PRESETS)}\n"
            f"architectures:  {', '.join(name for name in ARCHITECTURES if name != Own.name)}\n"
            "data sets:      `hackle data list`, or the path of a folder of images or of an .npz or HDF5 file\n"
            "your own:       path.py:name or module:name, for any of these\n\n"
            "`hackle train METHOD --help` explains that method's options."
        )
        return
    if words[0].startswith("-"):
        if {"--resume", "-h", "--help"}.isdisjoint(words):
            raise HackleError(
                "name a method first, as in `hackle train beta-vae …` (`hackle train --help` lists them), or add --resume to "
                "go on with the run in --out"
            )
        _resume(words)
        return
    method = words[0]
    preset, rest = take_option(words[1:], "--preset", "none")
    dataset, rest = take_option(rest, "--dataset", "dsprites")
    default = default_run(method, dataset) if preset == "none" else PRESETS.find(preset)(method, dataset, None)
    record = _run_options(default)
    options = TrainOptions(architecture=name_of(default.architecture))
    usual = options.architecture

    without_prefix = tyro.conf.arg(name="")
    plain = {"method": default.method, "record": record, "optimiser": default.optimiser, "options": options}
    regimes = {name: getattr(default, name) for name in (*REGIMES, "scored")}
    parts = [(name, Annotated[type(value), without_prefix], value) for name, value in plain.items()]
    parts += [(name, type(value), value) for name, value in regimes.items()]
    command = dataclasses.make_dataclass("Command", parts, frozen=True)
    source = "hackle's own; --preset NAME takes a paper's" if preset == "none" else f"those of the preset {preset}"
    command.__doc__ = f"{type(default.method).__doc__}\n\nThe defaults shown are {source}."
    given = run_command(command, f"train {method}", rest)
    chosen, record, options = given.method, given.record, given.options
    if options.architecture == Own.name:
        raise HackleError(
            "networks of your own are named by where they are, --architecture path.py:name: see docs/networks.md"
        )
    architecture = default.architecture if options.architecture == usual else ARCHITECTURES.find(options.architecture)()
    if options.initialisation != "glorot":
        if not hasattr(architecture, "initialisation"):
            raise HackleError(f"{options.architecture} has initial weights of its own; leave --initialisation out")
        architecture = dataclasses.replace(architecture, initialisation=options.initialisation)  # type: ignore[arg-type]
    device = find_device(options.device)
    if record.precision == "auto":
        precision = "bfloat16" if device.type == "cuda" and about(chosen).takes_bfloat16 else "float32"
        record = dataclasses.replace(record, precision=precision)
    run = dataclasses.replace(
        default,
        method=chosen,
        architecture=architecture,
        optimiser=given.optimiser,
        **{name: getattr(given, name) for name in regimes},
        **vars(record) | {"dataset": sized(record.dataset, resize=options.resize, pad=options.pad), "start_from": ""},
    )
    _fit(run, device, options.out, options.resume, options, record.start_from)


def _fit(
    run: Run, device: torch.device, out: Path | None, resume: bool, options: Any, start: Path | None = None
) -> None:
    """Train a run and say what to do next. The other options (root, log_every, score_every) are the verb's own."""
    from hackle.core.factors import scored_factors
    from hackle.core.sources import own_parts
    from hackle.datasets import DATASETS, load, load_of_run
    from hackle.scoring.models import quick_scores
    from hackle.scoring.protocol import QUICK
    from hackle.scoring.registry import choose_metrics
    from hackle.train import Stopped, fit
    from hackle.train.model import WEIGHTS
    from hackle.train.record_files import peek_record

    choose_metrics(options.score_metrics, QUICK, strictly=True)
    every, code_of_ones_own = options.score_every, ["--trust"] if own_parts(run) else []
    own = None if run.dataset in DATASETS else (load_of_run if resume else load)(run.dataset, options.root)
    finished = resume and out is not None and (out / WEIGHTS).is_file() and peek_record(out)[0].steps == run.steps
    if out is None:
        print(f"no --out is given: after {run.steps:,} steps nothing will be kept; add --out DIR", file=sys.stderr)
    try:
        fit(
            run,
            out=out,
            dataset=own,
            root=options.root,
            device=device,
            resume=resume,
            log_every=options.log_every,
            held_out_every=options.held_out_every,
            scores=partial(quick_scores, metrics=options.score_metrics) if every else None,
            score_every=every,
            start=start,
            keep_state=options.keep_state,
        )
    except Stopped as stopped:
        if out is None:
            raise
        known = (
            ("root", options.root),
            ("device", options.device),
            ("log-every", options.log_every),
            ("held-out-every", options.held_out_every if run.held_out else 0),
            ("score-every", every),
            ("score-metrics", "" if options.score_metrics == "all" else options.score_metrics),
        )
        words = [word for name, value in known if value for word in (f"--{name}", str(value))]
        words += [] if options.keep_state else ["--no-keep-state"]
        command = shlex.join(["hackle", "train", "--resume", "--out", str(out), *words, *code_of_ones_own])
        raise Stopped(f"{stopped}. Go on with: {command}") from None
    if out is not None:
        say(f"trained already, all {run.steps:,} steps: {out}" if finished else f"trained: {out}")
        # Without factors most scores are undefined, and pictures say more than the rest.
        verb = "show" if own is not None and not scored_factors(own.factors) else "score"
        say(f"next: {shlex.join(['hackle', verb, str(out), *code_of_ones_own])}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResumeOptions(LoopOptions):
    """Resume the run in a folder."""

    out: Path
    """The run's folder."""
    resume: bool = False
    """Required: it says that you mean the run in the folder."""
    steps: int | None = None
    """More steps than the run has, to lengthen it; those of its record if not given."""
    start_from: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Folder of the run whose weights this one begins with, where no checkpoint was written yet."""
    trust: Trust = False


def _resume(words: list[str]) -> None:
    from hackle.train import find_device
    from hackle.train.record_files import read_record

    options = run_command(ResumeOptions, "train", words)
    run, _ = read_record(options.out, trust=options.trust)
    run = run if options.steps is None else dataclasses.replace(run, steps=options.steps)
    _fit(run, find_device(options.device), options.out, True, options, options.start_from)
