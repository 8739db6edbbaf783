"""Kim & Mnih 2018: FactorVAE against β-VAE by weight (Fig. 4, 5, 10 and 23).

Scores over training (Fig. 4, 23) are kept only at its end, so curves are drawn of what training logs, the reconstruction error,
and scores by weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Panel, Series
from hackle.figures.panels import CURVES, MEANS, curve_points, curves_panel, scatter, score_axis
from hackle.figures.selection import spearman, spread
from hackle.papers.kim2018.figures_runs import (
    PAPER,
    SHAPES,
    best_means,
    by_weight,
    method_missing,
    three_dimensional,
    weighed_runs,
    weight_series,
)
from hackle.store.tables import Tables

_PAIR = (Series("β-VAE", 0, 0), Series("FactorVAE", 1, 1))


def _by_weight_figure(tables: Tables, methods: Sequence[str], comparisons: Sequence[Comparison] = ()) -> Chart:
    """Reconstruction error over training, and both metrics by weight; a column for each method."""
    metrics = ("beta_vae", "factor_vae")
    frame, picked = weighed_runs(tables, metrics, methods)
    have = [name for name in methods if (frame["method"] == name).any()]
    curve = tables.curve("reconstruction") if have else pd.DataFrame(columns=["run", "step", "value"])
    top: list[Panel | None] = []
    for name in have:
        here = frame[frame["method"] == name]
        points = curve_points(curve, dict(zip(here["run"], here["series"], strict=True)))
        top.append(curves_panel(points, words.METHODS[name], "reconstruction error (nats)") if len(points) else None)
    rows = [tuple(top)] if any(top) else []
    for metric in metrics:
        parts = [frame[(frame["method"] == name) & frame[metric].notna()] for name in have]
        panels = tuple(
            by_weight(part, metric, "" if rows else words.METHODS[part["method"].iloc[0]])
            for part in parts
            if len(part)
        )
        if panels:
            rows.append(panels)
    missing = method_missing(frame, methods, "dsprites") + (
        () if any(top) or not have else ("curves of the reconstruction error",)
    )
    return Chart(
        tuple(rows),
        weight_series(frame),
        f"{CURVES} Below: {MEANS[0].lower()}{MEANS[1:]}",
        tuple(comparisons),
        missing,
        picked.notes,
    )


def figure_4(tables: Tables) -> Chart:
    """β-VAE and FactorVAE over training and by weight."""
    frame, _ = weighed_runs(tables, ("beta_vae", "factor_vae"), ("beta-vae", "factor-vae"))
    both = frame[["beta_vae", "factor_vae"]].dropna().to_numpy(float)
    comparisons = []
    if len(both) > 2:
        comparisons = [
            Comparison("rank correlation of the two metrics over all runs", 0.444, spearman(*both.T), n=len(both))
        ]
    return _by_weight_figure(tables, ("beta-vae", "factor-vae"), comparisons)


def figure_23(tables: Tables) -> Chart:
    """The adversarial autoencoder and Eq. 12 over training and by weight."""
    frame, _ = weighed_runs(tables, ("factor_vae",), ("adversarial-autoencoder", "factor-vae-prior", "factor-vae"))
    best = best_means(frame)
    comparisons = [
        Comparison(
            f"{words.METHODS[name]}: best mean FactorVAE score minus FactorVAE's",
            "somewhat below 0",
            float(best[name].y - best["factor-vae"].y),
            n=int(best[name].n),
        )
        for name in ("adversarial-autoencoder", "factor-vae-prior")
        if name in best and "factor-vae" in best
    ]
    return _by_weight_figure(tables, ("adversarial-autoencoder", "factor-vae-prior"), comparisons)


def _trade_off(
    tables: Tables, dataset: str, paper: Mapping[str, tuple[float | str, float]], errors: Mapping[str, float]
) -> Chart:
    """Reconstruction error against the FactorVAE score, runs and means of each weight."""
    methods = ("beta-vae", "factor-vae")
    frame, picked = weighed_runs(tables, ("reconstruction", "factor_vae"), methods, dataset)
    frame = frame[frame[["reconstruction", "factor_vae"]].notna().all(axis=1)]
    rows: tuple[tuple[Panel, ...], ...] = ()
    comparisons = []
    if len(frame):
        shown = frame.assign(series=frame["method"].map(words.METHODS))
        x = Axis("reconstruction error (nats)", *spread(frame["reconstruction"], frame["reconstruction"]))
        panel = scatter(
            shown,
            "reconstruction",
            "factor_vae",
            title=SHAPES.get(dataset, words.dataset(dataset)),
            means=False,
            axes=(x, score_axis("factor_vae", frame["factor_vae"], picked.ceiling("factor_vae", dataset))),
        )
        means = shown.groupby(["series", "strength"])[["reconstruction", "factor_vae"]].mean().reset_index()
        sizes = shown.groupby(["series", "strength"]).size().to_numpy()
        summary = pd.DataFrame(
            {
                "x": means["reconstruction"],
                "y": means["factor_vae"],
                "low": np.nan,
                "high": np.nan,
                "n": sizes,
                "series": means["series"],
            }
        )
        labels = pd.DataFrame(
            {"x": means["reconstruction"], "y": means["factor_vae"], "text": means["strength"].map("{:g}".format)}
        )
        rows = ((replace(panel, summary=summary, labels=labels),),)
        for name, best in best_means(frame).items():
            at = f"at {words.SYMBOLS[name]} = {best.strength:g}"
            value, weight = paper[name]
            comparisons.append(
                Comparison(
                    f"{words.METHODS[name]}: best mean FactorVAE score ({at}; paper {weight:g})",
                    value,
                    float(best.y),
                    float(best.low),
                    float(best.high),
                    int(best.n),
                )
            )
            error = frame[(frame["method"] == name) & np.isclose(frame["strength"], best.strength)]["reconstruction"]
            comparisons.append(
                Comparison(
                    f"{words.METHODS[name]}: reconstruction error there",
                    errors[name],
                    float(error.mean()),
                    n=len(error),
                )
            )
    return Chart(
        rows,
        _PAIR,
        "Small marks are runs, large ones the means of a weight, which stands beside them.",
        tuple(comparisons),
        method_missing(frame, methods, dataset),
        picked.notes,
    )


def figure_5(tables: Tables) -> Chart:
    """The trade-off on 2D Shapes."""
    chart = _trade_off(
        tables, "dsprites", {"beta-vae": (0.73, 4), "factor-vae": (0.82, 40)}, {"beta-vae": 45, "factor-vae": 45}
    )
    best = [
        Comparison(f"{name}: best single run", value, float(points["y"].max()), n=len(points))
        for name, value in (("β-VAE", 0.814), ("FactorVAE", 0.889))
        for panel in chart.panels
        for points in [panel.points[panel.points["series"] == name]]
        if len(points)
    ]
    return replace(chart, comparisons=(*chart.comparisons, *best))


def figure_10(tables: Tables) -> Chart:
    """The trade-off on 3D Shapes."""
    paper = {"beta-vae": ("similar to FactorVAE's", 24), "factor-vae": ("similar to β-VAE's", 36)}
    dataset = three_dimensional(tables, ("reconstruction", "factor_vae"), ("beta-vae", "factor-vae"))
    return _trade_off(tables, dataset, paper, {"beta-vae": 3570, "factor-vae": 3515})


_NEEDS = "β-VAE and FactorVAE over their weights"
EXHIBITS = (
    Exhibit(
        "kim2018-figure-4",
        PAPER,
        "Figure 4",
        "β-VAE and FactorVAE by weight",
        "Reconstruction error during training and both metrics at its end, for each β and γ, on 2D Shapes.",
        figure_4,
        PAPER,
        _NEEDS,
    ),
    Exhibit(
        "kim2018-figure-5",
        PAPER,
        "Figure 5",
        "Error against disentanglement",
        "Reconstruction error against the FactorVAE score on 2D Shapes: low and high is good.",
        figure_5,
        PAPER,
        _NEEDS,
    ),
    Exhibit(
        "kim2018-figure-10",
        PAPER,
        "Figure 10",
        "Error against disentanglement in 3D",
        "As Figure 5, on 3D Shapes, or on Rooms3D where that alone was trained.",
        figure_10,
        PAPER,
        _NEEDS,
        ("shapes3d",),
    ),
    Exhibit(
        "kim2018-figure-23",
        PAPER,
        "Figure 23",
        "AAE and Eq. 12",
        "As Figure 4, for the adversarial autoencoder and the variant of "
        "FactorVAE that pulls q(z) to the prior (Eq. 12).",
        figure_23,
        PAPER,
        "AAE and FactorVAE's Eq. 12 over their weights",
    ),
)
