"""Which runs of a study can be trained with the data sets on this machine, and what stands in for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.datasets import DATASETS, find, without_size
from hackle.datasets.inventory import entries


@dataclass(frozen=True)
class Available:
    """The runs that can be trained here and a line for each data set that was left out or replaced."""

    runs: list[Run]
    lines: list[str]


def available(runs: Sequence[Run], root: Path | str | None = None, *, offline: bool = False) -> Available:
    """The runs whose data sets are on this machine.

    offline: a missing data set is replaced by its stand-in, which hackle generates itself, with the settings of the
    original; runs that become identical count once. Otherwise, and where there is no stand-in, its runs are left out. A
    name that is neither a data set nor a path is refused.
    """
    places = {run.dataset: without_size(run.dataset)[0] for run in runs}
    for name in set(places.values()):
        if not Path(name).expanduser().exists():
            find(name)
    here = {entry.name: entry.here in ("yes", "made by hackle") for entry in entries(root)}
    kept: dict[str, Run] = {}
    left_out: dict[str, int] = {}
    replaced: dict[str, int] = {}
    for run in runs:
        name = places[run.dataset]
        if name in DATASETS and not here[name]:
            stand_in = DATASETS[run.dataset].stand_in if run.dataset in DATASETS else ""
            if not offline or not stand_in:
                left_out[name] = left_out.get(name, 0) + 1
                continue
            replaced[name] = replaced.get(name, 0) + 1
            run = replace(run, dataset=stand_in)
        kept.setdefault(record_hash(run), run)
    lines = [
        f"{name} is not here: {count:,} runs are left out. `hackle data fetch {name}` gets it"
        + (f"; --offline replaces it by {DATASETS[name].stand_in}" if DATASETS[name].stand_in and not offline else "")
        for name, count in left_out.items()
    ]
    lines += [
        f"{name} is not here: {DATASETS[name].stand_in} stands in for it in {count:,} runs"
        for name, count in replaced.items()
    ]
    once = len(runs) - sum(left_out.values()) - len(kept)
    if once:
        when = " once data sets are replaced" if replaced else ""
        lines.append(f"{once:,} runs are the same as others{when}, and count once")
    return Available(list(kept.values()), lines)
