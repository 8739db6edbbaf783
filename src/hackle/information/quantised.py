"""Mutual information by quantisation: every code is cut into equal bins over one fixed range (Do & Tran 2020, A.10, A.14).

The mass of a bin (a, b] under a posterior is exact, Φ((b − mean)/s) − Φ((a − mean)/s). The same range, [−4, 4], is used
for all codes and models, so that entropies are comparable. As the bins shrink, a quantised entropy approaches the
differential entropy minus the logarithm of the bin width, and quantised mutual information the mutual information
itself (A.11).

Departures: the paper integrates by a four-term approximation of erf; here the outermost bins reach to ±∞. The masses
then always sum to one, even for a posterior entirely outside the range, and the quantised code is a function of z, so
its mutual information never exceeds the true one. The two agree for posteriors inside the range. Mass outside is not
resolved, so more than 5% of a code's mass there raises an OutOfRangeWarning.

The paper's first way is there as well: with `rule="rectangle"` a bin's mass is the density at its centre, and the masses
inside the range are scaled to sum to one. It misses posteriors narrower than a bin.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr, ndtr
from torch import Tensor

from hackle.core.code_table import CodeTable, partition
from hackle.core.progress import following
from hackle.information.posterior import Floats, Labels, PosteriorError, Posteriors, label_tables

_ROWS = {"cpu": 8192, "cuda": 2**18}
"""How many points are cut into bins at once: few enough for a CPU's cache, enough to fill a GPU."""
_LARGEST_SHARE_OUTSIDE = 0.05
_POINT = -1000.0
"""A logvar below which a posterior is treated as a point: no bin is so narrow, and 1/s would overflow float64."""


class OutOfRangeWarning(UserWarning):
    """A code with much of its mass outside the quantised range."""

    code = "out-of-range"


Rule = Literal["exact", "rectangle"]
Bounds = tuple[float, float] | Literal["data"]


def data_range(points: Posteriors) -> tuple[float, float]:
    """The range [a, b] that holds mean ± s √(2πe) of every posterior and code (Do & Tran 2020, A.12).

    A uniform variable over half of it has the entropy of the widest posterior, and about 4.13 s to either side leave out
    4e-5 of its mass.

    >>> low, high = data_range(Posteriors([[0.0], [1.0]], [[0.0], [0.0]]))
    >>> round(low, 4), round(high, 4)
    (-4.1327, 5.1327)
    """
    reach = np.exp(0.5 * points.logvars) * math.sqrt(2 * math.pi * math.e)
    return float((points.means - reach).min()), float((points.means + reach).max())


def bins_over(parts: Iterable[Posteriors], count: int, bounds: Bounds, rule: Rule = "exact") -> Bins:
    """`count` bins over `bounds`, which may be "data": the range of these posteriors."""
    if isinstance(bounds, str) and bounds != "data":
        raise PosteriorError(
            f"bounds are {bounds!r}; expected a pair of numbers, or data for the range of the posteriors"
        )
    if isinstance(bounds, str):
        lows, highs = zip(*map(data_range, parts), strict=True)
        bounds = min(lows), max(highs)
    return Bins(count, bounds, rule)


@dataclass(frozen=True)
class Bins:
    """`count` equal bins over `bounds`, the outermost two open to infinity unless the rule is "rectangle"."""

    count: int = 100
    bounds: tuple[float, float] = (-4.0, 4.0)
    rule: Rule = "exact"

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int | np.integer) or self.count < 2:
            raise PosteriorError(f"bins is {self.count!r}; expected a whole number, 2 or more (the paper has 100)")
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise PosteriorError(f"bounds are {self.bounds}; expected a finite lower end below a finite upper end")
        if self.rule not in get_args(Rule):
            raise PosteriorError(f"rule is {self.rule!r}; expected exact or rectangle")

    @property
    def width(self) -> float:
        return (self.bounds[1] - self.bounds[0]) / self.count

    @property
    def inner_edges(self) -> Floats:
        """The edges between bins, (count − 1,)."""
        return np.linspace(*self.bounds, self.count + 1)[1:-1]

    def masses(self, means: Tensor, logvars: Tensor) -> Tensor:
        """The mass of each bin under each Gaussian, (…, count), for means and logvars (…).

        >>> Bins(2).masses(torch.zeros(1), torch.zeros(1))
        tensor([[0.5000, 0.5000]])
        """
        if self.rule == "rectangle":
            centres = torch.linspace(*self.bounds, self.count + 1, dtype=means.dtype, device=means.device)[:-1]
            scales = torch.exp(-0.5 * logvars.clamp(min=_POINT))[..., None]
            return (((centres + 0.5 * self.width - means[..., None]) * scales).square_().mul_(-0.5)).softmax(dim=-1)
        edges = torch.from_numpy(self.inner_edges).to(means)
        cumulative = torch.empty(*means.shape, self.count + 1, dtype=means.dtype, device=means.device)
        cumulative[..., 0], cumulative[..., -1] = 0.0, 1.0
        inner = (means[..., None] - edges).mul_(torch.exp(-0.5 * logvars.clamp(min=_POINT))[..., None] / math.sqrt(2))
        cumulative[..., 1:-1] = inner.erfc_().mul_(0.5)
        return cumulative.diff(dim=-1).clamp_(min=0.0)

    def index(self, values: Floats) -> NDArray[np.int64]:
        """The bin of each value, 0 to count − 1."""
        return np.searchsorted(self.inner_edges, values, side="left").astype(np.int64)


class Quantised(NamedTuple):
    """The quantised posteriors of n points, aggregated."""

    masses: Floats
    """Q(z_i), the aggregate posterior's mass in each bin, (c, bins)."""
    conditional_entropies: Floats
    """H(z_i|x), (c,)."""
    class_masses: Sequence[Floats]
    """For each factor the joint mass Q(z_i, y) of bins and values, (c, values, bins)."""
    shares: Sequence[Floats]
    """For each factor the share of the points that has each of its values, (values,)."""
    bins: Bins

    @property
    def entropies(self) -> Floats:
        """H(z_i), (c,)."""
        return entr(self.masses).sum(axis=1)

    @property
    def information(self) -> Floats:
        """I(z_i; x) = H(z_i) − H(z_i|x), (c,)."""
        return np.maximum(self.entropies - self.conditional_entropies, 0.0)


def quantise(
    points: Posteriors,
    bins: Bins,
    labels: Labels | None = None,
    device: torch.device | str | None = None,
) -> Quantised:
    """One pass over the points: aggregate masses, conditional entropies and, for labels, the joint masses.

    >>> points = Posteriors([[-2.0], [2.0]], [[-20.0], [-20.0]])
    >>> quantise(points, Bins(4)).information.round(4)
    array([0.6931])
    """
    _warn_outside(_outside(points, bins), bins)
    return _aggregate(points, bins, [] if labels is None else label_tables(labels), device)


def quantised_information(
    means: CodeTable,
    logvars: CodeTable,
    count: int,
    bounds: Bounds,
    rule: Rule = "exact",
    device: torch.device | str | None = None,
) -> Floats:
    """I(z_i; x) of each code, (c,), of posteriors that are read some codes at a time; `count` bins over `bounds`."""

    def blocks(what: str) -> Iterator[Posteriors]:
        for start, stop in following(partition(means, logvars), what):
            mean, logvar = (
                table.block(start, stop).values.reshape(stop - start, len(table)).T for table in (means, logvars)
            )
            try:
                yield Posteriors(mean, logvar)
            except PosteriorError as error:
                raise PosteriorError(f"codes {start} to {stop - 1}: {error}") from error

    cut = bins_over(blocks("ranges"), count, bounds, rule)
    of_blocks = [
        (_aggregate(points, cut, [], device).information, _outside(points, cut)) for points in blocks("quantising")
    ]
    information, outside = (np.concatenate(parts) for parts in zip(*of_blocks, strict=True))
    _warn_outside(outside, cut)
    return information


def _aggregate(
    points: Posteriors, bins: Bins, tables: Sequence[Floats], device: torch.device | str | None
) -> Quantised:
    n, codes = points.means.shape
    sizes = [table.shape[1] for table in tables]
    means, logvars = (torch.from_numpy(values.T).to(device) for values in (points.means, points.logvars))
    # A row for each value of each factor, with its probability at each point; the last row is all ones.
    members = torch.from_numpy(np.vstack([*(table.T for table in tables), np.ones((1, n))])).to(device)
    step = _ROWS.get(means.device.type, _ROWS["cpu"])
    joint = torch.zeros(codes, sum(sizes) + 1, bins.count, dtype=means.dtype, device=device)
    conditional = torch.zeros(codes, dtype=means.dtype, device=device)
    for code in range(codes):
        for start in range(0, n, step):
            rows = slice(start, start + step)
            part = bins.masses(means[code, rows], logvars[code, rows])
            conditional[code] += torch.special.entr(part).sum() / n
            joint[code] += members[:, rows] @ part / n
    masses = joint.cpu().numpy()
    class_masses = np.split(masses[:, :-1], np.cumsum(sizes)[:-1], axis=1) if sizes else []
    shares = [table.mean(axis=0) for table in tables]
    return Quantised(masses[:, -1], np.maximum(conditional.cpu().numpy(), 0.0), class_masses, shares, bins)


def quantised_factor_information(quantised: Quantised, *, balanced: bool = False) -> tuple[Floats, Floats]:
    """I(z_i; y_k) and H(z_i), both (c, f), from the joint masses; `balanced` makes a factor's values equally likely.

    Balancing weights the points differently for each factor, so a code's entropy then differs between factors.
    """
    information = np.empty((len(quantised.masses), len(quantised.class_masses)))
    code_entropies = np.empty_like(information)
    for factor, joint in enumerate(quantised.class_masses):
        if balanced:
            joint = joint / joint.sum(axis=2, keepdims=True) / joint.shape[1]
        code_entropies[:, factor] = entr(joint.sum(axis=1)).sum(axis=1)
        entropies = entr(joint.sum(axis=2)).sum(axis=1) + code_entropies[:, factor]
        information[:, factor] = entropies - entr(joint).sum(axis=(1, 2))
    return np.maximum(information, 0.0), code_entropies


def _outside(points: Posteriors, bins: Bins) -> Floats:
    """The share of each code's mass outside the range, (c,)."""
    scales = np.exp(-0.5 * np.maximum(points.logvars, _POINT))
    low, high = bins.bounds
    return (ndtr((low - points.means) * scales) + ndtr((points.means - high) * scales)).mean(axis=0)


def _warn_outside(outside: Floats, bins: Bins) -> None:
    low, high = bins.bounds
    if outside.max() > _LARGEST_SHARE_OUTSIDE:
        warnings.warn(
            f"code {outside.argmax()} has {outside.max():.0%} of its mass outside the quantised range [{low:g}, {high:g}]; "
            "values out there count as the range's ends: pass wider bounds, the same for every model compared",
            OutOfRangeWarning,
            stacklevel=3,
        )
