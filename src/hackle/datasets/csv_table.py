"""Reads tables with commas, and refuses those that pandas would misread without an error."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackle.datasets.damage import reading
from hackle.datasets.source import DataError

if TYPE_CHECKING:
    from pandas import DataFrame

_OTHER_MARKS = ";\t|"


def read_csv(path: Path, **how: Any) -> DataFrame:
    """The table of a file whose first line names its columns. Rows longer than that line are refused: pandas takes their
    first cells for an index and moves the others to the left, as where numbers have decimal commas. So are two columns of one
    name, of which pandas renames the second.

    how: passed on to `pandas.read_csv`.
    """
    import pandas as pd

    with reading(path, "a table with commas in UTF-8"):
        table = pd.read_csv(path, **how)
        names, cells = _first_lines(path)
    if len(cells) > len(names):
        raise DataError(
            f"{path} has {len(names)} names in its first line and {len(cells)} cells in the lines below; expected a name for "
            "each, and no commas within numbers: 1.5, not 1,5"
        )
    heads = [str(head) for head in table.columns]
    if len(heads) == 1 and any(mark in heads[0] for mark in _OTHER_MARKS):
        raise DataError(f"{path} has one column, called {heads[0]!r}; expected cells separated by commas: 1.5,ball")
    if (number := _number_among(heads)) is not None:
        raise DataError(
            f"{path} has no line of names: its first line holds the number {number}; expected one above the first row, such "
            "as z0,z1"
        )
    if twice := [name for place, name in enumerate(names) if name and name in names[:place]]:
        raise DataError(
            f"{path} has two columns called {twice[0]!r}; expected names that differ: rename one, or leave it out"
        )
    return table


def _first_lines(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """The cells of the first two lines, none for one that is not there. A later line that is longer than the second is an
    error of pandas."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = filter(None, csv.reader(file))
        return next(rows, ()), next(rows, ())


def _number_among(heads: list[str]) -> str | None:
    """A head that is a value, not a name. Whole numbers that count the columns are names, as pandas gives them.

    >>> _number_among(["0", "1"]), _number_among(["ball", "0.25"]), _number_among(["3", "0"]), _number_among(["x", "7"])
    (None, '0.25', '3', None)
    """
    numbers = [head for head in heads if _is_number(head)]
    if broken := [head for head in numbers if not head.isdecimal()]:
        return broken[0]
    counts = heads in ([str(number + first) for number in range(len(heads))] for first in (0, 1))
    return heads[0] if heads and len(numbers) == len(heads) and not counts else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word.strip().lower() not in ("nan", "inf", "infinity")
