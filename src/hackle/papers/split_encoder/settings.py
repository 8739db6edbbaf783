"""The settings of An Information Theoretic Perspective on Disentangled Representation Learning, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.nets import Split
from hackle.papers.locatello2019.settings import settings as locatello_settings
from hackle.studies.presets import Preset, check, either


def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """The split encoder. The paper gives no training settings; Locatello et al.'s stand in, with γ = 35 and β = 4."""
    check("split-encoder", "method", method, ("vae", "beta-vae", "factor-vae"))
    check("split-encoder", "data set", dataset, ("dsprites", "cars3d"))
    default = {"vae": None, "beta-vae": 4.0, "factor-vae": 35.0}[method]
    return replace(locatello_settings(method, dataset, either(strength, default)), architecture=Split())


PRESET = Preset("split-encoder", settings)
