"""RMIG, the robust mutual information gap (Do & Tran 2020, Eq. 10).

    RMIG(y_k) = I(z_{i*}; y_k) − I(z_{j°}; y_k)

is the gap between the two codes with most information on the factor, over q(z|x) and not its mean; `normalised` divides it by
H(y_k), for a ceiling of 1. The score is the mean over factors. A factor with a single value has no gap: it is NaN in the
list by factor and left out of the mean. A sole code has no rival, whose information then is 0.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from hackle.information.factor_information import FactorInformation, FactorOptions, factor_information
from hackle.information.posterior import Floats
from hackle.metrics.mig import top_two_gap


def rmig_score(
    means: ArrayLike,
    logvars: ArrayLike,
    factors: ArrayLike,
    *,
    normalised: bool = True,
    **options: Unpack[FactorOptions],
) -> float:
    """RMIG of posteriors with `means` and `logvars` (n, c) and factors (n, f), higher is better.

    Options are those of `factor_information`: `estimator`, `bins` (100), `bounds` ((−4, 4)), `factor_bins` (20), and
    `samples`, `seed`, `device` for the sampled estimator.

    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(rmig_score(rows * 4.0 - 2.0, np.full((4, 2), -9.0), rows), 4)
    1.0
    """
    found = factor_information(means, logvars, factors, **options)
    return rmig_from_information(found, normalised=normalised)


def rmig_from_information(found: FactorInformation, *, normalised: bool = True) -> float:
    """RMIG from informations computed once, by `factor_information`."""
    return float(rmig_per_factor(found, normalised=normalised)[found.varying].mean())


def rmig_per_factor(found: FactorInformation, *, normalised: bool = True) -> Floats:
    """Each factor's RMIG, (f,); NaN for a factor with a single value."""
    entropies = np.where(found.varying, found.factor_entropies, np.nan)
    return top_two_gap(found.information) / (entropies if normalised else entropies / entropies)
