"""The mutual information I(z_i; y_k) of codes and factors, over the posteriors q(z|x) and not only their means.

Do & Tran 2020, section 3.3: p(z_i, y_k) = (1/N) Σ_n q(z_i|x_n) p(y_k|x_n), where each point has one known value of y_k, or
`LabelProbabilities` gives the probability of each. The code is quantised (the default) or sampled; a continuous factor is
cut into equal-width bins. A group of codes that count as one representation has a density only, so it is sampled (A.10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from hackle.core.columns import Kinds, TableLike
from hackle.information.posterior import (
    Floats,
    LabelProbabilities,
    PosteriorError,
    Posteriors,
    check_groups,
    label_factors,
    label_tables,
)
from hackle.information.quantised import (
    Bins,
    Bounds,
    Quantised,
    Rule,
    bins_over,
    quantise,
    quantised_factor_information,
)
from hackle.information.sampled import Device, sampled_factor_information

Estimator = Literal["quantised", "sampled"]

# Differences of entropies are exact to about 1e-15. Less than this is the rounding error of a collapsed code, which
# modularity would turn into a score, because it divides by a code's largest value.
_ROUNDING = 1e-12


class FactorOptions(TypedDict, total=False):
    """How to estimate. See `factor_information`."""

    estimator: Estimator
    bins: int
    bounds: Bounds
    rule: Rule
    factor_bins: int
    kinds: Kinds | None
    balanced: bool
    samples: int
    seed: int
    device: Device
    groups: Sequence[Sequence[int]] | None
    correlation: float


class FactorInformation(NamedTuple):
    """Mutual information in nats and the entropies that bound it. Where codes are grouped, c counts the groups."""

    information: Floats
    """I(z_i; y_k), (c, f)."""
    code_entropies: Floats
    """H(z_i), (c, f): of the quantised code, or the differential entropy if it was sampled. The columns are equal unless
    factors are balanced, which weights the points differently for each."""
    factor_entropies: Floats
    """H(y_k), (f,); 0 for a factor with a single value."""
    bins: Bins
    estimator: Estimator
    sizes: tuple[int, ...] = ()
    """How many codes each group has, (c,); empty if codes are not grouped."""
    values: tuple[int, ...] = ()
    """How many values each discrete code has, (c,); empty if codes are continuous."""

    @property
    def quantised_entropies(self) -> Floats:
        """H(z_i) of the quantised codes, (c, f); from a sampled entropy the log of the bin's volume is subtracted (A.11)."""
        volumes = np.array(self.sizes or 1).reshape(-1, 1) * np.log(self.bins.width)
        return self.code_entropies - (volumes if self.estimator == "sampled" else 0.0)

    @property
    def largest_entropies(self) -> Floats:
        """What bounds H(z_i), (c,): the entropy of a uniform code (A.12), ln(bins) for each code of a group."""
        if self.values:
            return np.log(self.values)
        return np.full(len(self.information), math.log(self.bins.count)) * np.array(self.sizes or 1)

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Which factors have more than one value, (f,). The others are left out of every score."""
        varying = self.factor_entropies > 0
        if not varying.any():
            raise PosteriorError(
                "every factor has a single value; expected one with two values or more to score against"
            )
        return varying


def factor_information(
    means: ArrayLike,
    logvars: ArrayLike,
    factors: TableLike | LabelProbabilities,
    *,
    estimator: Estimator = "quantised",
    bins: int = 100,
    bounds: Bounds = (-4.0, 4.0),
    rule: Rule = "exact",
    factor_bins: int = 20,
    kinds: Kinds | None = None,
    balanced: bool = False,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
    groups: Sequence[Sequence[int]] | None = None,
    correlation: float = 0.0,
) -> FactorInformation:
    """Mutual information of codes and factors, computed once for RMIG, JEMMIG, MIG and modularity.

    `factors` (n, f): `kinds` gives their kinds, which are otherwise guessed; continuous ones are cut into `factor_bins`
    bins; or `LabelProbabilities`. `bounds` is the range of the bins, or "data" (`data_range`), `rule` how their masses are
    integrated. `balanced` gives all values of a factor the same probability instead of their frequency. `samples`, `seed` and
    `device` are for the sampled estimator: draws per point, their seed, and where to compute. It also takes `groups`, such as
    [[0, 1], [2]]: codes that count as one representation; `correlation` is the σ of the noise within one.
    """
    points = Posteriors(means, logvars, correlation)
    cut, parts = bins_over([points], bins, bounds, rule), None if groups is None else check_groups(groups, points.codes)
    tables = _tables(factors, len(points), factor_bins, kinds)
    if estimator not in ("quantised", "sampled"):
        raise PosteriorError(f"estimator is {estimator!r}; expected quantised or sampled")
    if estimator == "sampled":
        information, entropies = sampled_factor_information(
            points, tables, balanced=balanced, samples=samples, seed=seed, device=device, groups=parts
        )
    elif parts is not None:
        raise PosteriorError('a group of codes has no bins; expected estimator="sampled" with groups')
    else:
        return information_of_bins(quantise(points, cut, tables), balanced=balanced)
    information = np.where(information > _ROUNDING, information, 0.0)
    factor_entropies = np.array([_entropy(table.mean(axis=0), balanced) for table in tables])
    sizes = () if parts is None else tuple(map(len, parts))
    return FactorInformation(information, entropies, factor_entropies, cut, estimator, sizes)


def information_of_bins(quantised: Quantised, *, balanced: bool = False) -> FactorInformation:
    """The same from posteriors that have been cut into bins together with the factors' labels."""
    information, entropies = quantised_factor_information(quantised, balanced=balanced)
    information = np.where(information > _ROUNDING, information, 0.0)
    factor_entropies = np.array([_entropy(shares, balanced) for shares in quantised.shares])
    return FactorInformation(information, entropies, factor_entropies, quantised.bins, "quantised")


def _tables(factors: TableLike | LabelProbabilities, n: int, bins: int, kinds: Kinds | None) -> list[Floats]:
    """The probability of each value of each factor at each point, without values that have none anywhere."""
    if not isinstance(factors, LabelProbabilities):
        return label_tables(label_factors(factors, n, bins, kinds))
    if (rows := len(factors.tables[0])) != n:
        raise PosteriorError(f"label probabilities have {rows} rows; expected {n}, one for each row of means")
    return [table[:, table.any(axis=0)] for table in factors.tables]


def discrete_factor_information(
    probabilities: Sequence[ArrayLike],
    factors: TableLike | LabelProbabilities,
    *,
    factor_bins: int = 20,
    kinds: Kinds | None = None,
    balanced: bool = False,
) -> FactorInformation:
    """I(z_i; y_k) of discrete codes, exactly (section 3.1): `probabilities` has q(z_i|x) of each code i, (n, values).

    The result serves `rmig_from_information` and `jemmig_from_information`; arguments as for `factor_information`.

    >>> codes = np.eye(2)[[0, 0, 1, 1]]
    >>> discrete_factor_information([codes], [[0, 0], [0, 1], [1, 0], [1, 1]]).information.round(4)
    array([[0.6931, 0.    ]])
    """
    codes = LabelProbabilities(probabilities).tables
    tables = _tables(factors, len(codes[0]), factor_bins, kinds)
    information, entropies = np.empty((2, len(codes), len(tables)))
    for code, factor in np.ndindex(information.shape):
        shares = tables[factor].sum(axis=0)
        prior = 1 / (shares * len(shares)) if balanced else np.full(len(shares), 1 / len(codes[0]))
        joint = codes[code].T @ tables[factor] * prior
        entropies[code, factor] = entr(joint.sum(axis=1)).sum()
        together = entropies[code, factor] + entr(joint.sum(axis=0)).sum() - entr(joint).sum()
        information[code, factor] = together if together > _ROUNDING else 0.0
    factor_entropies = np.array([_entropy(table.mean(axis=0), balanced) for table in tables])
    values = tuple(table.shape[1] for table in codes)
    return FactorInformation(information, entropies, factor_entropies, Bins(), "quantised", values=values)


def discrete_information(probabilities: Sequence[ArrayLike]) -> Floats:
    """I(z_i; x) of discrete codes, (c,), exactly: Eq. 1 with sums, from q(z_i|x) of each code i, (n, values).

    >>> discrete_information([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]]).round(4)
    array([0.6931, 0.    ])
    """
    tables = LabelProbabilities(probabilities).tables
    information = [entr(table.mean(axis=0)).sum() - entr(table).sum(axis=1).mean() for table in tables]
    return np.maximum(information, 0.0)


def _entropy(masses: Floats, balanced: bool) -> float:
    return math.log(len(masses)) if balanced else max(0.0, float(-(masses * np.log(masses)).sum()))


def posterior_information(
    means: ArrayLike, logvars: ArrayLike, factors: TableLike | LabelProbabilities, **options: Unpack[FactorOptions]
) -> Floats:
    """The matrix I(z_i; y_k), (c, f), in nats, of codes with posteriors `means`, `logvars` (n, c) and factors (n, f).

    >>> means = np.array([[-2.0, 0.0], [-2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> posterior_information(means, np.full((4, 2), -9.0), [[0, 0], [0, 1], [1, 0], [1, 1]]).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.   ]])
    """
    return factor_information(means, logvars, factors, **options).information
