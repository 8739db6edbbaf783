"""Yang et al. 2020, section 5: what a correlated approximate posterior does to VAE, FactorVAE, TCVAE and InfoGAN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hackle.core.types import Run
from hackle.papers.yang2020.settings import CORRELATIONS, DATASETS, GAN_DATASETS, LATENTS, METHODS, WEIGHTS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("yang2020", (*DATASETS, *GAN_DATASETS), METHODS, seeds=10)
def yang2020(sweep: Sweep) -> Iterator[Run]:
    """VAE, FactorVAE (γ = 35) and TCVAE (β = 6) on dSprites, SmallNORB and Cars3D, noise with σ = 0 and 0.9, 10 and 20
    latents (Figures 1 and 2, supplement), ten trainings each; InfoGAN (λ = 0.1) with both σ on MNIST (Figure 3).

    Departures: those of the presets. InfoGAN is trained as often as the others; the paper shows one of each.
    """
    for dataset, method in product(sweep.data(*DATASETS), filter(sweep.has, WEIGHTS)):
        for latents, correlation in product(LATENTS, CORRELATIONS):
            yield replace(sweep.run(method, dataset), latents=latents, correlation=correlation)
    for dataset in sweep.data(*GAN_DATASETS) if sweep.has("infogan") else ():
        yield from (replace(sweep.run("infogan", dataset), correlation=correlation) for correlation in CORRELATIONS)


STUDY = Study("yang2020", yang2020, "Yang et al. 2020: correlated posteriors in VAEs and InfoGAN", ("yang2020",))
