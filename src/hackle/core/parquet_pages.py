"""What the tables of a Parquet file take in memory, found before they are read.

A file may come from anyone. Its footer says how large its columns are, and may say anything. Its pages have headers of their
own, with sizes that Arrow compares with what it unpacks: these are added up here. A value that stands in a page once may be
that of many rows, so that texts are read as numbers of a dictionary and measured before each row gets its own.

https://parquet.apache.org/docs/file-format/ has the fields and their numbers, Thrift's compact protocol their bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

_UNPACKED, _PACKED, _PAGES = 2, 3, {5: 2, 8: 4}
"""The fields of a page's header for both of its sizes, and the structures of the two kinds of pages with data, each with the
field that says how these are encoded."""
_PREFIXED = 7
"""DELTA_BYTE_ARRAY, in which a text may repeat the one before it: a page of such texts unpacks to any size once more."""
_DEEPEST, _STRUCT = 4, 12


def unpacked_bytes(path: Path, file: Any, columns: Collection[str] | None = None) -> int:
    """The bytes that the pages of these columns, or of all, of an open `pyarrow.parquet.ParquetFile` take unpacked."""
    total = 0
    with path.open("rb") as content:
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                if columns is None or column.path_in_schema in columns:
                    first = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0)
                    total += sum(_pages(content, first, first + column.total_compressed_size))
    return total


def expanded_bytes(batch: Any) -> int:
    """The bytes of a batch of Arrow's once every row has its own copy of its values."""
    import pyarrow as pa
    from pyarrow import compute

    pc: Any = compute
    total = 0
    for column in batch.columns:
        total += column.nbytes
        if pa.types.is_dictionary(column.type) and len(column.dictionary):
            lengths = pc.binary_length(column.dictionary)
            total += pc.sum(pc.cast(lengths.take(column.indices), pa.int64())).as_py() or 0
    return total


def _pages(file: IO[bytes], start: int, end: int) -> Iterator[int]:
    """The size of each page between two places of a file, unpacked."""
    while start < end:
        file.seek(start)
        header = _fields(file)
        unpacked, packed = header.get(_UNPACKED), header.get(_PACKED)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
            raise ValueError("a page has no size")
        for name, encoding in _PAGES.items():
            if isinstance(told := header.get(name), dict) and told.get(encoding) == _PREFIXED:
                raise ValueError("a page holds texts as parts of each other, which hackle does not write")
        yield unpacked
        start = file.tell() + packed


def _fields(file: IO[bytes], depth: int = 0) -> dict[int, Any]:
    """The numbers and structures of a structure by the numbers of their fields; texts are passed over."""
    values: dict[int, Any] = {}
    name = 0
    while (head := _byte(file)) != 0:
        name = name + (head >> 4) if head >> 4 else _signed(file)
        values[name] = _value(file, head & 15, depth)
    return values


def _value(file: IO[bytes], kind: int, depth: int) -> Any:
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return _byte(file)
    if kind in (4, 5, 6):
        return _signed(file)
    if kind == 8:
        file.seek(_varint(file), 1)
        return None
    if kind == _STRUCT and depth < _DEEPEST:
        return _fields(file, depth + 1)
    raise ValueError("a page's header is none")


def _signed(file: IO[bytes]) -> int:
    value = _varint(file)
    return (value >> 1) ^ -(value & 1)


def _varint(file: IO[bytes]) -> int:
    value = 0
    for place in range(0, 64, 7):
        byte = _byte(file)
        value |= (byte & 127) << place
        if byte < 128:
            return value
    raise ValueError("a page's header is none")


def _byte(file: IO[bytes]) -> int:
    if not (byte := file.read(1)):
        raise ValueError("it ends within a page's header")
    return byte[0]
