"""A table of results as claims read it: one row for each run, one column for each score.

A score is named by its metric, `mig`, or with the representation it was computed on, `gaussian_tc/sampled`; without one
the codes' means are meant, or the posterior where the metric is defined on that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.statistics import Floats
from hackle.tables import Tables

Frame = Any
Column = Any
"""pandas' frames and series, whose types do not say which of the two an index gives."""
Condition = Mapping[str, Any]
"""What some runs have in common: a value, or a tuple of values, for columns of the table of runs."""

DESIGN = (
    *("dataset", "method", "strength", "architecture", "seed", "steps", "batch_size", "latents"),
    *("likelihood", "correlation", "precision"),
)
ADVERSARIAL = ("infogan", "infowgan-gp")
_SEED = re.compile(r'"seed": ?\d+')
TAIL = 0.1
"""The last part of a training over which a curve is averaged."""


def complete(condition: Condition) -> dict[str, Any]:
    """The condition with what goes without saying: uncorrelated noise and the method's usual networks."""
    usual = "adversarial" if condition.get("method") in ADVERSARIAL else "convolutional"
    return {"correlation": 0.0, "architecture": usual, **condition}


def describe(condition: Condition) -> str:
    """A condition in words.

    >>> describe({"method": "vae", "dataset": "dsprites", "correlation": 0.9})
    'vae on dsprites, correlation 0.9'
    """
    words = lambda value: " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # noqa: E731
    rest = [f"{key} {words(value)}" for key, value in condition.items() if key not in ("method", "dataset")]
    start = words(condition.get("method", "any method"))
    if "dataset" in condition:
        start += f" on {words(condition['dataset'])}"
    return ", ".join([start, *rest])


SETTING = ["method", "strength", "architecture", "correlation", "latents"]
"""What tells the settings of a sweep apart, on any data set."""


class Sweep:
    """The scores of many settings by seed, arrays (seeds, settings), NaN where a run is missing."""

    def __init__(self, rows: Frame, columns: Sequence[str]) -> None:
        settings = rows.groupby(SETTING, observed=True, dropna=False).ngroup()
        first = rows.assign(setting=settings).drop_duplicates("setting").sort_values("setting")
        # A method without a strength gets one that equals itself, which NaN does not.
        self.settings = list(first[SETTING].fillna({"strength": -1.0}).itertuples(index=False, name=None))
        self.seeds, seed = np.unique(rows["seed"].to_numpy(), return_inverse=True)
        self.runs = len(rows)
        shape = (len(self.seeds), len(first))
        cell = seed * shape[1] + settings.to_numpy()
        self.scores: dict[str, Floats] = {}
        for column in columns:
            values = rows[column].to_numpy(float)
            known = np.isfinite(values)
            count = np.bincount(cell[known], minlength=shape[0] * shape[1])
            total = np.bincount(cell[known], weights=values[known], minlength=shape[0] * shape[1])
            with np.errstate(invalid="ignore"):
                self.scores[column] = (total / np.where(count, count, np.nan)).reshape(shape)

    def runs_per_seed(self) -> int:
        return max(1, round(self.runs / max(1, len(self.seeds))))


class View:
    """What claims ask of a table of results. `of(study)` is its part that concerns one study."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._parts: dict[str, Data] = {}
        self._tails: dict[str, Column] = {}

    @cached_property
    def runs(self) -> Frame:
        """The runs that were trained to the end, by hash; those that differ in their seed alone have the same `setting`."""
        runs = self.tables.runs
        done = runs.loc[runs["status"] == "done", ["run", "study", *DESIGN, "record"]]
        done = done.drop_duplicates("run").set_index("run")
        text = ("study", "dataset", "method", "architecture", "likelihood", "precision")
        done = done.astype(dict.fromkeys(text, "category") | {"strength": float, "correlation": float})
        without_seed = done.pop("record").astype(str).str.replace(_SEED, "", regex=True)
        return done.assign(setting=pd.factorize(without_seed)[0])

    @cached_property
    def _protocols(self) -> dict[str, Frame]:
        """By protocol, scores (runs, metric/representation); over scoring seeds their mean."""
        scores = self.tables.scores
        rows = self.runs.index.get_indexer(scores["run"])
        names = scores["metric"].astype(str).str.cat(scores["representation"].astype(str), sep="/")
        columns, known = pd.factorize(names)
        protocols, labels = pd.factorize(scores["protocol"])
        values = scores["score"].to_numpy(float)
        usable = (rows >= 0) & np.isfinite(values)
        found = {}
        for index, label in enumerate(labels):
            mine = usable & (protocols == index)
            cell = rows[mine] * len(known) + columns[mine]
            size = len(self.runs) * len(known)
            count = np.bincount(cell, minlength=size)
            total = np.bincount(cell, weights=values[mine], minlength=size)
            with np.errstate(invalid="ignore"):
                table = (total / np.where(count, count, np.nan)).reshape(len(self.runs), len(known))
            found[str(label)] = pd.DataFrame(table, index=self.runs.index, columns=known)
        return found

    @property
    def protocols(self) -> list[str]:
        return list(self._protocols)

    def scores(self, protocol: str) -> Frame:
        return self._protocols[protocol]

    def of(self, study: str) -> Data:
        if study not in self._parts:
            self._parts[study] = Data(self, study)
        return self._parts[study]

    def tail(self, term: str) -> Column:
        """The mean of a logged term over the last tenth of each run's training, by run."""
        if term not in self._tails:
            curve: Frame = self.tables.curve(term)
            end = curve.groupby("run")["step"].transform("max")
            late = curve[curve["step"] > (1 - TAIL) * end]
            self._tails[term] = late.groupby("run")["value"].mean()
        return self._tails[term]


class Data:
    """The runs that concern a study: its own if there are any, else all; scored by the protocol of its name if they were,
    else by the protocol with most scores."""

    def __init__(self, view: View, study: str) -> None:
        self.view = view
        runs = view.runs
        own = runs["study"] == study
        self.runs = runs[own] if own.any() else runs
        self.protocol = self._choose(study)

    def _choose(self, study: str) -> str | None:
        """One protocol for all the study's claims, since scores of different protocols do not compare."""
        counts = {
            name: int(np.isfinite(self.view.scores(name).loc[self.runs.index].to_numpy()).sum())
            for name in self.view.protocols
        }
        if counts.get(study):
            return study
        return max(counts, key=lambda name: counts[name]) if any(counts.values()) else None

    def scored(self, score: str, protocol: str | None = None) -> Column:
        """A score of each run, NaN where there is none."""
        if score == "kl_without_constant":
            return self.scored("kl") - self._kl_constant
        chosen = protocol or self.protocol
        if chosen is not None:
            table = self.view.scores(chosen)
            for name in (score,) if "/" in score else (f"{score}/mean", f"{score}/posterior"):
                if name in table:
                    return table[name].loc[self.runs.index]
        return pd.Series(np.nan, index=self.runs.index)

    @cached_property
    def _kl_constant(self) -> Column:
        """−½ ln det Σ, by which correlated noise raises the KL whatever was learnt (Yang et al. 2020, appendix B)."""
        latents, sigma = self.runs["latents"].astype(float), self.runs["correlation"].astype(float)
        return -0.5 * ((latents - 1) * np.log1p(-sigma) + np.log1p((latents - 1) * sigma))

    def rows(self, condition: Condition, columns: Sequence[str] = (), longest: bool = True) -> Frame:
        """The runs of a condition with these scores beside them; `longest` keeps those that trained for most steps."""
        runs = self.runs
        keep = np.ones(len(runs), bool)
        for key, value in complete(condition).items():
            column = runs[key]
            if isinstance(value, tuple):
                keep &= column.isin(value).to_numpy()
            elif isinstance(value, float) and math.isnan(value):
                keep &= column.isna().to_numpy()
            else:
                keep &= (column == value).to_numpy()
        chosen = runs[keep]
        chosen = chosen.assign(**{name: self.scored(name)[keep] for name in columns})
        if columns:
            chosen = chosen[chosen[list(columns)].notna().any(axis=1)]
        if longest and len(chosen):
            chosen = chosen[chosen["steps"] == chosen.groupby("dataset", observed=True)["steps"].transform("max")]
        return chosen

    def matched(self, conditions: Sequence[Condition], columns: Sequence[str]) -> list[Frame]:
        """Each condition's runs with all of these scores, at the most steps that all conditions have, if they share any."""
        found = [self.rows(condition, columns, longest=False).dropna(subset=list(columns)) for condition in conditions]
        shared = set.intersection(*(set(rows["steps"]) for rows in found))
        if shared:
            return [rows[rows["steps"] == max(shared)] for rows in found]
        return [rows[rows["steps"] == rows["steps"].max()] for rows in found]

    def sweep(self, condition: Condition, columns: Sequence[str]) -> Sweep:
        return Sweep(self.rows(condition, columns), columns)

    def array(self, name: str) -> Mapping[str, NDArray[Any]]:
        return self.view.tables.array(name)
