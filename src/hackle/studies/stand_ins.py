"""Which runs of a study can be trained with the data sets on this machine, and what stands in for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.datasets import DATASETS, find, without_size
from hackle.datasets.inventory import entries

STAND_INS = {
    # The same factors, rendered by hackle.
    "shapes3d": "rooms3d",
    # Also objects in three dimensions, seen from all sides, in colour.
    "cars3d": "rooms3d",
    "chairs3d": "rooms3d",
    "faces3d": "rooms3d",
    "mpi3d-toy": "rooms3d",
    "mpi3d-realistic": "rooms3d",
    "mpi3d-real": "rooms3d",
    "celeba": "rooms3d",
    # Also shapes in front of a busy background.
    "scream-dsprites": "noisy-dsprites",
    # Also five factors, of which category and pose matter most; grey, and harder than dSprites.
    "smallnorb": "noisy-dsprites",
}
"""For each data set that must be fetched, the closest one that hackle generates itself. MNIST has none."""


@dataclass(frozen=True)
class Available:
    """The runs that can be trained here and a line for each data set that was left out or replaced."""

    runs: list[Run]
    lines: list[str]


def available(runs: Sequence[Run], root: Path | str | None = None, *, offline: bool = False) -> Available:
    """The runs whose data sets are on this machine.

    offline: a missing data set is replaced by its stand-in, with the settings of the original; runs that become
    identical count once. Otherwise, and where there is no stand-in, its runs are left out. A name that is neither a
    data set nor a path is refused.
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
            if not offline or run.dataset not in STAND_INS:
                left_out[name] = left_out.get(name, 0) + 1
                continue
            replaced[name] = replaced.get(name, 0) + 1
            run = replace(run, dataset=STAND_INS[name])
        kept.setdefault(record_hash(run), run)
    lines = [
        f"{name} is not here: {count:,} runs are left out. `hackle data fetch {name}` gets it"
        + ("; --offline replaces it by " + STAND_INS[name] if name in STAND_INS and not offline else "")
        for name, count in left_out.items()
    ]
    lines += [
        f"{name} is not here: {STAND_INS[name]} stands in for it in {count:,} runs" for name, count in replaced.items()
    ]
    once = len(runs) - sum(left_out.values()) - len(kept)
    if once:
        when = " once data sets are replaced" if replaced else ""
        lines.append(f"{once:,} runs are the same as others{when}, and count once")
    return Available(list(kept.values()), lines)
