"""The settings of Hsu et al. 2023, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2019.settings import settings as unsupervised_settings
from hackle.studies.presets import default_run, preset_of

BETAS = STRENGTHS["beta-vae"]
METHODS = ("qlae", "beta-vae", "wae-mmd")
LATENTS = {"dsprites": 10, "shapes3d": 12, "mpi3d-real": 14}
"""Twice as many latents as factors."""
DATASETS = tuple(LATENTS)


@preset_of("hsu2023", METHODS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Hsu et al. 2023: twice as many latents as factors. QLAE has its own optimiser, batches and steps, the β-VAE those of
    Locatello et al. 2019, with β = 4 unless given; WAE-MMD is an autoencoder whose latents are not quantised.

    Departures: all methods have Locatello et al.'s networks, since the paper's are deeper and would not let methods be compared
    with the runs of other studies; dSprites is not among the paper's data sets.
    """
    if method == "beta-vae":
        run = unsupervised_settings(method, "dsprites", strength)
    else:
        run = default_run(method, dataset)
        run = replace(run, steps=200_000) if method == "qlae" else run
    return replace(run, dataset=dataset, latents=LATENTS[dataset])
