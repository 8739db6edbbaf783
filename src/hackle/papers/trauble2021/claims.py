"""Claims of Träuble et al. 2021: factors that are correlated in training end up entangled in the latents, and weak
supervision takes most of that away.

How entangled the two factors are is read off the mutual information of codes and factors, each column divided by its factor's
entropy: the value at which the two merge in the graph of codes and factors, minus the median over the other pairs
(`hackle.metrics.excess_entanglement`). All models are scored on uncorrelated data. Directions are the paper's, bounds ours;
the paper takes importances of boosted trees where this is mutual information.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, by_seed, of_arrays, ratio_numbers
from hackle.claims.statistics import Floats, Units
from hackle.claims.view import Condition, Data
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


def _of_excess(combine: str) -> Measure:
    """The excess under the second condition minus that under the first, or the share of it that is lost.

    Where there is no excess at first, none can be lost: of a negative one the share would have the wrong sign.
    """

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        sides = []
        for rows, condition in zip(data.matched(conditions, ()), conditions, strict=True):
            values = of_arrays(data, rows, lambda table, name=condition["dataset"]: excess(name, table), ARRAY)
            sides.append(by_seed(rows[np.isfinite(values)], values[np.isfinite(values)]))
        seeds = sides[0].index.intersection(sides[1].index)
        if seeds.empty:
            return None
        before, after = (side[seeds].to_numpy() for side in sides)
        if combine == "loss" and before.mean() <= 0:
            return None
        return Units(after - before if combine == "rise" else -ratio_numbers(before, after), 2)

    least = "a β-VAE that entangles the pair more than the others" if combine == "loss" else ""
    return Measure(compute, arrays=(ARRAY,), least=least)


def _runs(method: str, dataset: str, sigma: float | None) -> dict[str, object]:
    drawing = Drawing() if sigma is None else Drawing("~".join(CORRELATED[dataset]), sigma)
    pairs = ONE if method == "ada-gvae" else Pairs()
    of_all = {"method": method, "dataset": dataset, "latents": 10, "strength": BETAS[method]}
    return {**of_all, "pairs": pairs, "drawing": drawing}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "correlated-factors-entangled",
        PAPER,
        "Section 4",
        "Two factors that are correlated in training are more entangled in the latents of a β-VAE than if they were not.",
        "rise, from uncorrelated training to σ = 0.2, of the pair's entanglement above the median of the other pairs",
        Region(low=LEAST),
        _of_excess("rise"),
        tuple(
            Stratum(name, (_runs("beta-vae", name, None), _runs("beta-vae", name, SIGMAS[0]))) for name in CORRELATED
        ),
        seeds=5,
    ),
    Claim(
        "weak-supervision-resolves",
        PAPER,
        "Section 5",
        "Ada-GVAE, on pairs of the same correlated data, takes most of the entanglement away.",
        "share of the β-VAE's entanglement of the pair above the other pairs, at σ = 0.2, that Ada-GVAE does not have",
        Region(low=MOST),
        _of_excess("loss"),
        tuple(
            Stratum(name, tuple(_runs(method, name, SIGMAS[0]) for method in ("beta-vae", "ada-gvae")))
            for name in CORRELATED
        ),
        seeds=5,
    ),
)
