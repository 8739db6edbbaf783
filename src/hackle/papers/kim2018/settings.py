"""The settings of Kim & Mnih 2018, appendices A and H."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hackle.core.types import Adam, Run
from hackle.nets import Adversarial, Convolutional
from hackle.objectives.infogan import GAN_OPTIMISER
from hackle.studies.presets import either, method_at, preset_of


@dataclass(frozen=True)
class _Data:
    """What depends on the data set in Kim & Mnih's appendix A, and the weights of their best models."""

    hidden: int
    latents: int
    steps: int
    discriminator_rate: float
    beta: float
    gamma: float


_DATA = {
    "dsprites": _Data(128, 10, 300_000, 1e-4, beta=4, gamma=35),
    "shapes3d": _Data(256, 6, 500_000, 1e-5, beta=32, gamma=7),
    "faces3d": _Data(256, 10, 1_000_000, 1e-4, beta=4, gamma=35),
    "chairs3d": _Data(256, 10, 1_000_000, 1e-5, beta=4, gamma=35),
    "celeba": _Data(256, 10, 1_000_000, 1e-5, beta=4, gamma=35),
}

BOUNDS = {
    "dsprites": {"vae": (1.0, -43.3), "beta-vae": (4.0, -46.1), "factor-vae": (35.0, -51.9)},
    "shapes3d": {"vae": (1.0, -3517.0), "beta-vae": (32.0, -3534.0), "factor-vae": (6.0, -3520.0)},
}
"""The weights of which appendix E gives the importance-weighted bound on the log-likelihood, and that bound in nats."""
STAND_IN = {"shapes3d": "rooms3d"}
"""What counts for a data set of which there are no runs."""
BATCH_BETAS = (1, 5, 9)
"""The β at which Figure 18 shows the total correlation that a batch estimates."""
_AUTOENCODERS = ("vae", "beta-vae", "factor-vae", "factor-vae-prior", "adversarial-autoencoder")
_GANS = ("infogan", "infowgan-gp")


@preset_of("kim2018", (*_AUTOENCODERS, *_GANS), _DATA, dict.fromkeys(_GANS, ("dsprites", "mnist")))
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Kim & Mnih 2018.

    Weights are those of their best models on 2D Shapes (dsprites: β = 4, γ = 35) and 3D Shapes (shapes3d: β = 32, γ = 7). The
    other data sets get those of 2D Shapes, the adversarial autoencoder γ = 1 (Eq. 7), for which the paper names none. For 3D
    Shapes section 6 says a million iterations, appendix A half as many; the appendix is followed, and 6 latents (Table 2).
    InfoGANs: steps and batch size are not given; on MNIST 50,000 steps, on 2D Shapes as many as the others, batches of 64. λ is
    1 on MNIST (Figure 32) and on 2D Shapes 0.2, that of the best InfoWGAN-GP (Figure 9), which serves InfoGAN too.
    """
    if method in _GANS:
        return _gan(method, dataset, strength)
    data = _DATA[dataset]
    fields: dict[str, Any] = {}
    default: float | None = None
    if method in ("factor-vae", "factor-vae-prior", "adversarial-autoencoder"):
        fields["discriminator_optimiser"] = Adam(learning_rate=data.discriminator_rate, beta1=0.5, beta2=0.9)
        default = 1.0 if method == "adversarial-autoencoder" else data.gamma
    elif method == "beta-vae":
        default = data.beta
    return Run(
        method=method_at(method, either(strength, default), **fields),
        architecture=Convolutional(hidden=data.hidden),
        dataset=dataset,
        steps=data.steps,
        latents=data.latents,
    )


def _gan(method: str, dataset: str, strength: float | None) -> Run:
    if dataset == "mnist":
        record = method_at(method, either(strength, 1.0), categories=(10,), noise=62)
        architecture = Adversarial(channels=(64, 128), hidden=1024, leaky_generator=False)
        latents, steps = 2, 50_000
    else:
        record = method_at(method, either(strength, 0.2), categories=(3,), noise=5)
        architecture, latents, steps = Adversarial(), 4, 300_000
    return Run(
        method=record, architecture=architecture, dataset=dataset, steps=steps, latents=latents, optimiser=GAN_OPTIMISER
    )
