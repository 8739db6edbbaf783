"""Locatello et al. 2019, Fig. 2 to 4, 7 and 8: total correlations and scores against methods and weights.

A Gaussian fitted to means has a higher total correlation than one fitted to samples for every model: beside Figure 4 stands
how much higher. Figures 7 and 8 have shares of variance beside the paper's words, and those of the seed, on which it has none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.claims.statistics import variance_shares
from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Frame, Panel, no_summary
from hackle.figures.exhibit import FunctionExhibit
from hackle.figures.panels import MEDIANS, against_strength, scatter, score_axis, swarm
from hackle.figures.selection import Selected, present, spread
from hackle.information.ranks import spearman
from hackle.papers.locatello2019.figures_runs import (
    DATASETS,
    METHODS,
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
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2019.transfer import agreement_of_tuning, share_of_the_best_method, swept
from hackle.store.tables import Tables

_WITHOUT_ANNEALED = METHODS[:-1]


def _correlation_with_weight(frame: Frame, metric: str) -> Frame:
    """For each method, the rank correlation of a score with the weight on each data set, averaged over data sets."""
    found = {
        (method, dataset): spearman(part["strength"].to_numpy(float), part[metric].to_numpy(float))
        for (method, dataset), part in frame[frame[metric].notna()].groupby(["method", "dataset"], observed=True)
    }
    return pd.Series(found, dtype=float).groupby(level=0).mean() if found else pd.Series(dtype=float)


def _total_correlation(tables: Tables, representation: str, paper: dict[str, str]) -> Chart:
    frame, picked = study_runs(tables, ["gaussian_tc"], representation, _WITHOUT_ANNEALED)
    panels = [
        against_strength(Selected(frame[frame["dataset"] == name]), "gaussian_tc", STRENGTHS, title=words.dataset(name))
        for name in datasets_of(frame)
    ]
    # Seven data sets stand in two rows; only the first of a row names the axis.
    found = _correlation_with_weight(frame, "gaussian_tc")
    comparisons = tuple(
        Comparison(
            f"{words.METHODS[name]}: rank correlation with its weight, mean over data sets",
            paper[name],
            float(found[name]),
            n=int((frame["method"] == name).sum()),
        )
        for name in _WITHOUT_ANNEALED
        if name in found
    )
    return Chart(
        in_rows(panels, min(4, len(panels))) if panels else (),
        method_series(_WITHOUT_ANNEALED),
        MEDIANS,
        comparisons,
        absent(frame, (), _WITHOUT_ANNEALED),
        picked.notes,
        shared_y=False,
    )


def figure_2(tables: Tables) -> Chart:
    """Total correlation of samples against the weight."""
    falls, slightly = "clearly falls", "falls, less clearly"
    return _total_correlation(
        tables,
        "sampled",
        {
            "beta-vae": falls,
            "beta-tcvae": falls,
            "dip-vae-i": slightly,
            "dip-vae-ii": slightly,
            "factor-vae": "does not seem to fall",
        },
    )


def figure_3(tables: Tables) -> Chart:
    """Total correlation of means against the weight."""
    rises = "rises substantially"
    return _total_correlation(
        tables,
        "mean",
        {
            "beta-vae": rises,
            "beta-tcvae": rises,
            "factor-vae": "rises, less so",
            "dip-vae-i": "consistently low",
            "dip-vae-ii": "low on some data sets (Shapes3D, Cars3D), not on others (dSprites)",
        },
    )


def figure_4(tables: Tables) -> Chart:
    """Total correlation of means against that of samples."""
    means, picked = study_runs(tables, ["gaussian_tc"], "mean")
    samples, _ = study_runs(tables, ["gaussian_tc"], "sampled")
    joined = means.merge(samples[["run", "gaussian_tc"]], on="run", suffixes=("", "_sampled"))
    with np.errstate(divide="ignore", invalid="ignore"):
        joined["mean_log"] = np.log10(joined["gaussian_tc"].clip(lower=1e-6))
        joined["sampled_log"] = np.log10(joined["gaussian_tc_sampled"].clip(lower=1e-6))
    panels, comparisons = [], []
    span = spread(joined[["mean_log", "sampled_log"]].min(), joined[["mean_log", "sampled_log"]].max())
    for name in datasets_of(joined):
        axes = (Axis("log₁₀ TC of samples", *span), Axis("log₁₀ TC of means", *span))
        panel = scatter(
            Selected(joined[joined["dataset"] == name]),
            "sampled_log",
            "mean_log",
            title=words.dataset(name),
            axes=axes,
        )
        panels.append(replace(panel, diagonal=0.0))
    for method in METHODS:
        rows = joined[joined["method"] == method]
        if len(rows):
            means_have, samples_have = (float(rows[name].median()) for name in ("gaussian_tc", "gaussian_tc_sampled"))
            comparisons.append(
                Comparison(
                    f"{words.METHODS[method]}: median total correlation of means, and of samples (nats)",
                    "consistently low, and low" if method == "dip-vae-i" else "much higher than of samples",
                    f"{means_have:.3g}, and {samples_have:.3g}",
                    n=len(rows),
                )
            )
    return Chart(
        in_rows(panels, min(4, len(panels))) if panels else (),
        method_series(),
        "Dots are runs; above the dashed line the means are more correlated than the samples.",
        tuple(comparisons),
        absent(joined),
        picked.notes,
    )


def _grid(frame: Frame, make) -> tuple[tuple[Panel | None, ...], ...]:
    """A row for each data set, a column for each metric; titles above the first row, data sets beside the first column."""
    rows = []
    # One axis for a metric, so that data sets can be compared.
    axes = {metric: score_axis(metric, frame[metric]) for metric in METRICS}
    for place, dataset in enumerate(datasets_of(frame)):
        row = []
        for index, metric in enumerate(METRICS):
            here = frame[(frame["dataset"] == dataset) & frame[metric].notna()]
            panel = make(here, metric) if len(here) else Panel(y=Axis(""))
            title = words.measure(metric).label if place == 0 else ""
            label = words.dataset(dataset) if index == 0 else ""
            row.append(replace(panel, title=title, y=replace(axes[metric], label=label)))
        rows.append(tuple(row))
    return tuple(rows)


def _explained(scores: np.ndarray, methods: list[str], paper: dict[str, str]) -> tuple[Comparison, ...]:
    """The shares of the scores' variance of method, strength (a method's weight) and seed."""
    if not methods:
        return ()
    parts = [variance_shares(metric, methods)._asdict() for dataset in scores for metric in dataset]
    shares: Frame = pd.DataFrame(parts).mean()
    return tuple(
        Comparison(
            f"share of the scores' variance due to the {name}, mean over metrics and data sets",
            said,
            float(shares[name]),
            n=scores.shape[0] * scores.shape[2] * scores.shape[3],
        )
        for name, said in paper.items()
    )


def _swept_scores(frame: Frame) -> tuple[np.ndarray, list[str]]:
    """Complete scores of the methods with weights enough to compare the two, with their settings' methods; or no methods."""
    scores, methods = complete_scores(frame)
    kept = swept(methods) if min(scores.shape) and scores.shape[2] > 1 else []
    return scores[..., kept], [methods[place] for place in kept]


def figure_7(tables: Tables) -> Chart:
    """Scores of each method."""
    frame, picked = study_runs(tables, METRICS)
    middle = setting_medians(frame, METRICS)
    names = present(middle, "method", METHODS)
    middle = middle.assign(
        series=middle["method"].map(words.METHODS),
        run=middle["method"].astype(str) + " " + middle["strength"].map("{:g}".format).astype(str),
    )
    rows = _grid(
        middle,
        lambda here, metric: replace(swarm(Selected(here), metric, "method", names), summary=no_summary()),
    )
    paper = {"method": "matters less than the weight", "strength": "matters more than the method"}
    return Chart(
        rows,
        method_series(),
        "Dots are a method's weights, each the median of its seeds.",
        _explained(*_swept_scores(frame), paper),
        absent(frame, METRICS),
        picked.notes,
        shared_y=False,
    )


def figure_8(tables: Tables) -> Chart:
    """Scores against the weight."""
    frame, picked = study_runs(tables, METRICS)
    rows = _grid(frame, lambda here, metric: against_strength(Selected(here), metric, STRENGTHS))
    scores, methods = _swept_scores(frame)
    runs = scores.shape[0] * scores.shape[2] * scores.shape[3]
    comparisons = [
        Comparison(what, paper, number(scores, methods), n=runs)
        for what, paper, number in (
            (
                "part of metrics and data sets in which the most successful method is best",
                "none dominates",
                share_of_the_best_method,
            ),
            (
                "rank correlation of two columns' orders of a method's weights, mean over pairs",
                "no consistent strategy",
                agreement_of_tuning,
            ),
        )
        if methods and scores.shape[0] * scores.shape[1] > 1
    ]
    return Chart(
        rows,
        method_series(),
        f"{MEDIANS} Weights of each method from weakest (1) to strongest (6).",
        (*comparisons, *_explained(scores, methods, {"seed": "–"})),
        absent(frame, METRICS),
        picked.notes,
        shared_y=False,
    )


_NEEDS = "six methods with six weights each"
EXHIBITS = (
    FunctionExhibit(
        "locatello2019-figure-2",
        PAPER,
        "Figure 2",
        "Total correlation of samples",
        "Total correlation of a Gaussian fitted to sampled codes, against the method's weight.",
        figure_2,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-3",
        PAPER,
        "Figure 3",
        "Total correlation of means",
        "Total correlation of a Gaussian fitted to the codes' means, against the method's weight.",
        figure_3,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-4",
        PAPER,
        "Figure 4",
        "Means against samples",
        "Total correlation of means against that of samples, on a logarithmic scale.",
        figure_4,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-7",
        PAPER,
        "Figure 7",
        "Scores of each method",
        "The scores that each method attains with its weights, for each metric and data set.",
        figure_7,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
    FunctionExhibit(
        "locatello2019-figure-8",
        PAPER,
        "Figure 8",
        "Scores against the weight",
        "Scores against the method's weight, for each metric and data set.",
        figure_8,
        PAPER,
        _NEEDS,
        DATASETS,
    ),
)
