"""Mutual information by Monte Carlo: draw z from each posterior, average log q(z|x) − log q(z) (Do & Tran 2020, A.10).

A draw's own point is one of the N in the mixture, so log q(z|x) − log q(z) ≤ ln N whatever the encoder: the estimate
cannot exceed ln N. When the N points are a sample of a larger data set, this ceiling is an artefact. It is reported as
a SaturatedEstimateWarning, and the remedy is a larger `mixture`, which must contain the evaluated points; the whole
data set gives the exact q(z), and then ln N is the entropy of x itself.

Departure: both densities are averaged over the same draws, whereas the paper estimates the two entropies separately.
The expectation is the same, the noise is smaller and the ceiling holds for every draw.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hackle.information.mixture import check_members, class_log_densities, mixture_log_densities
from hackle.information.posterior import Floats, LogDensities, Posteriors

Mixture = tuple[ArrayLike, ArrayLike]
Device = torch.device | str | None

# At ln N − ln 10, ten points of the mixture share a draw's neighbourhood. With R such points, the draw's own point
# alone
# lowers the estimate by ln(1 + 1/R), about a tenth of a nat for R = 10. With fewer than a hundred points that threshold
# would
# flag codes without information, so it is at least half the ceiling.
_NEIGHBOURS = 10
_NEARLY_ALL = 0.9
"""The fraction of a data set that can stand for all of it: the missing images change an estimate by at most −ln 0.9 nats."""


class SaturatedEstimateWarning(UserWarning):
    """A sampled estimate limited by the size of the mixture; do not compare models by it."""

    code = "saturated"


class Draws(NamedTuple):
    """Log densities of every draw under its own point's posterior, log q(·|x), and under the mixture, log q(·)."""

    own: LogDensities
    mixed: LogDensities
    ceiling: float
    """ln N, the upper bound of every mutual information estimated from these draws."""

    @property
    def total(self) -> float:
        """I(z; x)."""
        return float((self.own.joint - self.mixed.joint).mean())

    @property
    def single(self) -> Floats:
        """I(z_i; x) of each code, (c,)."""
        return (self.own.marginal - self.mixed.marginal).mean(axis=0)

    @property
    def conditional(self) -> Floats:
        """I(z_i; x | z_{≠i}) = I(z; x) − I(z_{≠i}; x) of each code, (c,)."""
        return self.total - (self.own.without - self.mixed.without).mean(axis=0)

    def saturated(self, information: ArrayLike) -> NDArray[np.bool_]:
        """Whether each estimate is too close to the ceiling to be trusted."""
        return np.asarray(information) > max(self.ceiling - math.log(_NEIGHBOURS), self.ceiling / 2)

    def warn(self, name: str, information: ArrayLike) -> None:
        """Warn if an estimate is saturated."""
        if np.any(self.saturated(information)):
            warnings.warn(
                f"{name} is estimated at {np.max(information):.2f} nats, where a mixture of {math.exp(self.ceiling):.0f} "
                f"points allows at most {self.ceiling:.2f}: the true value may be much larger. Pass the whole data set "
                "as mixture=(means, logvars), and do not compare such estimates across mixtures of different sizes",
                SaturatedEstimateWarning,
                stacklevel=3,
            )


def draw(
    points: Posteriors,
    *,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    without: bool = False,
    marginal: bool = False,
    factorised: bool = False,
    device: Device = None,
) -> Draws:
    """`samples` draws of z from each point and their log densities; if `factorised`, densities ignore the correlation.

    >>> points = Posteriors([[0.0], [0.0]], [[0.0], [0.0]])
    >>> draw(points).total
    0.0
    """
    whole = mixture_of(points, mixture)
    repeated = points.repeat(samples)
    z = repeated.draw(seed)
    if factorised:
        whole, repeated = (Posteriors(some.means, some.logvars) for some in (whole, repeated))
    mixed = mixture_log_densities(z, whole, without=without, marginal=marginal, device=device)
    return Draws(repeated.log_densities(z), mixed, math.log(len(whole)))


@contextmanager
def everything_is_enough(coverage: float) -> Iterator[None]:
    """If the mixture holds nearly all images, the ceiling ln N is their entropy and reaching it needs no warning."""
    with warnings.catch_warnings():
        if coverage > _NEARLY_ALL:
            warnings.simplefilter("ignore", SaturatedEstimateWarning)
        yield


def mixture_of(points: Posteriors, mixture: Mixture | None) -> Posteriors:
    """The mixture over which q(z) is evaluated: the points themselves, or the larger set that was passed."""
    if mixture is None:
        return points
    whole = Posteriors(*mixture, points.correlation)
    check_members(points, whole)
    return whole


def sampled_factor_information(
    points: Posteriors,
    labels: NDArray[np.int64],
    *,
    balanced: bool = False,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> tuple[Floats, Floats]:
    """I(z_i; y_k) and the differential entropies H(z_i), both (c, f), by sampling.

    I = E[log q(z_i|y_k) − log q(z_i)] with q(z_i|y) the mixture over the points with value y. By default y has its
    frequency among the points (Do & Tran's RMIG); `balanced` makes its values equally likely (Chen et al. 2018's MIG), and
    then a code's entropy also differs between factors.
    """
    repeated = points.repeat(samples)
    z = repeated.draw(seed)
    own_labels = labels.repeat(samples, axis=0)
    information, entropies = np.empty((2, points.codes, labels.shape[1]))
    conditional = class_log_densities(z, points, labels, device)
    for factor, densities in enumerate(conditional):
        counts = np.bincount(labels[:, factor])
        prior = np.full(len(counts), 1 / len(counts)) if balanced else counts / counts.sum()
        own = own_labels[:, factor]
        weights = (prior / counts)[own] / samples
        mixed = np.logaddexp.reduce(densities + np.log(prior), axis=2)
        known = np.take_along_axis(densities, own[:, None, None], axis=2)[:, :, 0]
        information[:, factor], entropies[:, factor] = weights @ (known - mixed), -weights @ mixed
    return np.maximum(information, 0.0), entropies
