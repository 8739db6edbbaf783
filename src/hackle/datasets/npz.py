"""Reading .npy and .npz files without pickles, memory-mapped if stored uncompressed.

An .npz is a zip of .npy members. A stored (uncompressed) member is mapped in place; a compressed one is read as a stream.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.datasets.damage import check_room, reading
from hackle.datasets.source import DataError

_LOCAL_HEADER = 30  # bytes before a zip member's own name; APPNOTE.TXT 4.3.7


class Member(NamedTuple):
    """One array of an .npz: its shape and type, and where its bytes start if they are stored uncompressed."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool
    offset: int | None


class Npz:
    """The arrays of an .npz file.

    `names` lists them; `read` gives one, memory-mapped and read-only if it is stored uncompressed; `stream` opens the
    bytes of one after its header, to read a large compressed array in parts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
            self._infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        self.names = tuple(self._infos)

    def member(self, name: str) -> Member:
        """The shape and type of an array, from its header alone."""
        with self.stream(name) as (_, member):
            return member

    def read(self, name: str) -> NDArray:
        """An array: mapped if stored, else in memory."""
        member = self.member(name)
        if member.offset is not None and member.shape and 0 not in member.shape:
            order = "F" if member.fortran else "C"
            mapped = np.memmap(self.path, member.dtype, "r", member.offset, member.shape, order)
            return np.asarray(mapped)
        check_room(f"{self.path}: {name}", self._infos[name].file_size)
        with self.stream(name) as (file, _), reading(self.path, "an .npz file"):
            data = np.frombuffer(file.read(), member.dtype)
        return data.reshape(member.shape, order="F" if member.fortran else "C")

    @contextmanager
    def stream(self, name: str) -> Iterator[tuple[IO[bytes], Member]]:
        """An array's bytes, positioned after the header, and its shape and type."""
        if name not in self._infos:
            raise DataError(f"{self.path} has no array {name!r}; it holds {', '.join(self.names) or 'none'}")
        info = self._infos[name]
        expected = f"an .npz file whose {name!r} is a plain array"
        with reading(self.path, expected), zipfile.ZipFile(self.path) as archive, archive.open(info) as file:
            shape, fortran, dtype = _read_header(file)
            header = file.tell()
            count = int(np.prod(shape, dtype=object))
            if header + count * dtype.itemsize != info.file_size:
                raise ValueError(f"{count:,} numbers announced, {info.file_size - header:,} bytes there")
            stored = info.compress_type == zipfile.ZIP_STORED
            yield file, Member(shape, dtype, fortran, _data_start(self.path, info) + header if stored else None)


def load_array(path: Path) -> NDArray:
    """The array of an .npy file, in memory."""
    with path.open("rb") as file:
        _read_header(file)
    return np.load(path, allow_pickle=False)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"it has .npy version {version}; expected 1.0 or 2.0")
    shape, fortran, dtype = readers[version](file)
    if dtype.itemsize == 0:
        raise ValueError("its numbers take no bytes, so that it may claim any number of them")
    if dtype.hasobject:
        raise ValueError("it holds pickled objects, which are never loaded; save it as numbers or texts")
    return shape, fortran, dtype


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes start: the name and extra field of the local header may differ from the directory's."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise ValueError("no member where the zip directory says one starts")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return info.header_offset + _LOCAL_HEADER + name + extra
