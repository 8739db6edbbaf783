"""Conditional and multivariate mutual information of codes and data, for any codes.

    I(z_J; x | z_S) = I(z_{J ∪ S}; x) − I(z_S; x)                                  (Yang et al. 2020, Eq. 4 and 6)
    I(x; z_i; z_j)  = I(x; z_i) + I(x; z_j) − I(x; (z_i, z_j))                     (Do & Tran 2020, Eq. 2)
                    = I(x; z_i) − I(x; z_i | z_j)

Yang et al. require of disentangled codes that I(z_j; x | z_S) = I(z_j; x) for every code j and every set S of others (Eq. 5).
Do & Tran call two codes separable if I(x; z_i; z_j) = 0; it is positive if they say the same about the data, and negative if
together they say more than apart, as with correlated noise. In nats, by sampling; all terms share their draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from hackle.information.posterior import Floats, PosteriorError, Posteriors
from hackle.information.sampled import Device, Mixture, draw_subsets, warn_if_saturated
from hackle.metrics.metric import WHOLE_MIXTURE, Evaluation, Metric, Row


def conditional_information(
    means: ArrayLike,
    logvars: ArrayLike,
    codes: int | Sequence[int],
    given: Sequence[int] = (),
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> float:
    """I(z_J; x | z_S): what the codes J say about the data beyond the codes `given`, S, for posteriors (n, c).

    `codes` is one or several. `correlation` is the σ of the posteriors' noise. `mixture` is the pair of means and logvars over
    which q(z) is averaged, the points themselves by default; it must contain them. `samples` draws are taken from each
    point with `seed`; densities are computed on `device`.

    >>> means, logvars = [[-2.0, -2.0], [2.0, 2.0]] * 20, [[-9.0, -9.0]] * 40
    >>> round(conditional_information(means, logvars, 0), 4), abs(conditional_information(means, logvars, 0, [1])) < 1e-9
    (0.6931, True)
    """
    chosen, known = [codes] if isinstance(codes, int | np.integer) else list(codes), list(given)
    if not chosen or set(chosen) & set(known):
        raise PosteriorError(
            f"codes are {chosen} and given {known}; expected one code or more that is not among the given"
        )
    own, mixed, ceiling = draw_subsets(
        Posteriors(means, logvars, correlation),
        [chosen + known, known],
        mixture=mixture,
        samples=samples,
        seed=seed,
        device=device,
    )
    both, less = (own - mixed).mean(axis=1)
    warn_if_saturated("I(z; x), from which that of the given codes is subtracted,", both, ceiling)
    return float(both - less)


def multivariate_information(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> Floats:
    """I(x; z_i; z_j) of every pair of codes, (c, c), with I(x; z_i) on the diagonal; arguments as above.

    >>> multivariate_information([[-2.0, -2.0], [2.0, 2.0]] * 20, [[-9.0, -9.0]] * 40).round(4)
    array([[0.6931, 0.6931],
           [0.6931, 0.6931]])
    """
    points = Posteriors(means, logvars, correlation)
    pairs = list(combinations(range(points.codes), 2))
    own, mixed, ceiling = draw_subsets(
        points,
        [*((code,) for code in range(points.codes)), *pairs],
        mixture=mixture,
        samples=samples,
        seed=seed,
        device=device,
    )
    known = (own - mixed).mean(axis=1)
    warn_if_saturated("I(x; (z_i, z_j))", known, ceiling)
    alone, together = known[: points.codes], known[points.codes :]
    matrix = np.diag(alone)
    for (first, second), information in zip(pairs, together, strict=True):
        matrix[first, second] = matrix[second, first] = alone[first] + alone[second] - information
    return matrix


def _compute(e: Evaluation) -> dict[str, float]:
    """The mean over pairs of codes, and the largest and the smallest; draws come from some of the training points."""
    means, logvars = (part[: e.protocol.draws] for part in e.posteriors)
    matrix = multivariate_information(
        means,
        logvars,
        correlation=e.correlation,
        mixture=e.mixture or e.posteriors,
        seed=e.seed,
        device=e.device,
    )
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return {
        "multivariate_information": float(pairs.mean()),
        "multivariate_information_largest": float(pairs.max()),
        "multivariate_information_smallest": float(pairs.min()),
    }


MULTIVARIATE_INFORMATION = Metric(
    "multivariate_information",
    _compute,
    (
        Row("multivariate_information", "mean of I(x, z_i, z_j) (nats)", "I(x, z_i, z_j)", None, None),
        Row("multivariate_information_largest", "largest I(x, z_i, z_j) (nats)", "largest I(x, z_i, z_j)", None, None),
        Row(
            "multivariate_information_smallest", "smallest I(x, z_i, z_j) (nats)", "smallest I(x, z_i, z_j)", None, None
        ),
    ),
    "neither",
    needs=("two codes",),
    on="posterior",
    slow=True,
    remedy=WHOLE_MIXTURE,
)
