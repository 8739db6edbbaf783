"""Turns library exceptions on broken files and full disks into errors that name the file and say what to do."""

from __future__ import annotations

import csv
import errno
import shutil
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.core.allocator import available_memory
from hackle.core.files import human_size
from hackle.datasets.source import DataError

_BROKEN = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    SyntaxError,  # Pillow's word for a broken PNG
    RuntimeError,  # h5py's; and zipfile's NotImplementedError, for encryption and unknown compression
    csv.Error,
    tokenize.TokenError,  # numpy's, for the header of an array
    Image.DecompressionBombError,
    struct.error,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


class DamagedError(DataError):
    """A file that is damaged, truncated or not in the documented format."""


def check_room(where: object, size: int) -> None:
    """Refuse to read or allocate this many bytes if they do not fit in memory: a small file may claim any size."""
    if size > (free := available_memory()):
        raise DataError(
            f"{where} takes {human_size(size)} in memory, of which {human_size(free)} are free; take fewer or smaller images, "
            "or store images as bytes and uncompressed, which are then read as they are needed"
        )


def check_disk(what: str, folder: Path, size: int) -> None:
    """Refuse to write this many bytes into a folder if they do not fit on its disk."""
    free = shutil.disk_usage(folder).free
    if size > free:
        raise DataError(
            f"{what} needs {human_size(size)} in {folder}, {human_size(free)} are free: free some space, or choose another "
            "folder with the environment variable HACKLE_DATA"
        )


def as_texts(where: object, cells: NDArray[Any]) -> NDArray[np.str_]:
    """Strings as an array of them, each as wide as the longest, if that fits in memory: one long one among many may not."""
    check_room(where, 4 * cells.size * max(map(len, cells.flat), default=0))
    return cells.astype(str)


@contextmanager
def reading(path: Path, expected: str) -> Iterator[None]:
    """A failure to read `path` in this block becomes a DamagedError, or a DataError if the file may not be read.

    A full disk is left to `writing`.
    """
    try:
        yield
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        if isinstance(error, OSError) and error.errno in _CLOSED:
            raise DataError(f"{path} cannot be read ({error.strerror}): change its permissions") from error
        reason = str(error) or type(error).__name__
        raise DamagedError(
            f"{path} cannot be read as {expected} ({reason}): it is damaged, cut short or another kind of file"
        ) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A full disk or a folder without write permission, met in this block, becomes a DataError."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DataError(f"the disk that holds {path} is full: free some space and start again") from error
        if error.errno in _CLOSED:
            raise DataError(
                f"{path} cannot be written ({error.strerror}): make its folder writable, or choose another one with the "
                "environment variable HACKLE_DATA"
            ) from error
        raise
