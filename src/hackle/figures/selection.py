"""From the tables to the runs that a figure is about: `Runs` says which, `select` finds them and names those that are missing.

Of each score those under the figure's own protocol are used, or where its study has no runs, those under that of most runs,
with a note. Of runs that differ only in how long they trained, the longest is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.measures import Number
from hackle.claims.view import View
from hackle.core.design import CONFIGURATION, DEFAULTS, DESIGN, USUAL
from hackle.core.method import Method
from hackle.core.notes import note_codes
from hackle.core.parts import parts_of
from hackle.figures import words
from hackle.figures.chart import Frame
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables

_DOUBTS = {
    "saturated": "an estimate at its limit",
    "out-of-range": "codes beyond the range that is quantised",
    "not-converged": "a classifier that did not converge",
    "crowded": "codes with outliers, nearly all of which share a bin",
}
"""The meaning of an estimator's note, by its code; any other is called a warning."""
_NO_DOUBT = {"own", "split", "shared", "pruned", "bins", "guessed"}
"""Codes of notes that only say how a score was made: where a user's metric comes from, and which images, codes and
kinds of factors were used."""
_TEXT = dict.fromkeys(("dataset", "method", "architecture"), object)
_READ = ["run", *DESIGN, "metric", "representation", "score", "reference", "protocol", "note"]
"""The columns of the table of scores that figures read."""
_PLAIN = {**USUAL, "architecture": Method.architecture, "latents": DEFAULTS["latents"]}


@dataclass(frozen=True)
class Runs:
    """Which runs an exhibit shows.

    metrics: the scores that are read; if there are none, every run that finished training is taken. where: the value,
    or values, that runs must have, by column of the tables; the defaults are ten latents, factorised posteriors and the
    convolutional encoder, and "any" takes all. weights: the strengths of each method, all if none are named; these are
    also the methods, unless `where` has some. protocol: the paper's own; the most common one if not given.
    representation: of the codes; scores of posteriors have none and are always taken.

    series: which runs share a colour: those with the same value of a column, `weight` or `model` (a method with its
    weight), or that meet the same of several named conditions; empty for one series. named: columns whose missing
    values are reported, each within those before it. called: what the paper calls a data set or a method. stand_ins:
    data sets to use if there are no runs of another. joins_cases: a method that is another with a certain weight counts
    as that, a VAE as a β-VAE with β = 1. change: adds columns to the frame of runs, or leaves runs out. subject: what
    some of the runs must meet, by column; without any of these, those that they would be compared with are not shown.
    """

    metrics: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    protocol: str = ""
    representation: str = "mean"
    series: str | Mapping[str, Mapping[str, Any]] = "method"
    named: tuple[tuple[str, ...], ...] = (("dataset", "method"),)
    called: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    joins_cases: bool = False
    change: Callable[[Frame, Tables], Frame] | None = None
    subject: Mapping[str, Any] = field(default_factory=dict)

    def has_own(self, tables: Tables, scores: Frame) -> bool:
        """Whether any of these scores is of a run of the study with the protocol's name under that protocol."""
        own = tables.runs.loc[tables.runs["study"].astype(str).eq(self.protocol), "run"]
        return bool((scores["run"].isin(own) & scores["protocol"].eq(self.protocol)).any())

    def wanted(self, column: str, method: str = "") -> list[Any]:
        """The requested values of a column, in their order."""
        if column == "series":
            return list(self.series)
        if column == "strength":
            return list(self.weights.get(method, ()))
        return _listed(self.where.get(column, list(self.weights) if column == "method" else []))

    @property
    def conditions(self) -> dict[str, Any]:
        """What every run must meet, by column."""
        methods = self.wanted("method")
        if self.joins_cases:
            methods = [*methods, *(name for name, (general, _) in _cases().items() if general in methods)]
        return {**_PLAIN, **self.where, **({"method": methods} if methods else {})}

    def word(self, column: str, value: Any) -> str:
        """What a value of a column is called in this figure."""
        return self.called.get(value) or words.value(column, value)

    def words(self, condition: Mapping[str, Any]) -> str:
        """Some of the runs in words: of which methods, on which data sets, with what else."""
        parts = []
        for column, before in (("method", "of"), ("dataset", "on")):
            if names := [self.named_with_weight(column, value) for value in _listed(condition.get(column, []))]:
                parts.append(f"{before} {words.listing(names)}")
        rest = []
        for column in (column for column in condition if column not in ("method", "dataset")):
            symbol = f"{words.symbol(condition['method'])} = " if column == "strength" else ""
            rest.append(symbol + words.listing(self.word(column, value) for value in _listed(condition[column])))
        return " ".join([*parts, *([f"with {words.listing(rest)}"] if rest else [])])

    def named_with_weight(self, column: str, value: Any) -> str:
        """The same, for a method with its weight if only one is requested."""
        only = self.weights.get(value, ())
        return words.method(value, only[0]) if column == "method" and len(only) == 1 else self.word(column, value)


_NOTHING = Tables(pd.DataFrame(columns=list(SCORE_COLUMNS)), pd.DataFrame(columns=list(RUN_COLUMNS)))


@dataclass(frozen=True)
class Selected:
    """The selected runs: a row each with settings, scores, references (such as `reference mig`) and series. notes:
    choices made in selecting. missing: what was requested and not found, in words."""

    frame: Frame
    runs: Runs = Runs()
    tables: Tables = _NOTHING
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def having(self, *columns: str) -> Frame:
        """The runs that have all of these numbers."""
        if unknown := [name for name in columns if name not in self.frame]:
            raise KeyError(unknown[0])
        return self.frame[self.frame[list(columns)].notna().all(axis=1)]

    def column(self, name: str) -> dict[str, Any]:
        """A column by run."""
        return dict(zip(self.frame["run"], self.frame[name], strict=True))

    def first_with(self, array: str) -> str:
        """The first run of which the tables have an array, or "" if there is none."""
        known = self.tables.array(array)
        return next((run for run in self.frame["run"] if run in known), "")

    def each(self, column: str, *others: str) -> Iterator[tuple[str, Selected]]:
        """The runs with each value of a column, and what it is called; of several columns, with each combination."""
        for value in present(self.frame, column, self.runs.wanted(column)):
            part = replace(self, frame=self.frame[self.frame[column] == value])
            name = self.runs.named_with_weight(column, value)
            yield from ((f"{name}, {more}", one) for more, one in part.each(*others)) if others else [(name, part)]


def select(tables: Tables, runs: Runs) -> Selected:
    """The runs that an exhibit requests, as far as the tables have them."""
    selected, here = _select(tables, runs), set(map(str, tables.runs["dataset"].unique()))
    for own, other in runs.stand_ins.items():
        if other not in here or (len(selected.frame) and (selected.frame["dataset"] == own).any()):
            continue
        datasets = [other if name == own else name for name in selected.runs.wanted("dataset")]
        instead = _select(tables, replace(selected.runs, where={**selected.runs.where, "dataset": datasets}))
        if len(instead.frame) and (instead.frame["dataset"] == other).any():
            names = runs.word("dataset", other), runs.word("dataset", own)
            note = "{} stands in for {}: compare with numbers of the same images alone".format(*names)
            selected = replace(instead, notes=(*instead.notes, note))
    return selected


def _cases() -> dict[str, tuple[str, float]]:
    """The methods that are another one with a certain weight, by name."""
    return {name: case for name, method in parts_of("method").items() if (case := vars(method).get("case_of"))}


def _select(tables: Tables, runs: Runs) -> Selected:
    if runs.metrics:
        frame, notes = _scored(tables, runs)
    else:
        done: Frame = tables.runs[tables.runs["status"] == "done"]
        frame, notes = _longest(done[settings_mask(done, runs.conditions)].astype(_TEXT))
    for name, (general, weight) in _cases().items() if runs.joins_cases else ():
        others = frame["method"] != name
        strengths = frame["strength"].astype(float).where(others, weight)
        frame = frame.assign(method=frame["method"].where(others, general), strength=strengths)
    for method, weights in runs.weights.items():
        if weights and len(frame):
            frame = frame[(frame["method"] != method) | settings_mask(frame, {"strength": weights})]
    frame = _with_series(frame.sort_values(["method", "strength", "seed"]), runs)
    unscored = [f"no score {metric}" for metric in runs.metrics if len(frame) and frame[metric].isna().all()]
    notes = [*notes, *_partly_scored(frame, runs.metrics)]
    if runs.change is not None:
        frame = runs.change(frame, tables)
    missing = [f"no runs {line}" for chain in runs.named for line in _absent(frame, runs, chain, {})]
    if not len(frame) and not missing:
        missing = [f"no runs with the score {words.listing(runs.metrics)}" if runs.metrics else "no runs"]
    if len(frame) and not settings_mask(frame, runs.subject).any():
        frame, missing = frame[:0], [f"no runs {runs.words(runs.subject)}", *missing]
    return Selected(frame, runs, tables, tuple(notes), tuple(dict.fromkeys([*missing, *unscored])))


def _partly_scored(frame: Frame, metrics: Sequence[str]) -> Iterator[str]:
    """Which scores some of the runs do not have, those that as many lack in one line."""
    lacking = {metric: int(frame[metric].isna().sum()) for metric in metrics}
    for count in sorted(set(lacking.values()) - {0, len(frame)}):
        names = [metric for metric, number in lacking.items() if number == count]
        yield f"{count} of {len(frame)} runs have no {words.listing(names)}"


def with_numbers(**numbers: Number) -> Callable[[Frame, Tables], Frame]:
    """A `change` that adds numbers of each run as columns, computed as in claims from stored curves and arrays."""

    def change(frame: Frame, tables: Tables) -> Frame:
        data = View(tables).of("")
        rows = data.runs.reindex(frame["run"])
        return frame.assign(**{name: np.asarray(number.of(data, rows), float) for name, number in numbers.items()})

    return change


def _with_series(frame: Frame, runs: Runs) -> Frame:
    if isinstance(runs.series, Mapping):
        names = pd.Series("", frame.index)
        for name, condition in runs.series.items():
            names[settings_mask(frame, condition)] = name
        return frame.assign(series=names)[names != ""]
    if not runs.series:
        return frame.assign(series="runs")
    if runs.series not in ("weight", "model"):
        return frame.assign(series=named(lambda value: runs.word(str(runs.series), value), frame[runs.series]))
    name = words.method if runs.series == "model" else lambda method, weight: f"{words.symbol(method)} = {weight:g}"
    return frame.assign(series=named(name, frame["method"], frame["strength"]))


def named(name: Callable[..., str], *columns: Frame) -> list[str]:
    """The name of each row from its values of some columns; each combination is named once, since runs share them."""
    once = cache(name)
    return [once(*values) for values in zip(*columns, strict=True)]


def _absent(frame: Frame, runs: Runs, chain: Sequence[str], known: Mapping[str, Any]) -> Iterator[str]:
    """The runs that are missing, in words: values of the chain's first column, then within each those of the next."""
    column, *rest = chain
    wanted = runs.wanted(column, known.get("method", ""))
    if len(wanted) == 1 and rest:
        yield from _absent(frame, runs, rest, {**known, column: wanted[0]})
        return
    having = {value: settings_mask(frame, {column: value}) for value in wanted}
    if gone := [value for value, mask in having.items() if not mask.any()]:
        yield runs.words({**known, column: gone})
    for value, mask in having.items():
        if rest and mask.any():
            yield from _absent(frame[mask], runs, rest, {**known, column: value})


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def settings_mask(frame: Frame, where: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Which rows have these settings; numbers are compared up to rounding, None stands for NaN, "any" for every value."""
    mask = np.ones(len(frame), bool)
    for column, values in ((column, _listed(value)) for column, value in where.items()):
        if values == ["any"]:
            continue
        if not mask.any():
            break
        if isinstance(values[0], str):
            mask &= frame[column].isin(values).to_numpy(bool)
        else:
            numbers = frame[column].to_numpy(float)
            close = [np.isnan(numbers) if v is None else np.isclose(numbers, float(v)) for v in values]
            mask &= np.logical_or.reduce(close)
    return mask


def _scored(tables: Tables, runs: Runs) -> tuple[Frame, list[str]]:
    """A row for each run with any of the scores, a column for each score and its reference, and notes on the choices
    made."""
    asked = {"metric": runs.metrics, "representation": (runs.representation, "posterior")}
    rows: Frame = tables.scores[_READ]
    # The metrics leave the fewest rows, so that little is copied.
    for conditions in (asked, runs.conditions):
        if len(rows):
            rows = rows[settings_mask(rows, conditions)]
    rows = rows[np.isfinite(rows["score"].to_numpy(float))]
    if not len(rows):
        # As it is for most figures of most studies, which are of one paper: what follows would find it out slowly.
        return _unscored(runs.metrics), []
    rows, notes = _one_protocol(rows, runs.protocol, own=runs.has_own(tables, rows))
    rows, shorter = _longest(rows)
    rows = rows.astype({"metric": object, **_TEXT})
    frame = rows.drop_duplicates("run").set_index("run")[[*CONFIGURATION, "seed", "steps"]]
    # Over several scoring seeds a run's score is their mean.
    means = rows.groupby(["run", "metric"], observed=True)[["score", "reference"]].mean().astype(float)
    for name, before in (("score", ""), ("reference", "reference ")):
        values = means[name].unstack("metric").reindex(frame.index, columns=list(runs.metrics))
        frame = frame.join(values.astype(float).add_prefix(before))
    return frame.reset_index(), [*notes, *shorter, *_mixtures(rows), *doubts(rows)]


@cache
def _unscored(metrics: tuple[str, ...]) -> Frame:
    """What `_scored` returns without any row."""
    text = dict.fromkeys(["run", *CONFIGURATION, "seed", "steps"], np.empty(0, object))
    numbers = [*metrics, *(f"reference {metric}" for metric in metrics)]
    return pd.DataFrame({**text, **dict.fromkeys(numbers, np.empty(0))})


def _one_protocol(rows: Frame, wanted: str, *, own: bool) -> tuple[Frame, list[str]]:
    """The scores of each metric under one protocol, since those of several do not compare: the wanted one where runs of
    the study with its name, its own, were scored by it; else that of most runs."""
    names = by_preference(rows.groupby(rows["protocol"].astype(str))["run"].nunique(), wanted, own)
    rank = rows["protocol"].astype(str).map({name: index for index, name in enumerate(names)}).astype(int)
    least = rank.groupby(rows["metric"].astype(str)).transform("min")
    kept = rows[(rank == least).to_numpy()]
    notes = []
    for name, part in kept[(kept["protocol"] != wanted).to_numpy()].groupby("protocol", observed=True, sort=False):
        if wanted:
            scores = words.listing(sorted({words.measure(str(metric)).short for metric in part["metric"].unique()}))
            notes.append(f"{scores} by the protocol {name}, not {wanted}")
    if left_out := rows["run"].nunique() - kept["run"].nunique():
        notes.append(f"{words.counted(left_out, 'run')} left out that other protocols scored")
    return kept, notes


def by_preference(runs: Any, wanted: str, own: bool) -> list[str]:
    """Protocols, from the numbers of runs that they scored, the preferred first: the wanted one where the runs are of the study
    with its name; those of most runs; and last the variants of others for ablations ("do2020-bins-50") or on fewer points
    ("do2020 × 0.1")."""

    def varies(name: str) -> bool:
        return any(name.startswith((f"{other}-", f"{other} ")) for other in runs.index)

    return sorted(
        runs.index, key=lambda name: (own and name != wanted, varies(name), -runs[name], name != wanted, name)
    )


def _longest(rows: Frame) -> tuple[Frame, list[str]]:
    if not len(rows) or rows["steps"].nunique() == 1:
        return rows, []
    longest = rows.groupby(list(CONFIGURATION), dropna=False, observed=True)["steps"].transform("max")
    kept = rows[rows["steps"] == longest]
    left_out = rows["run"].nunique() - kept["run"].nunique()
    said = f"{words.counted(left_out, 'run')} left out that trained for fewer steps than others like them"
    return kept, [said] if left_out else []


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
    """What makes a score doubtful by its notes, in words; "" if nothing does."""
    codes = note_codes(note)
    if not note or (codes and set(codes) <= _NO_DOUBT):
        return ""
    return next((kind for code, kind in _DOUBTS.items() if code in codes), "a warning")


def present(frame: Frame, column: str, order: Iterable[str]) -> list[str]:
    """The values of a column in a given order, any others last."""
    values = list(dict.fromkeys(frame[column])) if len(frame) else []
    known = [name for name in order if name in values]
    return known + sorted(name for name in values if name not in known)
