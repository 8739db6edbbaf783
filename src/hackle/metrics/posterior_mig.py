"""The mutual information gap as Chen et al. 2018 define it, over q(z|x) (Do & Tran 2020, A.13, call it MIG1).

    MIG = (1/K) Σ_k ( I(z_{i*}; y_k) − I(z_{j°}; y_k) ) / H(y_k),   q(z_i, y_k) = p(y_k) (1/|D_y|) Σ_{n ∈ D_y} q(z_i|x_n)

It assumes that a factor's values are equally likely, as in a complete grid; RMIG uses their frequencies in the sample.
With balanced factors the two estimate the same number. Estimated by sampling by default, as in the paper. At most 1.
"""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from hackle.core.columns import TableLike
from hackle.information.factor_information import FactorOptions, information_of_bins
from hackle.metrics.metric import Evaluation, Metric, PerFactor, Row
from hackle.metrics.rmig import rmig_of, rmig_score


def posterior_mig_score(
    means: ArrayLike, logvars: ArrayLike, factors: TableLike, **options: Unpack[FactorOptions]
) -> float:
    """MIG of posteriors with `means` and `logvars` (n, c) and discrete factors (n, f), higher is better.

    Options are those of `factor_information`; by default `estimator` is "sampled" and `balanced` is true.

    >>> import numpy as np
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(posterior_mig_score(rows * 4.0 - 2.0, np.full((4, 2), -9.0), rows), 4)
    1.0
    """
    return rmig_score(means, logvars, factors, **FactorOptions({"estimator": "sampled", "balanced": True, **options}))


def _compute(e: Evaluation) -> PerFactor:
    return rmig_of(e, information_of_bins(e.quantised, balanced=True))


POSTERIOR_MIG = Metric(
    "posterior_mig", _compute, (Row("posterior_mig", "MIG with q(z|x)", "MIG, q(z|x)"),), on="posterior"
)
