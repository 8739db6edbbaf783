"""Reads the user's codes and factors: arrays, tensors, mappings and frames become columns of numbers or texts.

A factor is categorical (no order), ordinal or cyclic (ordered), or continuous. Its kind is given, or guessed by this
rule:

- texts and booleans are categorical; texts that are all numbers count as numbers, and a column in which more than half of
  them are is refused: one cell such as ? or 9,5 would make classes of its numbers, or names of the rows;
- numbers with fractions are continuous if they take more than 20 values or more values than half the rows;
- whole numbers are continuous if they take more than 20 values and have fewer than five rows per value;
- all other numbers are ordinal.

Neither pandas nor torch is imported: frames and tensors are recognised by their attributes, so this imports quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.factors import Factor, FactorError, Kind, cut
from hackle.core.parts import nearest


class SparseMatrix(Protocol):
    """A SciPy sparse matrix or array, of any format: what codes by the ten thousand may be."""

    @property
    def nnz(self) -> int: ...
    def tocsc(self, copy: bool = ...) -> Any: ...


TableLike = ArrayLike | Mapping[str, ArrayLike] | SparseMatrix
"""Numbers or texts, a row for each sample: an array, a tensor, a list, a frame, a mapping of columns; codes may be sparse."""
Kinds = str | Sequence[str | None] | Mapping[str, str]
"""One kind for all factors, a list with one for each, or a mapping from the names of some to theirs."""
FEW = 20
"""Numbers that take at most this many values are treated as classes unless their kind is given."""
ROWS_PER_VALUE = 5
MISSING = ("", "nan", "NaN", "None", "<NA>", "NaT")
"""An empty cell, and what Python, NumPy and pandas write for a missing value."""
ROW_NUMBERS = ("", "index", "id", "row", "level_0")


class Column(NamedTuple):
    """A factor as read: its name, its kind and whether that was guessed, and values (whole or real numbers or
    texts)."""

    name: str
    kind: Kind
    guessed: bool
    values: NDArray

    def class_values(self, bins: int, like: Column | None = None) -> NDArray:
        """The column's values as classes: as they are, or binned if it is continuous with more than `bins` values.

        like: the column from which the range of the bins is taken.
        """
        whole = self if like is None else like
        if self.kind != "continuous" or len(np.unique(whole.values)) <= bins:
            return self.values
        return cut(self.values, bins, within=whole.values)

    def factor(self) -> tuple[Factor, NDArray[np.int64]]:
        """The factor of a grid, and the number 0 … size − 1 of each row's value among its sorted values."""
        values, codes = np.unique(self.values, return_inverse=True)
        is_text = self.values.dtype.kind == "U"
        numbers = None if is_text else tuple(float(value) for value in values)
        words = tuple(values.tolist()) if is_text else None
        factor = Factor(self.name, len(values), self.kind, values=numbers, guessed=self.guessed, words=words)
        return factor, codes.reshape(-1).astype(np.int64)


def as_array(values: Any) -> NDArray:
    """A NumPy array of the same dtype from anything array-like, including a tensor with gradients, on any device.
    bfloat16, which NumPy does not have, becomes float32."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise FactorError("rows of a table differ in length; expected as many values in each") from error
    # Frames may hold numbers or texts as objects.
    if array.dtype.kind in "OT" and array.size and not _absent(array).any():
        array = np.array(array.tolist())
    return array


def refuse_another_order(codes: Any, other: Any, name: str = "factors") -> None:
    """Refuse two frames whose indexes have the same labels in another order: rows belong together by their position, which
    says nothing once one of them was sorted or shuffled. Other labels may number the rows of a part of a table."""
    first: Any = getattr(codes, "index", None)
    second: Any = getattr(other, "index", None)
    if not (hasattr(first, "is_unique") and hasattr(second, "is_unique")) or first.equals(second):
        return
    if len(first) == len(second) and first.is_unique and first.isin(second).all():
        raise FactorError(
            f"the codes and the {name} have the same index in another order, and rows are matched by position; give "
            f"{name}.loc[codes.index], or, where positions do match, .reset_index(drop=True) of both"
        )


def columns_of(table: Any, name: str) -> dict[str, NDArray]:
    """The columns (n,) of a table by name: a mapping or frame names them; others are called `name_0`, `name_1`, …"""
    if isinstance(table, str | bytes | PurePath):
        raise FactorError(
            f"{name} are the text {str(table)!r:.60}; expected the table itself: pandas.read_csv reads a file"
        )
    if hasattr(table, "tocsc"):
        table = table.toarray()
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        columns = {str(key): as_array(table[key]) for key in table}
        if len(columns) < len(list(table)):
            raise FactorError(f"{name} have two columns of one name among {', '.join(map(str, table))}; rename one")
    else:
        array = as_array(table)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            remedy = ": flatten what a sample has, numpy.reshape(…, (n, -1))" if array.ndim > 2 else ""
            raise FactorError(
                f"{name} have shape {array.shape}; expected a row for each sample, a column for each one{remedy}"
            )
        columns = {f"{name.rstrip('s')}_{number}": as_array(column) for number, column in enumerate(array.T)}
    for key, column in columns.items():
        if column.ndim != 1:
            raise FactorError(f"{key} has shape {column.shape}; expected one value for each sample")
    return columns


def read_numbers(table: Any, name: str) -> NDArray:
    """A table of numbers, such as codes (n, c); a single column may have shape (n,). A frame may hold only numbers."""
    if not (isinstance(table, Mapping) or hasattr(table, "columns")):
        array = as_array(table)
        return array[:, None] if array.ndim == 1 else array
    columns = columns_of(table, name)
    for key, column in columns.items():
        if column.dtype.kind not in "biuf":
            if column.dtype.kind == "U" and (odd := _among_numbers(column)):
                raise FactorError(
                    f"column {key} of the {name} {odd}; expected numbers such as 1.5: mend such cells, or leave their rows out"
                )
            shown = f" such as {str(column[0])!r:.60}" if len(column) else ""
            are_numbers = column.dtype.kind == "U" and _numbers(column).dtype.kind in "if"
            remedy = "convert it, .astype(float)" if are_numbers else "leave it out"
            raise FactorError(f"column {key} of the {name} is {column.dtype}{shown}; expected real numbers: {remedy}")
    if len({len(column) for column in columns.values()}) > 1:
        raise FactorError(f"the columns of the {name} differ in length; expected a row for each sample")
    return np.column_stack(list(columns.values())) if columns else np.empty((0, 0))


def absent(column: NDArray) -> NDArray[np.bool_]:
    """Which rows of a column have no value, (n,)."""
    if column.dtype.kind in "fc":
        return np.isnan(column)
    if column.dtype.kind in "OTU":
        return _absent(column)
    return np.isnat(column) if column.dtype.kind in "mM" else np.zeros(column.shape, dtype=bool)


def _absent(array: NDArray) -> NDArray[np.bool_]:
    """`absent` for an array of objects or texts."""
    if array.dtype.kind != "O":
        return np.isin(np.char.strip(array.astype(str)), MISSING)
    one = [str(value).strip() in MISSING for value in array.ravel().tolist()]
    return np.array(one, dtype=bool).reshape(array.shape)


def refuse_absent(columns: Mapping[str, NDArray], what: str, remedy: str) -> None:
    """Raise an error that names the first row and column without a value."""
    for name, column in columns.items():
        if (rows := np.flatnonzero(absent(column))).size:
            raise FactorError(
                f"{what} {name} has no value in row {rows[0]}, counted from 0, and in {rows.size:,} of {len(column):,} rows; "
                f"{remedy}"
            )


def told_in_heads(heads: Iterable[str]) -> tuple[list[str], list[str]]:
    """Names and kinds from column headers such as `angle:cyclic`; the kind is "" where none is given, and in the name that
    pandas gives an unnamed index.

    >>> told_in_heads(["Unnamed: 0", "x", "angle:cyclic"])
    (['Unnamed: 0', 'x', 'angle'], ['', '', 'cyclic'])
    """
    parts = ((head, "", "") if head.startswith("Unnamed:") else head.partition(":") for head in map(str, heads))
    pairs = [(name.strip(), kind.strip()) for name, _, kind in parts]
    return [name for name, _ in pairs], [kind for _, kind in pairs]


def row_numbers(columns: Mapping[str, NDArray], *, first: bool = False) -> list[str]:
    """The names of columns that only number or name the rows: distinct whole numbers under a name such as `id` or the
    one pandas gives an unnamed index; with `first`, a first column of any name that counts up from 0 or 1; texts that
    all differ and are no numbers with a slip among them."""
    names = []
    for place, (name, texts) in enumerate(columns.items()):
        column = _numbers(texts) if texts.dtype.kind == "U" else texts
        named = name.strip().lower() in ROW_NUMBERS or name.startswith("Unnamed:")
        if column.dtype.kind == "U" and len(np.unique(column)) == len(column) > 2:
            names += [name] if named or not _among_numbers(column) else []
        if column.dtype.kind not in "iuf" or (column != np.round(column)).any():
            continue
        counts = len(column) > 2 and column[0] in (0, 1) and bool((np.diff(column) == 1).all())
        if (named and len(np.unique(column)) == len(column)) or (first and place == 0 and counts):
            names.append(name)
    return names


def read_columns(columns: Mapping[str, NDArray], kinds: Kinds | None = None) -> list[Column]:
    """Each factor with its kind, given or guessed; no value may be missing."""
    refuse_absent(columns, "factor", "leave such samples out")
    told = kind_by_name(list(columns), kinds)
    return [_read(name, column, told[name]) for name, column in columns.items()]


def kind_by_name(names: Sequence[str], kinds: Kinds | None) -> dict[str, str]:
    """The kind given for each factor, "" where none was."""
    if kinds is None or isinstance(kinds, str):
        return dict.fromkeys(names, kinds or "")
    if isinstance(kinds, Mapping):
        if unknown := [name for name in kinds if name not in names]:
            raise FactorError(f"kinds name {unknown[0]!r}, which is no factor; {nearest(str(unknown[0]), list(names))}")
        return {name: kinds.get(name) or "" for name in names}
    if len(kinds) != len(names):
        raise FactorError(f"{len(kinds)} kinds for {len(names)} factors; expected one for each, or a mapping by name")
    return {name: kind or "" for name, kind in zip(names, kinds, strict=True)}


def _read(name: str, column: NDArray, kind: str) -> Column:
    if kind and kind not in get_args(Kind):
        raise FactorError(f"factor {name} has kind {kind!r}; expected one of {', '.join(get_args(Kind))}")
    if column.dtype.kind not in "biufU":
        raise FactorError(
            f"factor {name} is {column.dtype}; expected whole numbers, real numbers or texts: convert it, such as times to "
            "days, or leave it out"
        )
    values = _numbers(column) if column.dtype.kind == "U" else column
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise FactorError(f"factor {name} is {values[row]} in row {row}; expected finite numbers")
    if kind != "categorical" and values.dtype.kind == "U" and (odd := _among_numbers(values)):
        raise FactorError(
            f"factor {name} {odd}; expected numbers such as 1.5: mend such cells, leave their rows out, or say that its kind "
            "is categorical"
        )
    if kind == "continuous" and values.dtype.kind == "U":
        raise FactorError(f"factor {name} is said to be continuous but holds texts such as {str(values[0])!r:.60}")
    chosen: Any = kind or _guess(values, "b" if column.dtype.kind == "b" else values.dtype.kind)
    return Column(name, chosen, not kind, values)


def _numbers(texts: NDArray) -> NDArray:
    """Texts that are all numbers as numbers, since as texts 10 would sort before 2. A text such as 1_20, of which Python
    would read 120, is a name."""
    if (np.char.find(texts, "_") >= 0).any():
        return texts
    for kind in (np.int64, np.float64):
        try:
            return texts.astype(kind)
        except (ValueError, OverflowError):
            continue
    return texts


def _among_numbers(texts: NDArray) -> str:
    """What is odd about texts more than half of which are numbers, with a decimal point or a decimal comma; empty if they
    are names, and for numbers alone.

    >>> _among_numbers(np.array(["1", "2.5", "?"])), _among_numbers(np.array(["0,5", "1,25", "2"]))
    ("has '?' in row 2, counted from 0, among numbers", "has the decimal comma of '0,5' in row 0, counted from 0")
    >>> _among_numbers(np.array(["ball", "box", "7"]))
    ''
    """
    kept, pointed = texts.tolist(), np.char.replace(texts, ",", ".", 1).tolist()
    numbers, after = (np.array([_is_number(text) for text in each], dtype=bool) for each in (kept, pointed))
    if numbers.all() or 2 * after.sum() <= len(after):
        return ""
    row = int(np.flatnonzero(~numbers)[0])
    shown = f"{kept[row]!r:.60} in row {row}, counted from 0"
    return f"has the decimal comma of {shown}" if after[row] else f"has {shown}, among numbers"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _guess(values: NDArray, form: str) -> Kind:
    if form in "Ub":
        return "categorical"
    count, rows = len(np.unique(values)), len(values)
    if form == "f" and (values != np.round(values)).any():
        return "continuous" if count > FEW or 2 * count > rows else "ordinal"
    return "continuous" if count > FEW and count * ROWS_PER_VALUE > rows else "ordinal"


def in_words(factors: Iterable[Factor]) -> str:
    """Observed factors and the kinds they are treated as.

    >>> shape = Factor("shape", 3, "categorical")
    >>> in_words([shape, Factor("x", 477, "continuous", guessed=True), Factor("size", 6, guessed=True)])
    'shape (categorical, 3 values), x (continuous, guessed), size (ordinal, 6 values, guessed)'
    """
    sizes = lambda one: "" if one.kind == "continuous" else f", {one.size:,} value{'s' * (one.size != 1)}"  # noqa: E731
    return ", ".join(
        f"{one.name} ({one.kind}{sizes(one)}{', guessed' * one.guessed})" for one in factors if one.observed
    )
