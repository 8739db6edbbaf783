"""Data sets with known factors, loaded by name, and your own data, loaded by path or passed directly.

A name may end in how images are resized, `cats+resize=64`, so that a run's record contains it.
"""

from __future__ import annotations

import copy
import os
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset as TorchDataset

from hackle.core.errors import HackleError
from hackle.core.notes import with_code
from hackle.core.parts import Parts, is_named, is_reference, nearest
from hackle.core.types import Dataset
from hackle.datasets import own
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError
from hackle.datasets.fetch import data_root
from hackle.datasets.hdf5 import ENDINGS
from hackle.datasets.memory import contents, from_torch, gone_from_memory, in_memory
from hackle.datasets.pixels import AS_THEY_ARE, Reading, as_bytes, say
from hackle.datasets.source import DataError, Source

__all__ = [
    "DATASETS",
    "AnyData",
    "DataError",
    "OtherData",
    "dataset_of",
    "find",
    "load",
    "load_of_run",
    "needs_trust",
    "own_fingerprint",
    "sized",
    "warn_of_other",
    "without_size",
]
AnyData = Dataset | TorchDataset | str | Path
"""What Python functions accept as a data set: one of hackle's, a map-style PyTorch data set, a name or a path."""
_SIZE = re.compile(r"(resize|pad)=([1-9][0-9]{0,3})")


class OtherData(UserWarning):
    """A model trained on data in memory is scored on other data."""

    code = "other-data"


def _made(name: str, thing: Any, root: Path) -> Dataset:
    """The data set that a user's function returns, or the object itself if it is one."""
    try:
        made = thing() if callable(thing) and not isinstance(thing, Dataset) else thing
    except HackleError:
        raise
    except Exception as error:
        raise DataError(f"{name} failed: {type(error).__name__}: {error}") from error
    made = made.load(root) if isinstance(made, Source) else made
    made = from_torch(made) if isinstance(made, TorchDataset) else made
    if not isinstance(made, Dataset):
        raise DataError(
            f"{name} gives {type(made).__name__}; expected a data set, such as hackle.datasets.arrays.ArrayDataset of an array "
            "of images, or a Source that loads one"
        )
    if in_memory(made.name):
        # A record names the function and keeps the hash of its source.
        made = copy.copy(made)
        made.name = made.name.partition("@")[0]  # type: ignore[misc]
    return made


def _adopted(name: str, thing: Any) -> Source | None:
    """A user's data set, or a function that makes one, as a `Source`."""
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
"""Every data set by name."""


def load(
    name: str | Path | TorchDataset,
    root: Path | str | None = None,
    *,
    resize: int | None = None,
    pad: int | None = None,
) -> Dataset:
    """Load a data set by name, from an .npz or HDF5 file or a folder of images, from the function at `path.py:name`, or from a
    map-style PyTorch data set.

    Published sets are stored under `root`, each in a folder of its name; None means the environment variable
    HACKLE_DATA, or hackle in the user's cache folder. Names take precedence over paths: write ./mnist for your own
    folder called mnist. resize, pad: make images square with this many pixels a side, by scaling, by black borders, or
    by both, which keeps their proportions. A name that ends in them, `cats+resize=64`, does the same.
    """
    if isinstance(name, TorchDataset):
        return from_torch(name, resize=resize, pad=pad)
    whole = sized(str(name), resize=resize, pad=pad)
    if in_memory(whole):
        raise gone_from_memory(whole)
    place, how = without_size(whole)
    if place in DATASETS:
        return _fitted(_load_published(DATASETS[place], data_root(root)), how)
    path = Path(os.path.expanduser(place))
    if os.path.exists(path):
        return own.load(path, how)
    if not is_reference(place) and (path.suffix in (".npz", *ENDINGS) or os.sep in place):
        raise DataError(
            f"there is no file or folder {path}; expected an .npz or HDF5 file, a folder of images or the name of a data set"
        )
    return _fitted(find(place).load(data_root(root)), how)


def sized(name: str, *, resize: int | None = None, pad: int | None = None) -> str:
    """A data set's name with how its images are resized.

    >>> sized("cats", resize=64), sized("cats+resize=32"), sized("cats", resize=64, pad=80)
    ('cats+resize=64', 'cats+resize=32', 'cats+resize=64+pad=80')
    """
    Reading(resize, pad)
    return name + "".join(f"+{key}={side}" for key, side in (("resize", resize), ("pad", pad)) if side is not None)


def without_size(name: str) -> tuple[str, Reading]:
    """A data set's name or path alone, and how its images are resized."""
    parts = name.split("+")
    sizes: dict[str, int] = {}
    while len(parts) > 1 and (size := _SIZE.fullmatch(parts[-1])):
        sizes = {size[1]: int(size[2])} | sizes
        parts.pop()
    if not sizes or parts == [""] or os.path.exists(os.path.expanduser(name)):
        return name, AS_THEY_ARE
    return "+".join(parts), Reading(sizes.get("resize"), sizes.get("pad"))


def own_fingerprint(name: str) -> str:
    """What identifies the contents of the user's file or folder of this name; empty for other data sets."""
    path = Path(without_size(name)[0]).expanduser()
    is_own = (
        bool(name)
        and name not in DATASETS
        and (path.is_dir() or (path.is_file() and path.suffix in (".npz", *ENDINGS)))
    )
    return own.fingerprint(path) if is_own else ""


def _fitted(dataset: Dataset, how: Reading) -> Dataset:
    """The same images, resized."""
    if not how.changes_size:
        return dataset
    if not isinstance(dataset, ArrayDataset):
        raise DataError(
            f"{dataset.name} draws its images of {'×'.join(map(str, dataset.shape))} as they are needed; resize and pad are "
            "for images that are stored"
        )
    images, said = as_bytes(dataset.name, dataset.images, how)
    say(dataset.name, said)
    return ArrayDataset(dataset.name, images, dataset.factors, said)


def needs_trust(name: str) -> bool:
    """Whether loading this data set would import code that the user has not named in this process."""
    name, _ = without_size(name)
    known = name in DATASETS or not is_reference(name) or os.path.exists(os.path.expanduser(name))
    return not known and not is_named(name)


def load_of_run(name: str, root: Path | str | None = None) -> Dataset:
    """The data set that a run's record names. The record keeps a path as it was given, so it may be relative."""
    place, _ = without_size(name)
    path = os.path.expanduser(place)
    try:
        return load(name, root)
    except DataError as error:
        if place in DATASETS or in_memory(name) or os.path.isabs(path) or os.path.exists(path):
            raise
        raise DataError(
            f"{error}. The run's record names {name!r}, relative to the folder where hackle was started to train it; now it is "
            f"started in {Path.cwd()}: change to the folder of then, or say where the data set is, by --dataset of `hackle "
            "score` and `hackle show`, or in Python"
        ) from error


def dataset_of(dataset: AnyData) -> Dataset:
    """The data set itself, the one of this name, or the images of a PyTorch data set."""
    if isinstance(dataset, str | Path | TorchDataset):
        return load(dataset)
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"the data set is of type {type(dataset).__name__}; expected one with factors, as from hackle.load, its name, a "
            "map-style data set of PyTorch, or hackle.from_arrays(images, factors)"
        )
    return dataset


def warn_of_other(dataset: Dataset, trained_on: str) -> None:
    """Warn if a model was trained on data in memory and these are others."""
    if not in_memory(trained_on) or dataset.name == trained_on:
        return
    title, known = trained_on.split("@")
    now = contents(dataset) if isinstance(dataset, ArrayDataset) else ""
    if now != known:
        text = (
            f"the model was trained on {title} with contents {known}; these data, {dataset.name}, have others"
            f"{f', {now}' if now else ''}: scores and pictures are of the model on other data"
        )
        warnings.warn(with_code(text, OtherData.code), OtherData, stacklevel=3)


def find(name: str) -> Source:
    """The `Source` of the data set of that name, or of your own at `path.py:name` or `module:name`."""
    if name not in DATASETS and not is_reference(name):
        raise DataError(
            f"there is no data set {name!r}: {nearest(name, DATASETS)} The path of an .npz or HDF5 file or of a folder of "
            "images serves too"
        )
    return DATASETS.find(name)


def _load_published(known: Source, root: Path) -> Dataset:
    try:
        return known.load(root)
    except DamagedError as error:
        raise DamagedError(
            f"{error}. `hackle data check {known.name}` compares its files with what was published; "
            f"`hackle data fetch {known.name} --force` fetches them again"
        ) from error
