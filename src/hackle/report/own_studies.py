"""A figure for user-defined studies, which no paper has figures for: the main scores of every setting, run by run."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from hackle.core.design import heading
from hackle.figures import words
from hackle.figures.chart import Chart, Frame, Series
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import MEANS, swarm
from hackle.figures.selection import Runs, Selected, doubts
from hackle.report.study_scores import SETTING
from hackle.store.records import setting_numbers, telling_fields
from hackle.store.tables import Tables
from hackle.studies import STUDIES

MOST_SETTINGS = 30
"""More settings than this cannot be told apart side by side."""
_MOST_SCORES, _IN_A_ROW = 6, 3


def own_studies(tables: Tables) -> list[tuple[Exhibit, Chart]]:
    """An exhibit and a chart for each study that is not one of the papers'; none for a study without scores."""
    names = [str(name) for name in dict.fromkeys(tables.runs["study"]) if name not in STUDIES]
    drawn = []
    for number, name in enumerate(sorted(names)):
        chart = scores_by_setting(tables, name)
        if chart.panels or chart.missing:
            exhibit = Exhibit(
                name,
                f"Study {name}" if name else "Runs of no study",
                "Scores by setting",
                "The main scores of every setting, by what differs between the settings.",
                Runs(),
                (),
                id=f"own-study-{number}",
            )
            drawn.append((exhibit, chart))
    return drawn


def scores_by_setting(tables: Tables, study: str) -> Chart:
    """The main scores of a study's runs, by setting."""
    runs: Frame = tables.runs[(tables.runs["study"] == study) & (tables.runs["status"] == "done")].set_index("run")
    scores: Frame = tables.scores[
        tables.scores["run"].isin(runs.index) & (tables.scores["representation"] != "sampled")
    ]
    if not len(scores):
        return Chart()
    protocol = scores["protocol"].value_counts().index[0]
    scores = scores[(scores["protocol"] == protocol).to_numpy()]
    settings = len(set(setting_numbers(runs)))
    if settings > MOST_SETTINGS:
        return Chart(missing=(f"{settings} settings are too many to draw side by side; the table of scores has them",))
    stored = list(map(str, scores.loc[scores["score"].notna(), "metric"].unique()))
    metrics = ([name for name in words.COMPARED if name in stored] or sorted(stored))[:_MOST_SCORES]
    label, names = _named(runs)
    wide = scores.astype({"metric": object}).pivot_table(index="run", columns="metric", values="score")
    frame = wide.reindex(runs.index).reset_index().assign(setting=names, series="runs")
    order = list(dict.fromkeys(names))
    panels = [swarm(Selected(frame), metric, "setting", order) for metric in metrics]
    panels = [replace(panel, x=replace(panel.x, label=label)) for panel in panels]
    rows = tuple(tuple(panels[start : start + _IN_A_ROW]) for start in range(0, len(panels), _IN_A_ROW))
    drawn = scores[scores["metric"].isin(metrics)]
    return Chart(rows, (Series("runs"),), MEANS, notes=tuple(doubts(drawn)), shared_y=False)


def _named(runs: Frame) -> tuple[str, list[str]]:
    """The fields in which the settings differ, and each run's values of these fields."""
    known: Frame = pd.concat([runs[list(SETTING)], telling_fields(runs, SETTING)], axis=1).astype(object)
    differing = [name for name in known if known[name].astype(str).nunique() > 1]
    values = known[differing or ["method"]].map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
    if "strength" in differing:
        symbols = known["method"].map(words.symbol)
        values["strength"] = [f"{symbol} = {value}" for symbol, value in zip(symbols, values["strength"], strict=True)]
    label = ", ".join(map(heading, differing))
    return label, [", ".join(row) for row in values.itertuples(index=False)]
