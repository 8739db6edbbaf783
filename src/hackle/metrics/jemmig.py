"""JEMMIG, joint entropy minus mutual information gap (Do & Tran 2020, section 3.3 and A.12).

    JEMMIG(y_k) = H(z_{i*}, y_k) − I(z_{i*}; y_k) + I(z_{j°}; y_k)
                = H(z_{i*}) + H(y_k) − 2 I(z_{i*}; y_k) + I(z_{j°}; y_k)

with i* and j° the two codes most informative about the factor. Lower is better: 0 requires a code that determines the
factor and says nothing else, and no other code with information on it. `normalised` divides by ln(bins) + H(y_k) (Eq. 16
and 17; a group of codes has as many ln(bins), a discrete code the logarithm of the number of its values), which puts the
quantised score in [0, 1]; from a sampled entropy ln(bin width) is subtracted first, so the score can fall below 0 where
posteriors are narrower than a bin. Factors with a single value are NaN and left out of the mean.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from hackle.core.columns import TableLike
from hackle.information.factor_information import FactorInformation, FactorOptions, factor_information
from hackle.information.posterior import Floats, LabelProbabilities
from hackle.metrics.metric import Evaluation, Metric, PerFactor, Row, per_factor
from hackle.metrics.mig import top_two_gap


def jemmig(
    means: ArrayLike,
    logvars: ArrayLike,
    factors: TableLike | LabelProbabilities,
    *,
    normalised: bool = True,
    **options: Unpack[FactorOptions],
) -> float:
    """JEMMIG of posteriors with `means` and `logvars` (n, c) and factors (n, f). Lower is better.

    Arguments as for `rmig_score`.

    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(jemmig(rows * 4.0 - 2.04, np.full((4, 2), -12.0), rows), 4)
    0.0
    """
    information = factor_information(means, logvars, factors, **options)
    return jemmig_from_information(information, normalised=normalised)


def jemmig_from_information(information: FactorInformation, *, normalised: bool = True) -> float:
    """JEMMIG from the mutual information that `factor_information` computed."""
    return float(jemmig_per_factor(information, normalised=normalised)[information.varying].mean())


def jemmig_per_factor(information: FactorInformation, *, normalised: bool = True) -> Floats:
    """Each factor's JEMMIG, (f,); NaN for a factor with a single value."""
    top = information.information.max(axis=0)
    factor_entropies = np.where(information.varying, information.factor_entropies, np.nan)
    codes = information.quantised_entropies if normalised else information.code_entropies
    # Among codes tied up to rounding, take the one with the least entropy, so that the order of codes does not matter.
    among = np.where(information.information >= top - 1e-12, codes, np.inf)
    difference = among.min(axis=0) + factor_entropies - top - top_two_gap(information.information)
    bounds = information.largest_entropies[among.argmin(axis=0)]
    return difference / (bounds + factor_entropies) if normalised else difference


def jemmig_of(e: Evaluation, information: FactorInformation) -> PerFactor:
    """JEMMIG from mutual information with the factors of an evaluation, and that of each."""
    return per_factor(e, jemmig_from_information(information), jemmig_per_factor(information))


JEMMIG = Metric(
    "jemmig",
    lambda e: jemmig_of(e, e.factor_information),
    (Row("jemmig", "JEMMIG (lower is better)", "JEMMIG"),),
    "lower",
    on="posterior",
)
SAMPLED_JEMMIG = Metric(
    "sampled_jemmig",
    lambda e: jemmig_of(e, e.sampled_factor_information),
    (Row("sampled_jemmig", "JEMMIG by sampling", "JEMMIG, sampled", None, None),),
    "lower",
    on="posterior",
    slow=True,
)
