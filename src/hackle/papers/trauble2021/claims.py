"""Claims of Träuble et al. 2021: factors that are correlated in training end up entangled in the latents, and weak
supervision takes most of that away.

How entangled the two factors are is read off the mutual information of codes and factors, each column divided by its factor's
entropy: the value at which the two merge in the graph of codes and factors, minus the median over the other pairs
(`hackle.metrics.excess_entanglement`). All models are scored on uncorrelated data. Directions are the paper's, bounds ours;
the paper takes importances of boosted trees where this is mutual information.
"""

from __future__ import annotations

import numpy as np

from hackle.claims.claim import Claim
from hackle.claims.forms import above, claims_of, runs
from hackle.claims.measures import Number, between, difference_of, ratio_numbers
from hackle.claims.statistics import Floats
from hackle.claims.view import Column, Data, Frame
from hackle.core.regimes import Drawing, Pairs
from hackle.figures.words import FACTORS
from hackle.metrics.pairwise_entanglement import excess_entanglement
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.trauble2021.settings import BETAS, CORRELATED, SIGMAS

PAPER = "trauble2021"
LEAST = 0.02
"""The smallest rise of the excess, as a share of a factor's entropy, that counts."""
MOST = 0.5
"""The share of the entanglement that is taken away where most of it is."""
ARRAY = "mutual_information"


def excess(dataset: str, information: Floats) -> float:
    """How much more the correlated pair of a data set is entangled than its other pairs; NaN of a table of other factors."""
    names, sizes = zip(*FACTORS[dataset], strict=True)
    if information.shape[1] != len(names):
        return float("nan")
    first, second = (names.index(name) for name in CORRELATED[dataset])
    return excess_entanglement(np.maximum(information, 0.0) / np.log(sizes), first, second)


def _excess(data: Data, rows: Frame) -> Column:
    known, pairs = data.array(ARRAY), zip(rows.index, rows["dataset"], strict=True)
    return np.array([excess(dataset, known[run]) if run in known else np.nan for run, dataset in pairs])


def _lost(before: Floats, after: Floats) -> Floats:
    """The share of the excess that is lost. Where there is none at first, none can be lost: of a negative one the share would
    have the wrong sign."""
    return -ratio_numbers(before, after) if before.mean() > 0 else np.full(len(before), np.nan)


EXCESS = Number(_excess, arrays=(ARRAY,))


def _runs(method: str, dataset: str, sigma: float | None) -> dict[str, object]:
    drawing = Drawing() if sigma is None else Drawing("~".join(CORRELATED[dataset]), sigma)
    pairs = ONE if method == "ada-gvae" else Pairs()
    return runs(method, dataset, strength=BETAS[method], pairs=pairs, drawing=drawing)


claim = claims_of(PAPER, seeds=5)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "correlated-factors-entangled",
        "Section 4",
        "Two factors that are correlated in training are more entangled in the latents of a β-VAE than if they were not.",
        "rise, from uncorrelated training to σ = 0.2, of the pair's entanglement above the median of the other pairs",
        above(
            LEAST,
            difference_of(EXCESS),
            mean={name: tuple(_runs("beta-vae", name, sigma) for sigma in (None, SIGMAS[0])) for name in CORRELATED},
        ),
    ),
    claim(
        "weak-supervision-resolves",
        "Section 5",
        "Ada-GVAE, on pairs of the same correlated data, takes most of the entanglement away.",
        "share of the β-VAE's entanglement of the pair above the other pairs, at σ = 0.2, that Ada-GVAE does not have",
        above(
            MOST,
            between(_lost, EXCESS, least="a β-VAE that entangles the pair more than the others"),
            mean={name: tuple(_runs(one, name, SIGMAS[0]) for one in ("beta-vae", "ada-gvae")) for name in CORRELATED},
        ),
    ),
)
