"""DCIMIG (Sepliarskaia et al. 2019), as Carbonneau et al. 2022 review it: the gaps of codes, the best one for each factor.

    S_k    = max over the codes j whose best factor is k of  I(z_j; v_k) − max_{l ≠ k} I(z_j; v_l),    0 if there is none
    DCIMIG = Σ_k S_k / Σ_k H(v_k)

with codes cut into 20 equal-width bins. A code that holds two factors loses what it says about the second, and a factor that no
code is about counts 0, but a second code for the same factor costs nothing. Factors weigh by their entropy. With a single
factor the second-best information is 0.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from hackle.core.columns import TableLike, as_array
from hackle.metrics.metric import Metric, Row
from hackle.metrics.mig import BinnedOptions, binned_information, normalised_information, top_two_gap


def dcimig_score(codes: TableLike, factors: TableLike, **options: Unpack[BinnedOptions]) -> float:
    """DCIMIG of codes (n, c) and factors (n, f), between 0 and 1; arguments as for `mig_score`.

    >>> grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    >>> round(dcimig_score(np.hstack([grid, grid]) * 1.0, grid, bins=4), 6)
    1.0
    """
    information = binned_information(codes, factors, **options)
    return dcimig_from_information(information.information, information.entropies)


def dcimig_from_information(information: ArrayLike, entropies: ArrayLike) -> float:
    """DCIMIG from mutual information (c, f) and the factors' entropies (f,) in the same unit.

    >>> dcimig_from_information([[0.75, 0.25], [0.5, 0.0]], [1.0, 1.0])
    0.25
    """
    entropies = as_array(entropies).astype(np.float64)
    matrix = normalised_information(information, entropies) * entropies
    best, gaps = matrix.argmax(axis=1), top_two_gap(matrix.T)
    largest = np.zeros(len(entropies))
    np.maximum.at(largest, best, gaps)
    return float(largest.sum() / entropies.sum())


DCIMIG = Metric(
    "dcimig",
    lambda e: dcimig_from_information(*e.binned_information[:2]),
    (Row("dcimig", "DCIMIG", "DCIMIG"),),
)
