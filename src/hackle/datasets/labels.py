"""Labels of images, whole numbers, real numbers or texts, as the factors of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hackle.core.columns import as_array, in_words, read_columns
from hackle.core.factors import Factor, FactorError, FactorGrid, Rows
from hackle.datasets.arrays import grid_of, number_instances, with_instance
from hackle.datasets.source import DataError


def labelled_grid(
    where: str, names: Sequence[str], kinds: Sequence[str], columns: Sequence[NDArray] | NDArray
) -> FactorGrid:
    """The grid of factors given by a column each, with their kinds or "" to have them guessed; images that have equal factors
    are numbered."""
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


def guessed_kinds(grid: FactorGrid) -> list[str]:
    """What is said of factors whose kind was guessed; nothing where all were told."""
    return [f"factors {in_words(grid.factors)}"] if any(factor.guessed for factor in grid.factors) else []
