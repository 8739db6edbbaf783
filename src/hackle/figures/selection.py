"""From the tables to the runs that a figure is about: choosing rows, and summing up runs that differ only in their seed.

Where a run has a score under several protocols the figure's own protocol is taken, and where that is missing the most common
one, said in a note. Runs that differ only in how long they trained are represented by the longest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import rankdata

from hackle.core.notes import note_codes
from hackle.figures import words
from hackle.figures.chart import Frame
from hackle.store.tables import Tables

CONFIGURATION = ("dataset", "method", "strength", "architecture", "latents", "correlation", "likelihood")
"""What makes two runs the same experiment but for seed and length."""
_DOUBTS = {
    "saturated": "an estimate at its limit",
    "out-of-range": "codes beyond the range that is quantised",
    "not-converged": "a classifier that did not converge",
}
"""What an estimator's note says, by its code; any other is a warning."""
_NO_DOUBT = "own"
"""The code of the note that says where a metric of one's own comes from."""
_PLAIN = {"correlation": 0.0, "architecture": "convolutional", "latents": 10}


@dataclass(frozen=True)
class Picked:
    """Chosen scores: one row per run and metric, with the run's settings beside it, and what was chosen on the way."""

    rows: Frame
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def wide(self) -> Frame:
        """One row per run, a column per metric; runs that lack a metric have NaN there."""
        settings = self.rows.drop_duplicates("run").set_index("run")[[*CONFIGURATION, "seed", "steps"]]
        column = pd.Index(self.metrics).get_indexer(self.rows["metric"])
        values = np.full((len(settings), len(self.metrics)), np.nan)
        values[settings.index.get_indexer(self.rows["run"]), column] = self.rows["score"].to_numpy(float)
        return settings.join(pd.DataFrame(values, settings.index, list(self.metrics))).reset_index()

    def ceiling(self, metric: str, dataset: str | None = None) -> float:
        """What perfect codes reach, or NaN."""
        rows = self.rows[self.rows["metric"] == metric]
        if dataset is not None:
            rows = rows[rows["dataset"] == dataset]
        return float(rows["ceiling"].max()) if len(rows) else float("nan")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def settings_mask(frame: Frame, where: Mapping[str, Any]) -> Frame:
    """Which rows have these settings; numbers are compared up to rounding, None stands for NaN."""
    mask = pd.Series(True, frame.index)
    for column, value in where.items():
        values = _listed(value)
        if isinstance(values[0], str):
            mask &= frame[column].isin(values)
        else:
            found = frame[column].to_numpy(float)
            close = [np.isnan(found) if v is None else np.isclose(found, float(v)) for v in values]
            mask &= np.logical_or.reduce(close)
    return mask


def pick(
    tables: Tables,
    metrics: Sequence[str],
    *,
    protocol: str,
    representation: str = "mean",
    plain: bool = True,
    **where: Any,
) -> Picked:
    """The scores of these metrics for runs with these settings.

    representation: of codes; scores of posteriors have none and are always taken. plain: unless `where` says otherwise, only
    runs of ten latents, factorised posteriors and the convolutional encoder.
    """
    scores: Frame = tables.scores
    rows = scores[scores["metric"].isin(list(metrics))]
    rows = rows[rows["representation"].isin([representation, "posterior"])]
    if plain:
        where = {**{key: value for key, value in _PLAIN.items() if key not in where}, **where}
    rows = rows[settings_mask(rows, {key: value for key, value in where.items() if value != "any"})]
    rows = rows[np.isfinite(rows["score"].to_numpy(float))]
    rows, notes = _one_protocol(rows, protocol)
    rows, shorter = _longest(rows)
    if shorter:
        notes.append(shorter)
    if rows.duplicated(["run", "metric"]).any():
        first = rows.drop_duplicates(["run", "metric"]).set_index(["run", "metric"])
        means = rows.groupby(["run", "metric"], observed=True)["score"].mean()
        rows = first.assign(score=means).reset_index()
    rows = rows.astype(dict.fromkeys(("metric", "dataset", "method", "architecture"), object))
    return Picked(rows, tuple(metrics), (*notes, *_mixtures(rows), *doubts(rows)))


def _one_protocol(rows: Frame, wanted: str) -> tuple[Frame, list[str]]:
    """Each run's score by the protocol wanted, or where it lacks one by the most common of the others."""
    names = [str(name) for name in rows["protocol"].value_counts().index]
    # Variants of a protocol for ablations ("do2020-bins-50") or on fewer points ("do2020 × 0.1") come last.
    names.sort(key=lambda name: (name != wanted, " " in name or "-" in name))
    rank = rows["protocol"].astype(str).map({name: index for index, name in enumerate(names)}).astype(int)
    least = rank.groupby([rows["run"], rows["metric"]], observed=True, sort=False).transform("min")
    rows = rows[(rank == least).to_numpy()]
    others = rows[(rows["protocol"] != wanted).to_numpy()]
    notes = []
    for name, part in others.groupby("protocol", observed=True, sort=False):
        scores = words.listing(sorted({words.measure(str(metric)).short for metric in part["metric"].unique()}))
        some = "" if len(others) == len(rows) else "of some runs "
        notes.append(f"{scores} {some}by the protocol {name}, not {wanted}")
    return rows, notes


def _longest(rows: Frame) -> tuple[Frame, str]:
    if not len(rows) or rows["steps"].nunique() == 1:
        return rows, ""
    longest = rows.groupby(list(CONFIGURATION), dropna=False, observed=True)["steps"].transform("max")
    kept = rows[rows["steps"] == longest]
    left_out = rows["run"].nunique() - kept["run"].nunique()
    said = f"{words.counted(left_out, 'run')} left out that trained for fewer steps than others like them"
    return kept, said if left_out else ""


def _mixtures(rows: Frame) -> list[str]:
    notes = []
    steps = sorted(rows["steps"].unique())
    if len(steps) > 1:
        notes.append(f"runs of {words.listing(f'{count:,}' for count in steps)} steps side by side")
    runs = rows.drop_duplicates("run")
    twice = int(runs.duplicated([*CONFIGURATION, "seed"]).sum())
    if twice:
        notes.append(
            f"{words.counted(twice, 'run shares', 'runs share')} settings and seed with another: the difference is in batch "
            "size, precision, networks or another part of the record"
        )
    return notes


def doubts(rows: Frame) -> list[str]:
    """One line on the scores that came with a note, such as saturated estimates: how many runs, what, and which scores."""
    meaning = {text: _doubt(text) for text in rows["note"].dropna().unique()}
    noted = rows[rows["note"].isin([text for text in meaning if meaning[text]])]
    if not len(noted):
        return []
    parts = []
    for kind, part in noted.groupby(noted["note"].astype(object).map(meaning), sort=False):
        scores = words.listing(words.measure(str(metric)).short for metric in dict.fromkeys(part["metric"]))
        alike = rows.loc[rows["metric"].isin(part["metric"].unique()), "run"].nunique()
        parts.append(f"{part['run'].nunique():,} of {words.counted(alike, 'run')}: {kind} ({scores})")
    return ["; ".join(parts)]


def _doubt(note: str) -> str:
    """What a score's notes cast doubt on, in words; "" where they do not."""
    codes = note_codes(note)
    if not note or codes == (_NO_DOUBT,):
        return ""
    return next((kind for code, kind in _DOUBTS.items() if code in codes), "a warning")


def summarise(frame: Frame, by: Sequence[str], value: str = "y") -> Frame:
    """Mean of each group with its 95% t interval (low, high) and number of runs n; one run has no interval."""
    groups = frame.groupby(list(by), dropna=False, observed=True, sort=False)[value]
    found = groups.agg(["mean", "std", "count"]).reset_index()
    n = found["count"].to_numpy(float)
    half = np.full(len(found), np.nan)
    several = n > 1
    half[several] = stdtrit(n[several] - 1, 0.975) * found["std"].to_numpy(float)[several] / np.sqrt(n[several])
    found = found.assign(y=found["mean"], low=found["mean"] - half, high=found["mean"] + half, n=found["count"])
    return found[[*by, "y", "low", "high", "n"]]


def medians(frame: Frame, by: Sequence[str], value: str = "y") -> Frame:
    """Median of each group with its quartiles (low, high) and number of runs n."""
    groups = frame.groupby(list(by), dropna=False, observed=True, sort=False)[value]
    found = groups.quantile([0.25, 0.5, 0.75]).unstack()
    found.columns = ["low", "y", "high"]
    return found.join(groups.count().rename("n")).reset_index()[[*by, "y", "low", "high", "n"]]


def paired_change(frame: Frame, metric: str, after: str, before: str) -> Frame:
    """For each method one series' score minus another's at the same seed: mean, 95% t interval, number of pairs."""
    table = frame.pivot_table(index=["method", "seed"], columns="series", values=metric, sort=False)
    if after not in table or before not in table:
        return pd.DataFrame(columns=["method", "y", "low", "high", "n"])
    pairs = (table[after] - table[before]).dropna().rename("y").reset_index()
    return summarise(pairs, ["method"])


def rank_correlation(first: Frame, second: Frame) -> Frame:
    """Spearman's correlation of every column of one frame with every column of another over the same rows.

    Rows with a missing value are left out pair by pair; fewer than three rows, or no variation, give NaN.
    """
    found = pd.DataFrame(np.nan, index=list(first), columns=list(second))
    for row in first:
        for column in second:
            x, y = first[row].to_numpy(float), second[column].to_numpy(float)
            both = np.isfinite(x) & np.isfinite(y)
            found.loc[row, column] = spearman(x[both], y[both])
    return found


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of two vectors' ranks; NaN where there are fewer than three values or none varies."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def present(frame: Frame, column: str, order: Iterable[str], others: bool = True) -> list[str]:
    """The values of a column in a customary order, those outside it last."""
    found = list(dict.fromkeys(frame[column])) if len(frame) else []
    known = [name for name in order if name in found]
    return known + (sorted(name for name in found if name not in known) if others else [])


def spread(low: Frame | np.ndarray, high: Frame | np.ndarray) -> tuple[float, float]:
    """Ends of an axis a little beyond the data; (0, 1) where there is none."""
    values = np.concatenate([np.asarray(low, float).ravel(), np.asarray(high, float).ravel()])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    margin = 0.06 * (values.max() - values.min() or abs(values.max()) or 1.0)
    return float(values.min() - margin), float(values.max() + margin)
