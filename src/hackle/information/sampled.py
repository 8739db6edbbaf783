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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hackle.information.mixture import check_members, class_log_densities, mixture_log_densities
from hackle.information.posterior import Floats, Labels, LogDensities, Posteriors, label_tables

Mixture = tuple[ArrayLike, ArrayLike]
Device = torch.device | str | None

# At ln N − ln 10, ten points of the mixture share a draw's neighbourhood. With R such points, the draw's own point alone
# lowers the estimate by ln(1 + 1/R), about a tenth of a nat for R = 10. With fewer than a hundred points that threshold
# would flag codes without information, so it is at least half the ceiling.
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
        return saturated(information, self.ceiling)

    def warn(self, name: str, information: ArrayLike) -> None:
        """Warn if an estimate is saturated."""
        warn_if_saturated(name, information, self.ceiling)


def saturated(information: ArrayLike, ceiling: float) -> NDArray[np.bool_]:
    """Whether each estimate is too close to its ceiling ln N to be trusted."""
    return np.asarray(information) > max(ceiling - math.log(_NEIGHBOURS), ceiling / 2)


def warn_if_saturated(name: str, information: ArrayLike, ceiling: float) -> None:
    """Warn if an estimate is saturated."""
    if np.any(saturated(information, ceiling)):
        warnings.warn(
            f"{name} is estimated at {np.max(information):.2f} nats, where a mixture of {math.exp(ceiling):.0f} "
            f"points allows at most {ceiling:.2f}: the true value may be much larger. Pass the whole data set "
            "as mixture=(means, logvars), and do not compare such estimates across mixtures of different sizes",
            SaturatedEstimateWarning,
            stacklevel=4,
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
    return Draws(repeated.log_densities(z, without=without), mixed, math.log(len(whole)))


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


def draw_subsets(
    points: Posteriors,
    subsets: Sequence[Sequence[int]],
    *,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> tuple[Floats, Floats, float]:
    """log q(z_S|x) and log q(z_S) of the same draws for every subset S of the codes, both (subsets, m), and the ceiling ln N.

    The density of no code at all is 1.
    """
    whole, repeated = mixture_of(points, mixture), points.repeat(samples)
    z = repeated.draw(seed)
    own, mixed = np.zeros((2, len(subsets), len(z)))
    for place, subset in enumerate(subsets):
        if len(subset):
            chosen, part = repeated.select(subset), np.ascontiguousarray(z[:, list(subset)])
            own[place] = chosen.log_density(part)
            mixed[place] = mixture_log_densities(part, whole.select(subset), device=device).joint
    return own, mixed, math.log(len(whole))


def sampled_factor_information(
    points: Posteriors,
    labels: Labels,
    *,
    balanced: bool = False,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> tuple[Floats, Floats]:
    """I(z_i; y_k) and the differential entropies H(z_i), both (c, f), by sampling; of groups of codes if there are any.

    I = E[log q(z_i|y_k) − log q(z_i)] with q(z_i|y) the mixture over the points with value y. By default y has its
    frequency among the points (Do & Tran's RMIG); `balanced` makes its values equally likely (Chen et al. 2018's MIG), and
    then a code's entropy also differs between factors.
    """
    repeated = points.repeat(samples)
    z = repeated.draw(seed)
    tables = label_tables(labels)
    information, entropies = np.empty((2, points.codes if groups is None else len(groups), len(tables)))
    if groups is None:
        conditional = class_log_densities(z, points, tables, device)
    else:
        parts = [
            class_log_densities(np.ascontiguousarray(z[:, group]), points.select(group), tables, device, joint=True)
            for group in groups
        ]
        conditional = [np.concatenate(of_factor, axis=1) for of_factor in zip(*parts, strict=True)]
    for factor, densities in enumerate(conditional):
        counts = tables[factor].sum(axis=0)
        prior = np.full(len(counts), 1 / len(counts)) if balanced else counts / counts.sum()
        # The weight of each draw with each value of the factor; a label puts all of it on one value.
        both = tables[factor].repeat(samples, axis=0) * (prior / counts) / samples
        weights = both.sum(axis=1)
        mixed = np.logaddexp.reduce(densities + np.log(prior), axis=2)
        known = (densities * (both / weights[:, None])[:, None]).sum(axis=2)
        information[:, factor], entropies[:, factor] = weights @ (known - mixed), -weights @ mixed
    return np.maximum(information, 0.0), entropies
