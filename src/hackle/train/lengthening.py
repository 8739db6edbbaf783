"""Continuing a run where it ended: more steps of the same record, with the result of a run of that length from the
start.

Batches and noise are functions of seed and step, and the last checkpoint holds the optimisers' states. So the first steps of
a longer run are those of the shorter one, unless what happens at a step depends on the total number.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hackle.core.factors import FactorGrid
from hackle.core.randomness import Stream
from hackle.core.records import record_hash
from hackle.core.types import Dataset, Run
from hackle.train.checkpoints import Checkpoints, Snapshot, most_bytes
from hackle.train.errors import TrainingError
from hackle.train.fleet import Fleet
from hackle.train.method_errors import check_phases
from hackle.train.schedules import ends_with_the_run

_PLAIN: dict[str, Any] = {"precision": "float32", "held_out": 0}
"""With these a step needs only one image, and runs on any processor."""


class _Watched(Run):
    """A run that notes whether its number of steps, or that of a copy, is read."""

    @property
    def steps(self) -> int:  # type: ignore[override]
        self.asked.append(True)
        return vars(self)["steps"]

    @steps.setter
    def steps(self, value: int) -> None:
        vars(self)["steps"] = value

    @property
    def asked(self) -> list[bool]:
        return vars(self).setdefault("asked", [])


def depends_on_steps(run: Run, shape: tuple[int, int, int], factors: FactorGrid | int = 1) -> str:
    """What in a run's training depends on the total number of steps, in words; "" if nothing does. One step is tried.
    factors: the grid of its data, which runs with pairs or labels need."""
    if any(ends_with_the_run(phase.optimiser(run)) for phase in check_phases(run)):
        return "its learning rate falls until the last step"
    values: dict[str, Any] = {each.name: getattr(run, each.name) for each in fields(Run)}
    values |= _PLAIN
    watched = _Watched(**values)

    fleet = _blank_fleet(watched, shape, factors)
    watched.asked.clear()
    for phase in watched.method.phases(watched):
        phase.optimiser(watched)
    fleet.step()
    return f"{type(run.method).__name__} asks for run.steps" if watched.asked else ""


def _blank_fleet(run: Run, shape: tuple[int, int, int], factors: FactorGrid | int) -> Fleet:
    """A fleet of one run that trains on black images."""

    def blank(index: Tensor, stream: Stream) -> Tensor:
        return torch.zeros((*index.shape, *shape), dtype=torch.uint8)

    return Fleet([run], blank, factors, shape)


def longer(before: Run, run: Run) -> bool:
    """Whether a run is another one with more steps."""
    return before.steps < run.steps and record_hash(replace(before, steps=run.steps)) == record_hash(run)


def state_to_continue(place: Path, before: Run, run: Run, data: Dataset, checkpoints: Checkpoints) -> Snapshot:
    """The state of the shorter run in a folder as a snapshot of the longer one; from now on it is the newest
    checkpoint."""
    if reason := depends_on_steps(run, data.shape, data.factors):
        raise TrainingError(
            f"{place} holds this run with {before.steps:,} steps, and it cannot be lengthened: {reason}, so in a run of "
            f"{run.steps:,} the first {before.steps:,} would have been different. Train it in another folder (--out), or begin "
            f"a new run with its weights: --from {place}, or start= in Python"
        )
    key, other = record_hash(run), record_hash(before)
    most = partial(most_bytes, run, data.shape)
    snapshots = [snapshot for name in (key, other) for snapshot in checkpoints.latest([name], most=most)]
    if not snapshots:
        raise TrainingError(
            f"{place} holds this run with {before.steps:,} steps, and the state of its optimisers was not kept, without which "
            "it cannot be lengthened: it was trained with --no-keep-state, in a study or by an older hackle. Train it in "
            f"another folder (--out), or begin a new run with its weights: --from {place}, or start= in Python"
        )
    newest = max(snapshots, key=lambda snapshot: snapshot.step)
    state = newest.of_fleet(_blank_fleet(replace(run, **_PLAIN), data.shape, data.factors).state)
    snapshot = Snapshot((key,), {**state, **newest.curves.tensors()}, newest.seconds)
    checkpoints.save(snapshot)
    checkpoints.wait()
    return snapshot
