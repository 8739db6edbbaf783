"""The settings of Locatello et al. 2020 (ICML), section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.regimes import Pairs
from hackle.core.types import Run
from hackle.papers.locatello2019.settings import STRENGTHS as UNSUPERVISED
from hackle.papers.locatello2019.settings import settings as unsupervised_settings
from hackle.studies.presets import either, method_at, preset_of

WEAK = ("ada-gvae", "ada-ml-vae")
STRENGTHS = {**dict.fromkeys(WEAK, UNSUPERVISED["beta-vae"]), **UNSUPERVISED}
"""The weights of each method: the six β of the unsupervised study, and its other methods' own."""
METHODS = tuple(STRENGTHS)
BETAS = UNSUPERVISED["beta-vae"]
FACTORS = {"dsprites": 5, "cars3d": 3, "smallnorb": 4, "shapes3d": 6, "mpi3d-real": 7}
"""The number of factors of each data set."""
DATASETS = tuple(FACTORS)
ONE = Pairs("resample", changed=1)
"""Pairs in which one factor is redrawn."""


@preset_of("locatello2020", METHODS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Locatello et al. 2020: the settings of the unsupervised study, with 64 pairs to a batch, in which one factor is redrawn.

    β of Ada-GVAE and Ada-ML-VAE is 1 unless given. Steps and the list of β are those of the unsupervised study; the paper's own
    are not verified.
    """
    # The unsupervised study has no MPI3D, which it would train like any other set.
    usual = unsupervised_settings("beta-vae" if method in WEAK else method, "dsprites", strength)
    if method in WEAK:
        usual = replace(usual, method=method_at(method, either(strength, 1)), pairs=ONE)
    return replace(usual, dataset=dataset)
