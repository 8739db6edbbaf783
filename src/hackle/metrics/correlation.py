"""Correlation matrices of codes (Do & Tran 2020, A.6): of posterior means and of draws from the posteriors.

The paper shows that the two differ and that the means mislead: a code of pure noise has tiny means that can be strongly
correlated, while its draws are not. Neither is a principled measure of independence; MISJED and total correlation are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hackle.information.posterior import Floats, Posteriors
from hackle.metrics.checks import MetricError, check_codes, varying


def correlation_matrix(codes: ArrayLike) -> Floats:
    """Pearson's correlation of every pair of codes, (c, c), from codes (n, c), such as the posterior means.

    A constant code has correlation 0 with the others and 1 with itself.

    >>> correlation_matrix([[0.0, 0.0, 5.0], [1.0, -2.0, 5.0], [2.0, -4.0, 5.0]])
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  1.]])
    """
    values = check_codes(codes)
    if len(values) < 2:
        raise MetricError("1 sample has no correlation; expected at least 2 rows of codes")
    kept = varying(values)
    # Divide by the range first: the squares of very small or very large codes would underflow or overflow float64.
    values = (values - values.min(axis=0)) / np.where(kept, np.ptp(values, axis=0), 1.0)
    centred = np.where(kept, values - values.mean(axis=0), 0.0)
    scaled = centred / np.where(kept, np.sqrt((centred**2).sum(axis=0)), 1.0)
    matrix = np.clip(scaled.T @ scaled, -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def sampled_correlation_matrix(
    means: ArrayLike, logvars: ArrayLike, *, correlation: float = 0.0, samples: int = 1, seed: int = 0
) -> Floats:
    """The correlation of draws z ~ q(z|x), (c, c): `samples` from each posterior with `means` and `logvars` (n, c).

    `correlation` is the σ of the posteriors' noise.
    """
    return correlation_matrix(Posteriors(means, logvars, correlation).repeat(samples).draw(seed))
