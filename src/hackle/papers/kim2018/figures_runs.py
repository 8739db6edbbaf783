"""The runs of Kim & Mnih 2018 by method and weight, and panels with a column for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Frame, Panel, Series
from hackle.figures.panels import swarm
from hackle.figures.selection import Picked, pick, summarise
from hackle.figures.style import shade
from hackle.store.tables import Tables

PAPER = "kim2018"
SHAPES = {"dsprites": "2D Shapes", "shapes3d": "3D Shapes", "rooms3d": "Rooms3D"}
_STAND_IN = "Rooms3D stands in for 3D Shapes: the paper's numbers are of other images"


def weighed_runs(
    tables: Tables, metrics: Sequence[str], methods: Sequence[str], dataset: str = "dsprites"
) -> tuple[Frame, Picked]:
    """Runs of some methods on a data set with the paper's number of latents, and a series for each weight; a VAE is a β-VAE
    with β = 1."""
    rival = "infowgan-gp" in methods
    picked = pick(
        tables,
        metrics,
        protocol=PAPER,
        dataset=dataset,
        method=[*methods, *(["vae"] if "beta-vae" in methods else [])],
        latents=4 if rival else 10 if dataset == "dsprites" else 6,
        architecture="adversarial" if rival else "convolutional",
    )
    if dataset == "rooms3d":
        picked = replace(picked, notes=(*picked.notes, _STAND_IN))
    frame = picked.wide()
    plain = frame["method"] == "vae"
    frame = frame.assign(
        method=frame["method"].where(~plain, "beta-vae"), strength=frame["strength"].astype(float).where(~plain, 1.0)
    )
    names = [
        f"{words.SYMBOLS[name]} = {value:g}" for name, value in zip(frame["method"], frame["strength"], strict=True)
    ]
    return frame.assign(series=names).sort_values(["method", "strength", "seed"]), picked


def three_dimensional(tables: Tables, metrics: Sequence[str], methods: Sequence[str]) -> str:
    """The data set of 3D Shapes: its stand-in where that alone has runs."""
    return next(
        (name for name in ("shapes3d", "rooms3d") if len(weighed_runs(tables, metrics, methods, name)[0])), "shapes3d"
    )


_HUES = {"β": 0, "γ": 1, "λ": 2}


def weight_series(frame: Frame) -> tuple[Series, ...]:
    """A series for each weight: shades of one hue for a symbol, so that no β looks like a γ, the darker the stronger."""
    found: list[Series] = []
    for symbol, part in frame.groupby(frame["method"].map(words.SYMBOLS), sort=False):
        names = list(part.sort_values("strength")["series"].drop_duplicates())
        found += [Series(name, shade(_HUES[symbol], place, len(names)), place) for place, name in enumerate(names)]
    return tuple(found)


def by_weight(frame: Frame, metric: str, title: str = "", ceiling: float = float("nan")) -> Panel:
    """A score of each run by its weight."""
    order = [f"{value:g}" for value in np.sort(frame["strength"].unique())]
    symbol = words.SYMBOLS[frame["method"].iloc[0]]
    place = frame.assign(place=frame["strength"].map("{:g}".format))
    panel = swarm(place, metric, "place", order, title=title, ceiling=ceiling)
    return replace(panel, x=replace(panel.x, label=symbol))


def method_missing(frame: Frame, methods: Sequence[str], dataset: str) -> tuple[str, ...]:
    """The methods without a run."""
    have = set(frame["method"])
    return tuple(
        f"no runs of {words.METHODS[name]} on {words.dataset(dataset)}" for name in methods if name not in have
    )


def best_means(frame: Frame, metric: str = "factor_vae") -> dict[str, pd.Series]:
    """For each method, the weight with the highest mean score: y, low, high, n, strength."""
    means = summarise(frame[frame[metric].notna()], ["method", "strength"], metric)
    return {str(name): part.loc[part["y"].idxmax()] for name, part in means.groupby("method")}
