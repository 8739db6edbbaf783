"""Arrays that hackle generates: made once, stored in a file with their checksum, made again if it is damaged.

The file holds the array's bytes and then their CRC-32 in four bytes, lowest first.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hackle.core.files import human_size, replacing


def kept(path: Path, name: str, make: Callable[[], NDArray], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """The array from the file, memory-mapped, or made and stored there. If it cannot be stored, it stays in memory.

    `make` returns an array of this shape and type; `name` is what warnings call it. Writing to the result does not
    change the file.
    """
    if path.exists():
        array = _read(path, shape, np.dtype(dtype))
        if array is not None:
            return array
        warnings.warn(f"{path} is damaged or cannot be read; it is made again", stacklevel=2)
    array = make()
    try:
        _write(path, array)
    except OSError as error:
        warnings.warn(
            f"cannot keep {name} in {path.parent} ({error}); it stays in memory and is made again next time. To keep it, "
            f"choose a data folder that can be written to and has {human_size(array.nbytes)} left",
            stacklevel=2,
        )
    return array


def _read(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> NDArray | None:
    """The array, or None if the file cannot be read, is of another size or has a wrong checksum."""
    size = int(np.prod(shape)) * dtype.itemsize
    try:
        if path.stat().st_size != size + 4:
            return None
        array = np.memmap(path, dtype, mode="c", shape=shape)
        (checksum,) = np.fromfile(path, "<u4", offset=size)
    except OSError:
        return None
    return array if zlib.crc32(array.data) == checksum else None


def _write(path: Path, array: NDArray) -> None:
    """Puts array and checksum in place at once: a full disk, a crash or another process leaves no half-written file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, uuid4().hex) as draft, draft.open("xb") as file:
        file.write(array.data)
        file.write(zlib.crc32(array.data).to_bytes(4, "little"))
