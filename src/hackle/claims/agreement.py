"""Agreement of scores: rank correlations over models.

Models of all seeds are ranked together, as in the papers. A rank correlation of three or four settings within one seed is
biased towards 0: where the truth is 0.5 its mean is 0.38 (its expectation over k independent pairs is ((k − 2) ρ + 3 τ) /
(k + 1), with Kendall's τ), and a mean over seeds keeps the bias. Seeds are still the replicates, by the jackknife.
Trends along strengths (`hackle.claims.measures.trend`) are taken in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hackle.claims.conditions import Condition
from hackle.claims.measures import Measure
from hackle.claims.statistics import Floats, Units, correlations, jackknife
from hackle.claims.view import Data, Frame
from hackle.information.ranks import rank_correlations, spearman_matrix


def agreement(
    *pairs: tuple[str, str], sign: int = 1, of: Callable[[Floats], Any] = np.mean, datasets: int = 1
) -> Measure:
    """Within each data set, the rank correlation of two scores over all models: every setting of the conditions in every
    seed.

    A run counts that has both scores of a pair. A pair's correlation is the mean over data sets, and `of` reduces all
    pairs' correlations to one number: their mean, in which opposite signs cancel, their mean `magnitude`, or their minimum.
    datasets: the least number of data sets. Jackknifed over seeds (`over_models`); other reductions than the mean choose
    a pair or signs with the same seeds that judge them, so they are widened (see `Units`).
    """
    columns = tuple(dict.fromkeys(name for pair in pairs for name in pair))

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        names = sorted({name for part in conditions for name in data.datasets(part, columns)})
        sweeps = [data.sweep([{**part, "dataset": name} for part in conditions], columns, pairs) for name in names]
        sweeps = [sweep for sweep in sweeps if len(sweep.settings) >= 3]
        if len(sweeps) < datasets:
            return None
        seeds = np.unique(np.concatenate([sweep.seeds for sweep in sweeps]))
        parts = []
        for sweep in sweeps:
            every = np.full((len(columns), len(seeds), len(sweep.settings)), np.nan)
            every[:, np.searchsorted(seeds, sweep.seeds)] = [sweep.scores[name] for name in columns]
            parts.append(every)
        chosen = np.array([[columns.index(name) for name in pair] for pair in pairs])
        values = over_models(parts, chosen, of)
        if values is None:
            return None
        runs = sum(sweep.runs for sweep in sweeps) / len(values)
        units = correlations(sign * values, runs, sum(len(sweep.settings) for sweep in sweeps))
        return replace(units, widened=of is not np.mean, span=(0.0 if of is magnitude else -1.0, 1.0))

    several = f" on {datasets} data sets" if datasets > 1 else ""
    return Measure(compute, columns, least=f"three settings{several}")


def over_models(
    parts: Sequence[Floats], pairs: NDArray[np.intp], of: Callable[[Floats], Any] = np.mean
) -> Floats | None:
    """Rank correlations over all models of pairs of scores, reduced to one number, as pseudo-values of seeds.

    parts: for each data set its scores (scores, seeds, settings), NaN where a run is missing; pairs (p, 2): which scores
    are compared. A pair's correlation is the mean over data sets.
    """
    known = np.flatnonzero(
        [any(np.isfinite(part[:, seed]).any() for part in parts) for seed in range(parts[0].shape[1])]
    )

    def statistic(kept: NDArray[np.intp]) -> float:
        by_part = np.full((len(parts), len(pairs)), np.nan)
        for row, part in zip(by_part, parts, strict=True):
            models = part[:, known[kept]].reshape(len(part), -1)
            if np.isfinite(models).all():
                row[:] = spearman_matrix(models.T, models.T, constant=0.0)[pairs[:, 0], pairs[:, 1]]
            else:
                row[:] = rank_correlations(models[pairs[:, 0]], models[pairs[:, 1]], constant=0.0)
        by_pair = _mean_of_known(by_part)
        return float(of(by_pair[np.isfinite(by_pair)])) if np.isfinite(by_pair).any() else np.nan

    if not len(known):
        return None
    return jackknife(statistic, len(known))


def among_runs(rows: Frame, score: str, others: Sequence[str], settings: int) -> Units | None:
    """The rank correlation over runs, by `seed` and `setting`, of one score with others, mean over these; a seed counts if it
    has so many settings."""
    if rows.empty:
        return None
    rows = rows[rows[score].notna() & rows[list(others)].notna().any(axis=1)]
    rows = rows[rows.groupby("seed")["setting"].transform("nunique") >= settings]
    if rows.empty:
        return None
    table = rows.pivot_table(index="seed", columns="setting", values=[score, *others])
    scores = np.stack([table[name].to_numpy(float) for name in (score, *others)])
    values = over_models([scores], np.array([[0, place] for place in range(1, len(scores))]))
    return None if values is None else correlations(values, len(rows) / len(table), scores.shape[2])


def magnitude(correlations: Floats) -> float:
    """The mean of the correlations' absolute values, so that opposite signs do not cancel."""
    return float(np.abs(correlations).mean())


def _mean_of_known(rows: Floats) -> Floats:
    """The mean over the first axis, without NaN."""
    count = np.isfinite(rows).sum(axis=0)
    return np.divide(np.nansum(rows, axis=0), count, out=np.full(rows.shape[1:], np.nan), where=count > 0)
