"""Presets against the papers' tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

from hackle.core.method import strength_of
from hackle.core.regimes import Labels, Pairs
from hackle.core.types import Adam, Run
from hackle.nets import Adversarial, Convolutional, Split
from hackle.objectives import (
    DIPVAEI,
    DIPVAEII,
    OBJECTIVES,
    QLAE,
    VAE,
    AdaGVAE,
    AdversarialAutoencoder,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    InfoWGANGP,
    S2BetaVAE,
)
from hackle.objectives.vae import Autoencoder
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.studies.presets import PRESETS, PresetError, method_at, preset

KIM_ADAM = Adam(1e-4, 0.9, 0.999)


def discriminator(rate: float) -> Adam:
    return Adam(rate, 0.5, 0.9)


KIM_MNIST = Adversarial(channels=(64, 128), hidden=1024, leaky_generator=False)
GAN_ADAM = Adam(1e-3, 0.5, 0.999)
DO_ADAM = Adam(1e-3, 0.5, 0.99)
DO_DISCRIMINATOR: dict[str, Any] = {
    "discriminator_layers": 5,
    "discriminator_logits": 1,
    "discriminator_optimiser": Adam(1e-4, 0.5, 0.99),
}
STATED: list[tuple[str, str, str, Run]] = [
    ("kim2018", "beta-vae", "dsprites", Run(BetaVAE(4.0), Convolutional(128), "dsprites", steps=300_000)),
    (
        "kim2018",
        "factor-vae",
        "shapes3d",
        Run(
            FactorVAE(7.0, discriminator_optimiser=discriminator(1e-5)),
            Convolutional(256),
            "shapes3d",
            steps=500_000,
            latents=6,
        ),
    ),
    (
        "kim2018",
        "factor-vae",
        "faces3d",
        Run(FactorVAE(discriminator_optimiser=discriminator(1e-4)), Convolutional(256), "faces3d", steps=1_000_000),
    ),
    (
        "kim2018",
        "infowgan-gp",
        "dsprites",
        Run(InfoWGANGP(0.2, (3,), 5), Adversarial(), "dsprites", latents=4, optimiser=GAN_ADAM),
    ),
    (
        "kim2018",
        "infogan",
        "mnist",
        Run(InfoGAN(1.0, (10,), 62), KIM_MNIST, "mnist", steps=50_000, latents=2, optimiser=GAN_ADAM),
    ),
    (
        "locatello2019",
        "annealed-vae",
        "cars3d",
        Run(AnnealedVAE(25.0, 1000.0, 100_000), Convolutional(256), "cars3d", optimiser=KIM_ADAM),
    ),
    ("locatello2019", "vae", "smallnorb", Run(VAE(), Convolutional(256), "smallnorb")),
    ("yang2020", "beta-tcvae", "smallnorb", Run(BetaTCVAE(6.0, density="factorised"), Convolutional(256), "smallnorb")),
    ("yang2020", "factor-vae", "dsprites", Run(FactorVAE(35.0), Convolutional(256), "dsprites")),
    (
        "yang2020",
        "infogan",
        "mnist",
        Run(InfoGAN(0.1, (10,), 62), KIM_MNIST, "mnist", steps=50_000, latents=2, optimiser=GAN_ADAM),
    ),
    (
        "do2020",
        "factor-vae",
        "celeba",
        Run(
            FactorVAE(50.0, **DO_DISCRIMINATOR),
            Convolutional(256),
            "celeba",
            steps=763_200,
            latents=65,
            optimiser=DO_ADAM,
        ),
    ),
    (
        "do2020",
        "adversarial-autoencoder",
        "dsprites",
        Run(
            AdversarialAutoencoder(50.0, **DO_DISCRIMINATOR, deterministic=True),
            Convolutional(128),
            "dsprites",
            steps=3_456_000,
            optimiser=DO_ADAM,
        ),
    ),
    ("split-encoder", "factor-vae", "cars3d", Run(FactorVAE(35.0), Split(256), "cars3d")),
    (
        "locatello2020",
        "ada-gvae",
        "mpi3d-real",
        Run(AdaGVAE(1.0), Convolutional(256), "mpi3d-real", pairs=Pairs("resample", changed=1)),
    ),
    (
        "hsu2023",
        "qlae",
        "shapes3d",
        Run(
            QLAE(0.01, 0.01, levels=10),
            Convolutional(256),
            "shapes3d",
            steps=200_000,
            batch_size=128,
            latents=12,
            optimiser=Adam(1e-3, weight_decay=0.1),
        ),
    ),
    (
        "locatello2020-labels",
        "s2-beta-vae",
        "cars3d",
        Run(S2BetaVAE(beta=4.0), Convolutional(256), "cars3d", labels=Labels(100)),
    ),
    ("trauble2021", "beta-vae", "mpi3d-real", Run(BetaVAE(4.0), Convolutional(256), "mpi3d-real")),
    (
        "schott2022",
        "ada-gvae",
        "shapes3d",
        Run(AdaGVAE(1.0), Convolutional(256), "shapes3d", pairs=Pairs("resample", changed=1)),
    ),
]


@pytest.mark.parametrize(("name", "method", "dataset", "expected"), STATED, ids=lambda value: str(value)[:20])
def test_a_preset_is_the_run_that_its_paper_states(name: str, method: str, dataset: str, expected: Run) -> None:
    assert preset(name, method, dataset) == expected


def test_every_preset_is_stated() -> None:
    assert {name for name, *_ in STATED} == PRESETS.keys()


@pytest.mark.parametrize("method", STRENGTHS)
def test_locatellos_table_3(method: str) -> None:
    runs = [preset("locatello2019", method, "shapes3d", strength) for strength in STRENGTHS[method]]
    assert all(run.batch_size == 64 and run.latents == 10 and run.steps == 300_000 for run in runs)
    assert len({run.method for run in runs}) == 6
    methods = [run.method for run in runs]
    if method == "dip-vae-i":
        assert methods == [DIPVAEI(value, 10 * value) for value in (1, 2, 5, 10, 20, 50)]
    if method == "dip-vae-ii":
        assert methods == [DIPVAEII(value, value) for value in (1, 2, 5, 10, 20, 50)]
    if method == "beta-tcvae":
        assert methods == [BetaTCVAE(value) for value in (1, 2, 4, 6, 8, 10)]


def test_every_method_with_a_weight_takes_a_strength() -> None:
    swept = {name: cls.at_strength(3.0) for name, cls in OBJECTIVES.items()}
    assert {name for name, fields in swept.items() if not fields} == {"supervised", "vae"}
    assert {name: next(iter(fields)) for name, fields in swept.items() if fields} == {
        "ada-gvae": "beta",
        "ada-ml-vae": "beta",
        "adversarial-autoencoder": "gamma",
        "annealed-vae": "c_max",
        "autoregressive-vae": "beta",
        "beta-tcvae": "beta",
        "beta-vae": "beta",
        "control-vae": "c_max",
        "dip-vae-i": "off_diagonal",
        "dip-vae-ii": "off_diagonal",
        "factor-vae": "gamma",
        "factor-vae-prior": "gamma",
        "gvae": "beta",
        "hfs": "gamma",
        "info-vae": "discrepancy",
        "infogan": "information",
        "information-dropout": "beta",
        "infowgan-gp": "information",
        "ml-vae": "beta",
        "slow-vae": "gamma",
        "s2-beta-tcvae": "beta",
        "s2-beta-vae": "beta",
        "s2-dip-vae-i": "off_diagonal",
        "s2-dip-vae-ii": "off_diagonal",
        "s2-factor-vae": "gamma",
        "wae-mmd": "discrepancy",
        "joint-vae": "gamma",
        "qlae": "quantisation",
        "tripod": "multiinformation",
    }
    for name, fields in swept.items():
        if fields:
            method = method_at(name, 3.0)
            assert {field: getattr(method, field) for field in fields} == fields
            assert strength_of(method) == fields[next(iter(fields))] == 3.0
    with pytest.raises(PresetError, match="no weight to set"):
        method_at("vae", 2.0)


@pytest.mark.parametrize(
    ("name", "method", "dataset", "message"),
    [
        ("kim2019", "vae", "dsprites", "no preset 'kim2019'; did you mean kim2018"),
        ("kim2018", "dip-vae-i", "dsprites", "no method 'dip-vae-i'; it covers"),
        ("kim2018", "infogan", "celeba", "no data set for infogan 'celeba'; it covers dsprites, mnist"),
        ("kim2018", "vae", "cars3d", "no data set for vae 'cars3d'"),
        ("locatello2019", "infogan", "dsprites", "no method 'infogan'"),
        ("locatello2019", "beta-vae", "celeba", "no data set 'celeba'"),
        ("yang2020", "infogan", "dsprites", "it covers mnist"),
        ("do2020", "beta-vae", "cars3d", "it covers celeba, dsprites"),
        ("split-encoder", "beta-tcvae", "dsprites", "it covers beta-vae, factor-vae, vae"),
    ],
)
def test_what_a_paper_does_not_cover_is_said(name: str, method: str, dataset: str, message: str) -> None:
    with pytest.raises(PresetError, match=message):
        preset(name, method, dataset)


def test_the_strength_of_a_method_of_ones_own_is_its_first_float() -> None:
    @dataclass(frozen=True)
    class Own(Autoencoder):
        layers: int = 3
        optimiser: Adam = Adam()
        weight: float = 4.0
        other: float = 5.0

    assert strength_of(Own(weight=2.0)) == 2.0
    assert math.isnan(strength_of(VAE()))
    assert strength_of(FactorVAE(gamma=7.0)) == 7.0
