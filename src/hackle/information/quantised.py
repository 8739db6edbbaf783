"""Informations by quantisation: every code is cut in equal bins over one fixed range (Do & Tran 2020, A.10 and A.14).

The mass of a bin (a, b] under a posterior is exact, Φ((b − mean)/s) − Φ((a − mean)/s). The same range, [−4, 4], serves all
codes and models, so that entropies compare. As the bins shrink, a quantised entropy approaches the differential entropy
less the logarithm of the bin width, and a quantised mutual information the mutual information itself (A.11).

Departures: the paper integrates by a four-term approximation of erf, and where it evaluates densities at bin centres it
rescales the masses inside the range to sum to one; here the outermost bins reach to ±∞. The masses then sum to one by
themselves, also for a posterior that lies outside the range altogether, the quantised code is a function of z, and so
its information never exceeds the true one. The two agree for posteriors inside the range. Mass outside blurs what it
covers, so more than one part in twenty of a code out there is an OutOfRangeWarning.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr, ndtr

from hackle.information.posterior import Floats, PosteriorError, Posteriors

_ROWS = 8192
_LARGEST_SHARE_OUTSIDE = 0.05


class OutOfRangeWarning(UserWarning):
    """A code with much of its mass outside the quantised range."""


@dataclass(frozen=True)
class Bins:
    """`count` equal bins over `bounds`, the outermost two open to infinity."""

    count: int = 100
    bounds: tuple[float, float] = (-4.0, 4.0)

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int | np.integer) or self.count < 2:
            raise PosteriorError(f"bins is {self.count!r}; expected a whole number, 2 or more (the paper has 100)")
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise PosteriorError(f"bounds are {self.bounds}; expected a finite lower end below a finite upper end")

    @property
    def width(self) -> float:
        return (self.bounds[1] - self.bounds[0]) / self.count

    @property
    def inner_edges(self) -> Floats:
        """The edges between bins, (count − 1,)."""
        return np.linspace(*self.bounds, self.count + 1)[1:-1]

    def masses(self, means: Floats, logvars: Floats) -> Floats:
        """The mass of each bin under each Gaussian, (n, count), for means and logvars (n,).

        >>> Bins(2).masses(np.zeros(1), np.zeros(1))
        array([[0.5, 0.5]])
        """
        cumulative = np.empty((len(means), self.count + 1))
        cumulative[:, 0], cumulative[:, -1] = 0.0, 1.0
        np.subtract(self.inner_edges, means[:, None], out=cumulative[:, 1:-1])
        cumulative[:, 1:-1] *= np.exp(-0.5 * logvars)[:, None]
        ndtr(cumulative[:, 1:-1], out=cumulative[:, 1:-1])
        return np.maximum(np.diff(cumulative, axis=1), 0.0)

    def index(self, values: Floats) -> NDArray[np.int64]:
        """The bin of each value, 0 to count − 1."""
        return np.searchsorted(self.inner_edges, values, side="left").astype(np.int64)


class Quantised(NamedTuple):
    """What the quantised posteriors of n points amount to."""

    masses: Floats
    """Q(z_i), the aggregate posterior's mass in each bin, (c, bins)."""
    conditional_entropies: Floats
    """H(z_i|x), (c,)."""
    class_masses: list[Floats]
    """For each factor the joint mass Q(z_i, y) of bins and values, (c, values, bins)."""

    @property
    def entropies(self) -> Floats:
        """H(z_i), (c,)."""
        return entr(self.masses).sum(axis=1)

    @property
    def information(self) -> Floats:
        """I(z_i; x) = H(z_i) − H(z_i|x), (c,)."""
        return np.maximum(self.entropies - self.conditional_entropies, 0.0)


def quantise(points: Posteriors, bins: Bins, labels: NDArray[np.int64] | None = None) -> Quantised:
    """One pass over the points: aggregate masses, conditional entropies and, for labels (n, f), the joint masses.

    >>> points = Posteriors([[-2.0], [2.0]], [[-20.0], [-20.0]])
    >>> quantise(points, Bins(4)).information.round(4)
    array([0.6931])
    """
    n, codes = points.means.shape
    sizes = [] if labels is None else list(labels.max(axis=0) + 1)
    masses, conditional = np.zeros((codes, bins.count)), np.zeros(codes)
    joint = [np.zeros((codes, size, bins.count)) for size in sizes]
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        members = (
            [_members(labels[rows, factor], size) for factor, size in enumerate(sizes)] if labels is not None else []
        )
        for code in range(codes):
            part = bins.masses(points.means[rows, code], points.logvars[rows, code]) / n
            masses[code] += part.sum(axis=0)
            # Of masses p/n: −Σ (p/n) ln(p/n) = (H(p) + ln n)/n for each point.
            conditional[code] += entr(part).sum() - len(part) / n * math.log(n)
            for factor, member in enumerate(members):
                joint[factor][code] += member @ part
    _warn_outside(points, bins)
    return Quantised(masses, np.maximum(conditional, 0.0), joint)


def quantised_factor_information(quantised: Quantised, *, balanced: bool = False) -> Floats:
    """I(z_i; y_k), (c, f), from the joint masses; `balanced` makes a factor's values equally likely."""
    information = np.empty((len(quantised.masses), len(quantised.class_masses)))
    for factor, joint in enumerate(quantised.class_masses):
        if balanced:
            joint = joint / joint.sum(axis=2, keepdims=True) / joint.shape[1]
        entropies = entr(joint.sum(axis=2)).sum(axis=1) + entr(joint.sum(axis=1)).sum(axis=1)
        information[:, factor] = entropies - entr(joint).sum(axis=(1, 2))
    return np.maximum(information, 0.0)


def _members(labels: NDArray[np.int64], values: int) -> csr_array:
    """(values, n) with a one where a point carries the value."""
    n = len(labels)
    return csr_array((np.ones(n), (labels, np.arange(n))), shape=(values, n))


def _warn_outside(points: Posteriors, bins: Bins) -> None:
    scales = np.exp(-0.5 * points.logvars)
    low, high = bins.bounds
    outside = (ndtr((low - points.means) * scales) + ndtr((points.means - high) * scales)).mean(axis=0)
    if outside.max() > _LARGEST_SHARE_OUTSIDE:
        warnings.warn(
            f"code {outside.argmax()} has {outside.max():.0%} of its mass outside the quantised range [{low:g}, {high:g}]; "
            "values out there count as the range's ends: pass wider bounds, the same for every model compared",
            OutOfRangeWarning,
            stacklevel=3,
        )
