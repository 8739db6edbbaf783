"""The command line: few verbs, each a function whose arguments are its options."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from tyro.conf import Positional

from hackle import __version__
from hackle.cli.bench import bench_commands
from hackle.cli.claims import claims_command, report_command
from hackle.cli.data import data_commands
from hackle.cli.explore import explore_command
from hackle.cli.score_codes import score_codes_command
from hackle.cli.study import study_commands
from hackle.cli.train import train_command
from hackle.cli.words import nearest, not_negative, print_scores, run_command, say_error, writable
from hackle.core.types import HackleError

if TYPE_CHECKING:
    from hackle.core.types import Dataset
    from hackle.train.model import Model

SUMMARY = """\
hackle — train, score, compare and look at disentangled representations

  hackle train METHOD   train one model; `hackle train --help` lists the methods
  hackle score DIR      score a trained model with every metric that fits
  hackle score-codes F  score codes that another program has written to a file
  hackle show DIR       write pictures of a trained model: traversals, reconstructions, samples
  hackle explore DIR    look inside a run, several runs or a study in the browser
  hackle data           list, fetch, check and show data sets
  hackle study          train and score the hundreds or thousands of runs of a study
  hackle claims DIR     test the papers' claims on a study's results
  hackle report DIR     write a study's claims, figures and scores as one page
  hackle bench fleet    how fast this machine trains, stacked, alone and by a plain loop
  hackle demo           train, score and draw a small FactorVAE on dSprites, with a page to open

Each verb has its own --help. Data sets lie under --root, or $HACKLE_DATA, or the user's cache."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb and turn what the user can mend into a message and exit code 1, or 130 for what Ctrl-C has stopped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter shows a question mark in its place.
            stream.reconfigure(errors="replace")
    try:
        try:
            _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough. Exit code 1 is rich's for the same; what Python still wants to flush at
        # its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        say_error("stopped")
        raise SystemExit(130) from None
    except HackleError as error:
        say_error(error)
        raise SystemExit(error.exit_code) from None
    except ValueError as error:
        say_error(error)
        raise SystemExit(1) from error
    except (MemoryError, RuntimeError) as error:
        # PyTorch has no class of its own for the host's memory.
        if not isinstance(error, MemoryError) and not re.search("can't allocate memory|out of memory", str(error)):
            raise
        what = str(error).partition("\n")[0] or "none is left"
        say_error(f"not enough memory ({what}); take fewer latents, smaller batches or smaller fleets")
        raise SystemExit(1) from error
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        say_error(
            f"{what}; see that the path is right, that you may read and write there, and that there is space left"
        )
        raise SystemExit(1) from error


def _run(words: list[str]) -> None:
    if not words or words[0] in ("-h", "--help", "help"):
        print(SUMMARY)
        return
    if words[0] == "--version":
        print(f"hackle {__version__}")
        return
    verbs: dict[str, Callable[[list[str]], None]] = {
        "train": train_command,
        "score": lambda rest: run_command(score_command, "score", rest),
        "score-codes": lambda rest: run_command(score_codes_command, "score-codes", rest),
        "show": lambda rest: run_command(show_command, "show", rest),
        "explore": lambda rest: run_command(explore_command, "explore", rest),
        "data": data_commands,
        "study": study_commands,
        "claims": lambda rest: run_command(claims_command, "claims", rest),
        "report": lambda rest: run_command(report_command, "report", rest),
        "bench": bench_commands,
        "demo": lambda rest: run_command(demo_command, "demo", rest),
    }
    if words[0] not in verbs:
        raise HackleError(f"no verb {words[0]!r}; {nearest(words[0], verbs)}")
    verbs[words[0]](words[1:])


def score_command(
    directory: Positional[Path],
    metrics: str = "all",
    protocol: str = "locatello2019",
    fraction: float = 1.0,
    seed: int = 0,
    bootstrap: int = 0,
    ceilings: bool = True,
    whole_mixture: bool = False,
    json: Path | None = None,
    parquet: Path | None = None,
    page: Path | None = None,
    dataset: str | None = None,
    root: Path | None = None,
    device: str | None = None,
    overwrite: bool = False,
) -> None:
    """Score a trained model. The table is printed and kept as scores.json in the run's folder.

    Args:
        directory: The run's folder.
        metrics: Names separated by commas; "all" is every metric that takes seconds: beta_vae, factor_vae, mig, sap, dci,
            modularity, explicitness, gaussian_tc, separability, interpretability, jemmig, posterior_mig, misjed,
            monte_carlo_tc, kl, reconstruction. Those that take minutes are whole_separability, whole_misjed, true_tc,
            batch_tc, sampled_interpretability, sampled_jemmig, iwae, downstream_logistic_cv, downstream_gbt.
        protocol: locatello2019, disentanglement_lib, kim2018, do2020, yang2020, or quick for a rough look.
        fraction: Score on this fraction of the protocol's points, above 0 and up to 1, for a quick look. No part of them
            gets smaller than 200 points.
        seed: Seed of the draws.
        bootstrap: Number of resamplings for 95% intervals; 0 gives none.
        ceilings: Also show what perfect codes reach.
        whole_mixture: Sampled informations use every image of the plan as mixture; slower.
        json: Where to write the table as JSON instead.
        parquet: Where to write the table as Parquet, too.
        page: Where to write an HTML page with the scores and pictures, too.
        dataset: Name or path of the data set, where it is not the one of the training or lies elsewhere now.
        root: Where data sets lie.
        device: cpu or cuda; the best one that is here if not given.
        overwrite: Replace files that are there already.
    """
    from hackle.report import write_run_page
    from hackle.scoring.models import score
    from hackle.scoring.protocol import protocol as find_protocol
    from hackle.train import find_device
    from hackle.train.model import Model

    not_negative(seed=seed, bootstrap=bootstrap)
    whole = find_protocol(protocol)
    settings = whole if fraction == 1.0 else whole.smaller(fraction)
    model = Model.load(directory).to(find_device(device))
    data = _data_of(model, dataset, root)
    target = json or directory / "scores.json"
    for path in (target, parquet, page):
        if path is not None:
            writable(path, overwrite)
    scores = score(
        model,
        data,
        metrics,
        settings,
        seed,
        bootstrap=bootstrap,
        ceilings=ceilings,
        whole_mixture=whole_mixture,
        progress=True,
    )
    print_scores(scores)
    scores.to_json(target, orient="records", indent=2)
    if parquet is not None:
        scores.to_parquet(parquet, index=False)
    if page is not None:
        write_run_page(model, data, scores, page, folder=directory)
    print(f"kept in {target}")
    if page is not None:
        print(f"open {page.resolve()} in a browser")


def _data_of(model: Model, name: str | None, root: Path | None) -> Dataset:
    """The data set that was asked for, else the one that the model's record names."""
    from hackle.datasets import load, load_of_run

    return load_of_run(model.run.dataset, root) if name is None else load(name, root)


def show_command(
    directory: Positional[Path],
    out: Path | None = None,
    seed: int = 0,
    image: int = 0,
    dataset: str | None = None,
    root: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Write pictures of a trained model: overview with traversals sorted by KL, samples, a map of two latents, histograms,
    and an animation.

    Args:
        directory: The run's folder.
        out: Where the pictures go; a folder `pictures` in the run's folder if not given.
        seed: Seed of the images shown.
        image: Which of the images shown the traversals start from.
        dataset: Name or path of the data set, where it is not the one of the training or lies elsewhere now.
        root: Where data sets lie.
        overwrite: Replace pictures that are there already.
    """
    from hackle.pictures import show
    from hackle.train.model import Model

    not_negative(seed=seed)
    model = Model.load(directory)
    data = _data_of(model, dataset, root)
    with Console(stderr=True).status("encoding images and drawing pictures, some ten seconds"):
        paths = show(model, data, out or directory / "pictures", seed=seed, image=image, overwrite=overwrite)
    for path in paths:
        print(path)


def demo_command(
    out: Path = Path("demo"), root: Path | None = None, steps: int = 1000, overwrite: bool = False
) -> None:
    """Train a small FactorVAE on dSprites, score it with every metric that fits, and write pictures and a page.

    Args:
        out: The folder for the run, pictures and page.
        root: Where data sets lie.
        steps: Number of updates.
        overwrite: Start anew where the folder holds an earlier demo.
    """
    from hackle.cli.demo_run import run_demo

    scores, page = run_demo(out, root=root, steps=steps, overwrite=overwrite)
    print_scores(scores)
    print(f"\nopen {page.resolve()} in a browser")
