"""Labels of images, whole numbers, real numbers or texts, as the factors of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import Factor, FactorGrid, Kind, Rows
from hackle.datasets.arrays import grid_of, number_instances, with_instance
from hackle.datasets.source import DataError


def labelled_grid(
    where: str, names: Sequence[str], kinds: Sequence[str], columns: Sequence[NDArray] | NDArray
) -> FactorGrid:
    """The grid of factors given by a column each; images that have equal ones are numbered."""
    if len(set(names)) != len(names):
        raise DataError(f"{where}: factor names must differ, got {', '.join(names)}")
    coded = [_code(where, *column) for column in zip(names, kinds, columns, strict=True)]
    factors: list[Factor] = [factor for factor, _ in coded]
    rows: Rows = np.stack([codes for _, codes in coded], axis=1)
    if number_instances(rows).any():
        factors, rows = with_instance(factors, rows)
    return grid_of(factors, rows)


def _numbers(texts: NDArray) -> NDArray:
    """Texts that are all numbers as what they mean, since as texts 10 comes before 2."""
    for kind in (np.int64, np.float64):
        try:
            return texts.astype(kind)
        except (ValueError, OverflowError):
            continue
    return texts


def _code(where: str, name: str, kind: str, column: NDArray) -> tuple[Factor, NDArray[np.int64]]:
    """A factor and its codes 0 … size − 1, from a column of whole numbers, real numbers or texts."""
    if column.dtype.kind not in "biufU":
        raise DataError(f"{where}: factor {name} is {column.dtype}; expected whole numbers, real numbers or texts")
    if column.dtype.kind == "U":
        column = _numbers(column)
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise DataError(f"{where}: factor {name} has a value that is not a finite number")
    if kind and kind not in get_args(Kind):
        raise DataError(f"{where}: factor {name} has kind {kind!r}; expected one of {', '.join(get_args(Kind))}")
    values, codes = np.unique(column, return_inverse=True)
    chosen: Kind = kind or {"U": "categorical", "f": "continuous"}.get(column.dtype.kind, "ordinal")  # type: ignore[assignment]
    numbers = None if column.dtype.kind == "U" else tuple(float(value) for value in values)
    return Factor(name, len(values), chosen, values=numbers), codes.reshape(-1).astype(np.int64)
