"""The settings of Yang et al. 2020, section 5."""

from __future__ import annotations

from dataclasses import replace

from hackle.core.types import Run
from hackle.papers.kim2018.settings import settings as kim_settings
from hackle.papers.locatello2019.settings import settings as locatello_settings
from hackle.studies.presets import either, method_at, preset_of

WEIGHTS: dict[str, float | None] = {"vae": None, "factor-vae": 35.0, "beta-tcvae": 6.0}
"""Of each autoencoder."""
METHODS = (*WEIGHTS, "infogan")
DATASETS, GAN_DATASETS = ("dsprites", "smallnorb", "cars3d"), ("mnist",)
CORRELATIONS = (0.0, 0.9)
LATENTS = (10, 20)


@preset_of("yang2020", METHODS, DATASETS, {"infogan": GAN_DATASETS})
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Yang et al. 2020: the settings of Locatello et al. with γ = 35 and β = 6; InfoGAN on MNIST with λ = 0.1.

    They compare correlation 0, set here, with 0.9, and 10 latents with 20. Correlation changes nothing but the noise, so
    β-TCVAE's estimate keeps factorised densities. InfoGAN's networks, optimisers, steps and codes are not given
    beyond "2 factors"; they are Kim & Mnih's, with two continuous codes. λ weighs the categorical code's information, too.
    """
    if method == "infogan":
        return kim_settings("infogan", "mnist", either(strength, 0.1))
    fields = {"density": "factorised"} if method == "beta-tcvae" else {}
    return replace(
        locatello_settings(method, dataset), method=method_at(method, either(strength, WEIGHTS[method]), **fields)
    )
