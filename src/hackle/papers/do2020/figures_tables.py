"""Do & Tran 2020, tables: MISJED of pairs of codes, RMIG and JEMMIG of single factors, each beside the paper's numbers.

Tables 5 to 7 are of CelebA. Table 5 is drawn for dSprites, too; where the paper's estimate, of a tenth of the images and 50
bins, was not scored, it is of 10,000 images and 100 bins. Bars above the tables of dSprites show the means over factors, which
claims judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Frame, Panel
from hackle.figures.exhibit import Unnumbered, exhibits_of, means_beside, numbered
from hackle.figures.panels import Lacking, factor_scores, heat, panels, swarm
from hackle.figures.selection import Runs, Selected
from hackle.papers.do2020.claims import PAPER, SIZES
from hackle.papers.do2020.figures import AUTOENCODER, MODELS, PAIR, runs_of
from hackle.papers.do2020.settings import METHODS, settings

Numbers = Mapping[str, Sequence[float]]
THREE = (*PAIR, AUTOENCODER)
exhibit = exhibits_of(PAPER, series=THREE, shared_y=False)
_PLACES = {
    "z₁, z₂": (0, 1),
    "z₁, z₃": (0, 2),
    "z₁, z₋₁": (0, -1),
    "z₁, z₋₂": (0, -2),
    "z₋₁, z₋₂": (-1, -2),
    "z₋₁, z₋₃": (-1, -3),
}
"""Pairs of codes by their place in the order of informativeness, from its start or its end."""
_NAMES = [f"misjed_z{first}_z{second}" for first, second in ((1, 2), (1, 3), (1, -1), (1, -2), (-1, -2), (-1, -3))]
"""The scores of these pairs with 50 bins on a tenth of the data, as the paper has them."""
_MISJED = {
    "FactorVAE": (0.008, 0.009, 2.476, 2.443, 4.858, 4.892),
    "β-VAE": (0.113, 0.131, 3.413, 3.401, 6.661, 6.739),
    "AAE": (0.022, 0.023, 0.022, 0.021, 0.021, 0.020),
}
ATTRIBUTES = ("Bangs", "Black_Hair", "Eyeglasses", "Goatee", "Male", "Smiling")
"""The attributes of CelebA in Tables 6 and 7."""
_RMIG_CELEBA = {
    "FactorVAE": (0.1742, 0.0430, 0.0409, 0.0343, 0.0060, 0.0962),
    "β-VAE": (0.0176, 0.0223, 0.0045, 0.0325, 0.0094, 0.0184),
    "AAE": (0.0035, 0.0276, 0.0018, 0.0069, 0.0060, 0.0099),
}
_JEMMIG_CELEBA = {
    "FactorVAE": (0.6118, 0.6334, 0.6041, 0.6616, 0.6875, 0.6150),
    "β-VAE": (0.8632, 0.8620, 0.8602, 0.8600, 0.8690, 0.8699),
    "AAE": (0.8463, 0.8613, 0.8423, 0.8496, 0.8644, 0.8575),
}
_RMIG = {
    "FactorVAE": (0.2412, 0.7139, 0.0523, 0.7198, 0.7256),
    "β-VAE": (0.0481, 0.1533, 0.0, 0.4127, 0.4193),
    "AAE": (0.0053, 0.0786, 0.0098, 0.3932, 0.4509),
}
_JEMMIG = {
    "FactorVAE": (0.6841, 0.3422, 0.7204, 0.2908, 0.2727),
    "β-VAE": (0.8642, 0.8087, 0.9199, 0.5629, 0.5576),
    "AAE": (0.8426, 0.8143, 0.8665, 0.5738, 0.5258),
}


def celeba(metrics: Sequence[str] = ()) -> Runs:
    """The three models of CelebA."""
    where = {"dataset": "celeba", "latents": settings("factor-vae", "celeba").latents}
    return runs_of(metrics, dict.fromkeys(METHODS, (50.0,)), where=where)


def _written(numbers: Numbers, columns: Sequence[str], title: str, digits: int = 4) -> Panel:
    cells = pd.DataFrame.from_dict(dict(numbers), orient="index", columns=list(columns))
    return heat(cells, title=title, signed=False, digits=digits, shaded=False)


def _of_factors(metric: str, factors: Sequence[str], paper: Numbers, chosen: Selected) -> Iterator[Panel | str]:
    """A score of each factor, mean over the runs of a method, and the paper's."""
    try:
        rows = factor_scores(chosen, metric)
    except Lacking as lacking:
        yield str(lacking)
        return
    here = rows["score"].groupby([rows["series"], rows["factor"]]).mean().unstack().reindex(columns=list(factors))
    known = {name: here.loc[name].tolist() for name in paper if name in here.index}
    short = words.measure(metric).short
    yield _written(known, factors, f"here: {short}")
    yield _written(paper, factors, f"paper: {short}")


def _pairs_of_codes(chosen: Selected) -> Iterator[Panel | str]:
    """MISJED in nats of pairs among the most and the least informative codes, mean over runs: as the paper estimates it, or if
    that was not scored from the matrix of all pairs."""
    where, by_model = words.dataset(chosen.frame["dataset"].iloc[0]), {}
    scores: Frame = chosen.tables.scores
    scores = scores[scores["metric"].isin(_NAMES)].groupby(["run", "metric"], observed=True)["score"].mean().unstack()
    for as_paper, bins in ((True, 50), (False, 100)):
        for _, part in chosen.each("method"):
            runs = part.frame["run"]
            scored = scores.reindex(columns=_NAMES).loc[scores.index.intersection(runs)].dropna().to_numpy(float)
            each = scored if as_paper else [one for run in runs if (one := _from_matrix(chosen, run)) is not None]
            if len(each):
                by_model[part.frame["series"].iloc[0]] = np.mean(each, axis=0)
        if by_model:
            yield _written(by_model, tuple(_PLACES), f"here: MISJED on {where} (nats), {bins} bins", 3)
            return
    yield f"{where}: MISJED of pairs of codes"


def _from_matrix(chosen: Selected, run: str) -> list[float] | None:
    arrays = [chosen.tables.array(name) for name in ("misjed", "informativeness", "marginals")]
    if not all(run in known for known in arrays):
        return None
    pairs, alone, masses = (np.asarray(known[run], float) for known in arrays)
    order, scale = np.argsort(-alone, kind="stable"), 2 * math.log(masses.shape[1])
    return [scale * float(pairs[order[first], order[second]]) for first, second in _PLACES.values()]


def _printed(chosen: Selected) -> Iterator[Panel]:
    """The paper's Table 5, beside the first of the data sets that have runs."""
    if chosen.frame["dataset"].iloc[0] == "celeba" or not len(chosen.tables.runs.query("dataset == 'celeba'")):
        yield _written(_MISJED, tuple(_PLACES), "paper: MISJED on CelebA (nats)", 3)


def _by_factor(metric: str, factors: Sequence[str], paper: Numbers, *claims: str) -> Unnumbered:
    """A score of single factors, of CelebA without and of dSprites with its mean over all of them."""
    short, whole = words.measure(metric).short, len(factors) == len(SIZES)
    where = "dSprites" if whole else "CelebA"
    means = means_beside({name: float(np.mean(numbers)) for name, numbers in paper.items()}, metric, short)
    return exhibit(
        f"{short} by factor{'' if whole else ' of CelebA'}",
        f"{short} of three models for {'each factor' if whole else 'some attributes'} of {where}.",
        runs_of((metric,), MODELS) if whole else celeba((metric,)),
        (
            *((panels(swarm, metric, "method", each="dataset"), means) if whole else ()),
            partial(_of_factors, metric, factors, paper),
        ),
        *claims,
        reading="" if whole else "Means over runs; the paper's are of one model each.",
        shared_y=True,
    )


_FIGURES = {
    "Table 5": exhibit(
        "Independence of latents",
        "MISJED of pairs of latents, of the most informative (z₁, z₂, z₃) and the least informative ones (z₋₁, z₋₂, z₋₃); and "
        "its mean over pairs of the three most informative ones with every image.",
        (celeba(("whole_misjed_top",)), runs_of(("whole_misjed_top",), MODELS)),
        (
            panels(swarm, "whole_misjed_top", "method", each="dataset"),
            (_pairs_of_codes, _printed),
        ),
        columns=1,
        reading="Cells are means over runs: of a tenth of the images and 50 bins as in the paper, or of 10,000 images and 100 "
        "bins where that was not scored.",
    ),
    "Table 6": _by_factor("rmig", ATTRIBUTES, _RMIG_CELEBA),
    "Table 7": _by_factor("jemmig", ATTRIBUTES, _JEMMIG_CELEBA),
    "Table 8": _by_factor("rmig", tuple(SIZES), _RMIG, "rmig-order"),
    "Table 9": _by_factor("jemmig", tuple(SIZES), _JEMMIG, "jemmig-order"),
}
EXHIBITS = numbered(_FIGURES)
