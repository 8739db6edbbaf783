"""The runs of Do & Tran 2020 on dSprites: FactorVAE over γ, β-VAE over β, and the adversarial autoencoder.

The paper's figures have a column for each weight, with mean and standard error of four runs; here each run is a dot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hackle.figures import words
from hackle.figures.chart import Axis, Chart, Comparison, Frame, Panel, Series
from hackle.figures.panels import MEANS, scatter, score_axis, swarm
from hackle.figures.selection import Picked, Selected, pick, settings_mask
from hackle.information.ranks import spearman
from hackle.store.tables import Tables

PAPER = "do2020"
WEIGHTS = {"factor-vae": (10.0, 20.0, 50.0, 100.0), "beta-vae": (1.0, 4.0, 10.0, 20.0, 50.0)}
PAIR = (Series("FactorVAE", 1, 1), Series("β-VAE", 0, 0))
AUTOENCODER = Series("AAE", 6, 6)
PLAIN = Series("VAE", 6, 4)


def model_runs(
    tables: Tables, metrics: Sequence[str], methods: Sequence[str] = tuple(WEIGHTS), **where: Any
) -> tuple[Frame, Picked]:
    """The study's runs with `series` (the method) and `model` (the method's weight); a VAE is a β-VAE with β = 1."""
    wanted = [*methods, *(["vae"] if "beta-vae" in methods else [])]
    picked = pick(tables, metrics, protocol=PAPER, dataset=where.pop("dataset", "dsprites"), method=wanted, **where)
    frame = picked.wide()
    plain = frame["method"] == "vae"
    frame = frame.assign(
        method=frame["method"].where(~plain, "beta-vae"), strength=frame["strength"].astype(float).where(~plain, 1.0)
    )
    keep = np.zeros(len(frame), bool)
    for name in methods:
        wanted_here = {"method": name, "strength": list(WEIGHTS[name])} if name in WEIGHTS else {"method": name}
        keep |= settings_mask(frame, wanted_here).to_numpy(bool)
    frame = frame[keep]
    models = [
        f"{words.SYMBOLS[name]} {value:g}" for name, value in zip(frame["method"], frame["strength"], strict=True)
    ]
    return frame.assign(series=frame["method"].map(words.METHODS), model=models), picked


def by_model(frame: Frame, metric: str, title: str = "") -> Panel:
    """A score of each run, a column for each weight, FactorVAE's before β-VAE's."""
    have = set(zip(frame["method"], frame["strength"], strict=True))
    order = [
        f"{words.SYMBOLS[name]} {value:g}"
        for name, values in WEIGHTS.items()
        for value in values
        if (name, value) in have
    ]
    return swarm(Selected(frame), metric, "model", order, title=title)


def missing_models(frame: Frame, metrics: Sequence[str], methods: Sequence[str] = tuple(WEIGHTS)) -> tuple[str, ...]:
    """The weights and scores that the figures need and the table lacks."""
    if not len(frame):
        return (f"no runs of {words.listing(words.METHODS[name] for name in methods)} on dSprites",)
    lacking = []
    for name in methods:
        rows = frame[frame["method"] == name]
        values = WEIGHTS.get(name, ())
        gone = [value for value in values if not np.isclose(rows["strength"], value).any()]
        if gone or not len(rows):
            at = f" with {words.SYMBOLS[name]} = {words.listing(f'{value:g}' for value in gone)}" if gone else ""
            lacking.append(f"no runs of {words.METHODS[name]}{at}")
    lacking += [f"no score {metric}" for metric in metrics if frame[metric].isna().all()]
    return tuple(lacking)


def scored(frame: Frame, metrics: Sequence[str]) -> list[str]:
    """The metrics that some run has."""
    return [metric for metric in metrics if frame[metric].notna().any()]


def models_chart(
    tables: Tables, metrics: Sequence[str], comparisons: Sequence[tuple[str, str, str, str]] = ()
) -> Chart:
    """A panel for each metric, every weight a column; comparisons are rank correlations of a score with a method's weight."""
    frame, picked = model_runs(tables, metrics)
    panels = tuple(by_model(frame, metric, words.measure(metric).short) for metric in scored(frame, metrics))
    found = []
    for what, metric, method, paper in comparisons:
        rows = frame[(frame["method"] == method) & frame[metric].notna()]
        if rows["strength"].nunique() > 2:
            value = spearman(rows["strength"].to_numpy(float), rows[metric].to_numpy(float))
            found.append(Comparison(what, paper, value, n=len(rows)))
    return Chart(
        (panels,) if panels else (),
        PAIR,
        f"{MEANS} Columns are weights: γ of FactorVAE, β of β-VAE.",
        tuple(found),
        missing_models(frame, metrics),
        picked.notes,
        shared_y=False,
    )


def against(frame: Frame, x: str, y: str, title: str = "", diagonal: float | None = None) -> Panel:
    """One score of each run against another."""
    axes = (score_axis(x, frame[x]), score_axis(y, frame[y]))
    panel = scatter(Selected(frame), x, y, title=title, axes=axes)
    if diagonal is None:
        return panel
    ends = (min(axes[0].low or 0.0, axes[1].low or 0.0), max(axes[0].high or 1.0, axes[1].high or 1.0))
    return replace(panel, diagonal=diagonal, x=Axis(axes[0].label, *ends), y=Axis(axes[1].label, *ends))


def rank_comparison(frame: Frame, x: str, y: str, paper: str | float) -> Comparison | None:
    """How two scores' orders of the runs agree."""
    both = frame[[x, y]].dropna().to_numpy(float)
    if len(both) < 3:
        return None
    names = f"{words.measure(x).short} and {words.measure(y).short}"
    return Comparison(f"rank correlation of {names}", paper, spearman(*both.T), n=len(both))
