"""The mutual information I(z_i; y_k) of codes and factors, over the posteriors q(z|x) and not only their means.

Do & Tran 2020, section 3.3: p(z_i, y_k) = (1/N) Σ_n q(z_i|x_n) p(y_k|x_n), where each point has one known value of y_k. The
code is quantised (the default) or sampled; a continuous factor is cut into equal-width bins.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import Kinds, TableLike
from hackle.information.discrete import discrete_entropy
from hackle.information.posterior import Floats, PosteriorError, Posteriors, label_factors
from hackle.information.quantised import Bins, quantise, quantised_factor_information
from hackle.information.sampled import Device, sampled_factor_information

Estimator = Literal["quantised", "sampled"]

# Differences of entropies are exact to about 1e-15. Less than this is the rounding error of a collapsed code, which
# modularity
# would turn into a score, because it divides by a code's largest value.
_ROUNDING = 1e-12


class FactorOptions(TypedDict, total=False):
    """How to estimate. See `factor_information`."""

    estimator: Estimator
    bins: int
    bounds: tuple[float, float]
    factor_bins: int
    kinds: Kinds | None
    balanced: bool
    samples: int
    seed: int
    device: Device


class FactorInformation(NamedTuple):
    """Mutual information in nats and the entropies that bound it."""

    information: Floats
    """I(z_i; y_k), (c, f)."""
    code_entropies: Floats
    """H(z_i), (c, f): of the quantised code, or the differential entropy if it was sampled. The columns are equal unless
    factors are balanced, which weights the points differently for each."""
    factor_entropies: Floats
    """H(y_k), (f,); 0 for a factor with a single value."""
    bins: Bins
    estimator: Estimator

    @property
    def quantised_entropies(self) -> Floats:
        """H(z_i) of the quantised codes, (c, f); from a sampled entropy the log of the bin width is subtracted (A.11)."""
        return self.code_entropies - (np.log(self.bins.width) if self.estimator == "sampled" else 0.0)

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
    factors: TableLike,
    *,
    estimator: Estimator = "quantised",
    bins: int = 100,
    bounds: tuple[float, float] = (-4.0, 4.0),
    factor_bins: int = 20,
    kinds: Kinds | None = None,
    balanced: bool = False,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> FactorInformation:
    """Mutual information of codes and factors, computed once for RMIG, JEMMIG, MIG and modularity.

    `factors` (n, f): `kinds` gives their kinds, which are otherwise guessed; continuous ones are cut into `factor_bins`
    bins. `balanced` gives all values of a factor the same probability instead of their frequency. `samples`, `seed` and
    `device` are for the sampled estimator: draws per point, their seed, and where to compute.
    """
    points, cut = Posteriors(means, logvars), Bins(bins, bounds)
    labels = label_factors(factors, len(points), factor_bins, kinds)
    if estimator == "quantised":
        information, entropies = quantised_factor_information(quantise(points, cut, labels), balanced=balanced)
    elif estimator == "sampled":
        information, entropies = sampled_factor_information(
            points, labels, balanced=balanced, samples=samples, seed=seed, device=device
        )
    else:
        raise PosteriorError(f"estimator is {estimator!r}; expected quantised or sampled")
    information = np.where(information > _ROUNDING, information, 0.0)
    values = labels.max(axis=0) + 1
    factor_entropies = np.log(values) if balanced else discrete_entropy(labels)
    return FactorInformation(information, entropies, factor_entropies, cut, estimator)


def posterior_information(
    means: ArrayLike, logvars: ArrayLike, factors: TableLike, **options: Unpack[FactorOptions]
) -> Floats:
    """The matrix I(z_i; y_k), (c, f), in nats, of codes with posteriors `means`, `logvars` (n, c) and factors (n, f).

    >>> means = np.array([[-2.0, 0.0], [-2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> posterior_information(means, np.full((4, 2), -9.0), [[0, 0], [0, 1], [1, 0], [1, 1]]).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.   ]])
    """
    return factor_information(means, logvars, factors, **options).information
