"""Presets: the settings with which a paper trains a method on a data set, as a function that returns a run.

Each paper's presets are in `hackle.papers.<paper>.settings`, which says what the paper leaves open. A seed, a
correlation or another number of latents is set afterwards with `dataclasses.replace(run, seed=…)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hackle.core.errors import HackleError
from hackle.core.method import about
from hackle.core.parts import Parts
from hackle.core.types import Method, Run
from hackle.nets import ARCHITECTURES
from hackle.objectives import OBJECTIVES


class PresetError(HackleError):
    """A method or data set that a paper does not cover."""


@dataclass(frozen=True)
class Preset:
    """`settings(method, dataset, strength)` is the run that a paper would train, of the methods and on the data sets that it
    covers, any if none are named; others: the data sets of methods that the paper trains on others."""

    name: str
    settings: Callable[[str, str, float | None], Run]
    methods: Collection[str] = ()
    datasets: Collection[str] = ()
    others: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __call__(self, method: str, dataset: str, strength: float | None = None) -> Run:
        kind = f"data set for {method}" if self.others else "data set"
        self._check("method", method, self.methods)
        self._check(kind, dataset, self.others.get(method, self.datasets))
        return self.settings(method, dataset, strength)

    def _check(self, kind: str, value: str, known: Collection[str]) -> None:
        if known and value not in known:
            raise PresetError(
                f"the preset {self.name} has no {kind} {value!r}; it covers {', '.join(sorted(known))}. "
                "For anything else, write the Run yourself or start from another preset"
            )


def preset_of(
    name: str, methods: Collection[str], datasets: Collection[str], others: Mapping[str, Collection[str]] | None = None
) -> Callable[[Callable[[str, str, float | None], Run]], Preset]:
    """Turns a function into a paper's preset for the methods and data sets that the paper covers."""
    return lambda settings: Preset(name, settings, methods, datasets, others or {})


PRESETS: Parts[Preset] = Parts(
    "preset",
    ("hackle.papers.*.settings",),
    lambda thing: isinstance(thing, Preset),
    adopt=lambda name, thing: Preset(name, thing) if callable(thing) else None,  # type: ignore[arg-type]
    error=PresetError,
)
"""Every preset by name, which is its paper's."""


def method_at(name: str, strength: float | None = None, **fields: Any) -> Method:
    """A method by name with the weight that studies sweep: β, γ, c_max, λ_od or λ.

    >>> method_at("dip-vae-i", 2.0)
    DIPVAEI(off_diagonal=2.0, diagonal=20.0)
    """
    cls = OBJECTIVES.find(name)
    swept = {} if strength is None else about(cls).at_strength(strength)
    if strength is not None and not swept:
        raise PresetError(f"{name} has no weight to set; leave the strength out")
    required = [each.name for each in dataclasses.fields(cls) if each.init and each.default is each.default_factory]  # type: ignore[arg-type]
    if missing := [field for field in required if field not in fields and field not in swept]:
        raise PresetError(f"{name} has no default for {', '.join(missing)}; give each of its fields one")
    return cls(**{**fields, **swept})


def either(strength: float | None, default: float | None) -> float | None:
    return default if strength is None else strength


def preset(name: str, method: str, dataset: str, strength: float | None = None) -> Run:
    """The run that a paper would train: its settings for a method, by name, on a data set.

    >>> preset("kim2018", "factor-vae", "dsprites").method.gamma
    35.0
    """
    return PRESETS.find(name)(method, dataset, strength)


def default_run(method: str, dataset: str) -> Run:
    """Without a preset: the method's default architecture and settings, on any data set.

    >>> default_run("beta-vae", "my-images.npz").architecture
    Convolutional(hidden=256, channels=(32, 32, 64, 64), initialisation='glorot')
    """
    record = method_at(method)
    usual = about(record)
    return Run(record, ARCHITECTURES.find(usual.architecture)(), dataset, **usual.run_fields)
