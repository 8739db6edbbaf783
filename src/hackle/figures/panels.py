"""The kinds of panel that figures are made of. Each takes rows of runs and gives a `Panel` with every run in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Frame, Panel
from hackle.figures.selection import medians, spread, summarise

COLLAPSED = 0.01
"""Nats of KL to the prior up to which a latent has collapsed."""
MEANS = "Dots are single runs; the bar is their mean with a 95% t interval."
CURVES = "Thin lines are single runs, the thick line is their mean at each step."
MEDIANS = "Dots are single runs; lines join medians over seeds, bars span the quartiles."


def score_axis(metric: str, values: Frame, ceiling: float = float("nan"), label: str = "") -> Axis:
    """An axis that starts where the score does and ends a little above the highest value, or at the score's own end.

    Values beyond a score's bounds widen it: nothing that is there is left out.
    """
    known = words.measure(metric)
    low, high = spread(values, values)
    seen = np.asarray(values, float)
    least, most = (np.nanmin(seen), np.nanmax(seen)) if np.isfinite(seen).any() else (0.0, 0.0)
    if known.low is not None and least >= known.low:
        low = known.low
        high = max(high, low + 1.06 * (most - low))
    if known.high is not None and most <= known.high:
        high = known.high if high > 0.7 * known.high else high
    name = label or known.label
    if np.isfinite(ceiling) and known.high is not None and ceiling < known.high - 0.005:
        name += f" (ceiling {ceiling:.2f})"
    return Axis(name, low, max(high, low + 1e-9))


def with_intervals(metric: str, points: Frame, summary: Frame) -> Frame:
    """Points and ends of intervals, these no farther than the score's bounds: what an axis must hold."""
    known = words.measure(metric)
    ends = pd.concat([summary["low"], summary["high"]]).clip(known.low, known.high)
    return pd.concat([points["y"], ends])


def swarm(
    frame: Frame,
    metric: str,
    across: str,
    order: Sequence[str],
    *,
    name: Callable[[str], str] = str,
    title: str = "",
    y: Axis | None = None,
    ceiling: float = float("nan"),
    robust: bool = False,
) -> Panel:
    """Runs side by side by category: `frame` has run, series, the metric's column and `across`, whose values are `order`.

    robust: medians and quartiles in place of means and t intervals.
    """
    rows = frame[frame[across].isin(list(order)) & frame[metric].notna()]
    place = {value: index for index, value in enumerate(order)}
    points = pd.DataFrame(
        {"x": rows[across].map(place).astype(float), "y": rows[metric], "series": rows["series"], "run": rows["run"]}
    )
    summary = (medians if robust else summarise)(points, ["x", "series"])
    ticks = tuple(name(value) for value in order)
    axis = y or score_axis(metric, with_intervals(metric, points, summary), ceiling)
    top = (ceiling, "ceiling") if np.isfinite(ceiling) and axis.high is not None and ceiling <= axis.high else None
    return Panel(
        title, Axis("", -0.5, len(order) - 0.5, ticks), axis, points.reset_index(drop=True), summary, level=top
    )


def scatter(
    frame: Frame, x: str, y: str, *, title: str = "", axes: tuple[Axis, Axis] | None = None, means: bool = True
) -> Panel:
    """One score of each run against another; `frame` has run, series and both metrics' columns."""
    rows = frame[frame[x].notna() & frame[y].notna()]
    points: Frame = pd.DataFrame({"x": rows[x], "y": rows[y], "series": rows["series"], "run": rows["run"]})
    chosen = axes or (score_axis(x, points["x"]), score_axis(y, points["y"]))
    panel = Panel(title, *chosen, points.reset_index(drop=True))
    if not means or not len(points):
        return panel
    middle: Frame = (
        points.groupby("series", observed=True)[["x", "y"]].mean().join(points.groupby("series").size().rename("n"))
    )
    summary = middle.reset_index().assign(low=np.nan, high=np.nan)
    return Panel(title, *chosen, panel.points, summary)


def against_strength(
    frame: Frame, metric: str, ladder: Mapping[str, Sequence[float]], *, title: str = "", y: Axis | None = None
) -> Panel:
    """Runs against the place of their weight among those of their method, medians joined; series are methods."""
    rows = frame[frame[metric].notna()]
    place = places_on(ladder, rows["method"], rows["strength"])
    points = pd.DataFrame({"x": place, "y": rows[metric], "series": rows["series"], "run": rows["run"]})
    points = points[points["x"].notna()].reset_index(drop=True)
    steps = max((len(values) for values in ladder.values()), default=1)
    ticks = tuple(str(step + 1) for step in range(steps))
    x = Axis("weight, weak to strong", -0.5, steps - 0.5, ticks)
    return Panel(title, x, y or score_axis(metric, points["y"]), points, medians(points, ["x", "series"]), joined=True)


def places_on(ladder: Mapping[str, Sequence[float]], methods: Frame, strengths: Frame) -> np.ndarray:
    """Where each run's weight stands among its method's, counted from 0; NaN where it is none of them."""
    names, weights = np.asarray(methods, object), np.asarray(strengths, float)
    found = np.full(len(names), np.nan)
    for name, values in ladder.items():
        rows = np.flatnonzero(names == name)
        for index, value in enumerate(values):
            found[rows[np.isclose(weights[rows], value)]] = index
    return found


def curve_points(curve: Frame, series: Mapping[str, str], most: int = 150) -> Frame:
    """A term's curves as points, x the step and y the value, of the runs that `series` names a series for.

    Of more than `most` steps every k-th is kept.
    """
    curve = curve[curve["run"].isin(list(series))]
    steps = np.sort(curve["step"].unique())
    if len(steps) > most:
        curve = curve[curve["step"].isin(steps[:: -(-len(steps) // most)])]
    curve = curve[np.isfinite(curve["value"].to_numpy(float))]
    runs = curve["run"].astype(str)
    points = {"x": curve["step"], "y": curve["value"], "series": runs.map(series), "run": runs}
    return pd.DataFrame(points).reset_index(drop=True)


def curves_panel(points: Frame, title: str, label: str, low: float | None = None) -> Panel:
    """Curves of single runs and their mean at each step."""
    if low is None:
        low = spread(points["y"], points["y"])[0]
    middle = points.groupby(["x", "series"], observed=True)["y"].agg(["mean", "count"]).reset_index()
    summary = middle.rename(columns={"mean": "y", "count": "n"}).assign(low=np.nan, high=np.nan)
    y = Axis(label, low, spread(points["y"], points["y"])[1])
    return Panel(title, Axis("step"), y, points, summary, joined=True)


def traversals(title: str, picture: np.ndarray, latents: np.ndarray) -> Panel:
    """Originals, reconstructions and traversals with the names of their rows.

    latents: a row for each traversal, the latent's number, its KL to the prior in nats, its first and its last value.
    """
    names = ["original", "decoded", *(_latent(int(latent), kl) for latent, kl, *_ in latents)]
    return Panel(title, traversed(latents[0], "value of the latent"), Axis(ticks=tuple(names)), picture=picture)


def _latent(latent: int, kl: float) -> str:
    return f"z{latent}, collapsed" if kl <= COLLAPSED else f"z{latent}, KL {kl:.2f}"


def traversed(latent: np.ndarray, label: str, columns: int = 11) -> Axis:
    """The axis of a picture along which a latent moves: its first and its last value at the ends."""
    low, high = (f"{value:g}".replace("-", "−") for value in latent[2:])
    return Axis(label, ticks=(low, *("",) * (columns - 2), high))


def heat(cells: Frame, *, title: str = "", signed: bool = True, digits: int = 2, shaded: bool = True) -> Panel:
    """A matrix with its numbers written in."""
    return Panel(title, cells=cells, signed=signed, digits=digits, shaded=shaded)


def shared(panels: Sequence[Panel | None]) -> tuple[float, float]:
    """The y axis that several panels can share."""
    lows = [panel.y.low for panel in panels if panel is not None and panel.y.low is not None]
    highs = [panel.y.high for panel in panels if panel is not None and panel.y.high is not None]
    return min(lows, default=0.0), max(highs, default=1.0)
