"""Your own HDF5 files: `images` and `factors` as in an .npz, or `images` and `labels` as in the file of 3D Shapes.

Images stored contiguously in the file are memory-mapped; chunked ones are read a part at a time.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hackle.core.allocator import available_memory
from hackle.core.progress import progress
from hackle.datasets.damage import as_texts, check_room, reading
from hackle.datasets.pixels import Reading, as_bytes
from hackle.datasets.source import DataError

if TYPE_CHECKING:
    import h5py

ENDINGS = (".h5", ".hdf5")
KNOWN = ("images", "factors", "labels", "factor_names", "factor_kinds")
_FORMAT = "an HDF5 file"
_AT_ONCE = 2**28
"""The most bytes of texts that are read at once."""
_TEXT = 60
"""Bytes that Python takes for a text beside its letters."""


def read_hdf5(path: Path, how: Reading) -> tuple[NDArray[np.uint8], tuple[str, ...], dict[str, NDArray]]:
    """The images of a file as bytes, what was done to them, and its other arrays by name; labels are called factors."""
    import h5py

    with reading(path, _FORMAT), h5py.File(path, "r") as file:
        there = own_arrays(path, file)
        check_names(path, list(file), there, KNOWN)
        if {"factors", "labels"} <= there.keys():
            raise DataError(f"{path} holds both factors and labels; expected one of the two")
        rest = {name: _plain(path, item) for name, item in there.items() if name != "images"}
        images, said = as_bytes(path.name, _mapped(path, there["images"]), how)
    if "labels" in rest:
        rest["factors"] = rest.pop("labels")
        rest |= _of_3d_shapes(images, rest) if "factor_names" not in rest else {}
    return images, said, rest


def own_arrays(path: Path, file: h5py.File) -> dict[str, h5py.Dataset]:
    """The arrays that lie in a file itself, by name. Links are left out, and arrays whose numbers lie elsewhere are refused:
    they may be any file on this machine."""
    import h5py

    own = [str(name) for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
    there = {name: item for name in own if isinstance(item := file[name], h5py.Dataset)}
    for name, item in there.items():
        if item.external or item.is_virtual:
            raise DataError(f"{path}: its {name} lie in other files, which are not followed; copy them into one file")
        if item.shape is None:
            raise DataError(f"{path}: its {name} are empty; expected an array")
    return there


def check_names(path: Path, names: Collection[str], arrays: Collection[str], known: Collection[str]) -> None:
    """Refuse a file without an array called images among its arrays, or with names that are not known."""
    if "images" not in arrays:
        raise DataError(f"{path} holds {', '.join(names) or 'nothing'}; expected an array called images")
    if unknown := sorted(set(names) - set(known)):
        raise DataError(f"{path} holds {', '.join(unknown)}, which is not understood; known are {', '.join(known)}")


def _mapped(path: Path, images: h5py.Dataset) -> h5py.Dataset | NDArray:
    """Images memory-mapped if stored contiguously; otherwise bytes in memory, or other numbers to be read in slices."""
    if images.dtype.hasobject:
        # Mapped, bytes of the file would be taken for addresses of Python's objects.
        raise DataError(f"{path}: its images are not numbers")
    if images.chunks is None and images.size and (offset := images.id.get_offset()) is not None:
        return np.asarray(np.memmap(path, images.dtype, "r", offset, images.shape))
    # A chunk is unpacked whole, and an image is read whole.
    check_room(path, images.dtype.itemsize * max(math.prod(images.chunks or ()), math.prod(images.shape[1:])))
    return _read(path, images) if images.dtype == np.uint8 and images.size else images


def _read(path: Path, images: h5py.Dataset) -> NDArray[np.uint8]:
    """All images in memory, read in whole chunks with a progress bar."""
    check_room(path, images.nbytes)
    out = np.empty(images.shape, np.uint8)
    chunk = (images.chunks or (1,))[0]
    step = chunk * max(1, 1024 // chunk)
    for start in progress(range(0, len(out), step), f"reading {path.name}"):
        images.read_direct(out, np.s_[start : start + step], np.s_[start : start + step])
    return out


def _plain(path: Path, item: h5py.Dataset) -> NDArray:
    """An array of numbers, or of strings if the file has bytes or objects."""
    import h5py

    name = str(item.name)[1:]
    if item.dtype.kind == "O" and h5py.check_string_dtype(item.dtype) is None:
        raise DataError(f"{path}: its {name} are neither numbers nor texts")
    check_room(f"{path}: {name}", item.nbytes)
    return _texts(path, item) if item.dtype.kind in "OS" else np.asarray(item[()])


def _texts(path: Path, item: h5py.Dataset) -> NDArray[np.str_]:
    """Texts, read a few at a time: in the file they may all be the same one, which is as long as the file at most."""
    where, room = f"{path}: {str(item.name)[1:]}", available_memory()
    if not item.shape or 0 in item.shape:
        return np.asarray(item.asstr()[()]).astype(str)
    width = max(item.dtype.itemsize, path.stat().st_size if item.dtype.kind == "O" else 0) * math.prod(item.shape[1:])
    step, taken = max(1, min(65_536, _AT_ONCE // width)), 0
    check_room(where, _TEXT * math.prod(item.shape))
    parts = []
    for start in range(0, len(item), step):
        parts.append(np.asarray(item.asstr()[start : start + step]))
        taken += sum(_TEXT + len(text) for text in parts[-1].flat)
        if taken > room:
            check_room(where, taken * len(item) // min(len(item), start + step))
    return as_texts(where, np.concatenate(parts))


def _of_3d_shapes(images: NDArray, rest: dict[str, NDArray]) -> dict[str, NDArray]:
    """Names and kinds of the factors of 3D Shapes, if labels are six columns with at most its numbers of values."""
    from hackle.datasets.shapes3d import FACTORS, SOURCE

    table, most = rest["factors"], SOURCE.factor_sizes
    if images.shape[1:] != (64, 64, 3) or table.ndim != 2 or table.shape[1] != len(FACTORS):
        return {}
    if any(len(np.unique(column)) > size for column, size in zip(table.T, most.values(), strict=True)):
        return {}
    names, kinds = zip(*FACTORS, strict=True)
    return {"factor_names": np.array(names), "factor_kinds": np.array(kinds)}
