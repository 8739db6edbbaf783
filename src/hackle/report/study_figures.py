"""The numbers behind the figures, as data of the page: for tooltips from a dot to its run, and for CSV files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hackle.figures.chart import Chart, Frame, Panel
from hackle.report.alternatives import panel_in_words
from hackle.report.setting_names import setting_names
from hackle.store.tables import Tables


def figure_data(charts: Mapping[str, Chart], tables: Tables) -> dict[str, Any]:
    """Every number of these charts.

    settings: names of settings. runs: hash, number of the setting and seed. figures: by id, the names of `series` and the
    `panels`, each with its axes, `points` as columns (x, y, number of the series, number of the run or −1), `summary` as rows
    (x, y, low, high, n, number of the series) and `cells`.
    """
    runs: Frame = tables.runs.drop_duplicates("run")
    setting, names = pd.factorize(np.array(setting_names(runs), dtype=object))
    known = pd.Index(runs["run"].astype(str))
    return {
        "settings": list(names),
        "runs": [[run, int(at), int(seed)] for run, at, seed in zip(known, setting, runs["seed"], strict=True)],
        "figures": {name: _chart(chart, known) for name, chart in charts.items()},
    }


def _chart(chart: Chart, runs: pd.Index) -> dict[str, Any]:
    series = pd.Index(
        dict.fromkeys(
            str(name) for panel in chart.panels for frame in (panel.points, panel.summary) for name in frame["series"]
        )
    )
    panels = [_panel(panel, title, series, runs) for panel, title in zip(chart.panels, chart.titles, strict=True)]
    return {"series": list(series), "panels": panels}


def _panel(panel: Panel, title: str, series: pd.Index, runs: pd.Index) -> dict[str, Any]:
    points, summary = panel.points, panel.summary
    made: dict[str, Any] = {
        "title": title,
        "words": panel_in_words(panel, title),
        "x": panel.x.label,
        "y": panel.y.label,
        "ticks": list(panel.x.ticks),
        "points": [
            *(_short(points[name]) for name in ("x", "y")),
            series.get_indexer(points["series"].astype(str)).tolist(),
            runs.get_indexer(points["run"].astype(str)).tolist(),
        ],
        "summary": list(
            zip(
                *(_short(summary[name]) for name in ("x", "y", "low", "high", "n")),
                series.get_indexer(summary["series"].astype(str)).tolist(),
                strict=True,
            )
        ),
    }
    if panel.cells is not None:
        rows, columns = (list(map(str, names)) for names in (panel.cells.index, panel.cells.columns))
        made["cells"] = [rows, columns, [_short(row) for row in panel.cells.to_numpy(float)]]
    return made


def _short(values: Any) -> list[float | None]:
    """Numbers with six significant digits; None for those that are not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values, float).tolist()]
