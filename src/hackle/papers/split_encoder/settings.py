"""The settings of An Information Theoretic Perspective on Disentangled Representation Learning, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.nets import Split
from hackle.papers.locatello2019.settings import settings as locatello_settings
from hackle.studies.presets import Preset, check, either

WEIGHTS: dict[str, float | None] = {"vae": None, "factor-vae": 35.0, "beta-vae": 4.0}
DATASETS = ("dsprites", "cars3d")


def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """The split encoder. The paper gives no training settings; Locatello et al.'s stand in, with γ = 35 and β = 4."""
    check("split-encoder", "method", method, WEIGHTS)
    check("split-encoder", "data set", dataset, DATASETS)
    return replace(locatello_settings(method, dataset, either(strength, WEIGHTS[method])), architecture=Split())


PRESET = Preset("split-encoder", settings)
