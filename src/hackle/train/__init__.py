"""Training: runs that stack become fleets, one loop trains a fleet, and folders hold the results.

A run folder holds `run.json` (the record), `weights.safetensors` (the result), `curves.csv` and TensorBoard events (every
term, averaged between log points, and scores at some of them). While a run trains alone, its checkpoint is there too;
those of fleets are in the folder `fleets` beside their runs' folders. Since batches and noise are functions of seed and
step, on the CPU a run resumed from any checkpoint ends bit-identical to one that was never interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch.utils.data import Dataset as TorchDataset

from hackle.core.allocator import available_memory
from hackle.core.files import human_size, locked_folder
from hackle.core.records import record_hash
from hackle.core.types import Dataset, Run
from hackle.datasets import dataset_of, load, load_of_run, own_fingerprint
from hackle.datasets.memory import in_memory
from hackle.train.checkpoints import Checkpoints, write_atomically
from hackle.train.display import shown
from hackle.train.errors import DamagedCheckpoint, Diverged, MethodError, Stopped, TrainingError, WriteError
from hackle.train.fleet import build_networks
from hackle.train.folder import RunFolder, usable
from hackle.train.grouping import group, kinds
from hackle.train.lengthening import state_to_continue
from hackle.train.loop import Pace, Scores, Trained, Watch, last_good_step, scores_at_points, train_runs
from hackle.train.method_errors import check_phases
from hackle.train.model import Model, load_weights
from hackle.train.sampling import check_data
from hackle.train.size import choose_fleet_size, cut
from hackle.train.start import Start, check_images, find_start
from hackle.train.weights import shapes_of

__all__ = [
    "Checkpoints",
    "DamagedCheckpoint",
    "Diverged",
    "MethodError",
    "Pace",
    "RunFolder",
    "Scores",
    "Stopped",
    "Trained",
    "TrainingError",
    "Watch",
    "WriteError",
    "choose_fleet_size",
    "cut",
    "default_device",
    "find_device",
    "fit",
    "scores_at_points",
    "train_runs",
    "write_atomically",
]

FLEETS = "fleets"


def default_device() -> torch.device:
    """A CUDA device where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def find_device(name: torch.device | str | None = None) -> torch.device:
    """The device of this name, if this machine has it; without a name, the best one it has.

    >>> find_device("cpu")
    device(type='cpu')
    """
    if name is None:
        return default_device()
    here = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    here += ["mps"] if torch.backends.mps.is_available() else []
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    known = {*here, "cuda"} if torch.cuda.is_available() else set(here)
    if device is None or str(device) not in known:
        raise TrainingError(
            f"no device {str(name)!r} here; there is {', '.join(here)}: name one of these, or none for the best of them"
        )
    return device


def fit(
    runs: Run | Sequence[Run],
    *,
    out: str | Path | None = None,
    dataset: Dataset | TorchDataset | None = None,
    root: str | Path | None = None,
    device: torch.device | str | None = None,
    resume: bool = False,
    start: Model | str | Path | None = None,
    log_every: int = 100,
    scores: Scores | None = None,
    score_every: int = 0,
    held_out_every: int = 1_000,
    checkpoint_seconds: float = 60.0,
    keep_state: bool = True,
    fleet_size: int | None = None,
    tensorboard: bool = True,
    progress: bool = True,
) -> Any:
    """Train one run to a `Model`, or several to a list of models; runs that stack train together.

    out: the run's folder, or the folder that holds one folder per run, named by the run's hash; None keeps nothing.
    dataset: a data set of your own instead of the one that the runs name, or a map-style data set of PyTorch. The
    record of a model trained on data in memory, `model.run`, names the data and a hash of their contents. root: where
    data sets are stored.
    resume: continue from the checkpoints under `out`. A single run continues where a shorter one in its folder ended.
    start: a model, or a run's folder, whose weights to begin with; the model's run records it as `start_from`.
    log_every: steps between two points of the curves.
    scores: a function of a model and its data set, such as `hackle.scoring.models.quick_scores`, that returns scores by
    name. They are computed every `score_every` steps, at the next log point, and at the end, and are added to the
    curves as `score_…`. Training does not depend on them. Runs whose record names points (`Run.scored`) take their own.
    held_out_every: steps between two estimates of the ELBO of held-out images, for runs that have some.
    checkpoint_seconds: between two checkpoints. keep_state: keep the final state of a single run's optimisers, about
    twice the size of its weights, and a copy of these, so that it can be lengthened.
    fleet_size: the most runs that train together; None takes as many as the free memory holds.
    tensorboard: also write the curves for TensorBoard.
    A run that diverges raises `Diverged` when it trains alone; among others its model is None and the others go on.
    """
    if fleet_size is not None and fleet_size < 1:
        raise TrainingError(f"fleet_size is {fleet_size}; expected 1 or more, or None")
    if score_every < 0:
        raise TrainingError(f"score_every is {score_every}; expected a number of steps, or 0 for no scores")
    for name, every in (("log_every", log_every), ("held_out_every", held_out_every)):
        if every < 1:
            raise TrainingError(f"{name} is {every}; expected a number of steps, 1 or more")
    if (scores is None) != (score_every == 0):
        raise TrainingError(
            "scores and score_every go together: scores=hackle.scoring.models.quick_scores, score_every=1000"
        )
    alone, members = isinstance(runs, Run), _checked(runs)
    if dataset is not None:
        dataset = _own_data(dataset)
        if in_memory(dataset.name):
            members = [replace(run, dataset=dataset.name) for run in members]
    first = None if start is None else find_start(start, members[0])
    if first is not None:
        members = [_beginning_with(first, run) for run in members]
    target = find_device(device)
    place = None if out is None else Path(out)
    paths = {record_hash(run): place if alone else place / record_hash(run) for run in members} if place else {}
    checkpoints = None
    if place is not None:
        checkpoints = Checkpoints(place, alone=True, last=keep_state) if alone else Checkpoints(place / FLEETS)
    pace, results = Pace(log_every, checkpoint_seconds, score_every, held_out_every), {}
    lock = ExitStack()
    try:
        with shown(progress, target, kept=place is not None) as watch:
            for number, together in enumerate(group(members)):
                find = load_of_run if resume else load
                data = dataset if dataset is not None else find(together[0].dataset, root)
                # Runs that cannot be trained on these images are refused before a folder is claimed for them.
                for run, *_ in kinds(together):
                    _check_room(run, data.shape)
                    build_networks(run, data.shape)
                    check_phases(run)
                    check_data(run, data.factors)
                if first is not None:
                    check_images(first, data.shape)
                if together[0].scored.points and scores is not None:
                    raise TrainingError(
                        "the run's record says what is scored during training (scored); leave scores out"
                    )
                chosen_scores = scores_at_points(together[0], data) or scores
                if place is not None and number == 0:
                    with usable(place):
                        lock.enter_context(locked_folder(place, TrainingError))
                contents = own_fingerprint(together[0].dataset) if paths else ""
                folders = {
                    record_hash(run): RunFolder(
                        paths[record_hash(run)], run, data.shape, tensorboard=tensorboard, data=contents
                    )
                    for run in together
                    if paths
                }
                results |= _fit_group(
                    together, data, target, pace, watch, checkpoints, folders, resume, fleet_size, chosen_scores, first
                )
        if alone and results[record_hash(members[0])].model is None:
            raise _diverged(results[record_hash(members[0])], checkpoints)
        if checkpoints is not None:
            if checkpoints.last:
                checkpoints.discard_previous()
            else:
                checkpoints.discard(results)
            checkpoints.tidy()
    finally:
        if checkpoints is not None:
            checkpoints.close()
        lock.close()
    models = [results[record_hash(run)].model for run in members]
    return models[0] if alone else models


def _check_room(run: Run, shape: tuple[int, int, int]) -> None:
    """Refuse networks whose weights, gradients and moments do not fit into the free memory, before they take it up: the
    record of a run that is resumed may ask for any size."""
    try:
        shapes = shapes_of(run, shape) or {}
    except SafetensorError as error:
        raise TrainingError(str(error)) from error
    size = 4 * 4 * sum(map(math.prod, shapes.values()))
    if size > (free := available_memory()):
        raise TrainingError(
            f"the networks of this run take {human_size(size)} of memory to train, and {human_size(free)} are free; take "
            "smaller networks or fewer latents"
        )


def _checked(runs: Any) -> list[Run]:
    """The runs as a list, or an error that says what to give instead."""
    if isinstance(runs, Run):
        return [runs]
    members: list[Any] = list(runs) if isinstance(runs, Iterable) and not isinstance(runs, str) else [runs]
    for run in members:
        if not isinstance(run, Run):
            raise TrainingError(
                f"cannot train {run!r}; expected a hackle.Run, or a list of them. hackle.studies.presets.default_run makes "
                "one of a method's name"
            )
    return members


def _beginning_with(start: Start, run: Run) -> Run:
    """The run with a record that says it begins with these weights."""
    if run.start_from not in ("", start.identity):
        raise TrainingError(
            f"the run begins with the weights {run.start_from}, and those that are given are {start.identity}; give the "
            "others, or leave start_from out of the run"
        )
    return replace(run, start_from=start.identity)


def _own_data(dataset: Any) -> Dataset:
    if isinstance(dataset, str | Path):
        raise TrainingError(
            f"dataset is {str(dataset)!r}; a data set known by name or path belongs in the record, so that the run says what "
            f"it was trained on: dataclasses.replace(run, dataset={str(dataset)!r}). Or give what hackle.load returns"
        )
    return dataset_of(dataset)


def _fit_group(
    runs: Sequence[Run],
    data: Dataset,
    device: torch.device,
    pace: Pace,
    watch: Watch,
    checkpoints: Checkpoints | None,
    folders: dict[str, RunFolder],
    resume: bool,
    fleet_size: int | None,
    scores: Scores | None,
    start: Start | None,
) -> dict[str, Trained]:
    """Train the runs of one group that have not finished yet."""
    for folder in folders.values():
        before = folder.claim(resume)
        if before is not None and checkpoints is not None:
            stands = state_to_continue(folder.path, before, folder.run, data, checkpoints)
            watch.say(f"{folder.path} holds this run with {before.steps:,} steps: going on from step {stands.step:,}")
            folder.lengthen(before)
    done = {
        key: Trained(folder.run, load_weights(folder.path, folder.run, folder.shape).to(device))
        for key, folder in folders.items()
        if folder.finished
    }
    left = [run for run in runs if record_hash(run) not in done]
    for fleet in cut(left, fleet_size or choose_fleet_size(left, data, device)) if left else []:
        for trained in train_runs(
            fleet,
            data,
            device,
            pace,
            watch,
            checkpoints=checkpoints,
            folders=folders,
            scores=scores,
            start=None if start is None else start.weights,
        ):
            done[record_hash(trained.run)] = trained
    return done


def _diverged(result: Trained, checkpoints: Checkpoints | None) -> Diverged:
    run, kept = result.run, "no checkpoint from before that was kept"
    if checkpoints is not None and (good := last_good_step(checkpoints, record_hash(run))) is not None:
        kept = f"last good checkpoint: step {good[0]:,} in {good[1]}"
    return Diverged(
        f"{run.method} with seed {run.seed} {result.failure}; {kept}. A smaller learning rate or weight often helps"
    )
