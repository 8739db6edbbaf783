"""Interventional robustness score (Suter et al. 2019): does a code stay put while all factors but one change?

    m_j    = max_n |z_nj − mean z_j|
    E_jk   = mean over values a of factor k of  quantile_q { |z_nj − mean(z_j | v_k = a)| : v_nk = a }
    IRS    = Σ_j m_j D_j / Σ_j m_j,      D_j = max_k (1 − E_jk / m_j)

as the authors' estimator in disentanglement_lib has it, for single codes and factors, with q = 0.99 (q = 1 is the
paper's). Constant codes are left out; if every code is constant, the score is 0. A continuous factor is cut into
equal-width bins, within which codes still vary, so that it never reaches 1 (Carbonneau et al. 2022). A D_j that noise
makes negative counts 0.

A quantile over a maximum is not 0 for noise: 10,000 rows of Gaussian codes score 0.38, of uniform ones 0.02. Scores of
codes with different tails, or of different numbers of rows, are not comparable. `ranked` replaces each code by its
ranks, which makes all tails alike. Every value of a factor weighs the same, however rare, and a value of one row has
deviation 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hackle.core.columns import Kinds, TableLike
from hackle.metrics.checks import MetricError, Table, check_split, varying
from hackle.metrics.metric import Evaluation, Metric, Row


def irs_score(
    codes: TableLike,
    factors: TableLike,
    *,
    quantile: float = 0.99,
    ranked: bool = False,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> float:
    """The interventional robustness, 0 to 1, of codes (n, c) with respect to factors (n, f).

    `quantile` of the deviations within a value, 1 for their maximum. `ranked` scores the ranks of each code. `kinds`
    gives the factors' kinds, which are otherwise guessed; continuous factors are cut into `factor_bins` bins.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2)
    >>> irs_score(grid * 1.0, grid), irs_score(grid.sum(axis=1) * 1.0, grid, quantile=1.0)
    (1.0, 0.5)
    """
    if not 0 < quantile <= 1:
        raise MetricError(f"quantile is {quantile}; expected a number above 0, up to 1 for the largest deviation")
    split = check_split(codes, factors, None, kinds, factor_bins)
    values = split.codes[:, varying(split.codes)]
    if not values.shape[1]:
        return 0.0
    if ranked:
        values = rankdata(values, axis=0)
    # In units of the largest range, because sums of very large codes would overflow float64.
    values = (values - values.min(axis=0)) / np.ptp(values, axis=0).max()
    largest = np.abs(values - values.mean(axis=0)).max(axis=0)
    within = np.stack([_deviations(values, classes, quantile) for classes in split.factors.T])
    return float(np.maximum(largest - within.min(axis=0), 0.0).sum() / largest.sum())


def _deviations(values: Table, classes: NDArray[np.int64], quantile: float) -> NDArray[np.float64]:
    """E_j of one factor, (c,): the mean over its values of the quantile of each code's deviations from its mean there."""
    order = np.argsort(classes, kind="stable")
    parts = np.split(values[order], np.flatnonzero(np.diff(classes[order])) + 1)
    return np.mean([np.quantile(np.abs(part - part.mean(axis=0)), quantile, axis=0) for part in parts], axis=0)


def _compute(e: Evaluation) -> dict[str, float]:
    plain, ranked = (irs_score(e.codes, e.factors, ranked=one, kinds="categorical") for one in (False, True))
    return {"irs": plain, "irs_ranked": ranked}


IRS = Metric("irs", _compute, (Row("irs", "IRS", "IRS"), Row("irs_ranked", "IRS of ranks", "IRS ranks")))
