"""Träuble et al. 2021, sections 4 and 5: how entangled factors are that were correlated in training, with and without pairs.

The paper's figures were not at hand: this one draws what its claims compare.
"""

from __future__ import annotations

from hackle.core.design import as_column
from hackle.core.regimes import Drawing
from hackle.figures.chart import Axis
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import panels, swarm
from hackle.figures.selection import Runs, with_numbers
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.trauble2021.claims import EXCESS, PAPER
from hackle.papers.trauble2021.settings import BETAS, CORRELATED, SIGMAS


def _runs(dataset: str) -> Runs:
    """β-VAE and Ada-GVAE without a correlation and with each width of it, the weakest first."""
    pair = "~".join(CORRELATED[dataset])
    correlated = {as_column(Drawing(pair, sigma)): f"σ = {sigma:g}" for sigma in reversed(SIGMAS)}
    return Runs(
        where={"dataset": dataset, "drawing": ("", *correlated), "pairs": ("", as_column(ONE))},
        weights={method: (beta,) for method, beta in BETAS.items()},
        called={"": "independent", **correlated},
        change=with_numbers(excess=EXCESS),
        subject={"drawing": tuple(correlated)},
    )


EXHIBIT = Exhibit(
    PAPER,
    "Section 4",
    "Entanglement of correlated factors",
    "How much more entangled two factors are than other pairs of factors, by their correlation in training: β-VAE, and "
    "Ada-GVAE on pairs of images.",
    tuple(map(_runs, CORRELATED)),
    panels(swarm, "excess", "drawing", each="dataset", y=Axis("excess entanglement")),
    claims=(f"{PAPER}.weak-supervision-resolves",),
    reading="The smaller σ, the stronger the correlation. Excess: mutual information at which the two factors share a "
    "latent, as a share of entropy, minus the median of the other pairs of factors.",
    shared_y=False,
)
