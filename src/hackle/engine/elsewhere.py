"""Which runs of a study need not be trained, because other results hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.store import read


@dataclass(frozen=True)
class Rest:
    """The runs that remain, and lines that say how many were left out."""

    runs: list[Run]
    lines: list[str]


def without_stored(runs: Sequence[Run], places: Sequence[str]) -> Rest:
    """The runs that none of these results holds as trained and scored; those that failed there remain.

    places: folders of studies, or names of results that come with hackle. A run is its record: one that differs in steps or
    precision is another.
    """
    wanted = {record_hash(run): run for run in runs}
    rest, lines = dict(wanted), []
    for place in places:
        tables = read(place)
        done = tables.runs[tables.runs["status"] == "done"]
        held = wanted.keys() & set(done["run"]) & set(tables.scores["run"])
        lines.append(f"{place} holds {len(held):,} of {len(wanted):,} runs, trained and scored: they are left out")
        here, there = {run.precision for run in runs}, {*map(str, done["precision"])}
        if not held:
            lines[-1] = f"{place} holds none of {len(wanted):,} runs, trained and scored" + (
                "" if here & there or not there else f": its runs are in {' and '.join(sorted(there))} (--precision)"
            )
        rest = {key: run for key, run in rest.items() if key not in held}
    if places:
        lines.append(f"{len(rest):,} runs remain" if rest else "no run remains")
    return Rest(list(rest.values()), lines)
