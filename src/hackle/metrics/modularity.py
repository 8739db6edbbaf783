"""Modularity (Ridgeway & Mozer 2018), as Locatello et al. 2019, appendix B, compute it.

With m_{if} the mutual information of code i, cut into 20 equal-width bins, and factor f (cut likewise if continuous),
and θ_i = max_f m_{if}, reached at f*,

    modularity = mean over codes of  1 − Σ_{f ≠ f*} m_{if}² / (θ_i² (N − 1)).

A code that varies but has no information on any factor counts 0; a constant code is left out, so that adding one changes
nothing. With a single factor every informative code is modular and counts 1. If every code is constant, the score is 0.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import TableLike
from hackle.metrics.checks import check_matrix
from hackle.metrics.metric import Metric, Row
from hackle.metrics.mig import BinnedInformation, BinnedOptions, binned_information


def modularity_score(codes: TableLike, factors: TableLike, **options: Unpack[BinnedOptions]) -> float:
    """The modularity of codes (n, c) with respect to factors (n, f), between 0 and 1; arguments as for `mig_score`.

    >>> grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    >>> round(modularity_score(grid * 1.0, grid, bins=4), 6)
    1.0
    """
    binned = binned_information(codes, factors, **options)
    return _of_varying(binned)


def _of_varying(binned: BinnedInformation) -> float:
    kept = binned.ranges.varying
    return modularity_from_information(binned.information[kept]) if kept.any() else 0.0


def modularity_from_information(information: ArrayLike) -> float:
    """The mean modularity from the mutual information (c, f) of codes and factors.

    >>> round(modularity_from_information([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 4)
    0.6667
    """
    return float(modularity_per_code(information).mean())


def modularity_per_code(information: ArrayLike) -> NDArray[np.float64]:
    """Each code's modularity, (c,), from the mutual information (c, f) of codes and factors.

    >>> modularity_per_code([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    array([1., 0., 0.])
    """
    information = check_matrix(information, "mutual information values")
    top = information.max(axis=1, keepdims=True)
    # Relative to the largest entry, because squares of tiny values would underflow.
    share = np.divide(information, top, out=np.zeros_like(information), where=top > 0)
    others = (share**2).sum(axis=1) - 1.0
    return np.where(top[:, 0] > 0, 1.0 - others / max(information.shape[1] - 1, 1), 0.0)


MODULARITY = Metric(
    "modularity",
    lambda e: _of_varying(e.binned_information),
    (Row("modularity", "modularity", "Modularity"),),
)
