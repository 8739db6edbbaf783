"""What Locatello et al. 2019 ask of sweeps on several data sets together: who wins, what varies, what transfers.

Scores are arrays (data sets, metrics, seeds, settings) without gaps. Effects are jackknifed over seeds. Where the paper
takes medians over seeds, means are taken here: the jackknife is not valid for medians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from hackle.claims.measures import Measure, common_sweeps
from hackle.claims.statistics import Floats, Units, jackknife, rank_correlations, variance_shares
from hackle.claims.view import Condition, Data

Statistic = Callable[[Floats, list[str]], float]
"""A number from scores (data sets, metrics, seeds, settings) and the settings' methods."""


def across(
    statistic: Statistic,
    metrics: Sequence[str],
    *,
    datasets: int = 1,
    span: tuple[float, float] = (-np.inf, np.inf),
    within: bool = False,
    widened: bool = False,
) -> Measure:
    """A statistic of the data sets of one condition that were run, or of each condition one; jackknifed over seeds.

    datasets: how many there must be at least. within: compute it within each seed instead, as steps need, which the
    jackknife cannot follow. widened: the statistic ranks means over seeds (see `Units`).
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        each = list(conditions)
        if len(each) == 1:
            present = data.rows(each[0], metrics)["dataset"].unique()
            each = [{**each[0], "dataset": name} for name in sorted(map(str, present))]
        cut = common_sweeps(data, each, metrics) if len(each) >= datasets else None
        if cut is None or cut.arrays[0].shape[1] < 2 or cut.arrays[0].shape[2] < 3:
            return None
        scores = np.stack(cut.arrays)
        count = scores.shape[2]
        if within:
            values = np.array([statistic(scores[:, :, seed, None], cut.methods) for seed in range(count)])
        else:
            values = jackknife(lambda kept: statistic(scores[:, :, kept], cut.methods), count)
        return (
            Units(values, scores.shape[3] * len(each), span=span, widened=widened)
            if np.isfinite(values).all()
            else None
        )

    return Measure(compute, tuple(metrics))


def strength_minus_method(scores: Floats, methods: list[str]) -> float:
    """How much more variance lies between strengths of a method than between methods, mean over data sets and metrics."""
    shares = [variance_shares(metric, methods) for dataset in scores for metric in dataset]
    return float(np.nanmean([part.strength - part.method for part in shares]))


def seed_minus_method(scores: Floats, methods: list[str]) -> float:
    """How much more variance lies between seeds than between methods, mean over data sets and metrics."""
    shares = [variance_shares(metric, methods) for dataset in scores for metric in dataset]
    return float(np.nanmean([part.seed - part.method for part in shares]))


def share_of_the_best_method(scores: Floats, methods: list[str]) -> float:
    """The part of all data sets and metrics in which the method that wins most wins, each at its best strength."""
    best = scores.mean(axis=2).argmax(axis=-1)
    winners = np.asarray(methods)[best].ravel()
    return float(np.unique(winners, return_counts=True)[1].max() / winners.size)


def agreement_of_tuning(scores: Floats, methods: list[str]) -> float:
    """The mean rank correlation, over pairs of columns (data set and metric), of how one orders a method's strengths."""
    means = scores.mean(axis=2).reshape(-1, scores.shape[3])
    found = []
    for method in sorted(set(methods)):
        columns = means[:, [name == method for name in methods]]
        first, second = np.triu_indices(len(columns), 1)
        if columns.shape[1] > 2:
            found.append(rank_correlations(columns[first], columns[second]).mean())
    return float(np.mean(found)) if found else float("nan")


def agreement_of_datasets(scores: Floats, methods: list[str]) -> float:
    """The rank correlation of settings' means on the first two data sets, mean over metrics."""
    means = scores.mean(axis=2)
    return float(rank_correlations(means[0], means[1]).mean())


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
    there. Here every draw is made once, so that the numbers are what the paper's tend to.
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
