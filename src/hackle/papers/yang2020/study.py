"""Yang et al. 2020, section 5: what a correlated approximate posterior does to VAE, FactorVAE, TCVAE and InfoGAN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hackle.core.types import Run
from hackle.studies.study import Study
from hackle.studies.sweep import Precision, Sweep

METHODS = ("vae", "factor-vae", "beta-tcvae", "infogan")
CORRELATIONS = (0.0, 0.9)
LATENTS = (10, 20)


def yang2020(
    *,
    seeds: int = 10,
    steps: int | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    precision: Precision = "float32",
) -> list[Run]:
    """VAE, FactorVAE (γ = 35) and TCVAE (β = 6) on dSprites, SmallNORB and Cars3D, noise with σ = 0 and 0.9, 10 and 20
    latents (Figures 1 and 2, supplement), ten trainings each; InfoGAN (λ = 0.1) with both σ on MNIST (Figure 3).

    Departures: those of the presets. InfoGAN is trained as often as the others; the paper shows one of each.
    """
    known = ("dsprites", "smallnorb", "cars3d", "mnist")
    sweep = Sweep("yang2020", known, METHODS, seeds, steps, datasets, methods, precision)
    return sweep.every(_settings(sweep))


def _settings(sweep: Sweep) -> Iterator[Run]:
    for dataset in sweep.data("dsprites", "smallnorb", "cars3d"):
        for method in METHODS[:3]:
            if sweep.has(method):
                for latents in LATENTS:
                    for correlation in CORRELATIONS:
                        yield replace(sweep.run(method, dataset), latents=latents, correlation=correlation)
    for dataset in sweep.data("mnist") if sweep.has("infogan") else ():
        yield from (replace(sweep.run("infogan", dataset), correlation=correlation) for correlation in CORRELATIONS)


STUDY = Study("yang2020", yang2020, "Yang et al. 2020: correlated posteriors in VAEs and InfoGAN", ("yang2020",))
