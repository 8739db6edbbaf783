"""FactorVAE score (Kim & Mnih 2018, §4 and appendix B): which code varies least when a factor is held fixed?

Each group of L samples shares the value of one factor. Every code's variance within the group is divided by its
variance over the data; the code with the smallest ratio votes for the held factor. With V_jk the votes of code j for
factor k, the classifier is C(j) = argmax_k V_jk and the score is its accuracy: at most 1, and 1/K by chance.

Codes that carry no information do not vote. The protocols differ in which these are:

- Locatello et al. 2019, appendix B: variance below 0.05 (the default), 10,000 training and 5,000 test votes, L = 64;
- disentanglement_lib: standard deviation below 0.05, that is `minimum_variance=0.05**2`;
- Kim & Mnih 2018: codes whose posterior collapsed to the prior, that is `minimum_variance=0, active=mask`; L = 100, 800 votes.
  The paper does not say whether the same votes are scored; the protocol `kim2018` scores 800 others.

These thresholds assume codes on the scale of a prior with unit variance. Codes without posteriors have their own scale:
their threshold is in units of the largest variance if that is below 1; otherwise unit vectors with 100 entries would
lose every code. A constant code never votes. If no code votes, the score is 0. A test vote by a code without training
votes counts as wrong. Discrete codes use Gini's variance (Eq. 4): half the fraction of pairs that differ.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.metrics.checks import Classes, MetricError, Table, TestPair, check_codes, check_groups, check_mask, varying
from hackle.metrics.likelihood import active_units
from hackle.metrics.metric import Evaluation, Metric, Row

MINIMUM_VARIANCE = 0.05


class PrunedCodesWarning(UserWarning):
    """Codes that do not vote."""

    code = "pruned"


def factor_vae_score(
    groups: ArrayLike,
    held: ArrayLike,
    scale: ArrayLike,
    *,
    test: TestPair | None = None,
    minimum_variance: float | None = None,
    active: ArrayLike | None = None,
    discrete: ArrayLike | bool = False,
) -> float:
    """The accuracy, 0 to 1, of the majority vote on groups of codes (n, L, c) that share the held factor (n,).

    `scale` (c,) is each code's standard deviation over the data (see `code_scale`). Codes with a variance below
    `minimum_variance` do not vote; the default is 0.05, in units of the largest variance if that is below 1. `active`
    (c,) marks the codes that may vote, `discrete` (c,) or one bool those that use Gini's variance. `test` holds other
    groups and held factors; without it, the training groups are scored.

    >>> rng = np.random.default_rng(0)
    >>> held = np.arange(100) % 2
    >>> groups = rng.normal(size=(100, 64, 2))
    >>> groups[np.arange(100), :, held] = 0.5
    >>> factor_vae_score(groups, held, scale=[1.0, 1.0])
    1.0
    """
    codes, classes, test_codes, test_classes = check_groups(groups, held, test, "groups", "n L c")
    count = codes.shape[2]
    if minimum_variance is not None and not minimum_variance >= 0:
        raise MetricError(f"minimum_variance is {minimum_variance}; expected zero or more, the usual protocol has 0.05")
    gini = check_mask(discrete, count, "discrete")
    deviation = _check_scale(scale, count)
    least = own_scale(deviation) if minimum_variance is None else minimum_variance
    voting = (deviation >= np.sqrt(least)) & (deviation > 0) & varying(codes)
    voting &= check_mask(True if active is None else active, count, "active")
    if not voting.any():
        return 0.0
    columns = np.flatnonzero(voting)
    votes = _votes(codes, deviation, columns, gini)
    test_votes = votes if test is None else _votes(test_codes, deviation, columns, gini)
    table = np.zeros((len(columns), classes.max() + 1), dtype=np.int64)
    np.add.at(table, (votes, classes), 1)
    decision = np.where(table.any(axis=1), table.argmax(axis=1), -2)  # −1 already stands for an unknown factor
    return float(np.mean(decision[test_votes] == test_classes))


def own_scale(scale: ArrayLike, minimum_variance: float = MINIMUM_VARIANCE) -> float:
    """The least variance with which a code votes, given standard deviations `scale` (c,) but no prior.

    >>> own_scale([0.5, 0.02]), own_scale([3.0, 0.2])
    (0.0125, 0.05)
    """
    return float(minimum_variance * min(1.0, float(np.max(np.square(scale)))))


def code_scale(codes: ArrayLike, *, discrete: ArrayLike | bool = False) -> NDArray[np.float64]:
    """Each code's standard deviation (c,) over codes (n, c): n − 1 in the denominator, Gini's variance for discrete codes.

    >>> code_scale([[0.0, 1.0], [2.0, 1.0]])
    array([1.41421356, 0.        ])
    """
    table = check_codes(codes)
    gini = check_mask(discrete, table.shape[1], "discrete")
    kept = varying(table)
    # In units of the range, because the squares of very large codes would overflow float64.
    spread = np.where(kept, np.ptp(table, axis=0), 1.0)
    deviation = np.sqrt(_variances((table / spread)[None], gini)[0])
    return np.where(kept, deviation * np.where(gini, 1.0, spread), 0.0)


def _votes(codes: Table, deviation: NDArray, columns: NDArray, gini: NDArray) -> Classes:
    """For each group, the position among the voting columns of the code that varies least."""
    gini, deviation = gini[columns], deviation[columns]
    variances = _variances(codes[:, :, columns] / np.where(gini, 1.0, deviation), gini)
    return np.argmin(variances / np.where(gini, deviation, 1.0) ** 2, axis=1)


def _variances(codes: Table, gini: NDArray) -> Table:
    """The variance of every code within each group, (n, c)."""
    n, size, _ = codes.shape
    if size < 2:
        raise MetricError(f"groups hold {size} sample; expected two or more, as a variance needs")
    variances = codes.var(axis=1, ddof=1)
    for column in np.flatnonzero(gini):
        names, values = np.unique(codes[:, :, column], return_inverse=True)
        cells = np.arange(n)[:, None] * len(names) + values.reshape(n, size)
        counts = np.bincount(cells.ravel(), minlength=n * len(names)).reshape(n, -1)
        variances[:, column] = (size**2 - (counts**2).sum(axis=1)) / (2 * size * (size - 1))
    return variances


def _check_scale(scale: ArrayLike, count: int) -> Table:
    array = check_codes(scale, "scales", "c")
    if array.shape != (count,) or (array < 0).any():
        raise MetricError(
            f"scale is {array}; expected {count} standard deviations, one for each code: code_scale(codes) computes them"
        )
    return array


def _compute(e: Evaluation) -> float:
    scale = code_scale(e.codes, discrete=e.discrete)
    collapsed = e.protocol.prune_collapsed and e.has_posteriors
    active = active_units(*e.posteriors, discrete=e.discrete) if collapsed else np.ones(len(scale), dtype=bool)
    least = e.protocol.minimum_variance if e.has_posteriors else own_scale(scale, e.protocol.minimum_variance)
    if pruned := int(np.sum(~active | (scale < np.sqrt(least)) | (scale == 0))):
        reason = "their posteriors equal the prior" if collapsed else f"their variance is below {least:.3g}"
        warnings.warn(f"{pruned} of {len(scale)} codes do not vote: {reason}", PrunedCodesWarning, stacklevel=2)
    return factor_vae_score(
        *e.groups("groups"),
        scale,
        test=e.groups("test_groups"),
        minimum_variance=least,
        active=active,
        discrete=e.discrete,
    )


FACTOR_VAE = Metric(
    "factor_vae",
    _compute,
    (Row("factor_vae", "FactorVAE score", "FactorVAE"),),
    needs=("two factors",),
    parts=("groups", "test_groups"),
)
