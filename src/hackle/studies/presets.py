"""Presets: the settings with which a paper trains a method on a data set, as a function that returns a run.

Each paper's own stand in its folder, `hackle.papers.<paper>.settings`, which says what the paper leaves open. A seed, a
correlation or another number of latents is set afterwards with `dataclasses.replace(run, seed=…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from hackle.core.parts import Parts
from hackle.core.records import float_fields
from hackle.core.types import Adam, HackleError, Method, Run
from hackle.nets import ARCHITECTURES, Adversarial, Convolutional
from hackle.objectives import OBJECTIVES

GAN_OPTIMISER = Adam(learning_rate=1e-3, beta1=0.5, beta2=0.999)
"""Kim & Mnih's for InfoGANs."""


class PresetError(HackleError):
    """A method or data set that a paper says nothing about."""


@dataclass(frozen=True)
class Preset:
    """`settings(method, dataset, strength)` is the run that a paper would train."""

    name: str
    settings: Callable[[str, str, float | None], Run]

    def __call__(self, method: str, dataset: str, strength: float | None = None) -> Run:
        return self.settings(method, dataset, strength)


PRESETS: Parts[Preset] = Parts(
    "preset",
    ("hackle.papers.*.settings",),
    lambda thing: isinstance(thing, Preset),
    adopt=lambda name, thing: Preset(name, thing) if callable(thing) else None,
)


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


def check(preset: str, kind: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise PresetError(
            f"the preset {preset} has no {kind} {value!r}; it covers {', '.join(sorted(known))}. "
            "For anything else, write the Run yourself or start from another preset"
        )


def either(strength: float | None, default: float | None) -> float | None:
    return default if strength is None else strength


def preset(name: str, method: str, dataset: str, strength: float | None = None) -> Run:
    """The run that a paper would train: its settings for a method, by name, on a data set.

    >>> preset("kim2018", "factor-vae", "dsprites").method.gamma
    35.0
    """
    return PRESETS.find(name)(method, dataset, strength)


def default_run(method: str, dataset: str) -> Run:
    """Without a preset: Locatello et al.'s networks and optimiser, and for the InfoGANs Kim & Mnih's, on any data set.

    >>> default_run("beta-vae", "my-images.npz").architecture
    Convolutional(hidden=256, channels=(32, 32, 64, 64))
    """
    record = method_at(method)
    if method in ("infogan", "infowgan-gp"):
        return Run(record, Adversarial(), dataset, latents=4, optimiser=GAN_OPTIMISER)
    return Run(record, Convolutional(), dataset)
