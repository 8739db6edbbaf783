"""Running studies: many runs trained in fleets, scored during training, stored one by one, on one machine or many."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from multiprocessing import current_process
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch

from hackle.core.errors import HackleError
from hackle.core.files import locked_folder
from hackle.core.parts import absolute_reference, name_of
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.engine.display import Display
from hackle.engine.driver import Driver
from hackle.engine.errors import EngineError
from hackle.engine.executor import Executor, Inline
from hackle.engine.folder import Keep, Keeper, StudyFolder
from hackle.engine.lacking import Lacking, grid_of_data, lacking_scores
from hackle.engine.limit import TimeLimit
from hackle.engine.local import Local
from hackle.engine.summary import Summary
from hackle.engine.tasks import Settings
from hackle.scoring.protocol import Protocol, protocol
from hackle.scoring.registry import choose_metrics
from hackle.store import Store
from hackle.train import find_device
from hackle.train.grouping import kinds
from hackle.train.sampling import check_data, regime_of

__all__ = ["EngineError", "Summary", "check_regimes", "run_study"]


def run_study(
    runs: Sequence[Run],
    out: str | Path,
    *,
    study: str = "",
    protocols: Sequence[str | Protocol] = ("locatello2019",),
    metrics: str | Iterable[str] = "all",
    keep: Keep | None = None,
    keep_by: str = "mig",
    device: torch.device | str | None = None,
    root: str | Path | None = None,
    fleet_size: int | None = None,
    workers: int | None = None,
    trainers: int = 1,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    retry_failed: bool = False,
    checkpoint_seconds: float = 60.0,
    patience: float = 1800.0,
    minutes: float | None = None,
    progress: bool = True,
) -> Summary:
    """Train, score and store every run that the folder `out` does not hold yet. The same call resumes a study that
    stopped.

    protocols, metrics: what is scored, as in `hackle.score`; without metrics only codes and curves are stored.
    A stored run is never trained again; it gets scores that it lacks if the weights of all runs of its kind are kept, which
    differ from it in strength and seed alone.
    keep: whose weights stay in `out`: of all runs, of none, or of the best of each kind, judged by the score `keep_by` of the
    posterior means under the first protocol. None is the last choice for this folder, or best.
    fleet_size: the most runs that train together; None takes what the free memory holds. workers: processes; None takes one
    per core, 0 does everything in this process.
    trainers: fleets that train at the same time on one CUDA device, each in a process of its own beside the workers; more
    than one pays off with small fleets where the CUDA multi-process service runs.
    engine, address: "ray" spreads fleets and scoring over the GPUs or cores of a Ray cluster, started on this machine
    if no address is given. retry_failed: do again what is stored as failed; a run whose weights are there, since it was
    its scoring that failed, is scored and not trained. patience: seconds without a sign of
    life after which a worker is killed and its task tried again.
    minutes: after so many the study ends by itself: no fleet begins that cannot be expected to end, those that train leave
    checkpoints, and what is trained is scored; the summary says how many runs are left.
    """
    if getattr(current_process(), "_inheriting", False):
        raise EngineError(
            "a worker of this study imports the script that started it, which starts the study again: call run_study below "
            'if __name__ == "__main__":'
        )
    if workers is not None and workers < 0:
        raise EngineError(f"workers is {workers}; expected 0 or more, or none for one per core")
    if fleet_size is not None and fleet_size < 1:
        raise EngineError(f"fleet_size is {fleet_size}; expected 1 or more, or none for as many as fit")
    if trainers < 1:
        raise EngineError(f"trainers is {trainers}; expected 1 or more")
    if minutes is not None and not minutes > 0:
        raise EngineError(f"minutes is {minutes}; expected more than 0, or none for no limit")
    if keep not in (None, *get_args(Keep)):
        raise EngineError(f"keep is {keep!r}; expected all, best or none")
    if engine not in ("local", "ray"):
        raise EngineError(f"no engine {engine!r}; there are local and ray")
    if address is not None and engine != "ray":
        raise EngineError(
            f"address is {address}, which is for Ray, and the engine is {engine}; choose the engine ray too"
        )
    if any(run.start_from for run in runs):
        raise EngineError(
            "a study's runs begin with random weights; one that has start_from is trained by hackle.fit(start=…)"
        )
    chosen = tuple(protocol(name) for name in protocols)
    # Workers may run in another folder.
    asked = metrics.split(",") if isinstance(metrics, str) else tuple(metrics)
    if given := [one for one in asked if not isinstance(one, str)]:
        raise EngineError(
            f"the metric {given[0]!r} is not given by its name; a study's workers import metrics of your own: path.py:name"
        )
    names = tuple(absolute_reference(name.strip()) for name in asked)
    for one in chosen:
        choose_metrics(names, one)
    started, limit = time.monotonic(), TimeLimit(minutes)
    check_regimes(runs, root)
    folder = StudyFolder(Path(out))
    folder.refuse_other_files()
    settings = Settings(
        root=None if root is None else str(root),
        # The machines of a cluster have devices of their own.
        device=str(find_device(device)) if engine == "local" else str(device or ""),
        protocols=chosen,
        metrics=names,
        checkpoints=str(folder.fleets.resolve()),
        checkpoint_seconds=checkpoint_seconds,
        trainers=trainers,
    )
    with locked_folder(folder.path, EngineError), Store.create_or_open(folder.path, study) as store:
        store.check()
        if keep is not None:
            store.keep = keep
        keeper = Keeper(folder, cast(Keep, store.keep or "best"), keep_by, chosen[0].name if chosen else "")
        wanted = {record_hash(run): run for run in runs}
        _settle_weights(wanted, keeper, store)
        lacking = lacking_scores(wanted, store, chosen, names, root, but_raised=retry_failed)
        again = lacking.in_whole_groups(wanted, folder.with_weights())
        unscorable = _cannot_be_scored(lacking, again, folder)
        driver = Driver(
            runs,
            folder,
            store,
            keeper,
            again=again.scores.keys(),
            fleet_size=fleet_size,
            retry_failed=retry_failed,
            patience=patience,
            limit=limit,
        )
        known = store.known()
        mine = [known[key] for key in driver.settled & driver.runs.keys()]
        counts = mine.count("done"), mine.count("failed")
        if driver.left or driver.again:
            executor = _executor(engine, settings, workers, address, driver.ends_training)
            try:
                speed = executor.scorers, executor.shared
                with Display(len(driver.runs), *counts, driver.model_steps(), progress, *speed) as display:
                    if again.scores:
                        display.say(f"{again}. Their weights are here, and they get them now")
                    if unscorable:
                        display.say(unscorable)
                    driver.run(executor, display)
            finally:
                executor.close()
        states = {key: status for key, status in store.known().items() if key in driver.runs}
        failed = {key for key, status in states.items() if status == "failed"}
    return Summary(
        folder=folder.path,
        total=len(driver.runs),
        done=len(states) - len(failed),
        failed=len(failed),
        trained=driver.trained,
        scored=driver.scored,
        seconds=time.monotonic() - started,
        failures=tuple(driver.failures.items()),
        lacking=unscorable,
        unscored=len(failed & folder.with_weights()),
        to_score=len((driver.runs.keys() - states.keys()) & folder.with_weights()),
        raised=tuple((metric, len(runs), note) for metric, (runs, note) in driver.raised.items()),
    )


def _settle_weights(runs: Mapping[str, Run], keeper: Keeper, store: Store) -> None:
    """Decide again which weights of stored runs stay: a driver may have died between storing a run and deleting
    weights."""
    done = {key for key, status in store.known().items() if status == "done"}
    stored = sorted(done & runs.keys() & keeper.folder.with_weights())
    if not stored or keeper.keep == "all":
        return
    scores = store.tables().scores
    telling = (scores["metric"] == keeper.score) | scores["score"].isna()
    wanted = scores[scores["run"].isin(stored) & telling]
    rows: list[dict[str, Any]] = wanted.to_dict("records")  # type: ignore[call-overload]
    for key in stored:
        keeper.stored(runs[key], [row for row in rows if row["run"] == key])


def check_regimes(runs: Sequence[Run], root: str | Path | None) -> None:
    """Refuse runs whose data cannot give the pairs, labels or draws that they ask for, if the data are here."""
    grid_of = cache(lambda dataset: grid_of_data(dataset, root))
    for run, *_ in kinds(runs):
        if regime_of(run) and (grid := grid_of(run.dataset)) is not None:
            try:
                check_data(run, grid)
            except HackleError as error:
                raise EngineError(f"{name_of(run.method)} on {run.dataset}: {error}; nothing was trained") from error


def _cannot_be_scored(lacking: Lacking, again: Lacking, folder: StudyFolder) -> str:
    """A line on the runs that cannot be scored again, "" if there are none."""
    rest = lacking.of(lacking.scores.keys() - again.scores.keys())
    if not rest.scores:
        return ""
    kept = len(rest.scores.keys() & folder.with_weights())
    return (
        f"{rest}. Their weights are not kept; for a table with all of them start the study with another --out"
        if not kept
        else f"{rest}. Of these the weights of {kept:,} are kept, and scores of chosen runs alone would mislead; for a table "
        f"with all of them start the study with another --out, or use `hackle score` on those in {folder.runs}"
    )


def _executor(
    engine: str, settings: Settings, workers: int | None, address: str | None, ends_training: Callable[[], bool]
) -> Executor:
    if engine == "ray":
        from hackle.engine.ray import Ray

        return Ray(settings, workers, address)
    if workers == 0:
        return Inline(settings, ends_training)
    return Local(settings, workers or os.cpu_count() or 1)
