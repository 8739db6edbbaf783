"""Locatello et al. 2019, Fig. 10, 11 and Table 1: whether a setting that is good here is good elsewhere.

Table 1's procedure: with a random seed, metric and data set the best setting (method and weight) is chosen; it is compared
with a random setting at another seed, on the same or another data set and by the same or another metric; how often it is at
least as good is the table. The paper draws 10,000 times; here the expectation over all draws is computed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Frame, Panel
from hackle.figures.exhibit import FunctionExhibit
from hackle.figures.panels import heat, scatter, score_axis
from hackle.figures.selection import Selected, rank_correlation
from hackle.information.ranks import spearman
from hackle.papers.locatello2019.figures_runs import (
    DATASETS,
    METRICS,
    PAPER,
    absent,
    complete_scores,
    datasets_of,
    in_rows,
    method_series,
    setting_medians,
    study_runs,
)
from hackle.papers.locatello2019.transfer import transfer
from hackle.store.tables import Tables

# In the order of `Transfer`.
_PAPER_TABLE = {
    ("same metric", "same data set"): 77.3,
    ("same metric", "another data set"): 55.0,
    ("another metric", "same data set"): 51.8,
    ("another metric", "another data set"): 51.9,
}


def _by_dataset(frame: Frame, metric: str) -> Frame:
    """Medians over seeds: a row for each method and weight, a column for each data set."""
    middle = setting_medians(frame, [metric])
    return middle.pivot(index=["method", "strength"], columns="dataset", values=metric)[datasets_of(frame)]


def figure_10(tables: Tables) -> Chart:
    """Rank correlation of data sets, by metric."""
    frame, picked = study_runs(tables, METRICS)
    panels, values = [], []
    if frame["dataset"].nunique() > 1:
        for metric in METRICS:
            table = _by_dataset(frame, metric)
            cells = rank_correlation(table, table)
            if cells.notna().any().any():
                panels.append(
                    heat(cells.rename(index=words.dataset, columns=words.dataset), title=words.measure(metric).label)
                )
                values.append(cells)
    comparisons = []
    for first, second, paper in (
        ("dsprites", "color-dsprites", "correlated"),
        ("dsprites", "cars3d", "not correlated"),
        ("dsprites", "shapes3d", "not correlated"),
        ("dsprites", "smallnorb", "not correlated"),
    ):
        found = [cells.loc[first, second] for cells in values if first in cells.index and second in cells.index]
        if found and np.isfinite(found).any():
            comparisons.append(
                Comparison(
                    f"{words.dataset(first)} and {words.dataset(second)}: median over metrics",
                    paper,
                    float(np.nanmedian(found)),
                    n=int(frame["dataset"].isin([first, second]).sum()),
                )
            )
    lacking = absent(frame, METRICS)
    if len(frame) and not panels:
        lacking = ("runs on two data sets or more", *lacking)
    return Chart(
        in_rows(panels, min(3, len(panels))) if panels else (),
        (),
        "Cells: Spearman's rank correlation over settings, each the median of its seeds.",
        tuple(comparisons),
        lacking,
        picked.notes,
    )


def figure_11(tables: Tables) -> Chart:
    """Scores on dSprites against those on other data sets."""
    frame, picked = study_runs(tables, METRICS)
    others = [name for name in datasets_of(frame) if name != "dsprites"]
    rows = []
    middles = {metric: _by_dataset(frame, metric).reset_index() for metric in METRICS} if len(frame) else {}
    have = others if "dsprites" in set(frame["dataset"]) else []
    for place, dataset in enumerate(have):
        row: list[Panel | None] = []
        for index, metric in enumerate(METRICS):
            table = middles[metric]
            points = table.assign(
                series=table["method"].map(words.METHODS),
                run=[
                    f"{method} {strength:g}"
                    for method, strength in zip(table["method"], table["strength"], strict=True)
                ],
            )
            x = score_axis(metric, table["dsprites"])
            y = score_axis(metric, table[dataset], label=words.dataset(dataset))
            axes = (
                replace(x, label="dSprites" if place == len(have) - 1 else ""),
                replace(y, label=y.label if index == 0 else ""),
            )
            row.append(
                scatter(
                    Selected(points),
                    "dsprites",
                    dataset,
                    axes=axes,
                    title=words.measure(metric).label if place == 0 else "",
                )
            )
        rows.append(tuple(row))
    comparisons = tuple(
        Comparison(
            f"rank correlation of dSprites and {words.dataset(dataset)}, median over metrics",
            "clearly correlated" if dataset == "color-dsprites" else "vanishes",
            float(np.nanmedian(values)),
            n=len(middles["mig"]),
        )
        for dataset in have
        for values in [[_agree(middles[metric], dataset) for metric in METRICS]]
        if np.isfinite(values).any()
    )
    lacking = () if have else ("runs on dSprites and another data set",)
    return Chart(
        tuple(rows),
        method_series(),
        "Dots are settings, each the median of its seeds.",
        comparisons,
        (*lacking, *absent(frame, METRICS)),
        picked.notes,
        shared_y=False,
    )


def _agree(table: Frame, dataset: str) -> float:
    both = table[["dsprites", dataset]].dropna()
    return spearman(both["dsprites"].to_numpy(float), both[dataset].to_numpy(float))


def table_1(tables: Tables) -> Chart:
    """How often a chosen setting beats a random one."""
    frame, picked = study_runs(tables, METRICS)
    scores, _ = complete_scores(frame)
    if min(scores.shape) == 0 or scores.shape[2] < 2:
        return Chart(
            (),
            (),
            "",
            (),
            (*absent(frame, METRICS), "two seeds or more of every setting with all six metrics"),
            picked.notes,
        )
    found = {key: 100 * value for key, value in zip(_PAPER_TABLE, transfer(scores), strict=True)}
    metrics, sets = ("another metric", "same metric"), ("another data set", "same data set")
    cells = pd.DataFrame([[found[metric, name] for name in sets] for metric in metrics], list(metrics), list(sets))
    paper = pd.DataFrame(
        [[_PAPER_TABLE[metric, name] for name in sets] for metric in metrics], list(metrics), list(sets)
    )
    n = scores.shape[0] * scores.shape[2] * scores.shape[3]
    comparisons = tuple(
        Comparison(f"{metric}, {name}", value, found[metric, name], n=n)
        for (metric, name), value in _PAPER_TABLE.items()
    )
    rows = (
        (
            heat(cells, title="here, %", signed=False, digits=1, shaded=False),
            heat(paper, title="paper, %", signed=False, digits=1, shaded=False),
        ),
    )
    reading = (
        f"Per cent of comparisons in which the chosen setting is at least as good as a random one at another seed; "
        f"{50 * (scores.shape[3] + 1) / scores.shape[3]:.1f} is chance, since the random one may be the same. "
        f"{words.counted(scores.shape[3], 'setting')}, {words.counted(scores.shape[2], 'seed')}, "
        f"{words.counted(scores.shape[0], 'data set')}."
    )
    return Chart(rows, (), reading, comparisons, absent(frame, METRICS), picked.notes)


_NEEDS = "six methods with six weights each on two data sets or more"
EXHIBITS = (
    FunctionExhibit(
        "locatello2019-figure-10",
        PAPER,
        "Figure 10",
        "Agreement of data sets",
        "For each metric, rank correlation of the settings' scores between data sets.",
        figure_10,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-11",
        PAPER,
        "Figure 11",
        "From dSprites to other data sets",
        "Each setting's score on dSprites against its score elsewhere.",
        figure_11,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-table-1",
        PAPER,
        "Table 1",
        "Choosing by transfer",
        "How often a setting chosen by one metric, data set and "
        "seed is at least as good as a random one at another seed.",
        table_1,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
)
