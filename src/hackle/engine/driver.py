"""The driver of a study: hands out tasks, keeps their results, and is the only writer of the store.

A run goes through three states, each on disk before the next begins: nothing (or a checkpoint of its fleet), weights
in its folder, rows in the store. Whatever is killed at whatever moment, the next driver finds each run in one of these
states and continues from there. The runs of a fleet are scored once the weights of all of them are written; so a fleet
that has to be trained again is cut in the same way, and gives the same results. A stored run whose weights are kept may
be scored again to add missing scores. A run whose scoring fails is stored as failed and keeps its weights whatever else
is kept, so that retrying failed runs trains only those whose training failed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from hackle.core.notes import raised
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.engine.display import Display
from hackle.engine.errors import EngineError
from hackle.engine.executor import Event, Executor
from hackle.engine.folder import Keeper, StudyFolder
from hackle.engine.limit import TimeLimit
from hackle.engine.tasks import CheckNames, ChooseSize, References, ScoredRun, ScoreRun, Task, TrainedRun, TrainFleet
from hackle.scoring.scorer import ReferenceScores, with_reference
from hackle.store import Store
from hackle.store.tables import Outcome
from hackle.train import Checkpoints, DamagedCheckpoint, Stopped, cut
from hackle.train.grouping import group, kinds, stacking_key
from hackle.train.loop import stop_requests

ATTEMPTS = 3
"""Attempts at a task whose worker dies or hangs, or which fails for a reason that is not its run's."""
_FALLBACK_SIZE = 8
_LAST_WORDS = 120.0
"""Seconds that training tasks have to write a checkpoint when the study is stopped."""


@dataclass
class _Job:
    """A task in progress. `run` is the hash of a run to score, which is read from its folder when its turn comes. `group`
    identifies the runs that could train with those of a fleet."""

    task: Task | None
    run: str = ""
    attempts: int = 0
    group: str = ""
    heard: float = field(default_factory=time.monotonic)
    trained: TrainedRun | None = None


class Driver:
    """One study, from the current state of its folder to the end."""

    def __init__(
        self,
        runs: Sequence[Run],
        folder: StudyFolder,
        store: Store,
        keeper: Keeper,
        *,
        again: Collection[str] = (),
        fleet_size: int | None,
        retry_failed: bool,
        patience: float,
        limit: TimeLimit,
    ) -> None:
        """again: hashes of runs that are stored, have their weights and get the scores that they lack."""
        self.runs = {record_hash(run): run for run in runs}
        self.folder, self.store, self.keeper = folder, store, keeper
        self.fleet_size, self.patience, self.limit = fleet_size, patience, limit
        self._ends_training = False
        with closing(Checkpoints(folder.fleets)) as checkpoints:
            self._taken = checkpoints.steps()
        known = store.known()
        self.settled = {key for key, status in known.items() if status == "done" or not retry_failed}
        self.left = [run for key, run in self.runs.items() if key not in self.settled]
        self._unscored = [key for run in self.left if (key := record_hash(run)) in known and folder.is_trained(key)]
        self.again = [key for key in self.runs if key in again]
        self.failures: dict[str, str] = {}
        self.raised: dict[str, tuple[set[str], str]] = {}
        self.trained = self.scored = 0
        self._queues: dict[str, deque[_Job]] = {"score": deque(), "train": deque()}
        self._active: dict[int, _Job] = {}
        self._number = 0
        self._references: dict[str, dict[str, ReferenceScores]] = {}
        self._held: dict[str, list[tuple[TrainedRun, ScoredRun]]] = {}

    def model_steps(self) -> int:
        """Model-steps left to train."""
        return sum(run.steps for run in self.left if not self.folder.is_trained(record_hash(run)))

    def run(self, executor: Executor, display: Display) -> None:
        """Do everything that is left, or as much as the time allows."""
        self.executor, self.display, self.limit.scorers = executor, display, executor.scorers
        # Names that a worker cannot find are refused before the first step.
        named = {(type(run.method), type(run.architecture), run.scored): run for run in self.runs.values()}
        self._unchecked = executor.machines
        self._queues["score"].extend(_Job(CheckNames(tuple(named.values()))) for _ in range(executor.machines))
        with stop_requests() as stop:
            while self._fill() and self.limit.left > 0:
                for event in executor.wait(0.2):
                    self._handle(event)
                self._lose_patience()
                self._count_scorings()
                display.update()
                if stop.is_set():
                    self._stop()
                if not self._ends_training and self.ends_training():
                    executor.stop()
        self._discard_checkpoints()

    def _count_scorings(self) -> None:
        """Tell the display how many runs wait to be scored, and how many will be, including those still to be
        trained."""
        waiting = self._waiting()
        self.display.backlog = len(waiting)
        self.display.to_score = len(self.runs.keys() - self.settled) + len(self.settled.intersection(waiting))

    def _waiting(self) -> list[str]:
        """The runs that wait to be scored, or are being scored."""
        return [job.run for job in (*self._queues["score"], *self._active.values()) if job.run]

    def ends_training(self) -> bool:
        """Whether training has to end now; from then on only what is trained is scored."""
        trains = self._queues["train"] or any(isinstance(job.task, TrainFleet) for job in self._active.values())
        if not self._ends_training and trains and self.limit.ends_training(len(self._waiting())):
            self._ends_training = True
            self.display.say("the time is nearly over: fleets leave a checkpoint, and what is trained is scored")
        return self._ends_training

    def _plan(self) -> None:
        """Queue what is left: runs with weights are scored, groups with others get a fleet size and are trained."""
        for dataset in dict.fromkeys(run.dataset for run in (*self.left, *(self.runs[key] for key in self.again))):
            self._queues["score"].append(_Job(References(dataset)))
        self._score([*self.again, *self._unscored])
        left = {record_hash(run) for run in self.left}.difference(self._unscored)
        for members in group(self.runs.values()):
            mine = left.intersection(record_hash(run) for run in members)
            if all(self.folder.is_trained(key) for key in mine):
                self._score([record_hash(run) for run in members if record_hash(run) in mine])
            elif self.fleet_size is not None:
                self._cut(members, self.fleet_size)
            else:
                self._queues["train"].append(_Job(ChooseSize(tuple(members))))

    def _cut(self, members: Sequence[Run], size: int) -> None:
        """Queue a group's fleets. Fleets are cut from all runs, stored or not, so that they are the same every time; of several
        methods so many that no trainer is idle that would train one of them alone."""
        parts = min(self.executor.trainers, len(kinds(members)))
        for fleet in cut(members, min(size, -(-len(members) // parts))):
            keys = [key for run in fleet if (key := record_hash(run)) not in self.settled.union(self._unscored)]
            if all(self.folder.is_trained(key) for key in keys):
                self._score(keys)
            else:
                self._train([self.runs[key] for key in keys])

    def _train(self, runs: Sequence[Run]) -> None:
        self._queues["train"].append(_Job(TrainFleet(tuple(runs)), group=stacking_key(runs[0])))

    def _score(self, keys: Iterable[str]) -> None:
        self._queues["score"].extend(_Job(None, run=key) for key in keys)

    def _fill(self) -> bool:
        """Give tasks to free workers: scoring first, so that results are stored soon. Whether there is anything left to do in
        the time left."""
        waits = False
        for kind in ("score", "train"):
            too_long = []
            while self._queues[kind] and self.executor.free(kind):
                job = self._queues[kind].popleft()
                if job.run and not self._load(job):
                    continue
                if kind == "train" and not self._fits(job):
                    too_long.append(job)
                    continue
                assert job.task is not None
                self._number += 1
                job.heard = time.monotonic()
                self._active[self._number] = job
                if isinstance(job.task, TrainFleet):
                    self.limit.begin(self._number, job.group, len(job.task.runs))
                self.executor.submit(self._number, job.task)
            waits |= bool(self._queues[kind])
            self._queues[kind].extendleft(reversed(too_long))
        return waits or bool(self._active)

    def _fits(self, job: _Job) -> bool:
        """Whether a task of training can be begun. A fleet that is too long for the time left is cut: the other runs wait for
        the next call."""
        if self._ends_training or not isinstance(job.task, TrainFleet):
            return not self._ends_training
        runs = job.task.runs
        steps = [run.steps - self._taken.get(record_hash(run), 0) for run in runs]
        count = self.limit.fitting(job.group, steps, len(self._waiting()))
        job.task = TrainFleet(runs[: count or len(runs)])
        return count > 0

    def _load(self, job: _Job) -> bool:
        """Read the weights of a run to score. If they are damaged, a run that is not stored is trained again."""
        try:
            trained = self.folder.take(self.runs[job.run])
        except DamagedCheckpoint as error:
            if job.run in self.settled:
                self.display.say(f"{error}; this run keeps the scores that it has")
                return False
            self.display.say(f"{error}; training this run again")
            self.folder.drop(job.run)
            self._train([self.runs[job.run]])
            return False
        assert trained.weights is not None
        job.trained, job.task = trained, ScoreRun(trained.run, trained.shape, trained.weights)
        return True

    def _handle(self, event: Event) -> None:
        job = self._active[event.number]
        job.heard = time.monotonic()
        if event.what == "alive":
            if isinstance(event.value, int):
                self.display.training(event.number, event.value)
                self.limit.tell(event.number, event.value)
            elif event.value is not None:
                self.display.say(event.value)
            return
        del self._active[event.number]
        self.limit.end(event.number)
        succeeded = event.what == "done" and isinstance(job.task, TrainFleet)
        self.display.ended(event.number, sum(run.steps for run in job.task.runs) if succeeded else 0)  # type: ignore[union-attr]
        if event.what == "done":
            self._done(job, event.value)
        elif event.what == "fatal":
            raise EngineError(f"{event.value}. What is stored is whole; start the study again to go on")
        elif event.what == "error" and isinstance(job.task, CheckNames):
            raise EngineError(
                f"a worker does not find what this study names ({event.value}); nothing was trained. Workers import methods, "
                "networks and metrics of your own again: name files as path.py:name, or put the folder of their "
                "modules on PYTHONPATH, on every machine that works"
            )
        elif (
            event.what in ("stopped", "lost") and self._ends_training and isinstance(job.task, TrainFleet | ChooseSize)
        ):
            # It left a checkpoint, or had taken no step yet: then the request ends the worker itself.
            return
        elif event.what == "stopped":
            self._stop()
        elif event.what == "refused" and isinstance(job.task, TrainFleet):
            alike = kinds(job.task.runs)
            for members in alike:
                if len(alike) > 1:
                    # The loss of one method is at fault: the others train without it.
                    self._train(members)
                else:
                    for run in members:
                        self._keep_failed(run, str(event.value))
        else:
            self._try_again(job, str(event.value))

    def _done(self, job: _Job, value: Any) -> None:
        if isinstance(job.task, CheckNames):
            self._unchecked -= 1
            if not self._unchecked:
                self._plan()
        elif isinstance(job.task, ChooseSize):
            self._cut(job.task.runs, value)
        elif isinstance(job.task, TrainFleet):
            self._keep_trained(value)
        elif isinstance(job.task, References):
            self._know_references(job.task.dataset, value)
        elif job.trained is not None:
            self._keep_scored(job.trained, value)

    def _keep_trained(self, results: Sequence[TrainedRun]) -> None:
        """First all weights, then failures: see the docstring of this module."""
        self.trained += len(results)
        for result in results:
            if result.weights is not None:
                self.folder.put(result)
        for result in results:
            if result.weights is None:
                known = {"curves": result.curves, "training_seconds": result.seconds, "device": result.device}
                self._keep_failed(result.run, result.failure, **known)
        self._discard_checkpoints()
        self._score(record_hash(result.run) for result in results if result.weights is not None)

    def _discard_checkpoints(self) -> None:
        """Delete the checkpoints whose runs are all trained or stored."""
        checkpoints = Checkpoints(self.folder.fleets)
        checkpoints.discard(self.settled | self.folder.with_weights())
        if not self._active:
            checkpoints.tidy()
        checkpoints.close()

    def _keep_failed(self, run: Run, reason: str, **known: Any) -> None:
        """Store a run as failed. If it is trained, its weights stay, to be scored again."""
        self.store.add(Outcome(run, "failed", reason, **known), replace_failed=True)
        key = record_hash(run)
        self.settled.add(key)
        self.failures[key] = reason
        self.display.failed += 1

    def _know_references(self, dataset: str, references: dict[str, ReferenceScores]) -> None:
        self._references[dataset] = references
        for trained, scored in self._held.pop(dataset, []):
            self._keep_scored(trained, scored)

    def _keep_scored(self, trained: TrainedRun, scored: ScoredRun) -> None:
        """Store a run with its references, once they are known."""
        run = trained.run
        if run.dataset not in self._references:
            self._held.setdefault(run.dataset, []).append((trained, scored))
            return
        references = self._references[run.dataset]
        rows = [with_reference(row, references.get(row["protocol"], {})) for row in scored.rows]
        outcome = Outcome(
            run,
            "done",
            scores=rows,
            curves=trained.curves,
            arrays=scored.arrays,
            device=trained.device,
            training_seconds=trained.seconds,
            scoring_seconds=scored.seconds,
        )
        self.scored += 1
        self.display.scored(scored.seconds)
        self.limit.scored(scored.seconds)
        key = record_hash(run)
        for row in rows:
            if note := raised(row["score"], row["note"]):
                self.raised.setdefault(row["metric"], (set(), note))[0].add(key)
        if key in self.settled:
            self.store.extend(outcome)
            return
        self.store.add(outcome, replace_failed=True)
        self.settled.add(key)
        self.display.done += 1
        self.keeper.stored(run, rows)

    def _try_again(self, job: _Job, reason: str) -> None:
        """Queue a task once more, or report it. A fleet is halved first, so that only the run at fault is given up."""
        job.attempts += 1
        job.trained = None
        if job.attempts < ATTEMPTS:
            self.display.say(f"{_name(job)}: {reason}; trying again")
            self._queues["score" if job.run or isinstance(job.task, References | CheckNames) else "train"].appendleft(
                job
            )
        elif isinstance(job.task, CheckNames):
            raise EngineError(f"{_name(job)}: {reason}; nothing was trained")
        elif isinstance(job.task, ChooseSize):
            self._cut(job.task.runs, _FALLBACK_SIZE)
        elif isinstance(job.task, References):
            self.display.say(f"{_name(job)}: {reason}; going on without")
            self._know_references(job.task.dataset, {})
        elif isinstance(job.task, TrainFleet) and len(job.task.runs) > 1:
            self.display.say(f"{_name(job)}: {reason}; going on with halves of the fleet")
            for half in cut(job.task.runs, -(-len(job.task.runs) // 2)):
                self._train(half)
        elif job.run in self.settled:
            self.display.say(f"{_name(job)}: {reason}; it keeps the scores that it has")
        else:
            for run in job.task.runs if isinstance(job.task, TrainFleet) else [self.runs[job.run]]:
                self._keep_failed(run, f"{_name(job)}: {reason}")

    def _lose_patience(self) -> None:
        """Kill the workers that have not been heard from for too long."""
        for number, job in self._active.items():
            if time.monotonic() - job.heard > self.patience:
                self.display.say(f"{_name(job)}: no sign of life for {self.patience:.0f} s; its worker is killed")
                job.heard = time.monotonic()
                self.executor.kill(number)

    def _stop(self) -> None:
        """Let training tasks write checkpoints, keep what ends meanwhile, and say how to resume."""
        self.executor.stop()
        deadline = time.monotonic() + _LAST_WORDS
        training = {number for number, job in self._active.items() if isinstance(job.task, TrainFleet)}
        while training & self._active.keys() and time.monotonic() < deadline:
            for event in self.executor.wait(0.2):
                if event.what == "done":
                    self._handle(event)
                elif event.what != "alive":
                    self._active.pop(event.number, None)
        count = len(self.settled & self.runs.keys())
        raise Stopped(f"stopped with {count:,} of {len(self.runs):,} runs stored; the same command goes on from here")


def _name(job: _Job) -> str:
    if job.run:
        return f"scoring {job.run}"
    if isinstance(job.task, References):
        return f"references of {job.task.dataset}"
    if isinstance(job.task, CheckNames):
        return "a worker's look for what the study names"
    runs = list(job.task.runs) if isinstance(job.task, TrainFleet | ChooseSize) else []
    return f"training {record_hash(runs[0])}" if len(runs) == 1 else f"training of {len(runs)} runs"
