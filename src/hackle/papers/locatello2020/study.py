"""Locatello et al. 2020 (ICML), section 5: Ada-GVAE and Ada-ML-VAE over β and over the number of factors that change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hackle.core.regimes import Pairs
from hackle.core.types import Run
from hackle.papers.locatello2020.settings import DATASETS, FACTORS, METHODS, STRENGTHS, WEAK
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("locatello2020", DATASETS, METHODS, seeds=5, usual_methods=(*WEAK, "beta-vae"))
def locatello2020(sweep: Sweep) -> Iterator[Run]:
    """Ada-GVAE and Ada-ML-VAE with pairs that differ in one factor, at six β, and beside them the β-VAE of the same β; other
    unsupervised methods where they are named. Runs of these on a data set of the unsupervised study are records of
    `locatello2019`, so that stores of the two can be merged.

    Departures: steps, β and the number of seeds are not verified; those of the unsupervised study serve, with five seeds.
    """
    for dataset in sweep.data():
        yield from sweep.runs(dataset, STRENGTHS)


@swept("locatello2020", DATASETS, ("ada-gvae",), seeds=5)
def locatello2020_k(sweep: Sweep) -> Iterator[Run]:
    """Ada-GVAE with β = 1 on pairs in which one factor, two, all but one, or a number drawn for each pair may change.

    Departures: the paper varies k in more steps, and β with it. Five seeds.
    """
    for dataset in sweep.data():
        run = sweep.run("ada-gvae", dataset, 1)
        most = FACTORS[sweep.role(dataset)] - 1
        yield from (replace(run, pairs=Pairs("resample", changed=changed)) for changed in (1, 2, most, 0))


STUDY = Study("locatello2020", locatello2020, "Locatello et al. 2020: Ada-GVAE and Ada-ML-VAE from pairs, beside β-VAE")
K_STUDY = Study(
    "locatello2020-k", locatello2020_k, "Locatello et al. 2020: Ada-GVAE where more factors of a pair change"
)
