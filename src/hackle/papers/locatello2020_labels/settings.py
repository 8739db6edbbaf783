"""The settings of Locatello et al. 2020 (ICLR), section 4 and appendix."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.regimes import Labels
from hackle.core.types import Run
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2019.settings import settings as unsupervised_settings
from hackle.studies.presets import either, method_at, preset_of

BETAS = STRENGTHS["beta-vae"]
METHODS = ("s2-beta-vae", "beta-vae")
DATASETS = ("dsprites", "cars3d", "smallnorb", "shapes3d")
IMAGES = (100, 1_000)
"""How many images have labels."""
WEIGHTS = (1.0, 16.0)
"""γ_sup, the weights of the labels' loss, the ends of the paper's list."""


@preset_of("locatello2020-labels", METHODS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Locatello et al. 2020: the unsupervised study's settings, and for the semi-supervised method a hundred labels.

    β is 4 unless given, and γ_sup 1. The paper's lists of both weights, of data sets and of steps are not verified.
    """
    run = unsupervised_settings("beta-vae", dataset, strength)
    if method == "beta-vae":
        return run
    return replace(run, method=method_at(method, either(strength, 4)), labels=Labels(IMAGES[0]))
