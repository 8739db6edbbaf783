"""Data sets with known factors, loaded by name, and people's own data, loaded by path."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from hackle.core.types import Dataset
from hackle.datasets import (
    cars3d,
    celeba,
    chairs3d,
    dsprites,
    dsprites_variants,
    faces3d,
    mnist,
    mpi3d,
    own,
    rooms3d,
    shapes3d,
    smallnorb,
)
from hackle.datasets.damage import DamagedError
from hackle.datasets.fetch import data_root
from hackle.datasets.source import DataError, Source

__all__ = ["DATASETS", "DataError", "find", "found", "load", "load_of_run"]

DATASETS: dict[str, Source] = {
    known.name: known
    for known in (
        dsprites.SOURCE,
        *dsprites_variants.SOURCES,
        rooms3d.SOURCE,
        shapes3d.SOURCE,
        cars3d.SOURCE,
        smallnorb.SOURCE,
        *mpi3d.SOURCES,
        mnist.SOURCE,
        celeba.SOURCE,
        chairs3d.SOURCE,
        faces3d.SOURCE,
    )
}


def load(name: str | Path, root: Path | str | None = None) -> Dataset:
    """The data set of that name, or the one in that .npz file or folder of images.

    Published sets lie under `root`, each in a folder of its name; None means the environment variable HACKLE_DATA, or
    hackle in the user's cache folder. A name goes before a path: write ./mnist for a folder of your own called mnist.
    """
    if str(name) in DATASETS:
        return _load_published(DATASETS[str(name)], data_root(root))
    path = Path(name).expanduser()
    if path.exists():
        return own.load(path)
    if path.suffix == ".npz" or os.sep in str(name):
        raise DataError(
            f"there is no file or folder {path}; expected an .npz, a folder of images or the name of a data set"
        )
    raise _unknown(str(name))


def load_of_run(name: str, root: Path | str | None = None) -> Dataset:
    """The data set that a run's record names. The record keeps a path as it was given, and so perhaps relative."""
    path = Path(name).expanduser()
    try:
        return load(name, root)
    except DataError as error:
        if name in DATASETS or path.is_absolute() or path.exists():
            raise
        raise DataError(
            f"{error}. The run's record names {name!r}, relative to the folder where hackle was started to train it; now it is "
            f"started in {Path.cwd()}: change to the folder of then, or say where the data set is, by --dataset of `hackle "
            "score` and `hackle show`, or in Python"
        ) from error


def found(dataset: Dataset | str | Path) -> Dataset:
    """The data set, or the one of this name."""
    if isinstance(dataset, str | Path):
        return load(dataset)
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"the data set is of type {type(dataset).__name__}; expected one with factors, as from hackle.load, or its name. "
            "hackle.datasets.arrays.ArrayDataset makes one of an array of images"
        )
    return dataset


def find(name: str) -> Source:
    """What is known of the data set of that name."""
    if name not in DATASETS:
        raise _unknown(name)
    return DATASETS[name]


def _unknown(name: str) -> DataError:
    close = difflib.get_close_matches(name.lower(), DATASETS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(DATASETS)}."
    return DataError(f"there is no data set {name!r}: {hint} The path of an .npz or of a folder of images serves too")


def _load_published(known: Source, root: Path) -> Dataset:
    try:
        return known.load(root)
    except DamagedError as error:
        raise DamagedError(
            f"{error}. `hackle data check {known.name}` compares its files with what was published; "
            f"`hackle data fetch {known.name} --force` fetches them anew"
        ) from error
