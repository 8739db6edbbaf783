"""Do & Tran 2020, single models and their codes, on dSprites and CelebA: what each code knows and shares, matrices of pairs,
the codes of each factor, and the codes of FactorVAEs of different sizes.

Matrices of many codes are pictures, darker for more. The distributions of Fig. 22 are those of the means of 1,000 images, for
every code. Fig. 23's importances are of codes and factors with unit variance, which bounds what the paper's do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.palette import RISING
from hackle.figures import words
from hackle.figures.chart import POINTS, Axis, Comparison, Frame, Panel
from hackle.figures.exhibit import Unnumbered, numbered
from hackle.figures.models import of_factors, pair_map, traversed
from hackle.figures.panels import Lacking, factor_scores, heat, panels
from hackle.figures.selection import Runs, Selected
from hackle.figures.summaries import plain_means
from hackle.papers.do2020.claims import SIZES
from hackle.papers.do2020.figures import MODELS, runs_of, sorted_codes
from hackle.papers.do2020.figures_tables import THREE, celeba, exhibit

_APPENDIX = "do2020-appendix"
_FEW = 12
"""The most codes of which a matrix has its numbers written in."""
_BINS = 100
"""By whose logarithm the paper normalises informativeness (Figures 9 and 14)."""


def _first(chosen: Selected, name: str, title: str) -> np.ndarray:
    """The array of the first run that has it."""
    if run := chosen.first_with(name):
        return np.asarray(chosen.tables.array(name)[run], float)
    raise Lacking(f"{title}: the {name.replace('_', ' ')} of its codes")


def _sorted_informativeness(chosen: Selected, *, title: str = "") -> Panel:
    """I(z_i; x) / ln bins of every run's codes, highest first; series are methods."""
    points = sorted_codes(chosen, f"{title}: the informativeness of single codes")
    points = points.assign(x=points["x"] + 1, y=points["y"] / math.log(_BINS))
    x = Axis("latent, most informative first", 0.0, float(points["x"].max()) + 1)
    y = Axis(f"I(z_i; x) / ln {_BINS}", 0.0, 1.0)
    return Panel(title, x, y, points, plain_means(points), joined=True)


def _matrix(cells: np.ndarray, title: str, *, signed: bool = False) -> Panel:
    """A matrix of codes with its numbers, or as a picture if there are many."""
    if len(cells) <= _FEW:
        names = [str(place + 1) for place in range(len(cells))]
        return heat(pd.DataFrame(cells, names, names), title=title, signed=signed)
    stops = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in RISING], float)
    shares = np.clip(cells / max(float(cells.max()), 1e-9), 0, 1) * (len(stops) - 1)
    pixels = np.stack([np.interp(shares, np.arange(len(stops)), channel) for channel in stops.T], axis=-1)
    side = Axis("latent, most informative first", ticks=("1", *("",) * (len(cells) - 2), str(len(cells))))
    return Panel(f"{title}, 0 to {cells.max():.2f}", side, side, picture=pixels.round().astype(np.uint8))


def _misjed(chosen: Selected, *, title: str) -> Panel:
    """MISJED of all pairs of one run's codes, sorted by informativeness."""
    pairs = _first(chosen, "misjed", title)
    order = np.argsort(-_first(chosen, "informativeness", title), kind="stable")
    return _matrix(pairs[np.ix_(order, order)], title)


def _correlations(chosen: Selected, place: int, of: str, *, title: str) -> Panel:
    return _matrix(_first(chosen, "correlations", title)[place], f"{title}: {of}", signed=True)


def _attributes(chosen: Selected, metric: str, *, title: str) -> Panel:
    """A score of every attribute, sorted by FactorVAE's; lines join means over runs."""
    rows = factor_scores(chosen, metric)
    means = rows.groupby(["factor", "series"])["score"].mean().unstack()
    leader = means[THREE[0].name if THREE[0].name in means else means.columns[0]]
    order = list(leader.sort_values(ascending=metric == "jemmig").index)
    place = {name: float(index) for index, name in enumerate(order)}
    points = rows.assign(x=rows["factor"].map(place), y=rows["score"])[list(POINTS)]
    x = Axis("", -0.5, len(order) - 0.5, tuple(name.replace("_", " ") for name in order))
    y = Axis(words.measure(metric).label, 0.0, 1.05 * float(rows["score"].max()))
    return Panel(title, x, y, points, plain_means(points), joined=True)


def _means(chosen: Selected, *, title: str) -> Panel:
    """The distribution of every code's mean over images, a line for each code of one run."""
    codes = _first(chosen, "codes", title)
    edges = np.linspace(-4, 4, 41)
    middle = (edges[1:] + edges[:-1]) / 2
    shares = np.stack([np.histogram(code, edges, density=True)[0] for code in codes.T])
    series = chosen.frame["series"].iloc[0]
    lines = [
        pd.DataFrame({"x": middle, "y": part, "series": series, "run": f"z{code}"}) for code, part in enumerate(shares)
    ]
    points: Frame = pd.concat(lines, ignore_index=True)
    told = {"low": np.nan, "high": np.nan, "n": len(shares), "series": series}
    summary = pd.DataFrame({"x": middle, "y": shares.mean(axis=0), **told})
    title = f"{codes.shape[1]} latents, deviation {codes.std(axis=0).mean():.2f}"
    return Panel(
        title, Axis("mean of z_i", -4.0, 4.0), Axis("density", 0.0, 1.05 * shares.max()), points, summary, joined=True
    )


_NOISE = 0.01
"""Nats of informativeness up to which a code is noise."""
_PRINTED = {"posterior_information": 0.0004, "mutual_information": 0.26, "importance": 60.784}
"""Figure 23: the largest value that a code of noise has in each of the paper's matrices."""
_MATRICES = {
    "posterior_information": "I(z_i; y_k) with q(z_i|x), nats",
    "mutual_information": "I(z_i; y_k) of means, nats",
    "importance": "importance R_ik",
}


def _of_both(chosen: Selected) -> Iterator[Panel | Comparison | str]:
    """Three matrices of codes and factors, and how high they rate codes of noise."""
    known = {name: chosen.tables.array(name) for name in (*_MATRICES, "informativeness")}
    run = chosen.first_with("posterior_information")
    for name, title in _MATRICES.items():
        if run not in known[name]:
            yield f"{title}: not stored"
            continue
        matrix = np.asarray(known[name][run], float)
        factors = list(SIZES)[-matrix.shape[1] :]
        rows = [f"z{code}" for code in range(len(matrix))]
        yield heat(pd.DataFrame(matrix, rows, factors), title=title, signed=False)
        noise = (
            np.asarray(known["informativeness"][run], float) < _NOISE if run in known["informativeness"] else [False]
        )
        if np.any(noise):
            what = f"highest value of a code of noise, {title}"
            yield Comparison(what, _PRINTED[name], float(matrix[noise].max()), n=int(np.sum(noise)))


_SHOWN = {"Bangs": 5, "Eyeglasses": 15, "Smiling": 31}
"""Attributes of CelebA, with their place in its list of 40, which arrays follow. The paper shows some and names Bangs."""


_SIZES = {
    f"TC = {weight}, {latents} latents": {"strength": float(weight), "latents": latents}
    for weight, latents in ((10, 65), (50, 65), (50, 100), (50, 200))
}
_SEEDS = {
    f"TC = {weight}, seed {seed}": {"strength": float(weight), "seed": seed} for weight in (50, 10) for seed in range(3)
}


def _of_sizes(latents: Sequence[int], series: Any) -> Runs:
    where = {"dataset": "celeba", "latents": tuple(latents)}
    return runs_of((), {"factor-vae": (10.0, 50.0)}, where=where, series=series, named=(("series",),))


def _sizes(title: str, what: str, order: str) -> Unnumbered:
    return exhibit(
        title,
        f"Traversals of the ten codes with the highest {what}, of FactorVAEs of CelebA of different weights and sizes.",
        _of_sizes((65, 100, 200), _SIZES),
        panels(traversed, each="series", order=order, top=10, originals=False),
        reading=f"Rows: traversals of one code each, that with the highest {what} first.",
        study=_APPENDIX,
    )


_FIRST = "Of each method the first run."


def _codes(
    numbers: tuple[int, int, int], where: str, runs: Runs, factors: Mapping[str, int], top: int
) -> dict[int, Unnumbered]:
    """What the codes of three models of a data set know: of all images, with each other, and of each factor."""
    return {
        numbers[0]: exhibit(
            f"Informativeness of codes on {where}",
            f"Normalised informativeness of every code, highest first, of three models of {where}.",
            runs,
            panels(_sorted_informativeness, each="dataset"),
            reading="Thin lines are single runs, thick lines the means of a method.",
        ),
        numbers[1]: exhibit(
            f"MISJED of pairs of codes on {where}",
            f"Normalised MISJED of all pairs of codes, the most informative first, of three models of {where}.",
            runs,
            panels(_misjed, each="method"),
            reading=f"{_FIRST} Darker is more; on the diagonal 2 H(z_i) − H(z̄_i).",
        ),
        numbers[2]: exhibit(
            f"The codes of each factor of {where}",
            f"Traversals of the {top} codes that say most about each of {len(factors)} factors of {where}, of three models.",
            runs,
            panels(of_factors, factors, each="method", top=top),
            reading="Rows: traversals of the codes that say most about a factor, with their mutual information in nats.",
        ),
    }


_FIGURES = {
    **_codes((9, 11, 12), "CelebA", celeba(), _SHOWN, top=5),
    **_codes((14, 15, 16), "dSprites", runs_of((), MODELS), {name: column for column, name in enumerate(SIZES)}, top=3),
    10: exhibit(
        "The most informative codes of CelebA",
        "Traversals of the ten most informative codes of three models of CelebA.",
        celeba(),
        panels(traversed, each="method", order="informativeness", top=10),
        reading="Rows: traversals of one code each, with its informativeness in nats.",
    ),
    13: exhibit(
        "JEMMIG and RMIG of all attributes",
        "JEMMIG and RMIG of every attribute of CelebA, sorted by FactorVAE's, of three models.",
        celeba(("jemmig", "rmig")),
        tuple((panels(_attributes, metric, title=words.measure(metric).short),) for metric in ("jemmig", "rmig")),
        reading="Dots are runs, lines join means over them.",
    ),
    20: exhibit(
        "Correlations of codes",
        "Correlation of every pair of codes on dSprites, of draws from the posteriors and of their means, of three models.",
        runs_of((), MODELS),
        tuple((panels(_correlations, place, of, each="method"),) for place, of in enumerate(("draws", "means"))),
        reading=_FIRST,
    ),
    22: exhibit(
        "Means of AAE's codes by their number",
        "Distribution of the codes' means over images of CelebA, of adversarial autoencoders with 65, 100 and 200 latents.",
        runs_of(
            (),
            {"adversarial-autoencoder": (50.0,)},
            where={"dataset": "celeba", "latents": (65, 100, 200)},
            named=(("method", "latents"),),
        ),
        panels(_means, each="latents"),
        series=THREE[2:],
        shared_y=True,
        study=_APPENDIX,
        reading="Thin lines are the codes of the first run, the thick line is their mean; titles have the mean deviation.",
    ),
    23: exhibit(
        "Three matrices of codes and factors",
        "Mutual information of codes and factors with posteriors and with means, and the importance of codes by the Lasso, of "
        "a FactorVAE with a TC weight of 20 on dSprites.",
        runs_of((), {"factor-vae": (20.0,)}),
        _of_both,
        reading=f"The first run. A code of noise has an informativeness below {_NOISE} nats. The Lasso leaves the shape out.",
    ),
    26: exhibit(
        "Pairs of codes of small FactorVAEs",
        "What FactorVAEs of CelebA with three latents decode while two of them move, for two TC weights.",
        _of_sizes((3,), _SEEDS),
        tuple((panels(pair_map, pair, each="series"),) for pair in range(3)),
        reading="A column for each run, a row for each pair of its codes, from −2 to 2.",
        study=_APPENDIX,
    ),
    27: _sizes("Codes by the variance of their means", "variance of its means over images", "variance"),
    28: _sizes("Codes by informativeness", "informativeness", "informativeness"),
}
EXHIBITS = numbered(_FIGURES)
