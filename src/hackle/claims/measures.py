"""What claims measure, seed by seed: differences between conditions, trends along a sweep, the best setting.

A measure is a function from a paper's data and a stratum's conditions to one number for each seed. It says which scores,
curves and arrays it reads, so that a claim can tell what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.conditions import Condition, several
from hackle.claims.statistics import Floats, Units, correlations, jackknife
from hackle.claims.view import Column, Data, Frame
from hackle.information.ranks import spearman
from hackle.metrics.mig import top_two_gap

SMALLEST = 1e-6
"""Total correlations are floored here, in nats, before their logarithm is taken."""


@dataclass(frozen=True)
class Measure:
    """`compute(data, conditions)` gives one number per seed, or None if no seed has everything it needs, or if the
    design is too small: `least` says in words what it must have."""

    compute: Callable[[Data, Sequence[Condition]], Units | None]
    scores: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    least: str = ""


def on_the_first(measure: Measure, datasets: Sequence[str]) -> Measure:
    """The measure on the first of these data sets for which all conditions, which accept each of them, have runs."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        have = [data.datasets(condition) for condition in conditions]
        for name in datasets:
            if all(name in sets for sets in have):
                return measure.compute(data, [{**condition, "dataset": name} for condition in conditions])
        return None

    return replace(measure, compute=compute)


def balanced(rows: Frame, values: Any) -> Frame:
    """Runs' values by seed and setting, of seeds that all have the same settings: else seeds would differ by the settings that
    they lack. Of each seed's settings, with the other seeds that have them all, those with the most runs are taken, but two
    seeds at least if there are such. Runs without a value (NaN) count as none."""
    numbers: Any = pd.Series(np.asarray(values, float), index=rows.index)
    table: Frame = numbers.groupby([rows["seed"], rows["setting"]]).mean().unstack().dropna(how="all")
    blocks = [table.loc[:, known].dropna() for known in table.notna().drop_duplicates().to_numpy()]
    return max(blocks, key=lambda block: (len(block) > 1, block.size, len(block)), default=table.iloc[:0, :0])


@dataclass(frozen=True)
class Number:
    """A number of each run: `of(data, rows)`, NaN where there is none, and the scores, curves and arrays that it reads."""

    of: Callable[[Data, Frame], Column]
    scores: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()


def of_score(name: str) -> Number:
    """A score of each run."""
    return Number(lambda data, rows: rows[name], scores=(name,))


def of_curve(term: str) -> Number:
    """The mean of a logged term over the last tenth of each run's training."""
    return Number(lambda data, rows: data.view.tail(term).reindex(rows.index), curves=(term,))


def of_arrays(number: Callable[..., float], *names: str) -> Number:
    """What `number` computes from arrays of each run."""

    def of(data: Data, rows: Frame) -> Column:
        arrays = [data.array(name) for name in names]
        known = rows.index[[all(run in part for part in arrays) for run in rows.index]]
        numbers = {run: number(*(part[run] for part in arrays)) for run in known}
        return pd.Series(numbers, dtype=float).reindex(rows.index)

    return Number(of, arrays=names)


def by_run(number: Number, along: str | Number | None = None) -> Measure:
    """A number of each run of one condition: the mean of each seed, or the rank correlation with strength, steps, latents or
    another number over the runs of all seeds, jackknifed over seeds."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        rows = data.rows(conditions[0], number.scores, longest=along != "steps")
        rows = rows.assign(number=np.asarray(number.of(data, rows), float))
        if along is None:
            table = balanced(rows, rows["number"])
            return Units(table.mean(axis=1).to_numpy(), table.shape[1]) if table.size else None
        axis = rows[along] if isinstance(along, str) else along.of(data, rows)
        return _trend(
            rows.assign(along=np.asarray(axis, float)).dropna(subset=["along", "number"]), along == "strength"
        )

    return Measure(compute, number.scores, number.curves, number.arrays)


def _trend(rows: Frame, together: bool) -> Units | None:
    """The trend over the runs of all seeds: of all strengths together, or the mean of the trends at each strength.

    Runs of all seeds are ranked together: the correlation of three or four points within one seed takes few values, whose
    t-test says "holds" three times as often as it may.
    """
    points = rows["along"].nunique()
    if points < 3:
        return None
    sweeps = [rows] if together else [part for _, part in rows.groupby("strength", dropna=False)]
    seeds = np.unique(rows["seed"])

    def statistic(kept: NDArray[np.intp]) -> float:
        models = [sweep[sweep["seed"].isin(seeds[kept])] for sweep in sweeps]
        trends = [spearman(part["number"], part["along"], constant=0.0) for part in models]
        known = [value for value in trends if value == value]
        return float(np.mean(known)) if known else np.nan

    values = jackknife(statistic, len(seeds))
    values = values[np.isfinite(values)]
    return correlations(values, len(rows) / len(seeds), points) if len(values) else None


def value(score: str) -> Measure:
    """The score itself, averaged over the runs of a seed."""
    return by_run(of_score(score))


def trend(score: str, along: str | Number = "strength") -> Measure:
    """The rank correlation of the score with strength, steps, latents or another number over the runs of one condition in
    every seed, jackknifed over seeds."""
    return by_run(of_score(score), along)


def gap(upper: str, lower: str) -> Measure:
    """Within each seed, one score minus another of the same runs."""
    return by_run(Number(lambda data, rows: rows[upper] - rows[lower], scores=(upper, lower)))


def between(change: Callable[..., Floats], number: Number, least: str = "") -> Measure:
    """What `change` makes of a number under each condition, arrays of the means of each seed that all conditions have."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        frames = data.matched(conditions, number.scores)
        sides = [balanced(rows, number.of(data, rows)) for rows in frames]
        seeds = sorted(set.intersection(*(set(side.index) for side in sides)))
        if not seeds:
            return None
        means = (side.loc[seeds].mean(axis=1).to_numpy() for side in sides)
        return Units(change(*means), sum(side.shape[1] for side in sides))

    return Measure(compute, number.scores, number.curves, number.arrays, least)


def difference_of(number: Number, sign: int = 1) -> Measure:
    """The number under the second condition minus the first, times `sign`."""
    return between(lambda before, after: sign * (after - before), number)


def difference(score: str, sign: int = 1) -> Measure:
    """The score under the second condition minus the first, times `sign`."""
    return difference_of(of_score(score), sign)


def relative_change(score: str, sign: int = 1) -> Measure:
    """The ratio of the score's mean under the second condition to that under the first, minus 1, times `sign`.

    The numbers of seeds are b/ā − (R − 1)(a/ā − 1) − 1 with R the ratio: their mean is R − 1 and their spread that of the
    ratio, to first order.
    """
    return between(lambda before, after: sign * ratio_numbers(before, after), of_score(score))


def ratio_numbers(before: Floats, after: Floats) -> Floats:
    """One number per seed, with mean mean(after)/mean(before) − 1 and the spread of this ratio."""
    scale = before.mean()
    if scale == 0:
        return np.full(len(before), np.nan)
    ratio = after.mean() / scale
    return (after - ratio * before) / scale + ratio - 1


def log_difference(score: str) -> Measure:
    """Within each seed, the mean logarithm of the score over the runs of the second condition minus that of the first,
    averaged over the data sets that both have."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        frames = data.matched(conditions, [score])
        logs = [rows.assign(log=np.log(np.maximum(rows[score], SMALLEST))) for rows in frames]
        before, after = (rows.groupby(["seed", "dataset"], observed=True)["log"].mean() for rows in logs)
        values = (after - before).dropna().groupby(level="seed").mean()
        if values.empty:
            return None
        return Units(values.to_numpy(), sum(map(len, frames)) / len(values))

    return Measure(compute, (score,))


def best_difference(score: str) -> Measure:
    """The score of the second condition's best setting, that with the highest mean, minus that of the first's.

    Jackknifed over seeds, which removes most of the selection bias of taking the best of many.
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        return _of_the_best([data.matched(conditions, [score])], score)

    return Measure(compute, (score,))


def change_at_the_best(score: str, chosen_by: str) -> Measure:
    """The ratio of one score at the second condition's best setting, that with the highest mean of another, to that at the
    first's, minus 1.

    The settings are chosen for each seed by the other seeds. The jackknife would fail: where two settings are nearly as good,
    leaving out a seed may turn the choice to one where the score is quite different, and it multiplies that turn by the number
    of seeds.
    """
    columns = (score, chosen_by)

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        frames = data.matched(conditions, columns)
        seeds = _common_seeds(frames)
        if len(seeds) < 2:
            return None
        sides = [_of_settings(rows[rows["seed"].isin(seeds)], columns) for rows in frames]
        found = np.array([[_at_best_of_others(seed, *side) for side in sides] for seed in range(len(seeds))])
        before, after = found[np.isfinite(found).all(axis=1)].T
        runs = {run for rows in frames for run in rows.index[rows["seed"].isin(seeds)]}
        # The seeds that choose overlap: the variance is that of leave-one-out cross-validation.
        chosen = any(judged.shape[1] > 1 for _, judged in sides)
        return Units(ratio_numbers(before, after), len(runs) / len(seeds), widened=chosen) if len(before) else None

    return Measure(compute, columns)


def _at_best_of_others(seed: int, scored: Floats, judged: Floats) -> float:
    """What a seed scores at the setting that the other seeds, and it, have and the others judge best; NaN without one."""
    means = np.where(np.isfinite(scored[seed]), _known_means(np.delete(judged, seed, axis=0)), -np.inf)
    best = int(means.argmax())
    return float(scored[seed, best]) if np.isfinite(means[best]) else np.nan


def least_best_difference(score: str) -> Measure:
    """`best_difference` from that of the first condition's methods, each judged apart, from which it is least.

    Each method's runs are the study's own, or others' where it has none, so that a study of one method can be compared with
    another study's methods.
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        rivals, mine = conditions
        pairs = [data.matched(({**rivals, "method": name}, mine), [score]) for name in several(rivals["method"])]
        known = [frames for frames in pairs if _common_seeds(frames)]
        return _of_the_best(known, score) if known else None

    return Measure(compute, (score,), least="two seeds of a rival and of the method itself")


def _common_seeds(frames: Sequence[Frame]) -> list[int]:
    return sorted(set.intersection(*(set(rows["seed"]) for rows in frames)))


def _of_the_best(pairs: Sequence[Sequence[Frame]], score: str) -> Units | None:
    """The least difference between the best settings of two frames of runs, of several such pairs; jackknifed over seeds."""
    every = [rows for frames in pairs for rows in frames]
    seeds = _common_seeds(every)
    if len(seeds) < 2:
        return None
    sides = [[_of_settings(rows[rows["seed"].isin(seeds)], [score])[0] for rows in frames] for frames in pairs]

    def statistic(kept: NDArray[np.intp]) -> float:
        return min(float(np.subtract(*(_known_means(side[kept]).max() for side in pair[::-1]))) for pair in sides)

    runs = {run for rows in every for run in rows.index[rows["seed"].isin(seeds)]}
    chosen = len(sides) > 1 or any(side.shape[1] > 1 for pair in sides for side in pair)
    return Units(jackknife(statistic, len(seeds)), len(runs) / len(seeds), widened=chosen)


def least_difference(score: str) -> Measure:
    """The score under the second condition minus the first, at that strength which both have where it is the fewest standard
    errors above 0.

    What is said of every strength is so if it is of this one, without a correction (an intersection–union test). That it is
    not so at the worst of several strengths is chosen by the same seeds that judge it, and widened.
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        frames = data.matched(conditions, [score])
        before, after = (rows.groupby(["seed", "strength"])[score].mean().unstack("strength") for rows in frames)
        differences = (after - before).dropna(axis=1, how="all").dropna(axis=0)
        if len(differences) < 2 or not differences.shape[1]:
            return None
        values = differences.to_numpy(float)
        least = least_certain(values)
        return Units(least, 2 * values.shape[1], widened=values.shape[1] > 1 and least.mean() < 0)

    return Measure(compute, (score,), least="two seeds at a weight that both have")


def least_certain(values: Floats) -> Floats:
    """That column of values (seeds, k) whose mean is the fewest standard errors above 0.

    >>> least_certain(np.array([[0.2, 0.9], [0.2, 0.1], [0.3, 0.2]]))
    array([0.9, 0.1, 0.2])
    """
    # Where seeds do not differ, rounding is their only spread.
    rounding = max(1e-12 * float(np.abs(values).max()), np.finfo(float).tiny)
    errors = np.maximum(values.std(axis=0, ddof=1) / np.sqrt(len(values)), rounding)
    return values[:, int((values.mean(axis=0) / errors).argmin())]


def _of_settings(rows: Frame, scores: Sequence[str]) -> list[Floats]:
    """Each score as an array (seeds, settings), NaN where a run is missing, of settings that half of the seeds have, if there
    are such: the mean of a few seeds is not compared with that of many."""
    table = rows.groupby(["seed", "setting"])[list(scores)].mean()
    found = [table[name].unstack("setting").to_numpy(float) for name in scores]
    share = np.isfinite(found[0]).mean(axis=0)
    return [values[:, share >= min(0.5, share.max())] for values in found]


def _known_means(values: Floats) -> Floats:
    """The mean over the first axis of what is known; −∞ where nothing is."""
    known = np.isfinite(values)
    return np.where(
        known.any(axis=0), np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), -np.inf
    )


INFORMATIVE = 0.05
"""The least informativeness, in nats, of a latent that is not noise; the same as in `hackle.metrics.consistency`."""


def without_noise(information: Any, informativeness: Any) -> Any:
    """The mutual information (latents, factors) of posterior means, set to 0 for latents that are noise: their tiny
    means may be informative where their samples are not."""
    return np.where(np.asarray(informativeness)[:, None] > INFORMATIVE, information, 0.0)


def of_gaps(sizes: Mapping[str, int], first: Sequence[str], second: Sequence[str] = ()) -> Number:
    """The mean gap of some factors, minus that of others. A factor's gap is that between the two codes with the most
    information on it, as a share of its entropy; `sizes` are the numbers of values of all factors of a data set, in its order.
    NaN for codes of a set with other factors, or a single code."""
    places = [[list(sizes).index(name) for name in names] for names in (first, second)]

    def number(information: Any, informativeness: Any) -> float:
        known = without_noise(information, informativeness)
        if known.shape[1] != len(sizes) or len(known) < 2:
            return np.nan
        gaps = top_two_gap(known) / np.log(list(sizes.values()))
        return float(gaps[places[0]].mean() - (gaps[places[1]].mean() if second else 0.0))

    return of_arrays(number, "mutual_information", "informativeness")


def common_sweeps(
    data: Data, conditions: Sequence[Condition], scores: Sequence[str]
) -> tuple[Floats, list[str]] | None:
    """The part of several sweeps that is complete in all, (conditions, scores, seeds, settings), and the settings' methods:
    settings that most seeds have, then seeds that have them all."""
    sweeps = [data.sweep(condition, scores) for condition in conditions]
    settings = sorted(set.intersection(*(set(sweep.settings) for sweep in sweeps)))
    if not settings:
        return None
    seeds = sorted(set.intersection(*(set(sweep.seeds.tolist()) for sweep in sweeps)))
    stacks = []
    for sweep in sweeps:
        columns = np.array([sweep.settings.index(setting) for setting in settings])
        rows = np.flatnonzero(np.isin(sweep.seeds, seeds))
        stacks.append(np.stack([sweep.scores[name][np.ix_(rows, columns)] for name in scores]))
    every = np.stack(stacks)
    known = np.logical_and.reduce(np.isfinite(every), axis=(0, 1))
    columns = np.flatnonzero(known.mean(axis=0) >= 0.5)
    rows = np.flatnonzero(known[:, columns].all(axis=1))
    if not len(columns) or not len(rows):
        return None
    data.use_only(len(sweeps), [settings[column] for column in columns], [seeds[row] for row in rows])
    return every[:, :, rows][..., columns], [settings[column][0] for column in columns]
