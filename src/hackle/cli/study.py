"""The command line's `study` verb."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from inspect import signature
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from hackle.cli.progress import told
from hackle.cli.study_results import export_command, merge_command, repair_command
from hackle.cli.study_select import select_command
from hackle.cli.words import Device, Root, count, duration, listed, plain_table, run_one_of, say
from hackle.core.errors import HackleError
from hackle.core.files import human_size
from hackle.core.method import strength_of
from hackle.core.terminal import Terminal
from hackle.core.types import Run

if TYPE_CHECKING:
    import torch

    from hackle.studies import Study

USAGE = """\
{list, plan NAME, run NAME --out DIR, status DIR, select DIR, export DIR …, merge DIR OTHER, repair DIR} [options]
NAME is a study of the list, or path.py:function for a function of yours that returns runs."""


class OutOfTime(HackleError):
    """A study that ended by itself at its limit of time, with runs left."""

    exit_code = 75
    """What sysexits.h calls a temporary failure: the same command goes on."""


def main(words: list[str]) -> None:
    """`hackle study`: plan, run and look after studies."""
    commands: dict[str, Callable[..., None]] = {
        "list": list_command,
        "plan": plan_command,
        "run": run_study_command,
        "status": status_command,
        "select": select_command,
        "export": export_command,
        "merge": merge_command,
        "repair": repair_command,
    }
    try:
        run_one_of(commands, "study", USAGE, words)
    except OutOfTime as error:
        raise OutOfTime(f"{error}; go on with: {shlex.join(['hackle', 'study', *words])}") from None


@dataclass(frozen=True)
class Selection:
    """Which of a study's runs, and where they train."""

    seeds: str | None = None
    """How many seeds, such as 5, or which, such as 5-9; the paper's number if not given."""
    steps: int | None = None
    """How many updates for each run; the paper's number if not given."""
    datasets: str | None = None
    """Names separated by commas; the paper's if not given."""
    methods: str | None = None
    """Names separated by commas; the paper's if not given."""
    strengths: str | None = None
    """Values of the weight that the study varies, such as 4 or 1,2,4; all if not given. Methods without such a weight stay."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """dtype of autoencoders; auto is bfloat16 on CUDA, else float32. It is part of a run's record."""
    points: int | None = None
    """Points of each training at which scores join the curves; the study's number if not given. Part of a run's record."""
    skip: str | None = None
    """Folders of studies and names of results that come with hackle, separated by commas: runs that one of them holds,
    trained and scored, are left out; those that failed there are not."""
    offline: bool = False
    """Replace data sets that are not here with ones that hackle generates."""
    root: Root = None
    device: Device = None
    fleet_size: int | None = None
    """Runs that train together; as many as fit if not given."""

    @property
    def target(self) -> torch.device:
        """The device to train on; one that this machine does not have is refused."""
        from hackle.train import find_device

        return find_device(self.device)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the study's function; auto is the precision that `hackle train` would use."""
        # A named device decides by its name alone: it may be a cluster's and not be here.
        automatic = "bfloat16" if (self.device or self.target.type).startswith("cuda") else "float32"
        return {
            "seeds": None if (wanted := self.wanted_seeds) is None else wanted.stop,
            "steps": self.steps,
            "datasets": None if self.datasets is None else listed(self.datasets),
            "methods": None if self.methods is None else listed(self.methods),
            "precision": automatic if self.precision == "auto" else self.precision,
            "points": self.points,
        }

    @property
    def noted(self) -> dict[str, Any]:
        """What `study.json` says of the choice: the options as given."""
        every = self.wanted_seeds is None or self.wanted_seeds.start == 0
        chosen = {"strengths": self.strengths, "offline": self.offline, "skip": self.skip}
        return {**self.options, **({} if every else {"seeds": self.seeds}), **chosen}

    @property
    def wanted_seeds(self) -> range | None:
        """The seeds that are named; None if none are."""
        if self.seeds is None:
            return None
        if self.seeds.strip().isdecimal():
            return range(int(self.seeds))
        words = re.fullmatch(r"(\d+)-(\d+)", self.seeds.strip())
        first, last = map(int, words.groups()) if words else (1, 0)
        if first > last:
            raise HackleError(f"--seeds is {self.seeds}; expected how many, such as 5, or first and last, such as 5-9")
        return range(first, last + 1)

    def _at_wanted_strengths(self, name: str, runs: list[Run]) -> list[Run]:
        """The runs whose method has a wanted strength, or none to choose, after saying which strengths no run has."""
        if self.strengths is None:
            return runs
        try:
            wanted = {float(word) for word in listed(self.strengths)}
        except ValueError:
            raise HackleError(f"--strengths is {self.strengths}; expected numbers, such as 4 or 1,2,4") from None
        strengths = [strength_of(run.method) for run in runs]
        known = {strength for strength in strengths if not isnan(strength)}
        if missing := sorted(wanted - known):
            words = (
                f"{name} has no runs with the strengths {_numbers(missing)}; it has {_numbers(sorted(known)) or 'none'}"
            )
            if not wanted & known:
                raise HackleError(words)
            say(words, "yellow")
        pairs = zip(runs, strengths, strict=True)
        return [run for run, strength in pairs if isnan(strength) or strength in wanted]

    def of(self, name: str) -> tuple[Study, list[Run]]:
        """A study and those of its runs that are wanted and whose data sets are here, after saying what was left out or
        replaced."""
        from hackle.engine.elsewhere import without_stored
        from hackle.studies import available
        from hackle.studies.own import find_study, runs_of

        study = find_study(name)
        runs, seeds = runs_of(name, study, self.options), self.wanted_seeds
        runs = [run for run in runs if seeds is None or run.seed >= seeds.start]
        if not runs:
            raise HackleError(f"{name} has no runs with the seeds {self.seeds}")
        runs = self._at_wanted_strengths(name, runs)
        there = available(runs, self.root, offline=self.offline)
        rest = without_stored(there.runs, listed(self.skip or ""))
        for line in (*there.lines, *rest.lines):
            say(line, "yellow")
        if not there.runs:
            raise HackleError(f"none of the data sets of {name} is here; fetch one, or add --offline")
        return study, rest.runs


Selected = Annotated[Selection, arg(name="")]
EVERYTHING = Selection()


def list_command() -> None:
    """The papers' studies: how many runs each has, in how many groups that train together, and what it is."""
    from hackle.studies import STUDIES
    from hackle.train.grouping import group

    table = plain_table("name", "about", "runs", "groups", "data sets", left=2)
    for name, study in STUDIES.items():
        settings = study.runs(seeds=1)
        seeds = signature(study.runs).parameters["seeds"].default
        runs = len(study.runs()) if seeds is None else len(settings) * seeds
        datasets = len({run.dataset for run in settings})
        table.add_row(name, study.about, f"{runs:,}", str(len(group(settings))), str(datasets))
    Terminal(markup=False).print(table)


def plan_command(
    name: Positional[str],
    selection: Selected = EVERYTHING,
    seconds: float = 20.0,
) -> None:
    """What a study would take on this machine: runs, groups, fleets, hours, memory and disk. Nothing is kept.

    Args:
        name: A study of `hackle study list`, or path.py:function.
        seconds: About how long to measure.
    """
    from hackle.studies.planning import STORED_BYTES, plan_groups

    target = selection.target
    _, runs = selection.of(name)
    if not runs:
        return
    with told("measuring") as tell:
        groups = plan_groups(
            runs, target, root=selection.root, fleet_size=selection.fleet_size, seconds=seconds, tell=tell
        )
    table = plain_table("group", "latents", "steps", "runs", "fleets", "rate/s", "hours")
    for one in groups:
        rate = f"{'' if one.measured else '~'}{one.rate:,.1f}"
        name = ", ".join(filter(None, (f"{one.dataset} {one.method} {one.architecture}", one.regime)))
        fleets = f"{one.fleets} × {one.fleet_size}"
        hours = f"{one.hours:,.1f}" if one.hours >= 0.05 else "< 0.1"
        table.add_row(name, str(one.latents), f"{one.steps:,}", f"{one.runs:,}", fleets, rate, hours)
    Terminal(markup=False).print(table)
    hours = sum(one.hours for one in groups)
    guessed = sum(not one.measured for one in groups)
    say(
        f"\n{count(len(runs), 'run')} in {count(len(groups), 'group')} and "
        f"{count(sum(one.fleets for one in groups), 'fleet')}: about {duration(hours)} of training on one "
        f"{target.type.upper()} device"
        + (f"; ~ marks {count(guessed, 'group')} not measured in {seconds:g} s (--seconds), a guess" if guessed else "")
    )
    say("The rate is in steps of single models. Scoring goes on beside the training and is not in this time.")
    memory = max(one.memory for one in groups)
    weights = sum(one.weights * one.runs for one in groups)
    checkpoint = max(3 * one.weights * one.fleet_size for one in groups)
    say(
        f"memory: {human_size(memory)} for the largest fleet and its images; disk: {human_size(STORED_BYTES * len(runs))} of "
        f"results, {human_size(weights)} of weights with --keep all, {human_size(checkpoint)} of checkpoints while it trains"
    )


def run_study_command(
    name: Positional[str],
    out: Path,
    selection: Selected = EVERYTHING,
    protocols: str | None = None,
    metrics: str | None = None,
    fraction: float = 1.0,
    keep: Literal["all", "best", "none"] | None = None,
    retry_failed: bool = False,
    minutes: float | None = None,
    workers: int | None = None,
    trainers: int = 1,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> None:
    """Train, score and store every run of a study. Started again, it goes on where it stopped: a stored run is never
    trained again, and gets metrics that are new if the weights of all runs of its method and setting are kept.

    Args:
        name: A study of `hackle study list`, or path.py:function.
        out: The study's folder; results.sqlite in it holds the results.
        protocols: How to score, names separated by commas; the study's own if not given.
        metrics: Names separated by commas, including all (those that take seconds) and your own path.py:function; the
            study's own if not given.
        fraction: Score on this fraction of the protocols' points, for a quick look; the protocols' names say so.
        keep: Weights to keep: of all runs, of none, or of the best by MIG among runs that differ only in strength and
            seed. If not given, the last choice for this folder, else best.
        retry_failed: Repeat runs that are stored as failed; runs that were trained but could not be scored are only
            scored, as are those in which a metric raised an error.
        minutes: End after so many minutes. No fleet begins that cannot be expected to end in time, those that train then
            leave checkpoints, what is trained is scored, and if runs are left the exit status is 75 and the last line says
            how to go on.
        workers: Scoring processes, or tasks at a time with Ray; the number of cores or GPUs if not given.
        trainers: Fleets that train at once on one CUDA device; several pay off if they are small and MPS runs
            (docs/speed.md).
        engine: local, or ray for several GPUs or machines.
        address: Address of a running Ray cluster; without it one is started here.
    """
    from hackle.engine import check_regimes, run_study
    from hackle.engine.folder import StudyFolder
    from hackle.scoring.protocol import protocol
    from hackle.scoring.registry import choose_metrics
    from hackle.studies.folder import fingerprints, write_wanted

    device = str(selection.target) if engine == "local" else selection.device
    study, runs = selection.of(name)
    if not runs:
        return
    chosen = [protocol(one) for one in listed(protocols or "") or study.protocols]
    if fraction != 1.0:
        chosen = [one.smaller(fraction) for one in chosen]
    wanted = metrics or study.metrics
    for one in chosen:
        choose_metrics(wanted, one)
    StudyFolder(out).refuse_other_files()
    # Before the folder notes what is wanted: runs that cannot be trained would wait there for ever.
    check_regimes(runs, selection.root)
    now = fingerprints(runs)
    noted = write_wanted(out, name, selection.noted, runs, data=now, begun=_begun(out, now)).data
    for changed in (dataset for dataset in now if now[dataset] != noted[dataset]):
        say(
            f"{changed} has changed since this study began: models of its old and its new contents would stand in one table. "
            "Put the old contents back, or choose another --out",
            "yellow",
        )
    summary = run_study(
        runs,
        out,
        study=name,
        protocols=chosen,
        metrics=wanted,
        keep=keep,
        device=device,
        root=selection.root,
        fleet_size=selection.fleet_size,
        workers=workers,
        trainers=trainers,
        engine=engine,
        address=address,
        retry_failed=retry_failed,
        minutes=minutes,
    )
    say(f"{summary}\nresults: {out}   next: {shlex.join(['hackle', 'study', 'status', str(out)])}")
    if summary.left:
        raise OutOfTime(f"{summary.left:,} of {summary.total:,} runs are left")


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _begun(out: Path, datasets: Collection[str]) -> set[str]:
    """The data sets on which something in a study's folder was, or may have been, trained."""
    from hackle.store import FILE, Store

    # What is trained but not stored may use any of them.
    if any((out / part).is_dir() and any((out / part).iterdir()) for part in ("runs", "fleets")):
        return set(datasets)
    if not (out / FILE).is_file():
        return set()
    with Store.open(out) as store:
        return set(store.runs()["dataset"]) & set(datasets)


def status_command(directory: Positional[Path], failures: int = 10) -> None:
    """How far a study is: runs done, failed and waiting in each group, why runs failed, and which code of one's own has
    changed between runs.

    Args:
        directory: The study's folder.
        failures: How many failed runs to name.
    """
    from hackle.core.design import DEFAULTS, heading
    from hackle.engine.folder import StudyFolder
    from hackle.store import Store
    from hackle.store.tables import differing_sources
    from hackle.studies.folder import LABEL, read_wanted

    wanted = read_wanted(directory)
    with Store.open(directory) as store:
        store.check(thorough=True)
        runs = store.runs()
    states = ("done", "failed", "waiting")
    groups = {label: Counter(waiting=len(names)) for label, names in (wanted.groups if wanted else {}).items()}
    planned = wanted.runs if wanted else {}
    for row in runs.to_dict("records"):
        label = planned.get(row["run"], tuple(row[key] for key in LABEL))
        counts = groups.setdefault(label, Counter())
        counts[row["status"]] += 1
        counts["waiting"] -= row["run"] in planned
    # Columns in which every group has the default are left out.
    rows = [(dict(zip(LABEL, label, strict=True)), counts) for label, counts in groups.items()]
    shown = [name for name in LABEL if name in DEFAULTS and any(row[name] != DEFAULTS[name] for row, _ in rows)]
    table = plain_table("group", *map(heading, shown), *states)
    for row, counts in rows:
        group = " ".join(row[name] for name in LABEL if name not in DEFAULTS)
        values = [*(row[name] for name in shown), *(counts[state] for state in states)]
        forms = {int: ",", float: "g"}
        table.add_row(group, *(format(value, forms.get(type(value), "")) for value in values))
    Terminal(markup=False).print(table)
    totals = {key: sum(counts[key] for counts in groups.values()) for key in states}
    name = f"{wanted.study}: " if wanted else ""
    say(f"\n{name}{totals['done']:,} done, {totals['failed']:,} failed, {totals['waiting']:,} waiting")
    if wanted is None:
        say("there is no study.json in the folder: what is waiting is not known")
    for note in differing_sources(runs):
        say(note, "yellow")
    failed = [row for row in runs.to_dict("records") if row["status"] == "failed"]
    for row in failed[:failures]:
        say(f"failed {row['run']} {row['method']} on {row['dataset']}, seed {row['seed']}: {row['reason']}", "red")
    if len(failed) > failures:
        say(f"and {len(failed) - failures:,} more; --failures {len(failed)} names all")
    if trained := [row for row in failed if StudyFolder(directory).is_trained(row["run"])]:
        say(
            f"{count(len(trained), 'failed run')} trained, with weights: `study run --retry-failed` scores without training"
        )
