"""The settings of An Information Theoretic Perspective on Disentangled Representation Learning, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.nets import Split
from hackle.papers.locatello2019.settings import settings as locatello_settings
from hackle.studies.presets import either, preset_of

WEIGHTS: dict[str, float | None] = {"vae": None, "factor-vae": 35.0, "beta-vae": 4.0}
DATASETS = ("dsprites", "cars3d")


@preset_of("split-encoder", WEIGHTS, DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """The split encoder. The paper gives no training settings; Locatello et al.'s stand in, with γ = 35 and β = 4."""
    return replace(locatello_settings(method, dataset, either(strength, WEIGHTS[method])), architecture=Split())
