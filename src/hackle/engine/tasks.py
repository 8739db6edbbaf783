"""What workers do: each task is a record that can be sent to another process, and its result can be sent back.

Tasks read data sets and write checkpoints and have no other side effects. Weights are sent as bytes, so that a worker
need not share a file system with the driver.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors

from hackle.core.records import record_hash
from hackle.core.types import Dataset, Run
from hackle.datasets import load
from hackle.scoring.encode import encode_images
from hackle.scoring.plan import kept_images
from hackle.scoring.protocol import Protocol as ScoringProtocol
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import choose_metrics
from hackle.scoring.scorer import ReferenceScores, Scorer, prepare_scorer
from hackle.train import (
    Checkpoints,
    DamagedCheckpoint,
    Pace,
    Trained,
    Watch,
    choose_fleet_size,
    scores_at_points,
    train_runs,
)
from hackle.train.checkpoints import as_bytes
from hackle.train.errors import is_out_of_memory
from hackle.train.model import Model
from hackle.train.size import release_memory

Tell = Callable[[Any], Any]
"""Reports to the driver: `int` is the model-steps done, `str` a line for the user, None just a sign of life. True is the
answer where training is to leave a checkpoint and end."""


@dataclass(frozen=True)
class Settings:
    """What all tasks of a study share. No device means the best one that the executor finds."""

    root: str | None
    device: str
    protocols: tuple[ScoringProtocol, ...]
    metrics: tuple[str, ...]
    checkpoints: str
    checkpoint_seconds: float = 60.0
    trainers: int = 1
    """Fleets that train at the same time on one CUDA device."""

    def scorers(self, dataset: str, left_out: str = "") -> list[Scorer]:
        """One for each protocol; none if no metric is wanted. left_out: the combinations that training left out."""
        protocols = self.protocols if self.metrics else ()
        return [_scorer(dataset, self.root, protocol, self.metrics, left_out) for protocol in protocols]


class Task(Protocol):
    """A unit of work; `kind` says which workers may do it."""

    kind: ClassVar[Literal["train", "score"]]

    def perform(self, settings: Settings, tell: Tell) -> Any: ...


@dataclass(frozen=True)
class TrainedRun:
    """A run that has been trained: its weights as the bytes of a file, or the reason why there are none."""

    run: Run
    shape: tuple[int, int, int]
    weights: bytes | None
    failure: str
    curves: Mapping[str, NDArray] = field(repr=False)
    seconds: float
    device: str


@dataclass(frozen=True)
class ScoredRun:
    """The rows of every protocol, without references, and the arrays that are kept."""

    rows: list[dict[str, Any]]
    arrays: dict[str, NDArray]
    seconds: float


@lru_cache(maxsize=1)
def _data(name: str, root: str | None) -> Dataset:
    """The data set that this worker currently uses."""
    return load(name, root)


@lru_cache(maxsize=8)
def _scorer(
    name: str, root: str | None, protocol: ScoringProtocol, metrics: tuple[str, ...], left_out: str = ""
) -> Scorer:
    chosen = choose_metrics(metrics, protocol).values()
    return prepare_scorer(_data(name, root).factors, chosen, protocol, left_out=left_out)


@dataclass(frozen=True)
class CheckNames:
    """Look up every requested metric, and the classes of these runs, where the other tasks will look for them."""

    runs: tuple[Run, ...]
    kind: ClassVar[Literal["train", "score"]] = "score"

    def perform(self, settings: Settings, tell: Tell) -> None:
        """The runs have arrived, so their classes were found."""
        for protocol in settings.protocols:
            choose_metrics(settings.metrics, protocol)
        for scored in {run.scored for run in self.runs if run.scored.points}:
            choose_metrics(scored.metrics, find_protocol(scored.protocol), strictly=True)


@dataclass(frozen=True)
class ChooseSize:
    """Choose the fleet size for these runs, which stack."""

    runs: tuple[Run, ...]
    kind: ClassVar[Literal["train", "score"]] = "train"

    def perform(self, settings: Settings, tell: Tell) -> int:
        data, device = _data(self.runs[0].dataset, settings.root), torch.device(settings.device)
        return choose_fleet_size(self.runs, data, device, share=1 / settings.trainers)


@dataclass(frozen=True)
class TrainFleet:
    """Train runs that stack, from their checkpoints where there are any."""

    runs: tuple[Run, ...]
    kind: ClassVar[Literal["train", "score"]] = "train"

    def perform(self, settings: Settings, tell: Tell) -> list[TrainedRun]:
        data = _data(self.runs[0].dataset, settings.root)
        device = torch.device(settings.device)
        # No more points than a figure shows.
        pace = Pace(max(1, self.runs[0].steps // 200), settings.checkpoint_seconds)
        checkpoints, count = Checkpoints(Path(settings.checkpoints)), _Count(tell)
        try:
            scores = scores_at_points(self.runs[0], data)
            trained = train_runs(self.runs, data, device, pace, count.watch, checkpoints=checkpoints, scores=scores)
            results = [_packed(one, data.shape, device) for one in trained]
            tell(count.done)
            return results
        except DamagedCheckpoint as error:
            tell(f"{error}. Starting these {len(self.runs)} runs anew")
            checkpoints.discard((), damaged=True)
        finally:
            checkpoints.close()
        return self.perform(settings, tell)


class _Count:
    """Counts the model-steps of a task and reports them about once a second. The halves of a split fleet add up."""

    def __init__(self, tell: Tell) -> None:
        self.done, self._members, self._step, self._told, self._tell = 0, 0, 0, 0.0, tell
        self._stop = False
        self.watch = Watch(begin=self._begin, step=self._count, say=tell, stop=lambda: self._stop)

    def _begin(self, runs: Sequence[Run], step: int) -> None:
        self._members, self._step = len(runs), step

    def _count(self, step: int) -> None:
        self.done += (step - self._step) * self._members
        self._step = step
        if time.monotonic() - self._told > 1.0:
            self._told = time.monotonic()
            self._stop = self._tell(self.done) is True


def _packed(trained: Trained, shape: tuple[int, int, int], device: torch.device) -> TrainedRun:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    known = {"seconds": repr(trained.seconds), "device": name, "shape": json.dumps(shape)}
    weights = None if trained.model is None else as_bytes(trained.model.weights(), known)
    return TrainedRun(trained.run, shape, weights, trained.failure, trained.curves, trained.seconds, name)


@dataclass(frozen=True)
class ScoreRun:
    """Every metric that fits, of every protocol, for one trained run."""

    run: Run
    shape: tuple[int, int, int]
    weights: bytes = field(repr=False)
    kind: ClassVar[Literal["train", "score"]] = "score"

    def perform(self, settings: Settings, tell: Tell) -> ScoredRun:
        model = Model(self.run, self.shape, load_tensors(self.weights))
        try:
            return self._score(model.to(settings.device), settings, tell)
        except Exception as error:
            if settings.device == "cpu" or not is_out_of_memory(error):
                raise
        finally:
            if settings.device != "cpu":
                # Many processes score on one device: memory that one keeps for its next run may be needed by a fleet in
                # training.
                release_memory(torch.device(settings.device))
        tell(f"out of memory while scoring {record_hash(self.run)}: going on with it on the CPU")
        return self._score(model.to("cpu"), settings, tell)

    def _score(self, model: Model, settings: Settings, tell: Tell) -> ScoredRun:
        started = time.perf_counter()
        data = _data(self.run.dataset, settings.root)
        scorers = settings.scorers(self.run.dataset, self.run.drawing.left_out)
        shown = kept_images(data.factors)
        posterior = encode_images(model, data, np.concatenate([shown, *(scorer.images for scorer in scorers)]))
        tell(None)
        arrays: dict[str, NDArray] = {"codes": posterior.means(shown)}
        rows: list[dict[str, Any]] = []
        for scorer in scorers:
            evaluation = scorer.evaluation(model, data, posterior)
            if scorer is scorers[0]:
                arrays |= evaluation.code_informations()
            rows += scorer.table(scorer.rows(evaluation, lambda _: tell(None)), {}).to_dict("records")
        return ScoredRun(rows, arrays, time.perf_counter() - started)


@dataclass(frozen=True)
class References:
    """What perfect codes score on a data set under each protocol, by protocol and metric."""

    dataset: str
    kind: ClassVar[Literal["train", "score"]] = "score"

    def perform(self, settings: Settings, tell: Tell) -> dict[str, ReferenceScores]:
        return {
            scorer.protocol.name: scorer.references(scorer.metrics, lambda _: tell(None))
            for scorer in settings.scorers(self.dataset)
        }
