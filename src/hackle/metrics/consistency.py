"""Whether two models learn the same codes (Do & Tran 2020, A.15 to A.18).

The paper compares runs by eye: sorted by informativeness, FactorVAE's codes look alike across runs and numbers of
latents, up to permutation and sign. This file puts a number on that; the definition is hackle's own.

    agreement_ij = |rank correlation of code i of the first model and code j of the second over the same points|
    weight_ij    = (I_i + I'_j) / (Σ I + Σ I')
    score        = max over one-to-one matchings of Σ weight_ij · agreement_ij

with I the informativeness of the first model's codes and I' of the second's. Permutations are undone by the matching
(the Hungarian method), signs by the absolute value and monotone transformations by the ranks. Codes of pure noise have
no weight, so the models may have different numbers of latents; an informative code without a partner costs its weight.
The maximum, 1, means the same codes. `ordering` is the rank correlation between the informativeness of matched codes,
over pairs where both are informative (A.18's "ordering consistency"); NaN with fewer than three such pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from hackle.core.columns import as_array
from hackle.information.posterior import Floats, PosteriorError
from hackle.information.ranks import spearman, spearman_matrix
from hackle.metrics.informativeness import informativeness


class Consistency(NamedTuple):
    """How similar two models' codes are."""

    score: float
    pairs: NDArray[np.int64]
    """Matched codes of the first and second model, (pairs, 2), the most informative first."""
    agreement: Floats
    """|rank correlation| of each pair, (pairs,)."""
    ordering: float
    informative: tuple[int, int]
    """How many codes of each model are informative."""


def consistency(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    bins: int = 100,
    bounds: tuple[float, float] = (-4.0, 4.0),
    threshold: float = 0.05,
) -> Consistency:
    """Compare two models by their posteriors (means, logvars), each (n, c), of the same n points in the same order.

    `bins` and `bounds` quantise the codes for their informativeness; a code is informative above `threshold` nats.

    >>> means = np.random.default_rng(0).normal(size=(500, 2))
    >>> swapped = np.stack([-means[:, 1], means[:, 0]], axis=1)
    >>> round(consistency((means, np.full((500, 2), -4.0)), (swapped, np.full((500, 2), -4.0))).score, 6)
    1.0
    """
    left, right = (informativeness(*model, bins=bins, bounds=bounds) for model in (first, second))
    means = [as_array(model[0]).astype(np.float64) for model in (first, second)]
    if len(means[0]) != len(means[1]):
        raise PosteriorError(
            f"{len(means[0])} points in the first model but {len(means[1])} in the second; expected the same points"
        )
    agreement = np.nan_to_num(np.abs(spearman_matrix(means[0], means[1])))
    total = left.sum() + right.sum()
    weights = (left[:, None] + right) / total if total > 0 else np.zeros_like(agreement)
    rows, columns = linear_sum_assignment(weights * agreement, maximize=True)
    order = np.argsort(-weights[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    both = (left[rows] > threshold) & (right[columns] > threshold)
    matched = np.stack([left[rows], right[columns]], axis=1)[both]
    ordering = spearman(matched[:, 0], matched[:, 1])
    return Consistency(
        score=float((weights * agreement)[rows, columns].sum()),
        pairs=np.stack([rows, columns], axis=1),
        agreement=agreement[rows, columns],
        ordering=ordering,
        informative=(int((left > threshold).sum()), int((right > threshold).sum())),
    )
