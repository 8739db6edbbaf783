"""Hsu et al. 2023, section 5: modularity, compactness and explicitness of quantised and of other latents.

The paper's figures were not at hand: this one draws what its claim compares, and the two scores beside it.
"""

from __future__ import annotations

from hackle.figures.chart import Series
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import MEANS, by_score, swarm
from hackle.figures.selection import Runs
from hackle.figures.style import shade
from hackle.papers.hsu2023.claims import PAPER
from hackle.papers.hsu2023.settings import BETAS, LATENTS, METHODS

_SCORES = ("infom", "infoc", "infoe")
_OTHERS = {"QLAE": {"method": "qlae"}, "WAE-MMD": {"method": "wae-mmd"}}
_WEIGHTS = {f"β-VAE β = {beta:g}": {"method": "beta-vae", "strength": float(beta)} for beta in BETAS}

EXHIBIT = Exhibit(
    PAPER,
    "Section 5",
    "Quantised latents and InfoMEC",
    "InfoM, InfoC and InfoE of QLAE, whose latents take one of a few values each, of the β-VAE and of WAE-MMD.",
    tuple(
        Runs(
            _SCORES,
            {"dataset": dataset, "latents": latents},
            dict.fromkeys(METHODS, ()),
            "locatello2019",
            series={**_OTHERS, **_WEIGHTS},
            subject={"method": "qlae"},
        )
        for dataset, latents in LATENTS.items()
    ),
    by_score(swarm, _SCORES, "series"),
    series=(
        *(Series(name, place + 1, place) for place, name in enumerate(_OTHERS)),
        *(Series(name, shade(0, place, len(BETAS)), place) for place, name in enumerate(_WEIGHTS)),
    ),
    reading=MEANS,
    columns=len(_SCORES),
    shared_y=False,
)
