"""Locatello et al. 2020 (ICLR), section 4: β-VAE with the labels of a few images, and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from hackle.core.regimes import Labels
from hackle.core.types import Run
from hackle.papers.locatello2020_labels.settings import BETAS, DATASETS, IMAGES, METHODS, WEIGHTS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("locatello2020-labels", DATASETS, METHODS, seeds=5)
def locatello2020_labels(sweep: Sweep) -> Iterator[Run]:
    """S2-β-VAE at six β and two weights of the labels' loss, with 100 and 1,000 labelled images, and the β-VAE of the same β,
    whose runs are records of `locatello2019`.

    Departures: one draw of labels and of the paper's methods β-VAE alone; γ_sup at the two ends of its list; five seeds.
    """
    for dataset in sweep.data():
        if sweep.has("s2-beta-vae"):
            for beta, weight, images in product(BETAS, WEIGHTS, IMAGES):
                run: Any = sweep.run("s2-beta-vae", dataset, beta)
                yield replace(run, method=replace(run.method, gamma_sup=weight), labels=Labels(images))
        yield from sweep.runs(dataset, {"beta-vae": BETAS})


STUDY = Study(
    "locatello2020-labels", locatello2020_labels, "Locatello et al. 2020 (ICLR): β-VAE with the labels of a few images"
)
