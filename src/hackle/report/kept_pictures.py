"""Pictures of the runs whose weights a study kept, made when a figure asks for them.

Figures see only tables, and a table of results holds no images. `with_pictures` adds arrays to a study's tables, images as
uint8 tiles (rows, columns, h, w, c), which figures choose from and lay out: `reconstructions`, originals above their
reconstructions; `traversals` of every code; `latents`, what their rows are: code, KL to the prior, first and last value;
`samples` from the prior; `pair-maps` (pairs, rows, columns, h, w, c) of two codes that move together; `noise`, images beside
what a generator makes of their codes with other noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hackle.core.errors import HackleError
from hackle.core.types import Dataset
from hackle.core.untrusted import is_inside
from hackle.datasets import load, needs_trust
from hackle.pictures import (
    Look,
    code_ends,
    code_rows,
    noise_reconstructions,
    pair_maps,
    reconstructions,
    samples,
    to_bytes,
)
from hackle.shipped import TRAINED
from hackle.shipped.models import cards
from hackle.store.tables import Tables
from hackle.train.model import Model

PICTURES: dict[str, Callable[[Look], NDArray[Any]]] = {
    "reconstructions": reconstructions,
    "traversals": code_rows,
    "latents": code_ends,
    "samples": samples,
    "pair-maps": pair_maps,
    "noise": noise_reconstructions,
}


def _has_weights(place: Path) -> bool:
    return (place / "weights.safetensors").is_file()


class KeptLooks(Mapping[str, Look]):
    """By hash, a look at each run whose data set is available, with readable weights in the study's folder or among the models
    that come with hackle."""

    def __init__(self, folder: Path, runs: Mapping[str, str], root: Path | None, trust: bool) -> None:
        self._root, self._trust = root, trust
        self._datasets: dict[str, Dataset | None] = {}
        self._unreadable: set[str] = set()
        # Several pictures of a run are requested one after the other.
        self._last: tuple[str, Look | None] = ("", None)
        shipped = {card["run"]: TRAINED / name for name, card in cards().items()}
        # A run is called what its table says, perhaps by the path of another folder.
        own = {
            run: folder / run
            for run in runs
            if _has_weights(folder / run) and (trust or is_inside(folder, folder / run))
        }
        places = {run: own.get(run) or shipped.get(run) for run in runs}
        self._places = {run: place for run, place in places.items() if place is not None}
        self._runs = {run: runs[run] for run in self._places}

    def _dataset(self, name: str) -> Dataset | None:
        if name not in self._datasets:
            try:
                absent = needs_trust(name) and not self._trust
                self._datasets[name] = None if absent else load(name, self._root)
            except HackleError:
                # A report is written where the results are; the images need not be there.
                self._datasets[name] = None
        return self._datasets[name]

    def _look(self, run: str) -> Look | None:
        dataset = self._dataset(self._runs[run]) if run in self._runs and run not in self._unreadable else None
        if dataset is None:
            return None
        if run != self._last[0]:
            try:
                self._last = run, Look.of(Model.load(self._places[run], trust=self._trust), dataset, n=200)
            except (HackleError, ValueError) as error:
                warnings.warn(f"there are no pictures of the run {run}: {error}", stacklevel=2)
                self._unreadable.add(run)
                return None
        return self._last[1]

    def __contains__(self, run: object) -> bool:
        return self._look(str(run)) is not None

    def __getitem__(self, run: str) -> Look:
        if (look := self._look(run)) is None:
            raise KeyError(run)
        return look

    def __iter__(self) -> Iterator[str]:
        return (run for run in self._runs if run in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class KeptPictures(Mapping[str, NDArray[Any]]):
    """By hash, what is drawn from each look."""

    def __init__(self, draw: Callable[[Look], NDArray[Any]], looks: KeptLooks) -> None:
        self._draw, self._looks = draw, looks

    def __contains__(self, run: object) -> bool:
        return run in self._looks

    def __getitem__(self, run: str) -> NDArray[Any]:
        drawn = self._draw(self._looks[run])
        return drawn if drawn.ndim == 2 else to_bytes(drawn)

    def __iter__(self) -> Iterator[str]:
        return iter(self._looks)

    def __len__(self) -> int:
        return len(self._looks)


def with_pictures(tables: Tables, folder: str | Path, root: str | Path | None = None, *, trust: bool = False) -> Tables:
    """The tables of a study's folder with pictures of the runs whose weights were kept, or come with hackle.

    root: the folder of data sets. trust: import what the runs' records name, as in `Model.load`.
    """
    runs = {str(run): str(dataset) for run, dataset in zip(tables.runs["run"], tables.runs["dataset"], strict=True)}
    looks = KeptLooks(Path(folder) / "runs", runs, None if root is None else Path(root), trust)
    made = {name: KeptPictures(draw, looks) for name, draw in PICTURES.items()}
    return replace(tables, array=lambda name: made[name] if name in made else tables.array(name))
