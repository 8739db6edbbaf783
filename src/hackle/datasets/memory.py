"""Data in memory: arrays, tensors, and PyTorch data sets.

Such data have no path by which a run could name them, so their name contains sixteen digits of a hash of their
contents: `discs@1f0c…`. A run that trains on them keeps that name in its record; to resume or score it, pass the same
data again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset

from hackle.core.columns import Kinds, as_array, columns_of, kind_by_name
from hackle.core.factors import FactorError, FactorGrid
from hackle.core.progress import progress
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.labels import guessed_kinds, labelled_grid, own_grid, unlabelled
from hackle.datasets.pixels import Channels, Reading, as_bytes, say
from hackle.datasets.source import DataError

_NAME = re.compile(r"([^@]+)@([0-9a-f]{16})")
_HASHED_AT_ONCE = 64 * 2**20


def in_memory(name: str) -> bool:
    """Whether a name is that of a data set in memory.

    >>> in_memory("discs@0123456789abcdef"), in_memory("dsprites")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def gone_from_memory(name: str) -> DataError:
    """The error for data in memory that are requested by name."""
    title, contents = name.split("@")
    return DataError(
        f"the data set {title} lay in memory when the run was trained, and its contents, {contents}, are kept nowhere. Pass "
        "the same data again: hackle.fit(run, dataset=data, out=…, resume=True), hackle.score(folder, data), "
        "hackle.show(folder, data), with data = hackle.from_arrays(images, factors); or save them as an .npz and name that by "
        "--dataset of `hackle score` and `hackle show`"
    )


def contents(dataset: ArrayDataset) -> str:
    """Sixteen hexadecimal digits of a hash over images and factors."""
    images, grid = dataset.images, dataset.factors
    facts = [(factor.name, factor.values) for factor in grid.factors]
    whole = hashlib.sha256(repr((images.shape, facts)).encode())
    whole.update(np.ascontiguousarray(grid.rows(np.arange(grid.size))).data)
    step = max(1, _HASHED_AT_ONCE // images[0].nbytes)
    for start in progress(range(0, len(images), step), f"hashing {dataset.name}"):
        whole.update(np.ascontiguousarray(images[start : start + step]).data)
    return whole.hexdigest()[:16]


def from_arrays(
    images: Any,
    factors: Any = None,
    *,
    names: Sequence[str] | None = None,
    kinds: Kinds | None = None,
    name: str = "arrays",
    resize: int | None = None,
    pad: int | None = None,
    channels: Channels | None = None,
    value_range: tuple[float, float] | None = None,
) -> ArrayDataset:
    """A data set of images in memory, with their factors if known.

    images: an array or tensor (n, h, w), (n, h, w, c) or (n, c, h, w) of bytes, booleans, 16-bit or floating-point
    numbers, or a list of such images. factors: an array (n,) or (n, f), a dictionary or data frame with a column for
    each factor; None if unknown. names, kinds: of the factors; kinds may also be a dictionary with some of them.
    resize, pad, channels, value_range: as in `hackle.datasets.pixels.Reading`. name: the data set's name, to which a
    hash of its contents is appended.

    >>> data = from_arrays(np.zeros((4, 8, 8), np.uint8), {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}, name="dots")
    >>> data.shape, data.factors.names, data.name.partition("@")[0]
    ((8, 8, 1), ('x', 'y'), 'dots')
    """
    how, several = Reading(resize, pad, channels, value_range), isinstance(images, list | tuple)
    if not name or "@" in name:
        raise DataError(
            f"a data set's name is {name!r}; expected one without @, behind which a hash of its contents stands"
        )
    tensors = any(isinstance(image, torch.Tensor) for image in (images if several else [images]))
    pictures = [as_array(image) for image in images] if several else as_array(images)
    pixels, said = as_bytes(name, pictures, how, in_doubt="first" if tensors else "last")
    try:
        grid, left_out = _grid(name, factors, names, kinds, len(pixels))
    except FactorError as error:
        raise DataError(f"{name}: {error}") from error
    dataset = ArrayDataset(name, pixels, grid, [*said, *left_out])
    say(name, [*dataset.said, *guessed_kinds(grid)])
    dataset.name = f"{name}@{contents(dataset)}"
    return dataset


def _grid(
    name: str, factors: Any, names: Sequence[str] | None, kinds: Kinds | None, count: int
) -> tuple[FactorGrid, list[str]]:
    columns = {} if factors is None else columns_of(factors, "factors")
    if not columns:
        return unlabelled(count), []
    wrong = next((column for column in columns.values() if column.shape != (count,)), None)
    if wrong is not None:
        raise DataError(f"{name}: factors have {len(wrong):,} rows; expected one for each of {count:,} images")
    titles = list(columns) if names is None else [str(title) for title in names]
    if len(titles) != len(columns):
        raise DataError(f"{name}: {len(titles)} names of factors, {', '.join(titles)}; expected {len(columns)}")
    kind = kind_by_name(titles, kinds)
    told = [kind[title] for title in titles]
    if names is None and not isinstance(factors, Mapping) and not hasattr(factors, "columns"):
        return labelled_grid(name, titles, told, list(columns.values())), []
    return own_grid(name, titles, told, list(columns.values()))


def from_torch(dataset: Any, *, resize: int | None = None, pad: int | None = None) -> ArrayDataset:
    """A data set from a map-style PyTorch data set, whose items are each read once.

    An item is an image, a pair of an image and a label or factors, or a dictionary with `image`. A label is a number or
    a string; factors are several of them, in an array or a dictionary.
    """
    name = type(dataset).__name__
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        raise DataError(
            f"{name} has no length or cannot be indexed; expected a map-style data set, with __len__ and __getitem__"
        )
    if not len(dataset):
        raise DataError(f"{name} has no items; expected images")
    images: list[NDArray | torch.Tensor] = []
    table: dict[str, list[Any]] = {}
    for number in progress(range(len(dataset)), f"reading {name}"):
        image, known = _split(name, number, dataset[number])
        images.append(image.detach().cpu() if isinstance(image, torch.Tensor) else as_array(image))
        facts = dict(_facts(name, number, known))
        if number and facts.keys() != table.keys():
            raise DataError(
                f"{name}: item {number} has the factors {', '.join(facts) or 'none'}, item 0 {', '.join(table) or 'none'}; "
                "expected the same of all items"
            )
        for key, value in facts.items():
            table.setdefault(key, []).append(value)
    columns = {key: np.array(values) for key, values in table.items()}
    return from_arrays(images, columns, name=name, resize=resize, pad=pad)


def _split(name: str, number: int, item: Any) -> tuple[Any, Any]:
    """An item's image, and its label or factors."""
    if isinstance(item, Mapping):
        key = next((key for key in ("image", "images", "x") if key in item), None)
        if key is None:
            raise DataError(
                f"{name}: item {number} has {', '.join(map(str, item))}; expected an image by the key image"
            )
        rest = {name: value for name, value in item.items() if name != key}
        return item[key], rest
    if isinstance(item, tuple | list) and len(item) in (1, 2):
        return item[0], item[1] if len(item) == 2 else None
    if isinstance(item, tuple | list):
        raise DataError(
            f"{name}: item {number} is {len(item)} things; expected an image, a pair of an image and its label or factors, or "
            "a dictionary with image"
        )
    return item, None


def _facts(name: str, number: int, known: Any, title: str = "") -> Iterator[tuple[str, Any]]:
    """The labels or factors of an item as single values by name."""
    if known is None:
        return
    if isinstance(known, Mapping):
        for key, value in known.items():
            yield from _facts(name, number, value, str(key))
        return
    values = as_array(known)
    if values.dtype == object or values.ndim > 1:
        raise DataError(f"{name}: of item {number} {title or 'the label'} is {known!r:.60}; expected numbers or texts")
    if values.ndim == 0:
        yield title or "label", values[()]
    else:
        plain = title in ("", "factors", "labels")
        yield from ((f"{'factor' if plain else title}_{place}", value) for place, value in enumerate(values))
