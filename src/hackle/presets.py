"""Each paper's own settings: networks, optimisers, batch size, latents, steps and weights for a method on a data set.

    kim2018         Kim & Mnih 2018, appendices A and H
    locatello2019   Locatello et al. 2019, Tables 2, 3, 4
    yang2020        Yang et al. 2020, section 5
    do2020          Do & Tran 2020, appendix A.3
    split-encoder   An Information Theoretic Perspective on Disentangled Representation Learning, section 5

What a paper leaves open is said at its function. A seed, a correlation or another number of latents is set afterwards with
`dataclasses.replace(run, seed=…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from hackle.nets import ARCHITECTURES, Adversarial, Convolutional, Split
from hackle.objectives import OBJECTIVES
from hackle.records import float_fields
from hackle.types import Adam, HackleError, Method, Run

Preset = Callable[[str, str, float | None], Run]


class PresetError(HackleError):
    """A method or data set that a paper says nothing about."""


STRENGTHS: dict[str, tuple[float, ...]] = {
    "beta-vae": (1, 2, 4, 6, 8, 16),
    "annealed-vae": (5, 10, 25, 50, 75, 100),
    "factor-vae": (10, 20, 30, 40, 50, 100),
    "dip-vae-i": (1, 2, 5, 10, 20, 50),
    "dip-vae-ii": (1, 2, 5, 10, 20, 50),
    "beta-tcvae": (1, 2, 4, 6, 8, 10),
}
"""The six regularisation strengths of each method in Locatello et al. 2019, Table 3."""

SWEPT: dict[str, tuple[str, ...]] = {
    "adversarial-autoencoder": ("gamma",),
    "annealed-vae": ("c_max",),
    "beta-tcvae": ("beta",),
    "beta-vae": ("beta",),
    "dip-vae-i": ("off_diagonal", "diagonal"),
    "dip-vae-ii": ("off_diagonal", "diagonal"),
    "factor-vae": ("gamma",),
    "factor-vae-prior": ("gamma",),
    "infogan": ("information",),
    "information-dropout": ("beta",),
    "infowgan-gp": ("information",),
}
"""The weight that studies sweep, by method; where there are two, the second follows the first."""


def method_at(name: str, strength: float | None = None, **fields: Any) -> Method:
    """A method by name with its one weight that studies sweep: β, γ, c_max, λ_od or λ.

    λ_d of DIP-VAE follows λ_od as in Locatello et al. 2019, Table 3: ten times it in DIP-VAE-I, the same in II.

    >>> method_at("dip-vae-i", 2.0)
    DIPVAEI(off_diagonal=2.0, diagonal=20.0)
    """
    if name not in OBJECTIVES:
        raise PresetError(f"no method {name!r}; there are {', '.join(sorted(OBJECTIVES))}")
    if strength is not None:
        if name not in SWEPT:
            raise PresetError(f"{name} has no weight to set; leave the strength out")
        first, *rest = SWEPT[name]
        fields[first] = float(strength)
        for field in rest:
            fields[field] = float(strength) * (10 if name == "dip-vae-i" else 1)
    return OBJECTIVES[name](**fields)


def method_name(method: Any) -> str:
    """The method's name on the command line; a record of one's own goes by its class."""
    return next((name for name, cls in OBJECTIVES.items() if type(method) is cls), type(method).__name__)


def architecture_name(architecture: Any) -> str:
    """The architecture's name on the command line; a record of one's own goes by its class."""
    return next((name for name, cls in ARCHITECTURES.items() if type(architecture) is cls), type(architecture).__name__)


def strength_of(method: Any) -> float:
    """The one weight of a method that studies sweep, NaN where it has none; of a method of one's own its first float field.

    >>> strength_of(method_at("dip-vae-i", 2.0))
    2.0
    """
    name = method_name(method)
    if name in SWEPT:
        return float(getattr(method, SWEPT[name][0]))
    own = [] if name in OBJECTIVES else [value for key, value in float_fields(method).items() if "." not in key]
    return float(own[0]) if own else math.nan


def _check(preset: str, kind: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise PresetError(
            f"the preset {preset} has no {kind} {value!r}; it covers {', '.join(sorted(known))}. "
            "For anything else, write the Run yourself or start from another preset"
        )


def _or(strength: float | None, default: float | None) -> float | None:
    return default if strength is None else strength


@dataclass(frozen=True)
class _KimData:
    """What depends on the data set in Kim & Mnih's appendix A, and the weights of their best models."""

    hidden: int
    latents: int
    steps: int
    discriminator_rate: float
    beta: float
    gamma: float


_KIM = {
    "dsprites": _KimData(128, 10, 300_000, 1e-4, beta=4, gamma=35),
    "shapes3d": _KimData(256, 6, 500_000, 1e-5, beta=32, gamma=7),
    "faces3d": _KimData(256, 10, 1_000_000, 1e-4, beta=4, gamma=35),
    "chairs3d": _KimData(256, 10, 1_000_000, 1e-5, beta=4, gamma=35),
    "celeba": _KimData(256, 10, 1_000_000, 1e-5, beta=4, gamma=35),
}
_KIM_GAN_OPTIMISER = Adam(learning_rate=1e-3, beta1=0.5, beta2=0.999)


def kim2018(method: str, dataset: str, strength: float | None = None) -> Run:
    """Kim & Mnih 2018.

    Weights are those of their best models on 2D Shapes (dsprites: β = 4, γ = 35) and 3D Shapes (shapes3d: β = 32, γ = 7). The
    other data sets get those of 2D Shapes, the adversarial autoencoder γ = 1 (Eq. 7), for which the paper names none. For 3D
    Shapes section 6 says a million iterations, appendix A half as many; the appendix is followed, and 6 latents (Table 2).
    InfoGANs: steps and batch size are not given; on MNIST 50,000 steps, on 2D Shapes as many as the others, batches of 64. λ is
    1 on MNIST (Figure 32) and on 2D Shapes 0.2, that of the best InfoWGAN-GP (Figure 9), which serves InfoGAN too.
    """
    if method in ("infogan", "infowgan-gp"):
        return _kim_gan(method, dataset, strength)
    methods = ("vae", "beta-vae", "factor-vae", "factor-vae-prior", "adversarial-autoencoder")
    _check("kim2018", "method", method, (*methods, "infogan", "infowgan-gp"))
    _check("kim2018", f"data set for {method}", dataset, _KIM)
    data = _KIM[dataset]
    fields: dict[str, Any] = {}
    default: float | None = None
    if method in ("factor-vae", "factor-vae-prior", "adversarial-autoencoder"):
        fields["discriminator_optimiser"] = Adam(learning_rate=data.discriminator_rate, beta1=0.5, beta2=0.9)
        default = 1.0 if method == "adversarial-autoencoder" else data.gamma
    elif method == "beta-vae":
        default = data.beta
    return Run(
        method=method_at(method, _or(strength, default), **fields),
        architecture=Convolutional(hidden=data.hidden),
        dataset=dataset,
        steps=data.steps,
        latents=data.latents,
    )


def _kim_gan(method: str, dataset: str, strength: float | None) -> Run:
    _check("kim2018", f"data set for {method}", dataset, ("dsprites", "mnist"))
    if dataset == "mnist":
        record = method_at(method, _or(strength, 1.0), categories=(10,), noise=62)
        architecture = Adversarial(channels=(64, 128), hidden=1024, leaky_generator=False)
        latents, steps = 2, 50_000
    else:
        record = method_at(method, _or(strength, 0.2), categories=(3,), noise=5)
        architecture, latents, steps = Adversarial(), 4, 300_000
    return Run(
        method=record,
        architecture=architecture,
        dataset=dataset,
        steps=steps,
        latents=latents,
        optimiser=_KIM_GAN_OPTIMISER,
    )


_LOCATELLO_DATA = (
    *("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites"),
    *("smallnorb", "cars3d", "shapes3d"),
)
_LOCATELLO_MIDDLE = {
    "beta-vae": 4,
    "annealed-vae": 25,
    "factor-vae": 30,
    "dip-vae-i": 5,
    "dip-vae-ii": 5,
    "beta-tcvae": 6,
}


def locatello2019(method: str, dataset: str, strength: float | None = None) -> Run:
    """Locatello et al. 2019. `strength` is one of `STRENGTHS[method]`; without it, one from the middle of that list.

    Training lasts 300,000 steps, the figure of the published study, which the paper's tables leave out. In that study's code
    FactorVAE's step counter advanced twice per update, so its 300,000 were half as many updates as here.
    """
    _check("locatello2019", "method", method, ("vae", *STRENGTHS))
    _check("locatello2019", "data set", dataset, _LOCATELLO_DATA)
    return Run(
        method=method_at(method, _or(strength, _LOCATELLO_MIDDLE.get(method))),
        architecture=Convolutional(),
        dataset=dataset,
    )


def yang2020(method: str, dataset: str, strength: float | None = None) -> Run:
    """Yang et al. 2020: the settings of Locatello et al. with γ = 35 and β = 6; InfoGAN on MNIST with λ = 0.1.

    They compare correlation 0, set here, with 0.9, and 10 latents with 20. Correlation changes nothing but the noise, so
    β-TCVAE's estimate keeps factorised densities. InfoGAN's networks, optimisers, steps and codes are not given
    beyond "2 factors"; they are Kim & Mnih's, with two continuous codes. λ weighs the categorical code's information, too.
    """
    if method == "infogan":
        _check("yang2020", "data set for infogan", dataset, ("mnist",))
        return kim2018("infogan", "mnist", _or(strength, 0.1))
    _check("yang2020", "method", method, ("vae", "factor-vae", "beta-tcvae", "infogan"))
    _check("yang2020", f"data set for {method}", dataset, ("dsprites", "smallnorb", "cars3d"))
    default = {"vae": None, "factor-vae": 35.0, "beta-tcvae": 6.0}[method]
    fields = {"density": "factorised"} if method == "beta-tcvae" else {}
    return replace(locatello2019(method, dataset), method=method_at(method, _or(strength, default), **fields))


_DO_TRAINING_IMAGES = {"celeba": 162_770, "dsprites": 737_280}
_DO_BATCH, _DO_EPOCHS = 64, 300


def do2020(method: str, dataset: str, strength: float | None = None) -> Run:
    """Do & Tran 2020.

    The weights are 50 for CelebA as stated, and for dSprites 10, the best of those they compare; the adversarial
    autoencoder keeps 50, their "coefficient for the generator loss", as γ. Its encoder is deterministic. The
    discriminator's Adam has the same moments as the autoencoder's. The likelihood is not given: Bernoulli, as Kim & Mnih's.
    Epochs only count steps, their last, smaller batch too: batches are drawn with replacement. For CelebA they are those of the
    162,770 training images, while hackle trains on all 202,599 and crops them before resizing, where the paper only resizes.
    """
    _check("do2020", "method", method, ("vae", "beta-vae", "factor-vae", "adversarial-autoencoder"))
    _check("do2020", "data set", dataset, _DO_TRAINING_IMAGES)
    optimiser = Adam(learning_rate=1e-3, beta1=0.5, beta2=0.99)
    fields: dict[str, Any] = {}
    if method in ("factor-vae", "adversarial-autoencoder"):
        fields |= {"discriminator_layers": 5, "discriminator_logits": 1}
        fields["discriminator_optimiser"] = replace(optimiser, learning_rate=1e-4)
    if method == "adversarial-autoencoder":
        fields["deterministic"] = True
    weights = {"vae": None, "adversarial-autoencoder": 50.0}
    default = weights.get(method, 50.0 if dataset == "celeba" else 10.0)
    return Run(
        method=method_at(method, _or(strength, default), **fields),
        architecture=Convolutional(hidden=256 if dataset == "celeba" else 128),
        dataset=dataset,
        steps=_DO_EPOCHS * math.ceil(_DO_TRAINING_IMAGES[dataset] / _DO_BATCH),
        batch_size=_DO_BATCH,
        latents=65 if dataset == "celeba" else 10,
        optimiser=optimiser,
    )


def split_encoder(method: str, dataset: str, strength: float | None = None) -> Run:
    """The split encoder. The paper gives no training settings; Locatello et al.'s stand in, with γ = 35 and β = 4."""
    _check("split-encoder", "method", method, ("vae", "beta-vae", "factor-vae"))
    _check("split-encoder", "data set", dataset, ("dsprites", "cars3d"))
    default = {"vae": None, "beta-vae": 4.0, "factor-vae": 35.0}[method]
    return replace(locatello2019(method, dataset, _or(strength, default)), architecture=Split())


PRESETS: dict[str, Preset] = {
    "do2020": do2020,
    "kim2018": kim2018,
    "locatello2019": locatello2019,
    "split-encoder": split_encoder,
    "yang2020": yang2020,
}


def preset(name: str, method: str, dataset: str, strength: float | None = None) -> Run:
    """The run that a paper would train: its settings for a method, by name, on a data set.

    >>> preset("kim2018", "factor-vae", "dsprites").method.gamma
    35.0
    """
    if name not in PRESETS:
        raise PresetError(f"no preset {name!r}; there are {', '.join(sorted(PRESETS))}")
    return PRESETS[name](method, dataset, strength)


def default_run(method: str, dataset: str) -> Run:
    """Without a preset: Locatello et al.'s networks and optimiser, and for the InfoGANs Kim & Mnih's, on any data set.

    >>> default_run("beta-vae", "my-images.npz").architecture
    Convolutional(hidden=256, channels=(32, 32, 64, 64))
    """
    record = method_at(method)
    if method in ("infogan", "infowgan-gp"):
        return Run(record, Adversarial(), dataset, latents=4, optimiser=_KIM_GAN_OPTIMISER)
    return Run(record, Convolutional(), dataset)
