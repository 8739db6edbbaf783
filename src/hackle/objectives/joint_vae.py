"""JointVAE (E. Dupont, *Learning Disentangled Joint Continuous and Discrete Representations*, NeurIPS 2018).

Continuous latents z and categorical ones c_1 … c_M with probabilities α_i(x), sampled by the Gumbel-softmax at temperature τ:

    y    = softmax((ln α + G) / τ),   G = −ln(−ln U)
    loss = −log p(x|z, y) + γ_z |KL(q(z|x) ‖ N(0, I)) − C_z| + γ_c |Σ_i KL(α_i ‖ uniform) − C_c|

with KL(α ‖ uniform) = ln K − H(α).
The capacities rise linearly from 0 to their maxima over the first steps, C_c at most to Σ_i ln K_i. Both KLs are means
over the batch before the absolute value. Defaults are the paper's for dSprites, whose error is summed as here; the
authors' code divides the whole loss by the number of pixels, to which Adam is blind, and takes a third of the summed
error of colour images, for which γ here is three times theirs.

The representation is the means of z, then the most probable class of each c. The run's architecture makes an encoder
with a mean and a logvar for every input of the decoder, one-hot classes included; the means of these are the logits,
and their logvars are not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.gaussian import NOISELESS
from hackle.core.method import Code
from hackle.core.types import Adam, Draw, Losses, Nets, Phase, Run, RunError, Step
from hackle.kernels import posterior_sample
from hackle.nets.sizes import check_sizes
from hackle.objectives.vae import WeightedAutoencoder, negative_log_likelihood, posterior_noise


def gumbel_softmax(log_probabilities: Tensor, uniform: Tensor, temperature: Any) -> Tensor:
    """A relaxed one-hot sample (b, K) of the classes with these log-probabilities (b, K), from uniform noise (b, K)."""
    # Noise is a multiple of 2⁻²⁴; 0 stands for what is below.
    gumbel = -torch.log(-torch.log(uniform.clamp(min=2.0**-25)))
    return torch.softmax((log_probabilities + gumbel) / temperature, dim=-1)


def categorical_kl(log_probabilities: Tensor) -> Tensor:
    """KL(α ‖ uniform) = ln K − H(α) of each row, (b,).

    >>> categorical_kl(torch.tensor([[0.7, 0.2, 0.1]]).log())
    tensor([0.2968])
    """
    negative_entropy = (log_probabilities.exp() * log_probabilities).sum(-1)
    return math.log(log_probabilities.shape[-1]) + negative_entropy


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    method = run.method
    means, logvars, logits = method.recognise(nets, run, step.images)
    z, per_latent = posterior_sample(means, logvars, step.noise["z"], run.correlation)
    classes = [F.log_softmax(one, dim=-1) for one in logits]
    samples = [
        gumbel_softmax(one, step.noise[f"uniform{position}"], method.temperature)
        for position, one in enumerate(classes)
    ]
    output = nets("decoder", torch.cat([z, *samples], dim=-1))
    reconstruction = negative_log_likelihood(output, step.images, run.likelihood).mean()
    kl = per_latent.sum()
    of_classes = sum((categorical_kl(one).mean() for one in classes), start=torch.zeros_like(kl))
    progress = (step.number.to(kl.dtype) / method.capacity_steps).clamp(max=1)
    most = sum(math.log(size) for size in method.categories)
    capacity, categorical = method.capacity * progress, (method.categorical_capacity * progress).clamp(max=most)
    total = reconstruction + method.gamma * (kl - capacity).abs()
    total = total + method.categorical_gamma * (of_classes - categorical).abs()
    terms = {"reconstruction": reconstruction, "kl": kl, "kl_per_latent": per_latent, "categorical_kl": of_classes}
    return Losses(total, {**terms, "capacity": capacity, "categorical_capacity": categorical})


@dataclass(frozen=True)
class JointVAE(WeightedAutoencoder):
    """JointVAE. The run's `latents` is the number of continuous latents; `categories` lists the classes of the others."""

    name, title, symbol = "joint-vae", "JointVAE", "γ"
    swept: ClassVar = {"gamma": 1.0, "categorical_gamma": 1.0}
    run_fields: ClassVar = {"latents": 6, "optimiser": Adam(learning_rate=5e-4)}
    # The capacities are schedules for the KL terms already.
    warms_up = False

    gamma: float = 150.0
    """Weight γ_z of the distance between the continuous latents' KL and its capacity."""
    categorical_gamma: float = 150.0
    """Weight γ_c of the distance between the categorical latents' KL and its capacity."""
    capacity: float = 40.0
    """The final capacity C_z of the continuous latents in nats."""
    categorical_capacity: float = 1.1
    """The final capacity C_c of the categorical latents in nats; at most the sum of the logarithms of their classes."""
    capacity_steps: int = 300_000
    """Steps over which the capacities grow from 0."""
    categories: tuple[int, ...] = (3,)
    """Classes of each categorical latent."""
    temperature: float = 0.67
    """Temperature τ of the Gumbel-softmax."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, {"capacity_steps": 1, "categories": 1}, may_be_empty=("categories",))
        if self.temperature <= 0:
            raise RunError(f"temperature is {self.temperature}; expected a positive number, such as 0.67")

    def _width(self, run: Run) -> int:
        """The number of inputs of the decoder."""
        return run.latents + sum(self.categories)

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return super().networks(replace(run, latents=self._width(run)), shape)

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = {
            f"uniform{position}": Draw("uniform", (run.batch_size, size))
            for position, size in enumerate(self.categories)
        }
        draws |= posterior_noise(run)
        return (Phase("autoencoder", ("encoder", "decoder"), _loss, draws, lambda run: run.optimiser),)

    def at_steps(self, steps: int, before: int) -> JointVAE:
        """The capacities grow over the same fraction of the training."""
        return replace(self, capacity_steps=max(1, round(self.capacity_steps * steps / before)))

    def recognise(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Means and logvars (b, l) of the continuous latents, and logits (b, K) of each categorical one."""
        values, logvars = nets("encoder", images)
        means, *logits = values.split([run.latents, *self.categories], dim=-1)
        return means, logvars[:, : run.latents], tuple(logits)

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        means, logvars, logits = self.recognise(nets, run, images)
        classes = [one.argmax(-1, keepdim=True).to(means.dtype) for one in logits]
        sharp = [torch.full_like(column, NOISELESS) for column in classes]
        return torch.cat([means, *classes], dim=-1), torch.cat([logvars, *sharp], dim=-1)

    def decoder_input(self, nets: Nets, run: Run, codes: Tensor) -> Tensor:
        one_hots = [
            (column.round().clamp(0, size - 1).unsqueeze(-1) == torch.arange(size, device=codes.device)).to(codes.dtype)
            for column, size in zip(codes[:, run.latents :].unbind(-1), self.categories, strict=True)
        ]
        return torch.cat([codes[:, : run.latents], *one_hots], dim=-1)

    def codes(self, run: Run) -> tuple[Code, ...]:
        return (Code(),) * run.latents + tuple(Code("categorical", size) for size in self.categories)
