"""RMIG, the robust mutual information gap (Do & Tran 2020, Eq. 10).

    RMIG(y_k) = I(z_{i*}; y_k) − I(z_{j°}; y_k)

is the gap between the two codes most informative about the factor, over q(z|x) and not its mean; `normalised` divides
it by H(y_k), so that it is at most 1. The score is the mean over factors. A factor with a single value has no gap: it
is NaN per factor and left out of the mean. With a single code the second term is 0.
"""

from __future__ import annotations

from typing import SupportsFloat, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hackle.core.columns import TableLike
from hackle.information.factor_information import FactorInformation, FactorOptions, factor_information
from hackle.information.posterior import Floats, LabelProbabilities
from hackle.metrics.informativeness import informativeness
from hackle.metrics.metric import Evaluation, Metric, PerFactor, Row, per_factor
from hackle.metrics.mig import top_two_gap
from hackle.metrics.modularity import modularity_from_information


def rmig_score(
    means: ArrayLike,
    logvars: ArrayLike,
    factors: TableLike | LabelProbabilities,
    *,
    normalised: bool = True,
    **options: Unpack[FactorOptions],
) -> float:
    """RMIG of posteriors with `means` and `logvars` (n, c) and factors (n, f), higher is better.

    Options are those of `factor_information`: `estimator`, `bins` (100), `bounds` ((−4, 4), or "data"), `rule`,
    `factor_bins` (20), and `samples`, `seed`, `device` and `groups` for the sampled estimator. Factors may be
    `LabelProbabilities`, p(y_k|x) of each point.

    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(rmig_score(rows * 4.0 - 2.0, np.full((4, 2), -9.0), rows), 4)
    1.0
    """
    information = factor_information(means, logvars, factors, **options)
    return rmig_from_information(information, normalised=normalised)


def rmig_from_information(information: FactorInformation, *, normalised: bool = True) -> float:
    """RMIG from the mutual information that `factor_information` computed."""
    return float(rmig_per_factor(information, normalised=normalised)[information.varying].mean())


def rmig_per_factor(information: FactorInformation, *, normalised: bool = True) -> Floats:
    """Each factor's RMIG, (f,); NaN for a factor with a single value."""
    entropies = np.where(information.varying, information.factor_entropies, np.nan)
    return top_two_gap(information.information) / (entropies if normalised else entropies / entropies)


def rmig_of(e: Evaluation, information: FactorInformation) -> PerFactor:
    """RMIG from mutual information with the factors of an evaluation, and that of each."""
    return per_factor(e, rmig_from_information(information), rmig_per_factor(information))


def _sampled(e: Evaluation) -> dict[str, SupportsFloat]:
    """Informativeness, RMIG and the MIG of Chen et al. 2018, which assumes equally likely factor values."""
    balanced = factor_information(
        *e.posteriors,
        e.factors,
        estimator="sampled",
        kinds="categorical",
        balanced=True,
        seed=e.seed,
        device=e.device,
    )
    alone = informativeness(*e.posteriors, estimator="sampled", seed=e.seed, device=e.device)
    return {
        "sampled_informativeness_mean": float(alone.mean()),
        "sampled_rmig": rmig_of(e, e.sampled_factor_information),
        "sampled_mig": rmig_of(e, balanced),
    }


INTERPRETABILITY = Metric(
    "interpretability",
    lambda e: {
        "rmig": rmig_of(e, e.factor_information),
        "posterior_modularity": modularity_from_information(e.factor_information.information),
    },
    (Row("rmig", "RMIG", "RMIG"), Row("posterior_modularity", "modularity with q(z|x)", "Modularity, q(z|x)")),
    on="posterior",
)
SAMPLED_INTERPRETABILITY = Metric(
    "sampled_interpretability",
    _sampled,
    (
        Row("sampled_rmig", "RMIG by sampling", "RMIG, sampled"),
        Row("sampled_mig", "MIG with q(z|x), by sampling", "MIG, sampled"),
        Row("sampled_informativeness_mean", "mean I(z_i, x) by sampling (nats)", "I(z_i, x), sampled", 0.0, None),
    ),
    on="posterior",
    slow=True,
)
