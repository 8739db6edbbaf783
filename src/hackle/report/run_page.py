"""The page of one run: its scores beside their references, traversals, reconstructions, curves and record."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from hackle.core.factors import scored_factors
from hackle.core.method import about, strength_of
from hackle.core.palette import LIGHT
from hackle.core.parts import title_of
from hackle.core.records import to_json
from hackle.core.types import Dataset, Run
from hackle.figures import words
from hackle.pictures import (
    Captured,
    Look,
    animation,
    data_address,
    gif_bytes,
    histograms,
    mosaic,
    overview,
    png_bytes,
    samples,
)
from hackle.pictures.plots import as_written
from hackle.report.html import render
from hackle.shipped.models import cards, load_model
from hackle.train.curves import read_curves
from hackle.train.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TERMS = 60
"""The most terms whose curves are drawn: four times those of any method, and a table from elsewhere may have any number."""


class Shown(NamedTuple):
    """An embedded picture with its caption, which is also its text for screen readers. pixels: enlarged without
    smoothing."""

    address: str
    caption: str
    width: int
    pixels: bool = False


def _shown(content: bytes, caption: str, *, kind: str = "png", pixels: bool = False) -> Shown:
    with Image.open(BytesIO(content)) as image:
        return Shown(data_address(content, kind), caption, image.width, pixels)


def score_rows(scores: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of the score table; `bar` has the score and its reference as percentages, if there is a reference."""
    shown = []
    for row in scores.to_dict("records"):
        reference = float("nan") if row["reference"] is None else float(row["reference"])
        bar = (
            [100 * min(1.0, max(0.0, value)) for value in (row["score"], reference)]
            if 0 <= reference <= 1 + 1e-9
            else []
        )
        levels = {"score": row["score"], "chance": row.get("chance"), "reference": reference}
        written = {name: "" if pd.isna(value) else f"{value:.3f}" for name, value in levels.items()}
        shown.append({**row, **written, "bar": bar, "seconds": f"{row['seconds']:.1f}"})
    return shown


def factor_rows(scores: pd.DataFrame) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """The names of factors, and the metric, codes and value for each factor of every score that has them."""
    rows = [row for row in scores.to_dict("records") if isinstance(row.get("per_factor"), Mapping)]
    names = list(dict.fromkeys(name for row in rows for name in row["per_factor"]))
    return names, [
        (
            row["metric"],
            row["representation"],
            ["" if (value := row["per_factor"].get(name)) is None else f"{value:.3f}" for name in names],
        )
        for row in rows
    ]


def curves_figure(folder: Path) -> Figure | None:
    """Every term of the objective against steps, at most `MOST_TERMS`, or None if the folder has no curves."""
    curves = read_curves(folder)
    names = [name for name in curves if name != "step" and not name.rsplit("_", 1)[-1].isdigit()][:MOST_TERMS]
    if not names or not len(curves["step"]):
        return None
    from matplotlib.figure import Figure

    columns = min(3, len(names))
    height = -(-len(names) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.2 * height), dpi=140, layout="constrained")
    panels = figure.subplots(height, columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        known = ~np.isnan(curves[name])
        marker = "." if known.sum() < 10 else ""
        panel.plot(curves["step"][known], curves[name][known], color=LIGHT.palette[0], linewidth=1.2, marker=marker)
        panel.set_title(as_written(name.replace("_", " ")), fontsize=9)
        panel.tick_params(labelsize=7)
        panel.set_xlabel("step", fontsize=7)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure


class Beside(NamedTuple):
    """A model that comes with hackle, shown beside the page's own."""

    name: str
    card: dict[str, Any]
    overview: Shown


def run_title(run: Run) -> str:
    """What a run is called: its method with its weight, data set and seed."""
    weight = strength_of(run.method)
    strength = "" if math.isnan(weight) else f" {about(run.method).symbol} = {weight:g}"
    return f"{title_of(run.method)}{strength} on {words.dataset(run.dataset)}, seed {run.seed}"


def write_run_page(
    model: Model,
    dataset: Dataset,
    scores: pd.DataFrame,
    path: str | Path,
    *,
    folder: str | Path | None = None,
    beside: str = "",
) -> Path:
    """Write the page of one model to `path`. `folder` is its run folder, for the curves and the commands. `beside` is the name
    of a model of the same data that comes with hackle, to compare it with."""
    look, shown = _look(model, dataset)
    run = model.run
    swept = ", ".join(f"z{latent}" for latent in look.order)
    curves = curves_figure(Path(folder)) if folder is not None else None
    page = render(
        "run.html",
        title=run_title(run),
        run=run,
        protocols=sorted(set(scores["protocol"])) if len(scores) else [],
        scores=score_rows(scores),
        factors=factor_rows(scores),
        overview=shown,
        beside=Beside(beside, cards()[beside], _look(load_model(beside), dataset)[1]) if beside else None,
        moving=_shown(
            gif_bytes(animation(look)),
            f"Four images, a row each; in each column one latent sweeps out and back: {swept}.",
            kind="gif",
            pixels=True,
        ),
        samples=_shown(png_bytes(mosaic(samples(look))), "Images decoded from the prior.", pixels=True),
        histograms=_shown(
            png_bytes(histograms(look)), "Samples of each latent's aggregate posterior; the line is the prior."
        ),
        curves=curves and _shown(png_bytes(curves), "Every term of the objective against steps."),
        record=json.dumps(to_json(run), indent=2),
        folder=folder and shlex.quote(str(folder)),
    )
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path


def _look(model: Model, dataset: Dataset) -> tuple[Look, Shown]:
    """A look at a model, and what each of its latents does."""
    look = Look.of(model, dataset)
    captured = Captured.of(look, dataset.factors) if scored_factors(dataset.factors) else None
    best = "Beside each latent is the factor it captures best, with the share that it captures. " if captured else ""
    caption = (
        "Originals, reconstructions, and one row per latent, sorted by KL to the prior in nats. "
        f"{best}A latent that has collapsed to the prior changes nothing."
    )
    return look, _shown(png_bytes(overview(look, captured=captured)), caption)
