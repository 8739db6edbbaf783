"""The settings of Schott et al. 2022, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.papers.locatello2019.settings import settings as unsupervised_settings
from hackle.papers.locatello2020.settings import settings as paired_settings
from hackle.studies.presets import either, preset_of

BETAS = {"beta-vae": 4.0, "ada-gvae": 1.0}
METHODS = tuple(BETAS)
DATASETS = ("dsprites", "shapes3d", "mpi3d-real")
RULES = ("random", "composition", "interpolation", "extrapolation")
"""Which combinations training leaves out, the easiest first."""


@preset_of("schott2022", METHODS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Schott et al. 2022 on all combinations: the unsupervised study's settings, or those of Ada-GVAE with one factor changed.

    β is 4 for the β-VAE and 1 for Ada-GVAE unless given.
    """
    usual = paired_settings if method == "ada-gvae" else unsupervised_settings
    return replace(usual(method, "dsprites", either(strength, BETAS[method])), dataset=dataset)
