"""A table of results as claims read it: one row for each run, one column for each score.

A score is named by its metric, `mig`, or also by the representation it was computed on, `gaussian_tc/sampled`. Without
one it is that of the posterior means, or of the posterior itself for metrics defined on that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.columns import Column, Frame, cell_means, final_values
from hackle.claims.conditions import Condition, as_columns, complete, describe, several
from hackle.claims.own_runs import training_of, trainings_planned
from hackle.claims.statistics import Floats
from hackle.core.design import CONFIGURATION, DEFAULTS, DESIGN
from hackle.core.parts import nearest
from hackle.store.blobs import usable
from hackle.store.records import setting_numbers, swept_fields
from hackle.store.tables import SCORE_COLUMNS, Tables, correlation_constant

KL_WITHOUT_CONSTANT = "kl_without_constant"
"""The KL without what correlated noise adds whatever is learnt, −½ ln det Σ."""
OWN_DENSITY = "monte_carlo_tc_with_constant"
"""The total correlation of batches with the posterior's own, correlated density in place of a factorised one. The latter is
lower by −½ ln det Σ where the estimate saturates, as it does for all but blurred encoders: each draw then lies near the
posterior it came from, and the mean log density of draws is that of this posterior."""
DERIVED = {KL_WITHOUT_CONSTANT: ("kl", -1), OWN_DENSITY: ("monte_carlo_tc", 1)}
"""Scores that are a stored one with the constant of correlated noise taken off or added."""
UNDER = " under "
"""Before the protocol in a score's name, `dci_completeness under do2020-raw`, if it is another than the study's."""
SETTING = [name for name in CONFIGURATION if name != "dataset"]
"""The columns in which settings of a sweep differ, on any data set."""


@dataclass(frozen=True)
class Sweep:
    """The scores of many settings by seed, arrays (seeds, settings), NaN where a run is missing."""

    settings: list[tuple[Any, ...]]
    seeds: NDArray[Any]
    scores: dict[str, Floats]
    runs: int


class View:
    """A table of results as claims query it. `of(study)` is the part for one study."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._parts: dict[str, Data] = {}
        self._tails: dict[str, Column] = {}
        self._arrays: dict[str, Mapping[str, NDArray[Any]]] = {}
        self._scores: dict[str, dict[str, Floats]] = {}

    @cached_property
    def runs(self) -> Frame:
        """The runs that finished training, by hash; those that differ only in their seed have the same `setting`."""
        runs = self.tables.runs
        done = runs.loc[runs["status"] == "done", ["run", "study", *DESIGN, "record"]]
        done = done.drop_duplicates("run").set_index("run")
        words = ["study", *(name for name in DESIGN if isinstance(DEFAULTS.get(name, ""), str) and name != "strength")]
        numbers = ["strength", *(name for name in DESIGN if isinstance(DEFAULTS.get(name), float))]
        done = done.astype(dict.fromkeys(words, "category") | dict.fromkeys(numbers, float))
        return done.assign(setting=setting_numbers(done)).drop(columns="record")

    @cached_property
    def trainings(self) -> Column:
        """What each of these runs trains, as `training_of` says it."""
        first = self.runs["setting"].drop_duplicates()
        records = self.tables.runs.drop_duplicates("run").set_index("run").loc[first.index, "record"].astype(str)
        known = {
            setting: training_of(json.loads(record or "{}")) for setting, record in zip(first, records, strict=True)
        }
        return self.runs["setting"].map(known)

    @cached_property
    def fields(self) -> Frame:
        """The numbers in the records of these runs by the names that results give to those that vary, such as `beta`."""
        runs: Frame = self.tables.runs.drop_duplicates("run")
        fields: Frame = swept_fields(runs, SCORE_COLUMNS, every=True)
        fields = fields.assign(**swept_fields(runs, SCORE_COLUMNS))
        return fields.set_axis(runs["run"]).reindex(self.runs.index)

    def column(self, name: str) -> Column | None:
        """What a condition is about: a column of the design or a number in the records; None if no run has it."""
        if name in self.runs:
            return self.runs[name]
        return self.fields.get(name)

    @cached_property
    def _codes(self) -> tuple[NDArray[Any], NDArray[Any], list[str], NDArray[Any], list[str]]:
        """For each row of scores: its run's position, its score's index with all names, its protocol's index with all
        names."""
        scores = self.tables.scores
        codes, names_of_runs = pd.factorize(scores["run"])
        rows = self.runs.index.get_indexer(np.asarray(names_of_runs, dtype=object))[codes]
        metrics, metric_names = pd.factorize(scores["metric"])
        representations, representation_names = pd.factorize(scores["representation"])
        columns, pairs = pd.factorize(metrics * len(representation_names) + representations)
        names = [
            f"{metric_names[pair // len(representation_names)]}/{representation_names[pair % len(representation_names)]}"
            for pair in pairs
        ]
        protocols, labels = pd.factorize(scores["protocol"])
        return rows, columns, names, protocols, [str(label) for label in labels]

    @property
    def protocols(self) -> list[str]:
        return self._codes[4]

    def scores(self, protocol: str) -> dict[str, Floats]:
        """By metric/representation, the score of each run under a protocol, averaged over scoring seeds."""
        if protocol not in self._scores:
            rows, columns, names, protocols, labels = self._codes
            mine = np.flatnonzero((protocols == labels.index(protocol)) & (rows >= 0))
            present, column = np.unique(columns[mine], return_inverse=True)
            values = self.tables.scores["score"].to_numpy(float)[mine]
            means = cell_means(column * len(self.runs) + rows[mine], values, len(present) * len(self.runs))
            table = means.reshape(len(present), len(self.runs))
            self._scores[protocol] = {names[index]: table[place] for place, index in enumerate(present)}
        return self._scores[protocol]

    def protocol_of(self, study: str, own: NDArray[Any]) -> str | None:
        """The protocol with the study's name if any of its own runs, a mask, was scored by it. Else the one by which most of
        them were, or of all runs if it has none: with the study's name if there are several, then with most scores."""
        rows, _, _, protocols, labels = self._codes
        chosen = np.append(own if own.any() else np.ones(len(self.runs), bool), False)[rows]
        counts = np.bincount(protocols[chosen], minlength=len(labels))
        if not counts.any():
            return None
        if own.any() and study in labels and counts[labels.index(study)]:
            return study
        scored = np.zeros((len(self.runs), len(labels)), bool)
        scored[rows[chosen], protocols[chosen]] = True
        runs = scored.sum(axis=0)
        return labels[max(range(len(labels)), key=lambda each: (runs[each], labels[each] == study, counts[each]))]

    def of(self, study: str) -> Data:
        if study not in self._parts:
            self._parts[study] = Data(self, study)
        return self._parts[study]

    def array(self, name: str) -> Mapping[str, NDArray[Any]]:
        """The array of this name of each run that has it."""
        if name not in self._arrays:
            stored = self.tables.array(name)
            # Tables need not come from a store, which leaves these out itself.
            self._arrays[name] = {run: array for run, array in stored.items() if usable(name, array)}
        return self._arrays[name]

    def tail(self, term: str) -> Column:
        """The mean of a logged term over the last tenth of each run's training, by run."""
        if term not in self._tails:
            self._tails[term] = final_values(self.tables.curve(term))
        return self._tails[term]


class Data:
    """The runs for a study: for each condition its own if there are any, else those of another one. Its own are also those
    that another one trained in a setting that it plans. All scores are under one protocol, since scores under different
    protocols are not comparable."""

    def __init__(self, view: View, study: str) -> None:
        self.view = view
        self.runs = view.runs
        stored = (self.runs["study"] == study).to_numpy()
        self.protocol = view.protocol_of(study, stored)
        # What two studies plan is trained once for each seed, under the name of either.
        lengths = map(int, self.runs["steps"].unique())
        plans = frozenset().union(*(trainings_planned(study, steps) for steps in lengths))
        planned = view.trainings.isin(plans).to_numpy()
        self.own: NDArray[Any] = stored | (planned & self._under_protocol)
        """Mask of the study's own runs."""
        self.read: list[NDArray[Any]] = []
        """The positions of the runs that measures have read since this was last cleared."""
        self.added: dict[str, Floats] = {}
        """Scores of each run that are not in the table: measures compute them from what is."""
        self._chosen: dict[tuple[Any, ...], NDArray[Any]] = {}
        self._masks: dict[tuple[str, Any], NDArray[Any]] = {}

    def scored(self, score: str, protocol: str | None = None) -> Floats:
        """A score of each run, NaN where there is none."""
        if score in self.added:
            return self.added[score]
        if score in DERIVED:
            stored, sign = DERIVED[score]
            return self.scored(stored, protocol) + sign * correlation_constant(self.runs)
        named, _, other = score.partition(UNDER)
        chosen = other or protocol or self.protocol
        if chosen in self.view.protocols:
            table = self.view.scores(chosen)
            for name in (named,) if "/" in named else (f"{named}/mean", f"{named}/posterior"):
                if name in table:
                    return table[name]
        return np.full(len(self.runs), np.nan)

    def of_factors(self, metric: str) -> Frame:
        """What a metric gives for each factor, or code, of the runs that have it: a row for each run, a column for each
        factor, averaged over scoring seeds."""
        rows: Frame = self.view.tables.per_factor(metric)
        rows = rows[
            (rows["protocol"].astype(str) == self.protocol) & rows["representation"].isin(["mean", "posterior"])
        ]
        names = [rows[name].astype(str) for name in ("run", "factor")]
        return rows["score"].astype(float).groupby(names).mean().unstack()

    def _mask(self, key: str, value: Any) -> NDArray[Any]:
        if (key, value) not in self._masks:
            column = self.view.column(key)
            if column is None:
                same = np.zeros(len(self.runs), bool)
            else:
                same = (column.isin(value) if isinstance(value, tuple) else column == value).to_numpy(bool)
            self._masks[key, value] = same
        return self._masks[key, value]

    def _fitting(self, wanted: Condition) -> NDArray[Any]:
        """Mask of the runs that meet a condition: the study's own, or those of others if it has none."""
        fit = np.logical_and.reduce([np.ones(len(self.runs), bool), *(self._mask(*item) for item in wanted.items())])
        return fit & self.own if (fit & self.own).any() else fit

    def _of_one_study(self, fit: NDArray[Any]) -> NDArray[Any]:
        """Of borrowed runs those of one study, for each data set and method the one with most that are scored by the protocol:
        others train otherwise, and runs of one seed would be averaged. The study's own stay."""
        if not fit.any() or (fit & self.own).any():
            return fit
        places = np.flatnonzero(fit)
        rows = self.runs.iloc[places][["dataset", "method", "study"]].astype(str)
        each = rows.assign(weight=1 + len(self.runs) * self._under_protocol[places])
        lenders = each.groupby(list(rows))["weight"].sum().groupby(level=["dataset", "method"]).idxmax()
        kept = np.zeros_like(fit)
        kept[places] = pd.MultiIndex.from_frame(rows).isin(list(lenders))
        return kept

    @cached_property
    def _under_protocol(self) -> NDArray[Any]:
        """Mask of the runs that have a score under the protocol."""
        tables = self.view.scores(self.protocol).values() if self.protocol else ()
        return np.logical_or.reduce([np.zeros(len(self.runs), bool), *map(np.isfinite, tables)])

    def borrows(self, condition: Condition) -> bool:
        """Whether the runs of a condition come from other studies."""
        fit = self._fitting(complete(condition))
        return bool(fit.any() and not (fit & self.own).any())

    def _which(self, condition: Condition, columns: Sequence[str], longest: bool) -> NDArray[Any]:
        """The positions of the runs of a condition that have any of these scores."""
        wanted = complete(condition)
        key = (*sorted(wanted.items(), key=lambda item: item[0]), *columns, longest)
        if key not in self._chosen:
            keep = self._fitting(wanted)
            if columns:
                keep &= np.logical_or.reduce([np.isfinite(self.scored(name)) for name in columns])
            places = np.flatnonzero(self._of_one_study(keep))
            if longest and len(places):
                dataset, steps = self._datasets[places], self.runs["steps"].to_numpy(float)[places]
                most = np.zeros(self._datasets.max() + 1)
                np.maximum.at(most, dataset, steps)
                places = places[steps == most[dataset]]
            self._chosen[key] = places
        return self._chosen[key]

    @cached_property
    def _datasets(self) -> NDArray[Any]:
        return self.runs["dataset"].cat.codes.to_numpy(int)

    @cached_property
    def _settings(self) -> tuple[NDArray[Any], list[tuple[Any, ...]]]:
        """The number of each run's setting, and the settings. A missing strength is −1: NaN does not equal itself."""
        words = [name for name in SETTING if self.runs[name].dtype == "category"]
        parts = self.runs[SETTING].astype(dict.fromkeys(words, str)).fillna({"strength": -1.0})
        numbers, settings = pd.factorize(pd.MultiIndex.from_frame(parts), sort=True)
        return numbers, list(settings)

    def rows(self, condition: Condition, columns: Sequence[str] = (), longest: bool = True) -> Frame:
        """The runs of a condition with these scores as columns; `longest` keeps those with the most training steps."""
        places = self._which(condition, columns, longest)
        self.read.append(places)
        return self._rows(places, columns)

    def _rows(self, places: NDArray[Any], columns: Sequence[str]) -> Frame:
        return self.runs.iloc[places].assign(**{name: self.scored(name)[places] for name in columns})

    def matched(self, conditions: Sequence[Condition], columns: Sequence[str]) -> list[Frame]:
        """Each condition's runs with all of these scores, at the largest number of steps that all conditions share, if
        any."""
        places = [self._which(condition, columns, longest=False) for condition in conditions]
        matching = [self._rows(each, columns).dropna(subset=list(columns)) for each in places]
        shared = set.intersection(*(set(rows["steps"]) for rows in matching))
        steps = [max(shared) if shared else rows["steps"].max() for rows in matching]
        matching = [rows[rows["steps"] == most] for rows, most in zip(matching, steps, strict=True)]
        self.read += [self.runs.index.get_indexer(rows.index) for rows in matching]
        return matching

    def datasets(self, condition: Condition, columns: Sequence[str] = ()) -> list[str]:
        """The data sets of the runs of a condition that have any of these scores; it does not count as reading them."""
        places = self._which(condition, columns, longest=True)
        return sorted(map(str, self.runs["dataset"].iloc[places].unique()))

    def sweep(
        self,
        conditions: Condition | Sequence[Condition],
        columns: Sequence[str],
        pairs: Sequence[tuple[str, str]] = (),
    ) -> Sweep:
        """The scores of the runs of a condition, or of several, by seed and setting; with `pairs` of scores, of the runs that
        have both scores of one of them."""
        several = (conditions,) if isinstance(conditions, Mapping) else conditions
        places = np.unique(np.concatenate([self._which(condition, columns, True) for condition in several]))
        if pairs:
            known = {name: np.isfinite(self.scored(name)[places]) for name in columns}
            places = places[np.logical_or.reduce([known[first] & known[second] for first, second in pairs])]
        self.read.append(places)
        numbers, known = self._settings
        settings, setting = np.unique(numbers[places], return_inverse=True)
        seeds, seed = np.unique(self.runs["seed"].to_numpy()[places], return_inverse=True)
        shape = (len(seeds), len(settings))
        cells = seed * shape[1] + setting
        scores = {
            name: cell_means(cells, self.scored(name)[places], shape[0] * shape[1]).reshape(shape) for name in columns
        }
        return Sweep([known[index] for index in settings], seeds, scores, len(places))

    def use_only(self, readings: int, settings: Collection[tuple[Any, ...]], seeds: Collection[int]) -> None:
        """Say that of the last so many readings only the runs of these settings and seeds were used."""
        numbers, known = self._settings
        wanted = set(settings)
        chosen = [number for number, setting in enumerate(known) if setting in wanted]
        used = np.isin(numbers, chosen) & np.isin(self.runs["seed"].to_numpy(), list(seeds))
        self.read[-readings:] = [places[used[places]] for places in self.read[-readings:]]

    def methods_read(self, since: int = 0) -> dict[str, set[str]]:
        """By data set, the methods among the runs that were read; `since` so many readings."""
        rows = self.runs.iloc[self.places_read(since)][["dataset", "method"]].astype(str)
        return {str(name): set(part["method"]) for name, part in rows.groupby("dataset")}

    def lacks(
        self, condition: Condition, scores: Sequence[str], curves: Sequence[str], arrays: Sequence[str]
    ) -> list[str]:
        """What is missing from a condition's runs, in words."""
        places = self._which(condition, (), False)
        if not len(places):
            return [f"no runs of {describe(condition)}{self._passed_over(condition)}"]
        runs = self.runs.index[places]
        absent = {
            f"score {name}": self._elsewhere(name, places)
            for name in scores
            if not np.isfinite(self.scored(name)[places]).any()
        }
        absent |= {f"curve {term}": "" for term in curves if not runs.isin(self.view.tail(term).index).any()}
        absent |= {f"array {name}": "" for name in arrays if not runs.isin(list(self.array(name))).any()}
        return [f"no {name} of {describe(condition)}{more}" for name, more in absent.items()]

    def _passed_over(self, condition: Condition) -> str:
        """In words, how runs that a condition names differ from the usual settings that it leaves unnamed, or that none has
        what it names; "" where neither is so."""
        told = as_columns(condition)
        if unknown := [key for key in told if self.view.column(key) is None]:
            hint = nearest(unknown[0], [*DESIGN, *self.view.fields]).rstrip(".")
            return f" (no run has a column {unknown[0]!r}; {hint})"
        near = self._fitting(told)
        usual = {key: value for key, value in complete(condition).items() if key not in told}
        words = lambda values: " or ".join(sorted({str(value) or "none" for value in values}))  # noqa: E731
        differing = [
            f"{key} {words(several(value))} is meant, {near.sum():,} have {words(self.runs[key][near])}"
            for key, value in usual.items()
            if near.any() and not self._mask(key, value)[near].any()
        ]
        return f" ({', '.join(differing)})" if differing else ""

    def _elsewhere(self, score: str, places: NDArray[Any]) -> str:
        """In words, the other protocols under which runs have a score; "" where there are none."""
        others = [name for name in self.view.protocols if np.isfinite(self.scored(score, name)[places]).any()]
        under = f" under {self.protocol}" if self.protocol else ""
        return f"{under} (there is one under {' and '.join(others)})" if others else ""

    def array(self, name: str) -> Mapping[str, NDArray[Any]]:
        return self.view.array(name)

    def places_read(self, since: int = 0) -> NDArray[Any]:
        """The positions of the runs that were read, each once; `since` so many readings."""
        return np.unique(np.concatenate([np.empty(0, int), *self.read[since:]]))

    def design_read(self, name: str, since: int = 0) -> tuple[Any, ...]:
        """The values that a field of the design has among the runs that were read, in order; `since` so many readings."""
        return tuple(sorted(set(self.runs[name].iloc[self.places_read(since)].tolist())))
