"""Do & Tran 2020, section 4 and appendices A.4 and A.5: metrics of informativeness, separability and interpretability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from hackle.core.types import Run
from hackle.papers.do2020.protocols import BINS, RAW, SAMPLES
from hackle.papers.do2020.settings import BETAS, DATASETS, GAMMAS, LATENTS, METHODS
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("do2020", DATASETS, METHODS, seeds=4)
def do2020(sweep: Sweep) -> Iterator[Run]:
    """dSprites: FactorVAE with TC weights 10 to 100, β-VAE with β 1 to 50, the adversarial autoencoder (Figures 2 to 8, 14 to
    16, four runs each), and β-VAE at β = 10 with 5, 10, 15 and 20 latents (Figure 19). CelebA: each method at weight 50
    (Figures 9 to 13). The ablations over bins and samples (Figures 17 and 18) are protocols of the same models.

    Departures: those of the preset. β = 1 is the VAE. How many CelebA models there were is not said; as many as of dSprites.

    `do2020-appendix` has what A.7, A.13 and A.18 add.
    """
    for dataset in sweep.data("dsprites"):
        yield from sweep.runs(dataset, {"factor-vae": GAMMAS, "beta-vae": BETAS})
        for run, latents in product(sweep.runs(dataset, {"beta-vae": (10,)}), LATENTS):
            yield replace(run, latents=latents)
        yield from sweep.runs(dataset, {"adversarial-autoencoder": (None,)})
    for dataset in sweep.data("celeba"):
        yield from sweep.runs(dataset, dict.fromkeys(METHODS, (None,)))


@swept("do2020", DATASETS, METHODS, seeds=4)
def do2020_appendix(sweep: Sweep) -> Iterator[Run]:
    """dSprites: β-VAE with β = 30 (A.13, Figure 25). CelebA, which must be fetched: adversarial autoencoders with 65, 100 and
    200 latents (A.7, Figure 22); FactorVAEs with 3 latents and TC weights 50 and 10 (A.18, Figure 26), and with 65 latents and
    both weights, 100 and 200 latents (Figures 27 and 28).

    Departures: those of the preset, and four runs of each, where the paper shows single ones or says "several".
    """
    for dataset in sweep.data("dsprites"):
        yield from sweep.runs(dataset, {"beta-vae": (30,)})
    for dataset in sweep.data("celeba"):
        for run, latents in product(sweep.runs(dataset, {"adversarial-autoencoder": (None,)}), (65, 100, 200)):
            yield replace(run, latents=latents)
        if sweep.has("factor-vae"):
            for weight, latents in ((50, 3), (10, 3), (10, 65), (50, 65), (50, 100), (50, 200)):
                yield replace(sweep.run("factor-vae", dataset, weight), latents=latents)


STUDY = Study(
    "do2020",
    do2020,
    "Do & Tran 2020: FactorVAE, β-VAE and AAE under the informativeness metrics, and their ablations",
    ("do2020", *(one.name for one in (RAW, *BINS, *SAMPLES))),
    "all,whole_separability,whole_misjed,ranked_misjed,sampled_interpretability,sampled_jemmig",
)
APPENDIX_STUDY = Study(
    "do2020-appendix",
    do2020_appendix,
    "Do & Tran 2020, A.7, A.13 and A.18: β = 30, and CelebA with 3, 100 and 200 latents or a TC weight of 10",
    ("do2020",),
    "all,sampled_interpretability",
)
