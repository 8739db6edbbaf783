"""Locatello et al. 2019, Fig. 5, 6, 9, 12, 13, 14: how scores agree with each other, with losses and with downstream tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Frame, Panel
from hackle.figures.exhibit import FunctionExhibit
from hackle.figures.panels import heat, scatter, score_axis
from hackle.figures.selection import Picked, Selected, rank_correlation
from hackle.papers.locatello2019.figures_runs import (
    DATASETS,
    METRICS,
    PAPER,
    absent,
    datasets_of,
    in_rows,
    method_series,
    study_runs,
)
from hackle.store.tables import Tables

_UNSUPERVISED = ("reconstruction", "kl", "elbo", "gaussian_tc")
_DOWNSTREAM = tuple(f"downstream_{kind}_{size}" for kind in ("logistic_cv", "gbt") for size in (10, 100, 1000, 10000))
_AGREEING = ("beta_vae", "factor_vae", "mig")
_CELLS = "Cells: Spearman's rank correlation over all runs of a data set."


def _short(cells: Frame) -> Frame:
    return cells.rename(index=lambda name: words.measure(name).short, columns=lambda name: words.measure(name).short)


def figure_5(tables: Tables) -> Chart:
    """Every pair of metrics on dSprites."""
    frame, picked = study_runs(tables, METRICS)
    frame = frame[frame["dataset"] == "dsprites"]
    scored = [metric for metric in METRICS if frame[metric].notna().any()]
    axes = {metric: score_axis(metric, frame[metric], label=words.measure(metric).short) for metric in scored}
    rows = []
    for below in range(1, len(scored)):
        row: list[Panel | None] = []
        for left in range(len(scored) - 1):
            if left >= below:
                row.append(None)
                continue
            x = replace(axes[scored[left]], label=axes[scored[left]].label if below == len(scored) - 1 else "")
            y = replace(axes[scored[below]], label=axes[scored[below]].label if left == 0 else "")
            row.append(scatter(Selected(frame), scored[left], scored[below], axes=(x, y)))
        rows.append(tuple(row))
    cells = rank_correlation(frame[scored], frame[scored])
    comparisons = tuple(
        Comparison(
            f"rank correlation of {words.measure(first).short} and {words.measure(second).short}",
            "substantial",
            float(cells.loc[first, second]),
            n=int(frame[[first, second]].notna().all(axis=1).sum()),
        )
        for index, first in enumerate(_AGREEING)
        for second in _AGREEING[index + 1 :]
        if first in scored and second in scored
    )
    lacking = () if len(frame) else ("no runs on dSprites",)
    return Chart(
        tuple(rows),
        method_series(),
        "Dots are runs on dSprites.",
        comparisons,
        lacking or absent(frame, METRICS)[1:],
        picked.notes,
        shared_y=False,
    )


def _correlations(
    tables: Tables, rows: Sequence[str], columns: Sequence[str], sampled: Sequence[str] = ()
) -> tuple[dict[str, Frame], Frame, Picked]:
    """By data set, rank correlations of some scores (rows) with others (columns); `sampled` ones are of samples."""
    frame, picked = study_runs(tables, [*rows, *(name for name in columns if name not in rows and name not in sampled)])
    for name in sampled:
        other, _ = study_runs(tables, [name], "sampled")
        frame = frame.merge(other[["run", name]], on="run", how="left")
    cells = {
        name: rank_correlation(part[list(rows)], part[list(columns)])
        for name in datasets_of(frame)
        for part in [frame[frame["dataset"] == name]]
    }
    return {name: part for name, part in cells.items() if part.notna().any().any()}, frame, picked


def _heats(cells: dict[str, Frame]) -> tuple[tuple[Panel | None, ...], ...]:
    panels = [heat(_short(part), title=words.dataset(name)) for name, part in cells.items()]
    return (
        in_rows(
            panels,
            min(4 if panels and panels[0].cells is not None and panels[0].cells.shape[1] < 7 else 3, len(panels)),
        )
        if panels
        else ()
    )


def figure_6(tables: Tables) -> Chart:
    """Rank correlation of metrics, by data set."""
    cells, frame, picked = _correlations(tables, METRICS, METRICS)
    pairs = [(first, second) for index, first in enumerate(METRICS) for second in METRICS[index + 1 :]]
    inside = [part.loc[a, b] for part in cells.values() for a, b in pairs if a in _AGREEING and b in _AGREEING]
    outside = [
        abs(part.loc[a, b]) for part in cells.values() for a, b in pairs if not (a in _AGREEING and b in _AGREEING)
    ]
    comparisons = [
        Comparison(f"{what}: median over pairs and data sets", paper, float(np.nanmedian(values)), n=len(frame))
        for what, paper, values in (
            ("rank correlation of BetaVAE, FactorVAE and MIG", "correlated on all data sets", inside),
            ("|rank correlation| of other pairs", "no significant correlation", outside),
        )
        if np.isfinite(values).any()
    ]
    return Chart(_heats(cells), (), _CELLS, tuple(comparisons), absent(frame, METRICS), picked.notes)


def figure_9(tables: Tables) -> Chart:
    """Rank correlation of metrics with scores that need no labels."""
    cells, frame, picked = _correlations(tables, METRICS, _UNSUPERVISED, ("gaussian_tc",))
    values = np.concatenate([part.to_numpy(float).ravel() for part in cells.values()]) if cells else np.empty(0)
    comparisons = ()
    if np.isfinite(values).any():
        comparisons = (
            Comparison(
                "|rank correlation|, median over metrics, scores and data sets",
                "no clear pattern",
                float(np.nanmedian(np.abs(values))),
                n=len(frame),
            ),
        )
    return Chart(
        _heats(cells),
        (),
        f"{_CELLS} TC is that of samples.",
        comparisons,
        absent(frame, (*METRICS, *_UNSUPERVISED)),
        picked.notes,
    )


def figure_12(tables: Tables) -> Chart:
    """Rank correlation of metrics with downstream accuracy."""
    cells, frame, picked = _correlations(tables, METRICS, _DOWNSTREAM)
    comparisons = []
    for metric in METRICS:
        # The paper speaks of dSprites and its variants for some metrics, and of all data sets for others.
        names = [name for name in cells if metric not in _AGREEING or name in DATASETS[:4]]
        values = np.array([cells[name].loc[metric].to_numpy(float) for name in names])
        what, paper = f"{words.measure(metric).label}: rank correlation, median over data sets and tasks", "–"
        if metric in _AGREEING:
            what, paper = f"{what}, on dSprites and its variants", "correlated"
        elif metric in ("dci_disentanglement", "modularity"):
            what, paper, values = what.replace("rank correlation", "|rank correlation|"), "not correlated", abs(values)
        if np.isfinite(values).any():
            runs = int(frame["dataset"].isin(names).sum())
            comparisons.append(Comparison(what, paper, float(np.nanmedian(values)), n=runs))
    return Chart(
        _heats(cells),
        (),
        f"{_CELLS} LR: logistic regression, GBT: boosted trees, on so many labelled images.",
        tuple(comparisons),
        absent(frame, (*METRICS, *_DOWNSTREAM)),
        picked.notes,
    )


def _efficiency(tables: Tables, score: str) -> Chart:
    """A task's statistical efficiency against each metric, a row for each data set."""
    frame, picked = study_runs(tables, [*METRICS, score])
    scored = frame[frame[score].notna()]
    across = {metric: replace(score_axis(metric, scored[metric]), label="score") for metric in METRICS}
    rows = []
    for place, dataset in enumerate(datasets_of(scored)):
        here, row = scored[scored["dataset"] == dataset], []
        y = score_axis(score, here[score], label=f"{words.dataset(dataset)}\nefficiency")
        for index, metric in enumerate(METRICS):
            panel = scatter(
                Selected(here),
                metric,
                score,
                axes=(across[metric], replace(y, label=y.label if index == 0 else "")),
                title=words.measure(metric).label if place == 0 else "",
            )
            row.append(panel)
        rows.append(tuple(row))
    cells = [
        rank_correlation(part[[metric]], part[[score]]).iloc[0, 0]
        for metric in METRICS
        for _, part in scored.groupby("dataset", observed=True)
    ]
    comparisons = ()
    if len(cells) and np.isfinite(cells).any():
        comparisons = (
            Comparison(
                "rank correlation with a metric, median over metrics and data sets",
                "no evidence of any",
                float(np.nanmedian(cells)),
                n=len(scored),
            ),
        )
    return Chart(
        tuple(rows),
        method_series(),
        "Dots are runs. Efficiency: accuracy with 100 labelled images over that with 10,000.",
        comparisons,
        absent(frame, (*METRICS, score)),
        picked.notes,
        shared_y=False,
    )


def figure_13(tables: Tables) -> Chart:
    """Efficiency of logistic regression against metrics."""
    return _efficiency(tables, "efficiency_logistic_cv")


def figure_14(tables: Tables) -> Chart:
    """Efficiency of boosted trees against metrics."""
    return _efficiency(tables, "efficiency_gbt")


_NEEDS = "six methods with six weights each"
_TASKS = f"{_NEEDS}, with the metrics downstream_logistic_cv and downstream_gbt"
EXHIBITS = (
    FunctionExhibit(
        "locatello2019-figure-5",
        PAPER,
        "Figure 5",
        "Pairs of metrics on dSprites",
        "Each metric against each other, a dot for each run on dSprites.",
        figure_5,
        PAPER,
        _NEEDS,
    ),
    FunctionExhibit(
        "locatello2019-figure-6",
        PAPER,
        "Figure 6",
        "Agreement of metrics",
        "Rank correlation of the metrics over all runs of a data set.",
        figure_6,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-9",
        PAPER,
        "Figure 9",
        "Scores without labels",
        "Rank correlation of the metrics with reconstruction error, KL, evidence bound and total correlation.",
        figure_9,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-12",
        PAPER,
        "Figure 12",
        "Downstream accuracy",
        "Rank correlation of the metrics with the accuracy of classifiers trained on the codes.",
        figure_12,
        PAPER,
        _TASKS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-13",
        PAPER,
        "Figure 13",
        "Efficiency of logistic regression",
        "Statistical efficiency of logistic regression on the codes against each metric.",
        figure_13,
        PAPER,
        _TASKS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-14",
        PAPER,
        "Figure 14",
        "Efficiency of boosted trees",
        "Statistical efficiency of boosted trees on the codes against each metric.",
        figure_14,
        PAPER,
        _TASKS,
        DATASETS,
    ),
)
