"""Mutual informations by Monte Carlo: draw z from each point's posterior, average log q(z|x) − log q(z) (Do & Tran 2020, A.10).

A draw's own point is one of the N in the mixture, so log q(z|x) − log q(z) ≤ ln N whatever the encoder: an estimated
information cannot exceed ln N. When N is a sample of a larger data set this ceiling is an artefact. It is reported as a
SaturatedEstimateWarning, and the remedy is a larger `mixture`, which must contain the evaluated points; the whole data set
gives the exact q(z), and then ln N is the entropy of x itself.

Departures: both densities are averaged over the same draws, where the paper estimates the two entropies apart. The
expectation is the same, the noise is smaller and the ceiling holds for every draw.
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

# An information of ln N − ln 10 leaves ten points of the mixture to share a draw's neighbourhood. With R such points the
# draw's own point alone makes the estimate low by ln(1 + 1/R), about a tenth of a nat at 10. Below a hundred points that
# would blame codes without information, so at least half the ceiling is asked for.
_NEIGHBOURS = 10
_NEARLY_ALL = 0.9
"""The part of a data set that stands for it: what an information loses to the other images is at most −ln 0.9 nats."""


class SaturatedEstimateWarning(UserWarning):
    """A sampled information that the size of the mixture limits; compare no models by it."""

    code = "saturated"


class Draws(NamedTuple):
    """Log densities of every draw under its own point's posterior, log q(·|x), and under the mixture, log q(·)."""

    own: LogDensities
    mixed: LogDensities
    ceiling: float
    """ln N, which no information estimated from these draws exceeds."""

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
        """Whether each information is too close to the ceiling to be trusted."""
        return np.asarray(information) > max(self.ceiling - math.log(_NEIGHBOURS), self.ceiling / 2)

    def warn(self, name: str, information: ArrayLike) -> None:
        """Warn where an information is saturated."""
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
    """`samples` draws of z from each point and their log densities; `factorised` ones leave the noise's correlation out.

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
    """Where a mixture holds nearly all images the ceiling ln N is their entropy, and reaching it no fault of an estimate."""
    with warnings.catch_warnings():
        if coverage > _NEARLY_ALL:
            warnings.simplefilter("ignore", SaturatedEstimateWarning)
        yield


def mixture_of(points: Posteriors, mixture: Mixture | None) -> Posteriors:
    """The mixture to evaluate q(z) with: the points themselves, or the larger set that was passed."""
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

    I = E[log q(z_i|y_k) − log q(z_i)] with q(z_i|y) the mixture over the points that carry y. By default y has its
    frequency among the points (Do & Tran's RMIG); `balanced` makes its values equally likely (Chen et al. 2018's MIG), and
    then a code's entropy differs between factors, too.
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
