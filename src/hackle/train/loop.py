"""The training loop: steps, log points, background checkpoints, a stop on request, and smaller fleets if memory runs
out."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.method import about
from hackle.core.parts import Parts
from hackle.core.records import record_hash
from hackle.core.types import Dataset, Images, Run
from hackle.train.checkpoints import Checkpoints, Snapshot, most_bytes
from hackle.train.curves import Curves
from hackle.train.errors import Stopped, TrainingError, WriteError, is_out_of_memory
from hackle.train.fleet import Fleet
from hackle.train.folder import RunFolder
from hackle.train.held_out import held_out_terms
from hackle.train.model import Model
from hackle.train.size import cut, release_memory

_EARLY = 20
"""Steps from which the time left is estimated."""
_APPEND_SECONDS = 5.0
"""Seconds between two writes of the curves to disk."""
_WRITING_SHARE = 30
"""After a checkpoint that took t seconds to write, the next one waits at least this many times t."""
_MANY_IMAGES = 100_000
"""Images of one scoring from which on a CPU takes minutes."""
SCORE = "score_"
"""The prefix of scores among the terms of the curves."""

Scores = Callable[[Model, Dataset], Mapping[str, float]]
"""A function that gives scores, by name, of a model on the data set that it is trained on."""


@dataclass(frozen=True)
class PointScores:
    """`prepare` makes the function that scores models as `Run.scored` says: of a run's record and its data set."""

    name: str
    prepare: Callable[[Run, Dataset], Scores]


POINT_SCORES: Parts[PointScores] = Parts(
    "scorer of points", ("hackle.scoring.points",), lambda thing: isinstance(thing, PointScores)
)
"""Found, not imported: scores are computed from models, so that scoring is built on training."""


def scores_at_points(run: Run, data: Dataset) -> Scores | None:
    """The function that gives the scores that a run's record asks for; None where it asks for none."""
    return POINT_SCORES.find("hackle").prepare(run, data) if run.scored.points else None


@dataclass(frozen=True)
class Trained:
    """The result of training one run: a model, or the reason why there is none."""

    run: Run
    model: Model | None
    failure: str = ""
    curves: Mapping[str, NDArray] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Watch:
    """Callbacks: `begin` when a fleet starts at a step, `early` with the expected seconds, after its first steps,
    `step` after each step, `point` with the step, the rate in model-steps per second and the first run's terms at a log
    point, `say` with a line for the user; `stop`, asked after each step, says whether to leave a checkpoint and end."""

    begin: Callable[[Sequence[Run], int], None] = lambda runs, step: None
    early: Callable[[int, float], None] = lambda steps, seconds: None
    step: Callable[[int], None] = lambda step: None
    point: Callable[[int, float, Mapping[str, list[float] | float]], None] = lambda step, rate, terms: None
    say: Callable[[str], None] = lambda line: None
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Pace:
    """How often training writes something down.

    log_every: steps between two points of the curves. checkpoint_seconds: between two checkpoints, or a little more.
    score_every: steps between two points with scores; 0 is never. held_out_every: the same for the bound on held-out
    images, where a run has some.
    """

    log_every: int = 100
    checkpoint_seconds: float = 60.0
    score_every: int = 0
    held_out_every: int = 1_000


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """An event set by Ctrl-C or a termination signal, so that a step is always finished before the loop ends."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def train_runs(
    runs: Sequence[Run],
    data: Dataset,
    device: torch.device,
    pace: Pace,
    watch: Watch,
    *,
    checkpoints: Checkpoints | None = None,
    folders: Mapping[str, RunFolder] | None = None,
    scores: Scores | None = None,
    start: Mapping[str, Tensor] | None = None,
) -> Iterator[Trained]:
    """Train runs that stack as one fleet, from their checkpoints on; as halves where memory runs out.

    Each result is yielded once it is in its folder, if it has one. scores: scores each model at the points that the runs'
    record names; where it names none, as often as the pace says.
    start: weights to begin with where there is no checkpoint.
    """
    images = data.images_on(device)
    waiting = [list(runs)]
    while waiting:
        members = waiting.pop()
        hashes = {record_hash(run): run for run in members}
        # All of a fleet have the same networks and steps.
        most = partial(most_bytes, members[0], data.shape)
        snapshots = checkpoints.latest(list(hashes), watch.say, most) if checkpoints is not None else []
        kept = {run for snapshot in snapshots for run in snapshot.runs}
        fresh = [run for key, run in hashes.items() if key not in kept]
        parts = [([hashes[key] for key in snapshot.runs], snapshot) for snapshot in snapshots]
        for part, snapshot in [*parts, *([(fresh, None)] if fresh else [])]:
            try:
                training = _FleetTraining(
                    part, images, data, device, snapshot, checkpoints, folders or {}, watch, scores, start
                )
                results = training.run(pace)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                results, message = None, str(error).splitlines()[0]
            if results is not None:
                yield from results
                continue
            training = None  # its tensors must go before the halves come
            release_memory(device)
            if len(part) == 1:
                raise TrainingError(f"one model does not fit in memory: {message}. A smaller batch or network would")
            if checkpoints is not None:
                checkpoints.wait()
            halves = cut(part, -(-len(part) // 2))
            watch.say(
                f"out of memory with {len(part)} models: going on with {' and '.join(str(len(h)) for h in halves)}"
            )
            waiting += halves[::-1]


class _FleetTraining:
    """One fleet from its current step to its last."""

    def __init__(
        self,
        runs: Sequence[Run],
        images: Images,
        data: Dataset,
        device: torch.device,
        snapshot: Snapshot | None,
        checkpoints: Checkpoints | None,
        folders: Mapping[str, RunFolder],
        watch: Watch,
        scores: Scores | None,
        start: Mapping[str, Tensor] | None,
    ) -> None:
        self.fleet = Fleet(runs, images, data.factors, data.shape, device)
        self.hashes = tuple(record_hash(run) for run in runs)
        self.folders = [folders.get(key) for key in self.hashes]
        self.curves = snapshot.curves if snapshot is not None else Curves()
        self.spent = snapshot.seconds if snapshot is not None else 0.0
        self.checkpoints, self.watch = checkpoints, watch
        self.data, self.scores = data, scores
        self.said: set[str] = set()
        self.started = time.monotonic()
        if snapshot is not None:
            restore(self.fleet, snapshot)
        elif start is not None:
            self.fleet.begin_with(start)
            # From now on the weights are in the fleet, wherever they came from.
            self._save()
        elif runs[0].start_from:
            raise TrainingError(
                f"this run begins with the weights {runs[0].start_from} of another, and neither they nor a checkpoint are "
                "here; give that run's folder: --from DIR, or start= in Python"
            )

    @property
    def seconds(self) -> float:
        """The time each run has taken so far: its share of the fleet's time."""
        return self.spent + (time.monotonic() - self.started) / len(self.fleet)

    def run(self, pace: Pace) -> list[Trained]:
        """Take the remaining steps and return the results."""
        fleet, steps = self.fleet, self.fleet.runs[0].steps
        points = fleet.runs[0].scored.steps(steps)
        first = done = fleet.step_number
        self.watch.begin(fleet.runs, done)
        images = getattr(self.scores, "images", 0)
        if points and images > _MANY_IMAGES and fleet.device.type == "cpu":
            self.watch.say(
                f"each of {len(points)} points of the training is scored on {images:,} images, which takes minutes on a CPU; "
                "--scored.protocol posteriors has kl_split and true_tc of 10,000"
            )
        for row, folder in enumerate(self.folders):
            if folder is not None:
                folder.start(self.curves, row)
        appended = saved = time.monotonic()
        pause = pace.checkpoint_seconds
        with stop_requests() as stop:
            while done < steps:
                fleet.step()
                done += 1
                self.watch.step(done)
                if done - first == _EARLY:
                    self.watch.early(steps - done, (time.monotonic() - self.started) / _EARLY * (steps - done))
                if done % pace.log_every == 0 or done == steps or done in points:
                    averages = fleet.averages()
                    if self._due(done, pace.held_out_every):
                        bounds = held_out_terms(fleet)
                        averages = [terms | bound for terms, bound in zip(averages, bounds, strict=True)]
                    if done in points or (not points and self._due(done, pace.score_every)):
                        averages = [terms | self._scored(row) for row, terms in enumerate(averages)]
                    self.curves.add(done, averages)
                    now = time.monotonic()
                    self.watch.point(done, (done - first) * len(fleet) / (now - self.started), averages[0])
                    if now - appended > _APPEND_SECONDS:
                        self._append()
                        appended = now
                    if bool((fleet.state["failed_at"] >= 0).all()):
                        break
                    if (
                        self.checkpoints is not None
                        and now - saved > pause
                        and done < steps
                        and not self.checkpoints.busy
                    ):
                        pause = max(pace.checkpoint_seconds, _WRITING_SHARE * self.checkpoints.seconds)
                        self._save()
                        saved = now
                if stop.is_set() or self.watch.stop():
                    self._stop(done)
        self._append()
        results = [self._result(row, folder) for row, folder in enumerate(self.folders)]
        if self.checkpoints is not None and self.checkpoints.last and done == steps:
            self._keep_state(self.checkpoints)
        return results

    def _keep_state(self, checkpoints: Checkpoints) -> None:
        """Keep what is needed to continue after the last step. The results are complete without it."""
        try:
            self._save()
            checkpoints.wait()
        except WriteError as error:
            self.watch.say(f"{error}. The run is whole, and cannot be lengthened")

    def _due(self, step: int, every: int) -> bool:
        """Whether a multiple of `every` was passed since the previous point, or the last step has been taken."""
        before = self.curves.steps[-1] if self.curves.steps else 0
        return every > 0 and (step // every > before // every or step == self.fleet.runs[0].steps)

    def _scored(self, row: int) -> dict[str, float]:
        """The scores of one run's current model, as terms of its curves. Training goes on without those that fail."""
        if self.scores is None or int(self.fleet.state["failed_at"][row]) >= 0:
            return {}
        try:
            return {SCORE + name: float(value) for name, value in self.scores(self._model(row), self.data).items()}
        except (HackleError, ValueError) as error:
            if str(error) not in self.said:
                self.watch.say(f"no scores in the curves: {error}")
            self.said.add(str(error))
            return {}

    def _model(self, row: int) -> Model:
        """A copy of one run's current model."""
        fleet, run = self.fleet, self.fleet.runs[row]
        model = Model(run, fleet.shape, fleet.weights(row)).to(fleet.device)
        about(run.method).calibrate(run.method, model.networks, run, fleet.images_of(row), fleet.data_size)
        return model

    def _append(self) -> None:
        for row, folder in enumerate(self.folders):
            if folder is not None:
                folder.append(self.curves, row)

    def _save(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save(Snapshot(self.hashes, {**self.fleet.state, **self.curves.tensors()}, self.seconds))

    def _stop(self, done: int) -> None:
        """Write a checkpoint and stop."""
        self._append()
        if self.checkpoints is None:
            raise Stopped(f"stopped at step {done:,}; nothing is kept of a run without a folder (out)")
        self._save()
        self.checkpoints.wait()
        raise Stopped(
            f"stopped at step {done:,}; checkpoint in {self.checkpoints.folder}, from which it can be resumed"
        )

    def _result(self, row: int, folder: RunFolder | None) -> Trained:
        fleet = self.fleet
        run, failed_at = fleet.runs[row], int(fleet.state["failed_at"][row])
        known = {"curves": self.curves.row(row), "seconds": self.seconds}
        if folder is not None:
            folder.close()
        if failed_at >= 0:
            terms = ", ".join(fleet.broken_terms(row)) or "the total"
            return Trained(run, None, f"diverged at step {failed_at:,}: {terms} not finite", **known)
        model = self._model(row)
        if folder is not None:
            folder.finish(model.weights())
        return Trained(run, model, **known)


def restore(fleet: Fleet, snapshot: Snapshot) -> None:
    """Restore a fleet to the state of a snapshot of its runs."""
    for name, value in snapshot.of_fleet(fleet.state).items():
        fleet.state[name] = value.to(fleet.device, copy=True)


def last_good_step(checkpoints: Checkpoints, run: str) -> tuple[int, Path] | None:
    """The newest checkpoint in which a run was still finite, with its step."""
    checkpoints.wait()
    for snapshot in checkpoints.latest([run]):
        if int(snapshot.state["failed_at"][0]) < 0:
            return snapshot.step, checkpoints.folder
    return None
