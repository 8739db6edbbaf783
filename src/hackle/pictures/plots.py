"""Views of one model that need text, drawn by matplotlib.

Histograms of q(z_j) against the prior follow Kim & Mnih 2018, Fig. 40; the latents that say most about a factor Do & Tran
2020, Fig. 12 and 16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hackle.core.palette import LIGHT
from hackle.core.tiles import mosaic
from hackle.pictures.captured import Captured, Response
from hackle.pictures.look import Look
from hackle.pictures.views import overview_rows, top_latents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, SKY = LIGHT.palette[0], LIGHT.palette[1], LIGHT.palette[5]
INK, FAINT = LIGHT.ink, LIGHT.faint


def as_written(text: str) -> str:
    """A name for matplotlib, which would look for a formula between two dollar signs.

    >>> as_written("price in $ and US$")
    'price in \\\\$ and US\\\\$'
    """
    return text.replace("$", r"\$")


def _labelled(look: Look, rows: NDArray, labels: list[str], codes: list[int]) -> Figure:
    """Rows of images, each with its label; the last ones are traversals of `codes`. Labels of collapsed codes are faint. The
    traversals' first and last values stand below the columns, or beside the rows if they differ between codes."""
    from matplotlib.figure import Figure

    height, columns = rows.shape[:2]
    ends = [look.axes[code].ends for code in codes]
    labels, first = list(labels), height - len(codes)
    if len(set(ends)) > 1:
        for row, (low, high) in enumerate(ends, first):
            labels[row] += f"  {_signed(low)} … {_signed(high)}"
    sheet = mosaic(rows)
    figure = Figure(dpi=150)
    axes = figure.subplots()
    axes.imshow(sheet, interpolation="nearest")
    step = sheet.shape[0] / height
    axes.set_yticks([step * (row + 0.5) for row in range(height)], map(as_written, labels), fontsize=8)
    for label, code in zip(axes.get_yticklabels()[first:], codes, strict=True):
        label.set_color(FAINT if look.collapsed[code] else INK)
    step = sheet.shape[1] / columns
    names = map(_signed, ends[0]) if len(set(ends)) == 1 else ("first", "last")
    axes.set_xticks([0.5 * step, (columns - 0.5) * step], names, fontsize=8)
    axes.set_xlabel("value of the latent in its row", fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    # Images have a fixed size; the figure is as large as they and their labels need.
    left = max(label.get_window_extent().width for label in axes.get_yticklabels()) / figure.dpi + 0.12
    wide, high, below, margin = columns * 0.62, height * 0.62, 0.4, 0.08
    paper = np.array([left + wide + margin, below + high + margin])
    figure.set_size_inches(*paper)
    axes.set_position((left / paper[0], below / paper[1], wide / paper[0], high / paper[1]))
    return figure


def _signed(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def latent_name(look: Look, latent: int, factor: str = "") -> str:
    """A latent with the factor that it captures, if any, and its KL to the prior in nats, or "collapsed"."""
    use = "collapsed" if look.collapsed[latent] else f"KL {look.kl[latent]:.2f}"
    return "  ".join(part for part in (f"z{latent}", factor, use) if part)


def overview(look: Look, image: int = 0, columns: int = 11, captured: Captured | None = None) -> Figure:
    """Originals, reconstructions, then a traversal of each latent labelled with its KL, most used first.

    captured: what the latents say about factors; each is then labelled with the factor that it captures best.
    """
    rows = overview_rows(look, image, columns)
    labels = [latent_name(look, latent, captured.main_factor(latent) if captured else "") for latent in look.order]
    return _labelled(look, rows, ["original", "reconstruction", *labels], [int(latent) for latent in look.order])


def top_latents_figure(look: Look, captured: Captured, top: int = 3, image: int = 0) -> Figure:
    """For each factor, traversals of the latents most informative about it, labelled with that information in nats."""
    rows = top_latents(look, captured, top, image)
    shown = [
        (name, int(latent), captured.posterior_information[latent, factor])
        for factor, name in enumerate(captured.factors)
        for latent in captured.ranking[: rows.shape[1], factor]
    ]
    labels = [f"{name}  z{latent}  {information:.2f} nats" for name, latent, information in shown]
    return _labelled(look, rows.reshape(-1, *rows.shape[2:]), labels, [latent for _, latent, _ in shown])


def histograms(look: Look, seed: int = 0) -> Figure:
    """Samples of q(z_j) for each latent, most used first, with the prior's density drawn over them."""
    from matplotlib.figure import Figure

    z = look.draws(seed)
    count = len(look.order)
    columns = min(5, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(columns * 1.9, rows * 1.5), dpi=150, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, latent in zip(panels, look.order, strict=False):
        axis = look.axes[latent]
        if axis.prior == "categorical":
            shares = np.bincount(look.means[:, latent].astype(int), minlength=axis.classes) / len(look.means)
            panel.bar(np.arange(axis.classes), shares, color=SKY)
            panel.axhline(1 / axis.classes, color=VERMILION, linewidth=1)
        else:
            reach = look.reach[latent]
            grid = np.linspace(reach[0], reach[1], 401)
            normal = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
            density = normal if axis.prior == "normal" else np.where(np.abs(grid) <= 1, 0.5, 0.0)
            panel.hist(z[:, latent], bins=40, range=reach, density=True, color=SKY)
            panel.plot(grid, density, color=VERMILION, linewidth=1)
        panel.set_title(
            as_written(latent_name(look, latent)), fontsize=8, color=FAINT if look.collapsed[latent] else INK
        )
        panel.set_yticks([])
        panel.tick_params(labelsize=7)
    for panel in panels[count:]:
        panel.set_visible(False)
    return figure


def _heat_map(axes: Axes, matrix: NDArray, title: str, columns: list[str], rows: list[str]) -> None:
    axes.imshow(matrix, cmap="Blues", vmin=0, aspect="auto")
    axes.set_title(title, fontsize=9)
    axes.set_xticks(range(len(columns)), map(as_written, columns), fontsize=7, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    if matrix.size <= 150:
        top = np.nanmax(matrix) if np.isfinite(matrix).any() else 0.0
        for (row, column), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                ink = "white" if value > 0.6 * top else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)


def captured_figure(look: Look, captured: Captured, importance: NDArray) -> Figure:
    """Heat maps, latents from most to least used: information on factors as in MIG and RMIG, importance, MISJED."""
    from matplotlib.figure import Figure

    order = look.order
    names, factors = [f"z{latent}" for latent in order], list(captured.factors)
    figure = Figure(figsize=(9.5, 0.5 * len(order) + 5.0), dpi=150, layout="constrained")
    panels = figure.subplots(2, 2)
    # With few images, counts in bins show information where there is none.
    beside = [f"{name}\nby chance {chance:.2f}" for name, chance in zip(factors, captured.chance, strict=True)]
    _heat_map(panels[0, 0], captured.information[order], "information of means, nats (MIG)", beside, names)
    _heat_map(
        panels[0, 1], captured.posterior_information[order], "information of posteriors, nats (RMIG)", factors, names
    )
    _heat_map(panels[1, 0], importance[order], "importance for predicting (DCI)", factors, names)
    _heat_map(panels[1, 1], captured.misjed[np.ix_(order, order)], "MISJED of pairs", names, names)
    return figure


def responses_figure(look: Look, responses: list[Response]) -> Figure:
    """A panel for each latent and factor: the latent's mean and deviation as only that factor moves, or over all images."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows, columns = len(look.order), len(responses)
    figure = Figure(figsize=(columns * 1.5 + 0.6, rows * 0.8 + 0.4), dpi=150, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex="col", sharey="row")
    for row, latent in enumerate(look.order):
        for column, moved in enumerate(responses):
            panel, mean, spread = panels[row, column], moved.means[:, latent], moved.deviations[:, latent]
            panel.fill_between(moved.values, mean - spread, mean + spread, color=SKY, alpha=0.35, linewidth=0)
            panel.plot(moved.values, mean, color=BLUE, linewidth=1.2)
            panel.tick_params(labelsize=6)
            if row == 0:
                name = as_written(moved.factor)
                panel.set_title(name if moved.held else f"{name}\n(all images)", fontsize=8)
            panel.xaxis.set_major_locator(MaxNLocator(4, integer=moved.values.dtype.kind == "i"))
        # A minimum height keeps a latent that hardly moves from looking as if it did.
        low, high = panels[row, 0].get_ylim()
        middle, half = (low + high) / 2, max(1.0, (high - low) / 2)
        panels[row, 0].set_ylim(middle - half, middle + half)
        panels[row, 0].set_ylabel(f"z{latent}", fontsize=8, color=FAINT if look.collapsed[latent] else INK)
    figure.supxlabel("value of the factor", fontsize=8)
    figure.supylabel("posterior of the latent: mean ± deviation", fontsize=8)
    return figure
