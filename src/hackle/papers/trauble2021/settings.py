"""The settings of Träuble et al. 2021, section 4."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.papers.locatello2019.settings import METHODS as UNSUPERVISED
from hackle.papers.locatello2019.settings import settings as unsupervised_settings
from hackle.papers.locatello2020.settings import settings as paired_settings
from hackle.studies.presets import either, preset_of

METHODS = (*UNSUPERVISED, "ada-gvae")
CORRELATED = {"dsprites": ("x", "y"), "shapes3d": ("scale", "orientation"), "mpi3d-real": ("horizontal", "vertical")}
"""The two factors of each data set that are correlated in training."""
DATASETS = tuple(CORRELATED)
BETAS = {"beta-vae": 4.0, "ada-gvae": 1.0}
"""The weights of the methods that the claims compare."""
SIGMAS = (0.2, 0.4, 0.7)
"""Widths of the correlation, the strongest first."""


@preset_of("trauble2021", METHODS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Träuble et al. 2021 without a correlation: the unsupervised study's settings, or Ada-GVAE's with one changed factor.

    β is 4 for the β-VAE and 1 for Ada-GVAE unless given; other methods have a strength from the middle of that study's list.
    """
    usual = paired_settings if method == "ada-gvae" else unsupervised_settings
    return replace(usual(method, "dsprites", either(strength, BETAS.get(method))), dataset=dataset)
