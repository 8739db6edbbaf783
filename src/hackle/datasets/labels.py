"""Labels of images (integers, real numbers or strings) as the factors of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hackle.core.columns import as_array, in_words, read_columns, row_numbers
from hackle.core.factors import Factor, FactorError, FactorGrid, Rows
from hackle.datasets.arrays import grid_of, number_instances, with_instance
from hackle.datasets.source import DataError

_MOST_FACTORS = 1000
"""Tables of more columns are most likely no factors, and take minutes to be read as such."""


def labelled_grid(
    where: str, names: Sequence[str], kinds: Sequence[str], columns: Sequence[NDArray] | NDArray
) -> FactorGrid:
    """The grid of factors given as columns, with their kinds or "" to have them guessed; images with equal factors are
    numbered."""
    if len(names) > _MOST_FACTORS:
        raise DataError(f"{where}: {len(names):,} factors; at most {_MOST_FACTORS:,} are read")
    if len(set(names)) != len(names):
        raise DataError(f"{where}: factor names must differ, got {', '.join(names)}")
    try:
        read = read_columns(dict(zip(names, map(as_array, columns), strict=True)), list(kinds))
    except FactorError as error:
        raise DataError(f"{where}: {error}") from error
    coded = [column.factor() for column in read]
    factors: list[Factor] = [factor for factor, _ in coded]
    rows: Rows = np.stack([codes for _, codes in coded], axis=1)
    if number_instances(rows).any():
        factors, rows = with_instance(factors, rows)
    return grid_of(factors, rows)


def own_grid(
    where: str, names: Sequence[str], kinds: Sequence[str], columns: Sequence[NDArray] | NDArray
) -> tuple[FactorGrid, list[str]]:
    """The grid of the factors in a table with headers, and notes on columns that are left out: those without a given kind
    that number or name the images, such as `id`."""
    table = dict(zip(names, map(as_array, columns), strict=True))
    told = dict(zip(names, kinds, strict=True))
    numbers = [name for name in row_numbers(table) if not told[name]] if len(table) == len(names) else []
    said = [f"column {name!r}, which numbers or names the images, left out" for name in numbers]
    factors = [each for each in zip(names, kinds, columns, strict=True) if each[0] not in numbers]
    if not factors:
        return unlabelled(len(columns[0])), said
    return labelled_grid(where, *zip(*factors, strict=True)), said


def unlabelled(count: int) -> FactorGrid:
    """The grid of images without known factors: they are numbered."""
    return FactorGrid([Factor("instance", count, "categorical", observed=False)])


def guessed_kinds(grid: FactorGrid) -> list[str]:
    """A note on the factors if the kind of any was guessed."""
    return [f"factors {in_words(grid.factors)}"] if any(factor.guessed for factor in grid.factors) else []
