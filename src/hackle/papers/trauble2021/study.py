"""Träuble et al. 2021, sections 4 and 5: training data in which two factors are correlated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hackle.core.regimes import Drawing
from hackle.core.types import Run
from hackle.papers.trauble2021.settings import BETAS, CORRELATED, DATASETS, METHODS, SIGMAS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("trauble2021", DATASETS, METHODS, seeds=5, usual_methods=tuple(BETAS))
def trauble2021(sweep: Sweep) -> Iterator[Run]:
    """β-VAE (β = 4) on data in which two factors are correlated, σ = 0.2, 0.4 or 0.7, and without a correlation; Ada-GVAE
    (β = 1) with σ = 0.2 and without. The other methods of the paper train where they are named.

    Departures: the paper's pairs of factors and strengths are not verified: position in both directions for dSprites and
    MPI3D, size and orientation for 3D Shapes; one strength of each method, where the paper sweeps six, and five seeds.
    """
    for dataset in sweep.data():
        pair = "~".join(CORRELATED[sweep.role(dataset)])
        for method in filter(sweep.has, METHODS):
            run = sweep.run(method, dataset)
            yield run
            for sigma in SIGMAS[:1] if method == "ada-gvae" else SIGMAS:
                yield replace(run, drawing=Drawing(pair, sigma))


STUDY = Study(
    "trauble2021", trauble2021, "Träuble et al. 2021: two factors correlated in training, with and without pairs"
)
