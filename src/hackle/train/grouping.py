"""Which runs train together.

Runs of one **kind** differ in seeds and float fields alone. Runs of several kinds share a fleet if their methods differ
in the loss alone: each has a single phase with the same `shared` part (`hackle.core.types.Phase`), and builds the same
networks. The loss is then computed for the rows of each kind, and all else for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from hackle.core.method import about
from hackle.core.records import float_fields, place_of, record_hash, with_fields
from hackle.core.types import Adam, Run


def _blank(run: Run) -> Run:
    """The record with its seed and float fields blanked."""
    return with_fields(run, {**dict.fromkeys(float_fields(run), 0.0), "seed": 0})


def kind_key(run: Run) -> str:
    """Runs with equal keys are of one kind."""
    return record_hash(_blank(run))


def stacking_key(run: Run) -> str:
    """Runs with equal keys train together: runs of one kind, and of others whose methods have all but the loss in common."""
    common = _in_common(run)
    return kind_key(run if common is None else with_fields(run, {"method": common}))


def kinds(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs that differ in seeds and float fields alone, in the order of each kind's first run."""
    by_kind: dict[str, list[Run]] = {}
    for run in runs:
        by_kind.setdefault(kind_key(run), []).append(run)
    return list(by_kind.values())


def group(runs: Iterable[Run]) -> list[list[Run]]:
    """Groups of runs that stack, in the order of each group's first run; in a group the runs of one kind are neighbours."""
    every = kinds(runs)
    if len(every) < 2:
        return every
    groups: dict[str, list[Run]] = {}
    for alike in every:
        groups.setdefault(stacking_key(alike[0]), []).extend(alike)
    return list(groups.values())


@dataclass(frozen=True)
class _Common:
    """What the methods of one fleet have in common, as a record whose float fields may differ. `networks` and `sizes`: the
    function that builds the networks, and the fields of the class that defines it, which it may read."""

    shared: str
    name: str
    trains: tuple[str, ...]
    draws: str
    needs: tuple[bool, bool]
    optimiser: Adam
    networks: str
    sizes: tuple[Any, ...]
    codes: str


def _in_common(run: Run) -> _Common | None:
    """What runs of other methods must have to train beside this one; None where its method trains alone."""
    try:
        (phase,) = run.method.phases(run)
        shared = phase.shared
    except Exception:
        # Several phases, or a method that is refused, with a reason, before it trains.
        return None
    if shared is None or "<" in getattr(shared, "__qualname__", "<"):
        return None
    method, alike = about(run.method), _blank(run).method
    builder = next(each for each in method.__mro__ if "networks" in vars(each))
    names = [each.name for each in fields(builder)] if is_dataclass(builder) else []
    return _Common(
        shared=place_of(shared),
        name=phase.name,
        trains=phase.trains,
        draws=repr(sorted(phase.draws.items())),
        needs=(phase.needs_images, phase.needs_supervision),
        optimiser=phase.optimiser(run),
        networks=place_of(vars(builder)["networks"]),
        sizes=tuple(getattr(alike, name) for name in names),
        codes=repr(method.codes(run.method, run)),
    )
