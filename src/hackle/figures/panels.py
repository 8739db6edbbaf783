"""The kinds of panel that figures are made of: functions from the runs that were selected to a `Panel` with every run in it.

Each kind gives a panel, or raises `Lacking` with what is missing. Exhibits use them as in
`panels(swarm, "mig", "method", each="dataset")`; `heat` is for panel functions of your own. Pictures of models are in
`hackle.figures.models`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.design import heading
from hackle.core.errors import HackleError
from hackle.figures import words
from hackle.figures.chart import SUMMARY, Axis, Frame, Panel
from hackle.figures.selection import Selected, by_preference
from hackle.figures.summaries import medians, plain_means, spread, summarise

MEANS = "Dots are single runs; the bar is their mean with a 95% t interval."
CURVES = "Thin lines are single runs, the thick line is their mean at each step."
MEDIANS = "Dots are single runs; lines join medians over seeds, bars span the quartiles."


class Lacking(HackleError):
    """What a panel needs and the tables do not have, in words."""


@dataclass(frozen=True)
class Panels:
    """Panels of one kind: one of all runs, or one for each value of the columns `each`, with the values as title."""

    make: Callable[..., Panel]
    arguments: tuple[Any, ...]
    each: tuple[str, ...]
    options: Mapping[str, Any]

    def __call__(self, chosen: Selected) -> Iterator[Panel | str]:
        for title, part in chosen.each(*self.each) if self.each else [("", chosen)]:
            try:
                yield self.make(part, *self.arguments, **{"title": title, **self.options})
            except Lacking as lacking:
                yield str(lacking)


def panels(make: Callable[..., Panel], *arguments: Any, each: str | tuple[str, ...] = (), **options: Any) -> Panels:
    """Panels of a kind with its arguments, such as `panels(scatter, "mig", "sap", each="dataset")`."""
    return Panels(make, arguments, (each,) if isinstance(each, str) else each, options)


def by_score(make: Callable[..., Panel], metrics: Sequence[str], *arguments: Any, **options: Any) -> Any:
    """Panels of one kind for several scores: of each data set all scores side by side, with its name as title."""

    def made(chosen: Selected) -> Iterator[Panel | str]:
        for title, part in chosen.each("dataset"):
            for metric in metrics:
                yield from panels(make, metric, *arguments, **{"title": title, **options})(part)

    return made


def score_axis(metric: str, values: Frame, reference: float = float("nan"), label: str = "") -> Axis:
    """An axis from the score's lower bound to a little above the highest value, or to the score's upper bound.

    Values beyond a score's bounds widen it: no value is left out.
    """
    known = words.measure(metric)
    low, high = spread(values)
    seen = np.asarray(values, float)
    least, most = (np.nanmin(seen), np.nanmax(seen)) if np.isfinite(seen).any() else (0.0, 0.0)
    if known.low is not None and least >= known.low:
        low = known.low
        high = max(high, low + 1.06 * (most - low))
    if known.high is not None and most <= known.high:
        high = known.high if high > 0.7 * known.high else high
    name = label or known.label
    if np.isfinite(reference) and known.high is not None and reference < known.high - 0.005:
        name += f" (reference {reference:.2f})"
    return Axis(name, low, max(high, low + 1e-9))


def _reference(frame: Frame, metric: str) -> float:
    """The score of perfect codes, or NaN."""
    return float(frame[f"reference {metric}"].max()) if f"reference {metric}" in frame else float("nan")


def _with_intervals(metric: str, points: Frame, summary: Frame) -> Frame:
    """The values that an axis must show: every run, and the ends of intervals clipped to the score's bounds."""
    bounds = words.measure(metric)
    return pd.concat([points["y"], pd.concat([summary["low"], summary["high"]]).clip(bounds.low, bounds.high)])


def _points(rows: Frame, x: Any, y: Any) -> Frame:
    return pd.DataFrame({"x": x, "y": y, "series": rows["series"], "run": rows["run"]}).reset_index(drop=True)


def swarm(
    chosen: Selected,
    metric: str,
    across: str,
    order: Sequence[Any] | None = None,
    *,
    title: str = "",
    y: Axis | None = None,
    hold: float | None = None,
    level: tuple[float, str] | None = None,
) -> Panel:
    """Runs side by side by the values of a column, all of them in their usual order unless `order` is given.

    hold: a value that the axis must include. level: a horizontal line, the reference if not given.
    """
    rows = chosen.having(metric)
    if not len(rows):
        raise Lacking(f"no score {metric}")
    numbers = pd.api.types.is_numeric_dtype(rows[across])
    values = list(np.sort(rows[across].unique())) if numbers else list(rows[across].unique())
    order = list(order) if order is not None else (not numbers and chosen.runs.wanted(across)) or values
    place = {value: index for index, value in enumerate(order)}
    rows = rows[rows[across].isin(list(place))]
    points = _points(rows, rows[across].map(place).astype(float), rows[metric])
    summary = summarise(points, ["x", "series"])
    label = (words.symbol(rows["method"].iloc[0]) if across == "strength" else heading(across)) if numbers else ""
    ticks = tuple(f"{value:g}" if numbers else chosen.runs.word(across, value) for value in order)
    reference = _reference(rows, metric)
    axis = y or score_axis(metric, _with_intervals(metric, points, summary), reference)
    if hold is not None:
        low, high = (hold if end is None else end for end in (axis.low, axis.high))
        axis = replace(axis, low=min(low, hold), high=max(high, hold))
    if level is None and np.isfinite(reference) and axis.high is not None and reference <= axis.high:
        level = (reference, "reference")
    return Panel(title, Axis(label, -0.5, len(order) - 0.5, ticks), axis, points, summary, level=level)


def scatter(
    chosen: Selected,
    x: str,
    y: str,
    *,
    title: str = "",
    labels: tuple[str, str] = ("", ""),
    axes: tuple[Axis, Axis] | None = None,
    tight: str = "",
    equal: bool = False,
    diagonal: float | None = None,
    means: Sequence[str] = (),
    named: str = "",
) -> Panel:
    """One score of each run against another.

    labels: of the axes, if not the scores' own with references. tight: axes (`x`, `y` or `xy`) whose limits follow the
    runs and not the score's bounds. equal: the same limits for both axes. means: columns by which runs are averaged,
    with a 95% t interval of `y`; named: the one that labels each mean.
    """
    rows = chosen.having(x, y)
    if not len(rows):
        gone = [name for name in (x, y) if chosen.frame[name].isna().all()]
        raise Lacking(f"no score {words.listing(gone)}" if gone else f"no runs with both {x} and {y}")
    points = _points(rows, rows[x], rows[y])
    summary = summarise(rows, means, y) if means else None
    heights = rows[y] if summary is None else _with_intervals(y, points, summary)
    across, up = axes or (
        Axis(label or words.measure(metric).label, *spread(values))
        if axis in tight
        else score_axis(metric, values, _reference(rows, metric) if (axis, label) == ("y", "") else float("nan"), label)
        for axis, metric, values, label in zip("xy", (x, y), (rows[x], heights), labels, strict=True)
    )
    if equal:
        ends = {"low": min(across.low or 0.0, up.low or 0.0), "high": max(across.high or 0.0, up.high or 0.0)}
        across, up = replace(across, **ends), replace(up, **ends)
    panel = Panel(title, across, up, points, diagonal=diagonal)
    if summary is None:
        return panel
    of_x = rows.groupby(list(means), observed=True)[x].mean().rename("x").reset_index()
    middle: Frame = of_x.merge(summary)
    if named:
        texts = middle[named].map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
        panel = replace(panel, labels=middle[["x", "y"]].assign(text=texts))
    return replace(panel, summary=middle[list(SUMMARY)])


def against_strength(
    chosen: Selected,
    metric: str,
    ladder: Mapping[str, Sequence[float]],
    *,
    title: str = "",
    y: Axis | None = None,
    log: bool = False,
) -> Panel:
    """Runs against the rank of their weight among those of their method, medians joined; series are methods. log: on a
    logarithmic axis, for scores that are positive."""
    rows = chosen.having(metric)
    points = _points(rows, places_on(ladder, rows["method"], rows["strength"]), rows[metric])
    points = points[points["x"].notna()].reset_index(drop=True)
    if not len(points):
        raise Lacking(f"no score {metric}")
    steps = max((len(values) for values in ladder.values()), default=1)
    ticks = tuple(str(step + 1) for step in range(steps))
    x = Axis("weight, weak to strong", -0.5, steps - 0.5, ticks)
    if log:
        low, high = (float(10**end) for end in spread(np.log10(points["y"])))
        y = Axis(words.measure(metric).label, low, high, log=True)
    y = y or score_axis(metric, points["y"])
    return Panel(title, x, y, points, medians(points, ["x", "series"]), joined=True)


def places_on(ladder: Mapping[str, Sequence[float]], methods: Frame, strengths: Frame) -> np.ndarray:
    """The rank of each run's weight among its method's, from 0; NaN if it is none of them."""
    names, weights = np.asarray(methods, object), np.asarray(strengths, float)
    ranks = np.full(len(names), np.nan)
    for name, values in ladder.items():
        rows = np.flatnonzero(names == name)
        for index, value in enumerate(values):
            ranks[rows[np.isclose(weights[rows], value)]] = index
    return ranks


def curves(
    chosen: Selected,
    terms: Mapping[str, str],
    label: str,
    *,
    title: str = "",
    hold: float | None = None,
    level: tuple[float, str] | None = None,
    most: int = 150,
) -> Panel:
    """Terms that training logged, of single runs and their mean at each step.

    terms: the name of each; several terms are the series, and one that starts with a minus is drawn with the opposite
    sign. Beyond `most` steps, every k-th is kept.
    """
    series = chosen.column("series")
    parts = []
    for term, name in terms.items():
        curve: Frame = chosen.tables.curve(term.removeprefix("-"))
        curve = curve[curve["run"].isin(list(series)) & np.isfinite(curve["value"].to_numpy(float))]
        steps = np.sort(curve["step"].unique())
        curve = curve[curve["step"].isin(steps[:: -(-len(steps) // most) or 1])]
        runs, sign = curve["run"].astype(str), -1.0 if term.startswith("-") else 1.0
        of = runs.map(series) if len(terms) == 1 else name
        parts.append(pd.DataFrame({"x": curve["step"], "y": sign * curve["value"], "series": of, "run": runs}))
    points: Frame = pd.concat(parts, ignore_index=True)
    if not len(points):
        raise Lacking(f"no curves of the {words.listing(terms.values())}{f', {title}' if title else ''}")
    low, high = spread(points["y"])
    if hold is not None:
        low = min(hold, float(points["y"].min()))
    return Panel(title, Axis("step"), Axis(label, low, high), points, plain_means(points), joined=True, level=level)


def over_protocols(
    chosen: Selected, metric: str, pattern: str, label: str, *, title: str = "", one_model: bool = False
) -> Panel:
    """A score against a setting of the metric that is part of the protocol's name, such as `do2020-bins-50`.

    pattern: a regular expression for the protocols' names, with a group `amount` and optionally a group `L`, which is
    then the series. one_model: only the first run; dots are scoring seeds, and bars are the mean ± one standard
    deviation.
    """
    scores: Frame = chosen.tables.scores
    scores = scores[(scores["metric"] == metric) & scores["representation"].isin(["mean", "posterior"])]
    series = chosen.column("series")
    scores = scores[scores["run"].isin(list(series))]
    matches = [re.fullmatch(pattern, str(name)) for name in scores["protocol"]]
    scores = scores[[match is not None for match in matches]]
    if not len(scores):
        raise Lacking(f"no {words.measure(metric).label} under the protocols of {label}")
    parts = [match.groupdict() for match in matches if match is not None]
    rows = scores.assign(
        amount=[int(one["amount"]) for one in parts],
        series=[
            f"L = {one['L']}" if "L" in one else series[run] for one, run in zip(parts, scores["run"], strict=True)
        ],
    )
    if one_model:
        rows = rows[rows["run"] == rows["run"].iloc[0]]
        rows = rows.assign(run=rows["run"].astype(str) + " @" + rows["scoring_seed"].astype(str))
    amounts = sorted(rows["amount"].unique())
    place = {value: float(index) for index, value in enumerate(amounts)}
    points = _points(rows, rows["amount"].map(place).astype(float), rows["score"].astype(float))
    summary = summarise(points, ["x", "series"])
    if one_model:
        half = points.groupby(["x", "series"], sort=False)["y"].std().to_numpy()
        summary = summary.assign(low=summary["y"] - half, high=summary["y"] + half)
    ticks = tuple(f"{value:,}" for value in amounts)
    x = Axis(label, -0.5, len(amounts) - 0.5, ticks)
    y = score_axis(metric, _with_intervals(metric, points, summary))
    return Panel(title or words.measure(metric).label, x, y, points, summary, joined=not one_model)


def factor_scores(chosen: Selected, metric: str, protocols: str = "") -> Frame:
    """A score of each factor of the selected runs: run, protocol, factor, score and series. protocols: a regular expression for
    their names; if not given, the protocol that the figure's other scores are taken under."""
    rows: Frame = chosen.tables.per_factor(metric)
    rows = rows[rows["run"].isin(list(chosen.frame["run"])) & rows["representation"].isin(["mean", "posterior"])]
    names = rows["protocol"].astype(str)
    if protocols:
        rows = rows[names.str.fullmatch(protocols).to_numpy(bool)]
    elif len(rows):
        own = chosen.runs.has_own(chosen.tables, rows)
        preferred = by_preference(rows.groupby(names)["run"].nunique(), chosen.runs.protocol, own)
        rows = rows[(names == preferred[0]).to_numpy(bool)]
    if not len(rows):
        raise Lacking(f"no {words.measure(metric).label} of single factors")
    by = [rows[name].astype(str) for name in ("run", "protocol", "factor")]
    means = rows["score"].astype(float).groupby(by, sort=False).mean().reset_index()
    return means.assign(series=means["run"].map(chosen.column("series")))


def informations(information: np.ndarray, dataset: str, title: str = "") -> Panel:
    """The mutual information of each latent with each factor, in nats, from (l, f): the most informative latent
    first."""
    order = np.argsort(-information.sum(axis=1), kind="stable")
    names = words.factors(dataset, information.shape[1])
    cells = pd.DataFrame(information[order], [f"z{index}" for index in order], list(names))
    return heat(cells, title=title, signed=False)


def heat(cells: Frame, *, title: str = "", signed: bool = True, digits: int = 2, shaded: bool = True) -> Panel:
    """A matrix with its numbers written in."""
    return Panel(title, cells=cells, signed=signed, digits=digits, shaded=shaded)


def shared(panels: Sequence[Panel | None]) -> tuple[float, float]:
    """The y axis that several panels can share."""
    lows = [panel.y.low for panel in panels if panel is not None and panel.y.low is not None]
    highs = [panel.y.high for panel in panels if panel is not None and panel.y.high is not None]
    return min(lows, default=0.0), max(highs, default=1.0)
