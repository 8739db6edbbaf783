"""Hsu et al. 2023, section 5: quantised latents beside other autoencoders."""

from __future__ import annotations

from collections.abc import Iterator

from hackle.core.types import Run
from hackle.papers.hsu2023.settings import BETAS, DATASETS, METHODS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("hsu2023", DATASETS, METHODS, seeds=5)
def hsu2023(sweep: Sweep) -> Iterator[Run]:
    """QLAE and WAE-MMD, and the β-VAE at the six β of Locatello et al. 2019, whose runs on dSprites are records of
    `locatello2019`.

    Departures: those of the preset; the paper's other baselines, and its Falcor3D and Isaac3D, are not here.
    """
    for dataset in sweep.data():
        yield from sweep.runs(dataset, {"qlae": (None,), "wae-mmd": (None,), "beta-vae": BETAS})


STUDY = Study("hsu2023", hsu2023, "Hsu et al. 2023: quantised latents (QLAE) beside β-VAE and WAE-MMD")
