"""What a study will take on this machine: groups, fleets, hours, memory and disk, from a short measurement.

Each kind of training, as defined by methods, networks, image shape and sizes, is measured briefly with a few models: as
many as keep the device busy. Larger fleets are a few percent faster and take far longer to build. Kinds with the fewest
weights come first, since a step of the largest may take a minute. Those for which there was no time left take the rate of
the measured kinds with one of their methods, or the mean of all, and are marked as estimates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hackle.core.design import REGIMES, architecture_name, as_column
from hackle.core.parts import name_of
from hackle.core.regimes import Drawing
from hackle.core.types import Dataset, Run
from hackle.datasets import load
from hackle.studies.study import StudyError
from hackle.train import choose_fleet_size
from hackle.train.fleet import Fleet, build_networks
from hackle.train.grouping import group, stacking_key
from hackle.train.size import spread

STORED_BYTES = 70_000
"""Bytes that the store keeps per run: 60 scores and 20 thinned curves, as measured, and 1,000 rows of 10 codes."""
_WARM_UP = {"cpu": 1, "cuda": 6}
"""Steps before the clock starts: on CUDA the first few run eagerly and are then captured as a graph."""
_LONGEST = 5.0
"""The most seconds for one kind."""
_TRIED = {"cpu": 2, "cuda": 64}
"""Models to measure with, if the fleet has that many."""


@dataclass(frozen=True)
class GroupPlan:
    """Runs that stack, cut into fleets.

    `method` is the first one's name, and how many more there are. `rate` is in model-steps per second, `memory` in bytes of
    a fleet, `weights` in bytes of a run. `regime` is what the first run's data give beside single images, in words.
    """

    dataset: str
    method: str
    architecture: str
    latents: int
    steps: int
    runs: int
    fleet_size: int
    rate: float
    measured: bool
    memory: int
    weights: int
    regime: str = ""

    @property
    def fleets(self) -> int:
        return -(-self.runs // self.fleet_size)

    @property
    def hours(self) -> float:
        return self.runs * self.steps / self.rate / 3600


@dataclass(frozen=True)
class _Measurement:
    fleet_size: int
    rate: float
    memory: int


def plan_groups(
    runs: Sequence[Run],
    device: torch.device,
    *,
    root: Path | str | None = None,
    fleet_size: int | None = None,
    seconds: float = 20.0,
    tell: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[GroupPlan]:
    """The groups of a study with their measured rates. Measuring stops after about `seconds`; the kind with the fewest
    weights is always measured.

    `tell` is called with the number of kinds done, their total, and what is being measured.
    """
    if fleet_size is not None and fleet_size < 1:
        raise StudyError(f"fleet_size is {fleet_size}; expected 1 or more, or none for as many as fit")
    groups = group(runs)
    data = {name: load(name, root) for name in dict.fromkeys(run.dataset for run in runs)}
    kinds: dict[str, list[Run]] = {}
    for members in groups:
        kinds.setdefault(_kind(members[0], data), members)
    weights = {kind: _weights(members[0], data) for kind, members in kinds.items()}
    kinds = {kind: kinds[kind] for kind in sorted(kinds, key=lambda kind: weights[kind])}
    measured: dict[str, _Measurement] = {}
    started = time.monotonic()
    for number, (kind, members) in enumerate(kinds.items()):
        if measured and time.monotonic() - started > seconds:
            break
        tell(number, len(kinds), f"{_named(members)} on {members[0].dataset}")
        left = max(0.5, (seconds - (time.monotonic() - started)) / (len(kinds) - number))
        measured[kind] = _measure(members, data[members[0].dataset], device, fleet_size, left)
    tell(len(kinds), len(kinds), "")
    return [_planned(members, _kind(members[0], data), kinds, weights, measured) for members in groups]


def _kind(run: Run, data: Mapping[str, Dataset]) -> str:
    """Runs of one kind take equally long per step: seeds, weights, the number of steps, the images and how these are
    drawn do not matter."""
    return stacking_key(replace(run, dataset=str(data[run.dataset].shape), steps=1, drawing=Drawing()))


def _methods(runs: Sequence[Run]) -> set[str]:
    return {name_of(run.method) for run in runs}


def _named(runs: Sequence[Run]) -> str:
    """The method of a group, or its first and how many more."""
    more = len(_methods(runs)) - 1
    return name_of(runs[0].method) + (f" + {more} more" if more else "")


def _weights(run: Run, data: Mapping[str, Dataset]) -> int:
    """Bytes of a run's networks."""
    networks = build_networks(run, data[run.dataset].shape).values()
    return sum(value.numel() * value.element_size() for network in networks for value in network.parameters())


def _measure(
    runs: Sequence[Run], data: Dataset, device: torch.device, fleet_size: int | None, seconds: float
) -> _Measurement:
    size = min(len(runs), fleet_size or choose_fleet_size(runs, data, device))
    tried = min(size, _TRIED.get(device.type, 2))
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    before = _memory(device)
    fleet = Fleet(spread(runs, tried), data.images_on(device), data.factors, data.shape, device)
    begun = time.perf_counter()
    for _ in range(_WARM_UP.get(device.type, 1)):
        fleet.step()
    _wait(device)
    steps, started = 0, time.perf_counter()
    if device.type == "cpu" and started - begun > min(seconds, _LONGEST):
        # A step that takes all of the time is measured well enough.
        steps, started = _WARM_UP["cpu"], begun
    while steps < 1 or (time.perf_counter() - started < min(seconds, _LONGEST) and steps < 1000):
        fleet.step()
        steps += 1
        if steps % 10 == 0:
            # Steps are only queued on a device; without waiting, thousands would be queued before the time is up.
            _wait(device)
    _wait(device)
    elapsed = time.perf_counter() - started
    memory = max(0, _memory(device) - before) * size // tried
    return _Measurement(size, tried * steps / elapsed, memory)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _memory(device: torch.device) -> int:
    """The peak of bytes in use on the device, or by this process, which keeps freed memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def _planned(
    members: Sequence[Run],
    kind: str,
    kinds: dict[str, list[Run]],
    weights: dict[str, int],
    measured: dict[str, _Measurement],
) -> GroupPlan:
    run = members[0]
    alike = [value for key, value in measured.items() if _methods(kinds[key]) & _methods(members)]
    basis = [measured[kind]] if kind in measured else alike or list(measured.values())
    return GroupPlan(
        run.dataset,
        _named(members),
        architecture_name(run.architecture),
        run.latents,
        run.steps,
        len(members),
        min(len(members), max(value.fleet_size for value in basis)),
        sum(value.rate for value in basis) / len(basis),
        kind in measured,
        max(value.memory for value in basis),
        weights[kind],
        ", ".join(filter(None, (as_column(getattr(run, name)) for name in REGIMES))),
    )
