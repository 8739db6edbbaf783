"""A study's results as five Parquet tables, which any program reads, and which open again as a store in memory.

`runs` has a row per run, `scores` one per score, `factors` one per score and factor, `curves` one per run, term and step, and
`arrays` one per run and array, whose bytes are those of the store. What follows from a run's record, such as its seed, is there
for other programs and not read again. Files may come from anyone: their columns are checked, and so is what they take in
memory, which a small compressed file may claim much of.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.allocator import available_memory
from hackle.core.files import human_size
from hackle.core.parquet_pages import expanded_bytes, unpacked_bytes
from hackle.core.untrusted import file_inside
from hackle.store.blobs import Blob, pack
from hackle.store.schema import StoreError, connect, create_tables, damage_advice, transaction, undamaged
from hackle.store.tables import FACTOR_COLUMNS, STORED_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("scores", "runs", "curves", "factors", "arrays")
CURVE = ("run", "term", "step", "value")
NO_CURVES = pd.DataFrame(dict(zip(CURVE, (np.empty(0, kind) for kind in ("O", "O", "i8", "f4")), strict=True)))
"""The table of curves before the first is written."""
ARRAY = ("run", "name", "dtype", "shape", "data")
_MEASURE = ("metric", "representation", "better", "protocol", "scoring_seed")
_NUMBERS = ("score", "low", "high", "seconds")
_READ = {
    "runs": STORED_COLUMNS,
    "scores": ("run", *_MEASURE, "reference", *_NUMBERS, "note"),
    "curves": CURVE,
    "factors": FACTOR_COLUMNS,
    "arrays": ARRAY,
}
"""The columns that are read of each table."""
_KINDS = {
    **dict.fromkeys((*_NUMBERS, "reference", "strength", "training_seconds", "scoring_seconds", "value"), "number"),
    **dict.fromkeys(("step", "scoring_seed"), "whole number"),
    "data": "bytes",
}
"""What the columns hold that do not hold text."""
_ROWS = {"scores": 65_536, "runs": 4_096, "curves": 1_048_576, "factors": 65_536, "arrays": 256}
"""Rows read at a time."""
_MOST_ROWS = 2**28
"""The most rows of a table: seven times the curves of 12,600 runs, of 15 terms and 200 points."""
_SHARE, _COPIES = 0.5, 4
"""The share of the free memory that the tables of a folder may take, and how often each value is held at a time: as Arrow's,
as Python's or NumPy's, and in the stores of the folder and of its reader."""


def is_there(folder: Path) -> bool:
    """Whether a folder holds a study's results as Parquet."""
    return all((folder / f"{name}.parquet").is_file() for name in TABLES)


def files(folder: Path) -> list[Path]:
    """The tables' files in a folder."""
    return [folder / f"{name}.parquet" for name in TABLES]


def write(path: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write frames of the same columns, one after another. The same frames give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = schema = None
    try:
        for frame in frames:
            schema = schema or _schema(frame)
            table = pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata(None)
            writer = writer or _writer(pq, path, schema)
            if table.num_rows:
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _schema(frame: pd.DataFrame) -> pa.Schema:
    """Text as text, numbers as they are, without pandas' own notes."""
    import pyarrow as pa

    def kind(column: Any) -> pa.DataType:
        if _KINDS.get(column.name) == "number" and not len(column):
            return pa.float64()
        if _KINDS.get(column.name) == "whole number":
            return pa.int64()
        if column.dtype.kind in "fiub":
            return pa.from_numpy_dtype(column.dtype)
        return pa.binary() if column.name == "data" else pa.string()

    return pa.schema([(str(name), kind(frame[name])) for name in frame])


def _writer(pq: Any, path: Path, schema: pa.Schema) -> Any:
    """Text and steps repeat and are written as numbers of a dictionary; the bytes of a curve's values are written place by
    place, which halves them."""
    split = [field.name for field in schema if field.name == "value"]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=[field.name for field in schema if field.name not in (*split, "data")],
        use_byte_stream_split=split,
        write_page_checksum=True,
        store_schema=False,
    )


def open_in_memory(folder: Path) -> sqlite3.Connection:
    """A store in memory with the results of a folder's tables. Each reader has its own; the tables are read once."""
    stamps = []
    for path in files(folder):
        with _readable(path):
            stamps.append((path.stat().st_mtime_ns, path.stat().st_size))
    kept = _read(folder.resolve(), tuple(stamps))
    connection = connect(Path(":memory:"))
    kept.backup(connection)
    return connection


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong in reading a table, as one sentence that names it."""
    import pyarrow as pa

    try:
        with undamaged(path):
            yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise StoreError(f"{path} cannot be read ({reason}); {damage_advice(path)}") from error


@lru_cache(maxsize=2)
def _read(folder: Path, stamps: Any) -> sqlite3.Connection:
    """The store of a folder, kept for as long as its files stay as they are."""
    reader = _Reader(folder)
    inserts = {"runs": _runs, "scores": _scores, "curves": _curves, "factors": _factors, "arrays": _arrays}
    with transaction(reader.connection):
        for name, insert in inserts.items():
            with _readable(folder / f"{name}.parquet"):
                insert(reader)
    return reader.connection


class _Reader:
    """A folder's tables and the store in memory that they are read into. room: the memory left for them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.room = folder, available_memory() * _SHARE
        self.connection = connect(Path(":memory:"))
        create_tables(self.connection, "")
        self._named: dict[tuple[Any, ...], int] = {}

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """The rows of a table, some at a time."""
        import pyarrow.parquet as pq

        path = file_inside(self.folder, f"{name}.parquet")
        if path is None:
            raise StoreError(f"{self.folder} has no file {name}.parquet")
        words = [column for column in _READ[name] if _KINDS.get(column, "text") in ("text", "bytes")]
        with pq.ParquetFile(path, read_dictionary=words, page_checksum_verification=True) as file:
            _check_columns(path, file.schema_arrow, _READ[name])
            rows = file.metadata.num_rows
            size = unpacked_bytes(path, file, _READ[name])
            if not 0 <= rows <= _MOST_ROWS or _COPIES * size > self.room:
                raise _too_large(path, f"{rows:,} rows of {human_size(size)}")
            for batch in file.iter_batches(_ROWS[name], columns=list(_READ[name])):
                self.room -= _COPIES * expanded_bytes(batch)
                if self.room < 0:
                    raise _too_large(path, "more")
                yield batch

    def rows(self, name: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a table one by one, with the columns of `_READ`."""
        for batch in self.batches(name):
            yield from zip(*(batch.column(column).to_pylist() for column in _READ[name]), strict=True)

    def numbers(self) -> dict[str, int]:
        """The number of each run."""
        return dict(self.connection.execute("SELECT run, id FROM runs"))

    def insert(self, table: str, rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> None:
        """Write rows of these columns of a table of the store."""
        places = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    def number(self, table: str, columns: Sequence[str], *names: Any) -> int:
        """The number of a row of a table of names, which is inserted when it is first met."""
        if (table, *names) not in self._named:
            self._named[table, *names] = len(self._named) + 1
            self.insert(table, [(self._named[table, *names], *names)], ("id", *columns))
        return self._named[table, *names]

    def insert_blobs(self, table: str, blobs: Iterable[tuple[int, Blob]]) -> None:
        self.insert(table, ((number, *blob) for number, blob in blobs), ("run", *Blob._fields))


def _too_large(path: Path, what: str) -> StoreError:
    room = human_size(int(available_memory() * _SHARE))
    return StoreError(f"{path} holds {what}, and {room} of memory can be given to it; {damage_advice(path)}")


def _check_columns(path: Path, schema: Any, wanted: Iterable[str]) -> None:
    import pyarrow as pa

    holds = {
        "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        "number": pa.types.is_floating,
        "whole number": pa.types.is_integer,
        "bytes": pa.types.is_binary,
    }
    for name in wanted:
        kind = _KINDS.get(name, "text")
        if name not in schema.names:
            raise StoreError(
                f"{path} has no column {name}, so it is no table of a study's results; {damage_advice(path)}"
            )
        there = schema.field(name).type
        if not holds[kind](there.value_type if pa.types.is_dictionary(there) else there):
            raise StoreError(
                f"{path}: the column {name} holds {schema.field(name).type}; expected {kind}. {damage_advice(path)}"
            )


def _runs(reader: _Reader) -> None:
    reader.insert("runs", reader.rows("runs"), STORED_COLUMNS)


def _scores(reader: _Reader) -> None:
    runs, dataset = reader.numbers(), dict(reader.connection.execute("SELECT run, dataset FROM runs"))
    references: dict[tuple[Any, ...], float] = {}

    def numbered() -> Iterator[tuple[Any, ...]]:
        for run, metric, representation, better, protocol, seed, reference, *numbers, note in reader.rows("scores"):
            if reference is not None:
                references.setdefault((dataset[run], protocol, seed, metric), reference)
            measure = reader.number("measures", _MEASURE, metric, representation, better, protocol, seed)
            yield runs[run], measure, *numbers, reader.number("notes", ("note",), note) if note else None

    reader.insert("scores", numbered(), ("run", "measure", *_NUMBERS, "note"))
    columns = ("dataset", "protocol", "scoring_seed", "metric", "reference")
    reader.insert("reference_scores", ((*key, value) for key, value in references.items()), columns)


def _curves(reader: _Reader) -> None:
    """Rows of one run and term stand together; the steps of all terms of a run are the same."""
    import pyarrow as pa

    runs, batches = reader.numbers(), list(reader.batches("curves"))
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    (run, runs_named), (term, terms) = (_coded(table.column(name)) for name in ("run", "term"))
    step, value = (table.column(name).to_numpy() for name in ("step", "value"))
    starts = np.flatnonzero(np.append(True, (run[1:] != run[:-1]) | (term[1:] != term[:-1])))
    steps: dict[int, Blob] = {}
    rows = []
    for start, end in zip(starts, [*starts[1:], len(run)], strict=True):
        number = runs[runs_named[run[start]]]
        axis = pack("step", step[start:end].astype(np.int64))
        if steps.setdefault(number, axis) != axis:
            raise ValueError(f"the curves of run {runs_named[run[start]]} have different steps")
        rows.append((number, pack(terms[term[start]], value[start:end])))
    reader.insert_blobs("curves", [*rows, *steps.items()])


def _coded(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """A column of text as numbers, and the texts that they stand for."""
    whole = column.combine_chunks().dictionary_encode() if column.num_chunks == 1 else column.unify_dictionaries()
    whole = whole.combine_chunks() if hasattr(whole, "combine_chunks") else whole
    return whole.indices.to_numpy(zero_copy_only=False).astype(np.int64), whole.dictionary.to_pylist()


def _factors(reader: _Reader) -> None:
    runs = reader.numbers()
    known = reader.connection.execute("SELECT metric, representation, protocol, scoring_seed, id FROM measures")
    measures = {tuple(kind): number for *kind, number in known}
    rows = ((runs[run], measures[tuple(kind)], factor, score) for run, *kind, factor, score in reader.rows("factors"))
    reader.insert("factor_scores", rows, ("run", "measure", "factor", "score"))


def _arrays(reader: _Reader) -> None:
    runs = reader.numbers()
    rows = reader.rows("arrays")
    blobs = ((runs[run], Blob(name, dtype, shape, data, zlib.crc32(data))) for run, name, dtype, shape, data in rows)
    reader.insert_blobs("arrays", blobs)
