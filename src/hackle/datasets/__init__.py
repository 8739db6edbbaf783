"""Data sets with known factors, loaded by name, and people's own data, loaded by path."""

from __future__ import annotations

import difflib
import os
from functools import partial
from pathlib import Path
from typing import Any

from hackle.core.parts import Parts, is_named, is_reference
from hackle.core.types import Dataset, HackleError
from hackle.datasets import own
from hackle.datasets.damage import DamagedError
from hackle.datasets.fetch import data_root
from hackle.datasets.source import DataError, Source

__all__ = ["DATASETS", "DataError", "find", "found", "load", "load_of_run", "needs_trust"]


def _made(name: str, thing: Any, root: Path) -> Dataset:
    """What a function of the user's own makes, or what the name stands for itself."""
    try:
        made = thing() if callable(thing) and not isinstance(thing, Dataset) else thing
    except HackleError:
        raise
    except Exception as error:
        raise DataError(f"{name} failed: {type(error).__name__}: {error}") from error
    made = made.load(root) if isinstance(made, Source) else made
    if not isinstance(made, Dataset):
        raise DataError(
            f"{name} gives {type(made).__name__}; expected a data set, such as hackle.datasets.arrays.ArrayDataset of an array "
            "of images, or a Source that loads one"
        )
    return made


def _adopted(name: str, thing: Any) -> Source | None:
    """A data set of the user's own, or a function that makes one, as if it were published."""
    if not (callable(thing) or isinstance(thing, Dataset)):
        return None
    return Source(
        name, (getattr(thing, "__doc__", "") or "").partition("\n")[0], "", "", "", partial(_made, name, thing)
    )


DATASETS: Parts[Source] = Parts(
    "data set",
    ("hackle.datasets.*",),
    lambda thing: isinstance(thing, Source),
    adopt=_adopted,
    order=lambda found: not found.part.made_by_hackle,
    expected="a function that returns a data set",
    error=DataError,
)


def load(name: str | Path, root: Path | str | None = None) -> Dataset:
    """The data set of that name, the one in that .npz file or folder of images, or what `path.py:name` makes.

    Published sets lie under `root`, each in a folder of its name; None means the environment variable HACKLE_DATA, or
    hackle in the user's cache folder. A name goes before a path: write ./mnist for a folder of your own called mnist.
    """
    if str(name) in DATASETS:
        return _load_published(DATASETS[str(name)], data_root(root))
    path = Path(os.path.expanduser(name))
    if os.path.exists(path):
        return own.load(path)
    if is_reference(str(name)):
        return find(str(name)).load(data_root(root))
    if path.suffix == ".npz" or os.sep in str(name):
        raise DataError(
            f"there is no file or folder {path}; expected an .npz, a folder of images or the name of a data set"
        )
    raise _unknown(str(name))


def needs_trust(name: str) -> bool:
    """Whether to load this data set code would be imported that the user has not named in this process."""
    known = name in DATASETS or not is_reference(name) or os.path.exists(os.path.expanduser(name))
    return not known and not is_named(name)


def load_of_run(name: str, root: Path | str | None = None) -> Dataset:
    """The data set that a run's record names. The record keeps a path as it was given, and so perhaps relative."""
    path = os.path.expanduser(name)
    try:
        return load(name, root)
    except DataError as error:
        if name in DATASETS or os.path.isabs(path) or os.path.exists(path):
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
    """What is known of the data set of that name, or of one of your own that `path.py:name` or `module:name` names."""
    if name in DATASETS:
        return DATASETS[name]
    if not is_reference(name):
        raise _unknown(name)
    return DATASETS.find(name)


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
