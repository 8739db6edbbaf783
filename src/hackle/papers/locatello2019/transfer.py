"""Statistics of Locatello et al. 2019 on sweeps over several data sets: which method wins, what varies, what transfers.

Scores are arrays (data sets, metrics, seeds, settings) without gaps. A setting's score is its median over seeds, as in the
paper's sections 5.4 and 5.5. The jackknife fails for medians, and for which method wins, a step function: there seeds are
bootstrapped, which gives the spread and the bias from the noise of few seeds, so that the bias can be removed. Table 1, which
compares single runs, is jackknifed.

With few methods or strengths such questions are decided in advance: of two methods one is best at least half of the
time, one strength of each method leaves no variance between strengths, and of few settings a chosen one often equals a
random one. So each statistic says how many it needs, and methods with fewer strengths are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hackle.claims.conditions import Condition
from hackle.claims.measures import Measure, common_sweeps
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Data
from hackle.information.ranks import rank_correlations, spearman_matrix

Statistic = Callable[[Floats, list[str]], float]
"""A number from scores (data sets, metrics, seeds, settings) and the settings' methods."""
METHODS, STRENGTHS = 3, 3
"""The fewest methods, and strengths of each, needed to tell methods from strengths."""
DRAWS = 200
"""The number of bootstrap samples."""


def across(
    statistic: Statistic,
    metrics: Sequence[str],
    *,
    span: tuple[float, float],
    datasets: int = 1,
    methods: int = METHODS,
    strengths: int = STRENGTHS,
    bootstrapped: bool = False,
    widened: bool = False,
) -> Measure:
    """A statistic over the data sets of one condition that were run, or over one of each condition; jackknifed over
    seeds.

    span: its smallest and largest possible value. datasets, methods, strengths: how many are needed. bootstrapped: use
    the bootstrap instead. widened: the statistic ranks medians over seeds (see `Units`). Seeds never count as exactly
    alike: as with rank correlations an imaginary one is added, with the deviation of a rank correlation over as many
    runs.
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        every, methods_of = complete_scores(data, conditions, metrics)
        kept = swept(methods_of, methods, strengths)
        if len(every) < datasets or not kept or every.shape[2] < 3:
            return None
        scores, names = every[..., kept], [methods_of[place] for place in kept]
        count, runs = scores.shape[2], len(kept) * len(scores)
        floor = (span[1] - span[0]) ** 2 / 4 / (runs - 1)

        def number(seeds: NDArray[np.intp]) -> float:
            return statistic(scores[:, :, seeds], names)

        if bootstrapped:
            value, error = bootstrap(number, count, span)
            # The spread is entirely in the imaginary seed's deviation.
            values, floor = np.full(count, value), max(floor, (count * error) ** 2)
        else:
            values = jackknife(number, count)
        if not np.isfinite(values).all():
            return None
        return Units(values, runs, floor, span, widened)

    several = f" on {datasets} data sets" if datasets > 1 else ""
    least = f"{methods} methods with {strengths} strengths each{several}, in three seeds"
    return Measure(compute, tuple(metrics), least=least)


def complete_scores(data: Data, conditions: Sequence[Condition], metrics: Sequence[str]) -> tuple[Floats, list[str]]:
    """Scores (data sets, metrics, seeds, settings) of the seeds and settings that no data set lacks, and settings' methods."""
    each = list(conditions)
    if len(each) == 1:
        each = [{**each[0], "dataset": name} for name in data.datasets(each[0], metrics)]
    complete = common_sweeps(data, each, metrics) if each else None
    return complete or (np.empty((0, len(metrics), 0, 0)), [])


def swept(names: Sequence[str], methods: int = METHODS, strengths: int = STRENGTHS) -> list[int]:
    """The positions of settings whose method has enough strengths; none if too few methods have."""
    enough = {name for name, count in Counter(names).items() if count >= strengths}
    return [place for place, name in enumerate(names) if name in enough] if len(enough) >= methods else []


def bootstrap(
    statistic: Callable[[NDArray[np.intp]], float], count: int, span: tuple[float, float]
) -> tuple[float, float]:
    """A statistic of n seeds without the bias that their noise gives it, and its standard error.

    Bootstrap samples have the noise of the seeds and that of the draw, so that they are biased twice: 2T − mean T* is
    unbiased to first order. The variance is n/(n − 1) times that of the bootstrap samples, as for means.
    """
    drawn = np.random.default_rng(0).integers(count, size=(DRAWS, count))
    values = np.array([statistic(seeds) for seeds in drawn])
    value = 2 * statistic(np.arange(count)) - values.mean()
    return float(np.clip(value, *span)), float(values.std() * np.sqrt(count / (count - 1)))


def of_settings(scores: Floats) -> Floats:
    """Each setting's score, its median over seeds: (data sets, metrics, settings)."""
    return np.median(scores, axis=2)


def strength_minus_method(scores: Floats, methods: list[str]) -> float:
    """How much more of the settings' variance lies between strengths of a method than between methods, mean over data sets
    and metrics."""
    columns, names = of_settings(scores).reshape(-1, scores.shape[3]), np.asarray(methods)
    means = np.empty_like(columns)
    for name in np.unique(names):
        means[:, names == name] = columns[:, names == name].mean(axis=1, keepdims=True)
    within, between = (
        ((columns - means) ** 2).sum(axis=1),
        ((means - columns.mean(axis=1, keepdims=True)) ** 2).sum(axis=1),
    )
    total = within + between
    if not (total > 0).any():
        return float("nan")
    return float(((within - between)[total > 0] / total[total > 0]).mean())


def share_of_the_best_method(scores: Floats, methods: list[str]) -> float:
    """The part of all data sets and metrics in which the method that wins most wins, each at its best strength. Methods that
    are equally good share a win."""
    columns = of_settings(scores).reshape(-1, scores.shape[3])
    names = np.asarray(methods)
    best = np.stack([columns[:, names == name].max(axis=1) for name in np.unique(names)], axis=1)
    winners = best == best.max(axis=1, keepdims=True)
    return float((winners / winners.sum(axis=1, keepdims=True)).mean(axis=0).max())


def agreement_of_tuning(scores: Floats, methods: list[str]) -> float:
    """The mean rank correlation, over pairs of columns (data set and metric), of their orders of a method's
    strengths."""
    every = of_settings(scores).reshape(-1, scores.shape[3])
    means = []
    for method in sorted(set(methods)):
        columns = every[:, [name == method for name in methods]]
        if columns.shape[1] > 2:
            pairs = spearman_matrix(columns.T, columns.T, constant=0.0)
            means.append(pairs[np.triu_indices(len(columns), 1)].mean())
    return float(np.mean(means)) if means else float("nan")


def agreement_of_datasets(scores: Floats, methods: list[str]) -> float:
    """The rank correlation of settings on the first two data sets, mean over metrics."""
    first, second = of_settings(scores)[:2]
    return float(rank_correlations(first, second, constant=0.0).mean())


class Transfer(NamedTuple):
    """Table 1: how often a setting chosen by its score in one place is at least as good as a random one in another."""

    same: float
    other_data: float
    other_metric: float
    other_both: float


def transfer(scores: Floats) -> Transfer:
    """Table 1's four probabilities from scores (data sets, metrics, seeds, settings).

    The paper draws 10,000 times: a seed, a metric and a data set, of which the setting with the highest score is chosen;
    another seed and a metric and data set, the same or others; and a random setting, which the chosen one equals or beats
    there. Here every possible draw is made once, which gives the limit of the paper's numbers.
    """
    datasets, metrics, seeds, settings = scores.shape
    # beats[d, a, s, k]: the part of settings that setting k equals or beats on data set d, by metric a, in seed s.
    beats = rankdata(scores, method="max", axis=-1) / settings
    chosen = scores.argmax(axis=-1)
    everywhere = beats.sum(axis=2)
    # outcome[e, b, d, a, s]: on data set e by metric b, the setting that d, a and seed s chose, in the other seeds.
    outcome = everywhere[:, :, chosen]
    own = np.stack([beats[:, :, seed][:, :, chosen[:, :, seed]] for seed in range(seeds)], axis=-1)
    outcome = ((outcome - own) / (seeds - 1)).mean(axis=-1)
    same_data = np.eye(datasets, dtype=bool)[:, None, :, None]
    same_metric = np.eye(metrics, dtype=bool)[None, :, None, :]

    def mean(where: np.ndarray) -> float:
        kept = np.broadcast_to(where, outcome.shape)
        return float(outcome[kept].mean()) if kept.any() else float("nan")

    return Transfer(
        same=mean(same_data & same_metric),
        other_data=mean(~same_data & same_metric),
        other_metric=mean(same_data & ~same_metric),
        other_both=mean(~same_data & ~same_metric),
    )
