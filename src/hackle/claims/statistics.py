"""Estimates from seeds, their intervals and tests, and how many runs would decide.

A **seed is the unit of replication**: it fixes the initial weights, the batches and the noise of every run that has it,
so conditions are compared within a seed. A number is computed within each seed (a paired difference, a rank correlation
over settings, a jackknife pseudo-value); its mean over seeds is the claim's effect. Data sets or methods that a claim
treats together are strata: the effect is the mean of their means, with Welch's standard error and degrees of freedom,
so that each stratum's own spread and number of seeds count.

The tests are Student's t rather than permutation tests: five seeds have 32 sign flips, so no such test could survive a
correction for many claims. Where a setting is chosen with the same seeds that judge it, or their means are ranked, the
numbers of the seeds are dependent. Their variance is then raised as Nadeau & Bengio (2003) do for cross-validation,
which in simulations keeps the error rate near its level even if all settings are equally good. Rank correlations over k
points may be exactly ±1 in all of a few seeds, which looks like no spread at all. One imaginary seed is then added,
whose squared deviation is the permutation variance 1/(k − 1), if that makes the spread larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

LEVEL = 0.05
"""The error rate of the tests after correction, and one minus the confidence of the intervals."""
POWER = 0.8
"""The power for which numbers of runs are stated."""
_NUMBERS = np.unique(np.geomspace(2, 100_000, 600).astype(int))
"""Numbers of seeds that are tried; more than the last is not realistic."""


@dataclass(frozen=True)
class Units:
    """One stratum's numbers, one for each seed, and how many runs each seed took on average.

    floor: the squared deviation of one imaginary seed more; 0 for none. span: the smallest and the largest possible
    effect. widened: whether the numbers are dependent, so that their variance is multiplied by n (1/n + 1/(n − 1)).
    """

    values: Floats
    runs_per_seed: float
    floor: float = 0.0
    span: tuple[float, float] = (-math.inf, math.inf)
    widened: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))

    @property
    def seeds(self) -> int:
        return len(self.values)

    @property
    def variance(self) -> float:
        """The variance of one seed's number; needs two seeds."""
        squares = float(((self.values - self.values.mean()) ** 2).sum())
        spread = squares / (self.seeds - 1)
        # The imaginary seed can only widen the spread: near ±1 the seeds' own is too small, elsewhere it is right.
        spread = max(spread, (squares + self.floor) / self.seeds)
        return spread * (1 + self.seeds / (self.seeds - 1)) if self.widened else spread


@dataclass(frozen=True)
class Estimate:
    """An effect with its standard error, degrees of freedom and span; `seeds` is the mean number of seeds of a stratum."""

    effect: float
    error: float
    freedom: float
    seeds: float
    span: tuple[float, float] = (-math.inf, math.inf)

    def interval(self, confidence: float = 1 - LEVEL) -> tuple[float, float]:
        half = float(stats.t.ppf(0.5 + confidence / 2, self.freedom)) * self.error
        return max(self.effect - half, self.span[0]), min(self.effect + half, self.span[1])

    def chance_above(self, bound: float) -> float:
        """The p-value of an effect at least this large if the true effect is at `bound` or below."""
        if self.error == 0:
            return 0.0 if self.effect > bound else 1.0
        return float(stats.t.sf((self.effect - bound) / self.error, self.freedom))

    def chance_below(self, bound: float) -> float:
        """The p-value of an effect at most this large if the true effect is at `bound` or above."""
        if self.error == 0:
            return 0.0 if self.effect < bound else 1.0
        return float(stats.t.cdf((self.effect - bound) / self.error, self.freedom))

    def seeds_needed(self, distance: float, level: float = LEVEL) -> int | None:
        """Seeds per stratum for a one-sided test at `level` to detect an effect this far from its bound with `POWER`.

        None if no reasonable number would do.
        """
        if distance <= 0:
            return None
        spread = self.error * math.sqrt(self.seeds)
        freedom = self.freedom / max(self.seeds - 1, 1) * (_NUMBERS - 1)
        reach = stats.t.isf(level, freedom) + stats.t.isf(1 - POWER, freedom)
        enough = np.flatnonzero(distance >= reach * spread / np.sqrt(_NUMBERS))
        return int(_NUMBERS[enough[0]]) if len(enough) else None


def mean_of(strata: Sequence[Units]) -> Estimate:
    """The mean of the strata's means; each needs two seeds."""
    squares = np.array([units.variance / units.seeds for units in strata])
    total = float(squares.sum())
    freedom = np.array([units.seeds - 1 for units in strata])
    if total > 0:
        # Welch–Satterthwaite.
        degrees = total**2 / float((squares**2 / freedom).sum())
    else:
        degrees = float(freedom.sum())
    return Estimate(
        effect=float(np.mean([units.values.mean() for units in strata])),
        error=math.sqrt(total) / len(strata),
        freedom=degrees,
        seeds=float(np.mean([units.seeds for units in strata])),
        span=strata[0].span,
    )


def correlations(values: Floats, runs_per_seed: float, points: int) -> Units:
    """Each seed's rank correlation over this many points, as units."""
    return Units(values, runs_per_seed, floor=1 / (points - 1), span=(-1.0, 1.0))


def jackknife(statistic: Callable[[NDArray[np.intp]], float], count: int) -> Floats:
    """Pseudo-values n·T − (n − 1)·T without i, whose mean and spread are those of a statistic of n seeds; of one, T itself."""
    everything = np.arange(count)
    whole = statistic(everything)
    if count == 1:
        return np.array([whole])
    without = np.array([statistic(np.delete(everything, i)) for i in range(count)])
    return count * whole - (count - 1) * without


class Shares(NamedTuple):
    """Shares of a score's variance: between methods, between strengths of a method, between seeds of a strength."""

    method: float
    strength: float
    seed: float


def variance_shares(scores: Floats, methods: Sequence[str]) -> Shares:
    """Shares of the variance of scores (seeds, settings), given each setting's method; NaN where nothing varies.

    Nested analysis of variance: settings within methods, seeds within settings. What noise alone would add to the first
    two parts, their degrees of freedom times the variance within settings, is subtracted from them (as in ω²).
    """
    names = np.asarray(methods)
    seeds, settings = scores.shape
    centre, means = scores.mean(), scores.mean(axis=0)
    groups = [np.flatnonzero(names == name) for name in np.unique(names)]
    between = sum(seeds * len(group) * (means[group].mean() - centre) ** 2 for group in groups)
    nested = sum(seeds * ((means[group] - means[group].mean()) ** 2).sum() for group in groups)
    within = ((scores - means) ** 2).sum()
    noise = within / (settings * (seeds - 1)) if seeds > 1 else 0.0
    total = between + nested + within
    if total <= 0:
        return Shares(math.nan, math.nan, math.nan)
    method = max(0.0, between - (len(groups) - 1) * noise) / total
    strength = max(0.0, nested - (settings - len(groups)) * noise) / total
    return Shares(method, strength, 1 - method - strength)


def holm(chances: Sequence[float] | Floats) -> Floats:
    """Holm's corrected p-values: rejecting those at most `LEVEL` keeps the chance of any error at most `LEVEL`.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(chances, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped)) if len(values) else stepped
    return corrected
