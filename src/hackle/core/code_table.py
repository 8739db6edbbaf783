"""Codes (n, c) of any size: dense, memory-mapped or sparse, read some columns at a time.

A sparse autoencoder has tens of thousands of codes, of which a row uses a few dozen. As a dense array in float64, 100,000
rows of 16,384 codes take 13 GB; their entries that are not zero, 64 a row, take 0.1 GB. A `CodeTable` holds the codes as they
were given and hands them out as `Block`s, each a range of columns with the rows and values of its entries. Rows of a column
that have no entry are zero there. A dense column has an entry in every row, so scores are written once, for entries.

Neither SciPy nor torch is imported: sparse matrices are recognised by their attributes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.core.columns import as_array
from hackle.core.files import human_size

ENTRIES = 2**21
"""How many entries a block has at most, if it has more than one column: with their rows and columns 48 MB."""
COLUMNS = 2048
"""How many columns a block has at most, so that tables with a row for each of them stay small."""
SLAB = 2**28
"""Bytes that are read at once from a memory-mapped array. Its rows lie far apart in the file, of which whole pages are
read: wide slabs read each page once or twice, narrow ones many times."""
DENSE = 2**30
"""Bytes up to which a sparse or memory-mapped table is made dense for scores that need all codes at once."""


class SizeError(ValueError):
    """Codes that are too many to be held as one dense array."""


class Block(NamedTuple):
    """The entries of some columns, column after column; rows of a column without one are zero."""

    values: NDArray[np.float64]
    where: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    """The row of each entry, and its column, counted from the block's first; None if every row has an entry in each."""
    height: int
    """The number of rows of the table."""
    width: int
    """The number of columns of the block."""

    @property
    def constant(self) -> int:
        """How many of the columns have the same value in every row."""
        if self.where is None:
            columns = self.values.reshape(self.width, self.height)
            return int((columns == columns[:, :1]).all(axis=1).sum())
        places = self.where[1]
        first = np.zeros(self.width)
        first[places[::-1]] = self.values[::-1]
        first[np.bincount(places, minlength=self.width) < self.height] = 0
        return self.width - len(np.unique(places[self.values != first[places]]))


def is_sparse(values: Any) -> bool:
    """Whether these are a SciPy sparse matrix or array, of any format."""
    return hasattr(values, "tocsc") and hasattr(values, "nnz")


def is_large(values: Any) -> bool:
    """Whether codes are of a kind that must not be made dense unasked: a table, a sparse matrix, or mapped from a file."""
    return isinstance(values, CodeTable) or is_sparse(values) or (isinstance(values, np.memmap) and values.ndim == 2)


class CodeTable:
    """Codes (n, c) read in blocks, from an array, a memory-mapped array or a sparse matrix; another table is taken as is.

    rows: which of the source's rows, in this order; all of them if None. single: whether numbers are rounded to float32
    first, as codes of models are.
    """

    def __init__(self, source: Any, rows: NDArray[np.int64] | None = None, *, single: bool = False) -> None:
        if isinstance(source, CodeTable):
            known = source._rows
            rows = known if rows is None else rows if known is None else known[rows]
            source, single = source._source, single or source._single
        self.is_sparse = is_sparse(source)
        self._source: Any = source if self.is_sparse else as_array(source) if not is_large(source) else source
        self._rows, self._single = rows, single
        self._columns: Any = None
        self._slab: tuple[int, NDArray] = (0, np.empty((0, 0)))
        self.shape: tuple[int, int] = (self._source.shape[0] if rows is None else len(rows), self._source.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self._source.dtype

    @property
    def ndim(self) -> int:
        return 2

    def take(self, places: NDArray[np.int64]) -> CodeTable:
        """The rows at these places, in this order; nothing is read."""
        return CodeTable(self, np.asarray(places, dtype=np.int64))

    def dense(self) -> NDArray[np.float64]:
        """All codes as one array; a `SizeError` if that takes more than `DENSE` bytes."""
        if (size := 8 * self.shape[0] * self.shape[1]) > DENSE:
            raise SizeError(
                f"this needs all {self.shape[1]:,} codes of {self.shape[0]:,} rows at once, as a dense array of "
                f"{human_size(size)}, and arrays are made up to {human_size(DENSE)}; score fewer codes or rows, or by "
                "a metric that works in blocks: mig, mig_sup, dcimig, modularity, sap, mcc, dci (l1-svm, lasso), "
                "informativeness (quantised)"
            )
        whole = self._by_column().toarray() if self.is_sparse else self._read(0, self.shape[1])
        return self._rounded(np.asarray(whole))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self.dense().astype(dtype or np.float64, copy=False)

    def _rounded(self, values: NDArray) -> NDArray[np.float64]:
        values = values.astype(np.float32, copy=False) if self._single else values
        return values.astype(np.float64, copy=False)

    def _by_column(self) -> Any:
        """The chosen rows of a sparse matrix, column by column."""
        if self._columns is None:
            chosen = self._source if self._rows is None else self._source.tocsr()[self._rows]
            columns = chosen.tocsc(copy=chosen.format == "csc" and not chosen.has_canonical_format)
            columns.sum_duplicates()
            self._columns = columns
        return self._columns

    def _read(self, start: int, stop: int) -> NDArray:
        """Columns of a dense source, in memory."""
        part = self._source[:, start:stop] if self._rows is None else self._source[self._rows, start:stop]
        part = np.array(part) if isinstance(self._source, np.memmap) else np.asarray(part)
        mapped, copied = getattr(self._source, "_mmap", None), getattr(self._source, "mode", "") == "c"
        if isinstance(mapped, mmap.mmap) and not copied and hasattr(mmap, "MADV_DONTNEED"):
            # Pages that were read would count as this process's memory until another one needs them. Those of an array that
            # copies what is written to it are not given back: what was written is there alone.
            mapped.madvise(mmap.MADV_DONTNEED)
        return part

    def _dense_columns(self, start: int, stop: int) -> NDArray:
        if not isinstance(self._source, np.memmap):
            return self._read(start, stop)
        first, slab = self._slab
        if not first <= start < stop <= first + slab.shape[1]:
            width = max(stop - start, SLAB // max(1, self.dtype.itemsize * len(self)))
            first, slab = start, self._read(start, min(self.shape[1], start + width))
            self._slab = first, slab
        return slab[:, start - first : stop - first]

    def block(self, start: int, stop: int) -> Block:
        """The columns `start` to `stop`."""
        height, width = len(self), stop - start
        if not self.is_sparse:
            values = np.ascontiguousarray(self._rounded(self._dense_columns(start, stop)).T)
            return Block(values.reshape(-1), None, height, width)
        columns = self._by_column()
        ends = columns.indptr[start : stop + 1]
        values, rows = (part[ends[0] : ends[-1]] for part in (columns.data, columns.indices))
        places = np.repeat(np.arange(width), np.diff(ends))
        return Block(self._rounded(values), (rows.astype(np.int64), places), height, width)

    def _counts(self) -> NDArray[np.int64]:
        """Entries of each column, (c,)."""
        if self.is_sparse:
            return np.diff(self._by_column().indptr).astype(np.int64)
        return np.full(self.shape[1], len(self), dtype=np.int64)


def partition(*tables: CodeTable) -> Iterator[tuple[int, int]]:
    """Ranges of columns, the same for all tables, whose blocks have few enough entries and columns."""
    before = np.concatenate([[0], np.cumsum(sum(table._counts() for table in tables))])
    start, stop = 0, len(before) - 1
    while start < stop:
        end = int(np.searchsorted(before, before[start] + ENTRIES, side="right")) - 1
        end = min(max(end, start + 1), start + COLUMNS, stop)
        yield start, end
        start = end
