"""The page of one run: its scores beside their ceilings, traversals, reconstructions, curves and record."""

from __future__ import annotations

import csv
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from hackle.core.factors import scored_factors
from hackle.core.records import to_json
from hackle.core.types import Dataset
from hackle.pictures import Captured, Look, animation, histograms, mosaic, overview, samples
from hackle.report.html import gif_of_frames, meter, page, picture, png_of_figure, png_of_picture
from hackle.train.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _number(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.3f}"


def score_table(scores: pd.DataFrame) -> str:
    """The score table, sortable, with a bar for every score that has a ceiling."""
    head = "".join(
        f"<th scope=col{' class=number' if name in ('score', 'ceiling', 'seconds') else ''}>{name}</th>"
        for name in ("metric", "codes", "score", "", "ceiling", "better", "seconds")
    )
    rows = []
    for row in scores.to_dict("records"):
        ceiling = float("nan") if row["ceiling"] is None else float(row["ceiling"])
        bar = meter(row["score"], ceiling) if 0 <= ceiling <= 1.0 + 1e-9 else ""
        rows.append(
            f"<tr><td>{escape(row['metric'])}</td><td>{escape(row['representation'])}</td>"
            f'<td class="number">{_number(row["score"])}</td><td>{bar}</td><td class="number">{_number(row["ceiling"])}</td>'
            f'<td>{escape(row["better"])}</td><td class="number">{row["seconds"]:.1f}</td></tr>'
        )
    table = f'<table class="sortable"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def curves_figure(folder: Path) -> Figure | None:
    """Reconstruction error and KL against steps, or None where the folder has no curves."""
    path = folder / "curves.csv"
    if not path.is_file():
        return None
    from matplotlib.figure import Figure

    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "step" and not name.rsplit("_", 1)[-1].isdigit()]
    steps = [int(row["step"]) for row in rows]
    columns = min(3, len(names))
    height = -(-len(names) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.2 * height), dpi=140, layout="constrained")
    panels = figure.subplots(height, columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        points = [(step, float(row[name])) for step, row in zip(steps, rows, strict=True) if row[name]]
        marker = "." if len(points) < 10 else ""
        panel.plot(*zip(*points, strict=True), color="#0072B2", linewidth=1.2, marker=marker)
        panel.set_title(name.replace("_", " "), fontsize=9)
        panel.tick_params(labelsize=7)
        panel.set_xlabel("step", fontsize=7)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure


def write_run_page(
    model: Model, dataset: Dataset, scores: pd.DataFrame, path: str | Path, *, folder: str | Path | None = None
) -> Path:
    """Write the page of one model to `path`. `folder` is its run folder, for the curves and the commands."""
    look = Look.of(model, dataset)
    captured = Captured.of(look, dataset.factors) if scored_factors(dataset.factors) else None
    run = model.run
    title = f"{type(run.method).__name__} on {run.dataset}, seed {run.seed}"
    swept = ", ".join(f"z{latent}" for latent in look.order)
    protocols = ", ".join(sorted(set(scores["protocol"]))) if len(scores) else ""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{run.steps:,} steps, batches of {run.batch_size}, {run.latents} latents. '
        f"Scores follow {escape(protocols)}; the mark on each bar is what perfect codes reach under that protocol.</p>",
        "<h2>Scores</h2>",
        score_table(scores),
        "<h2>What each latent does</h2>",
        picture(
            png_of_figure(overview(look, captured=captured)),
            "Originals, reconstructions, and one row per latent, sorted by KL to the prior in nats. "
            + (
                "Beside a latent stands the factor that it knows best, with the part that it knows. "
                if captured
                else ""
            )
            + "A latent that has collapsed to the prior changes nothing.",
        ),
        '<h2>Moving</h2><div class="pair">',
        picture(
            gif_of_frames(animation(look)),
            f"Four images, a row each; in each column one latent sweeps out and back: {swept}.",
            kind="gif",
            pixels=True,
        ),
        picture(png_of_picture(mosaic(samples(look))), "Images decoded from the prior.", pixels=True),
        "</div><h2>Latents against the prior</h2>",
        picture(
            png_of_figure(histograms(look)), "Samples of each latent's aggregate posterior; the line is the prior."
        ),
    ]
    curves = curves_figure(Path(folder)) if folder is not None else None
    if curves is not None:
        parts += ["<h2>Training</h2>", picture(png_of_figure(curves), "Every term of the objective against steps.")]
    parts += ["<h2>Record</h2>", f"<pre>{escape(json.dumps(to_json(run), indent=2))}</pre>"]
    if folder is not None:
        commands = f"hackle score {folder}\nhackle show {folder}"
        parts += ["<h2>Commands</h2>", f"<pre>{escape(commands)}</pre>"]
    path = Path(path)
    path.write_text(page(title, "".join(parts)), encoding="utf-8")
    return path
