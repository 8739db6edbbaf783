"""Locatello et al. 2020 (ICLR), section 4: what the labels of a few images in the loss add to a β-VAE.

The paper's figures were not at hand: this one draws what its claims compare.
"""

from __future__ import annotations

from hackle.core.design import as_column
from hackle.core.regimes import Labels
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import MEANS, by_score, swarm
from hackle.figures.selection import Runs
from hackle.papers.locatello2020_labels.claims import PAPER
from hackle.papers.locatello2020_labels.settings import BETAS, DATASETS, IMAGES, METHODS

_SCORES = ("mig", "dci_disentanglement")
_LABELS = {images: as_column(Labels(images)) for images in IMAGES}
_SERIES = {
    "β-VAE, no labels": {"method": "beta-vae", "labels": ""},
    **{
        f"S2-β-VAE, {images:,} labels": {"method": "s2-beta-vae", "labels": labels}
        for images, labels in _LABELS.items()
    },
}

EXHIBIT = Exhibit(
    PAPER,
    "Section 4",
    "Labels of a few images",
    "Scores of the β-VAE and of S2-β-VAE, whose loss has the labels of a few images, against β.",
    Runs(
        _SCORES,
        {"dataset": DATASETS, "labels": ("", *_LABELS.values())},
        dict.fromkeys(METHODS, tuple(map(float, BETAS))),
        "locatello2019",
        series=_SERIES,
        named=(("dataset", "series"),),
        subject={"method": "s2-beta-vae"},
    ),
    by_score(swarm, _SCORES, "strength"),
    reading=f"{MEANS} Runs with any weight of the labels' loss are taken together.",
    columns=len(_SCORES),
    shared_y=False,
)
