"""InfoVAE (Zhao, Song & Ermon 2019) and WAE-MMD (Tolstikhin et al. 2018): the aggregate posterior is held to the prior
by the maximum mean discrepancy (MMD).

    InfoVAE   reconstruction error + (1 − α) KL(q(z|x) ‖ p(z)) + (α + λ − 1) MMD²(q(z), p(z))
    WAE-MMD   reconstruction error + λ MMD²(q(z), p(z)),    z = μ(x) without noise

α = 0, λ = 1 is the VAE; α = 1 has no KL at all and is called MMD-VAE. The discrepancy of the batch's z from as many
draws z' of the prior is

    MMD² = Σ_{i≠j} [k(z_i, z_j) + k(z'_i, z'_j)] / (b (b − 1)) − 2 Σ_ij k(z_i, z'_j) / b²,
    k(x, y) = Σ_s C_s / (C_s + ‖x − y‖²),   C_s = 2 l s,   s = 0.1, 0.2, 0.5, 1, 2, 5, 10:

inverse multiquadratic kernels, whose tails still pull on outliers, with the scales of Tolstikhin et al.'s code for
a prior of unit variance. The estimate is unbiased, so it is negative about half of the time where q(z) = p(z). Only
the first two sums leave out their diagonals, hence the discrepancy of a sample from itself is below 0.

Weights are for errors summed over pixels. Tolstikhin et al. weigh the squared error by 0.05 where hackle's Gaussian
likelihood weighs it by ½: their λ = 10 for MNIST is 100 here. With a Bernoulli likelihood no λ is standard; the
default 100 is in the middle of 10, 100, 1,000. Tolstikhin et al. pretrain the encoder of their larger models to match
the prior's moments, which is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hackle.core.field_checks import check_fields
from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives.density_ratio import prior_draws
from hackle.objectives.vae import (
    Autoencoder,
    DeterministicAutoencoder,
    Evidence,
    autoencoder_phase,
    evidence_phase,
    negative_log_likelihood,
)

SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The scales s of the kernel, relative to the expected squared distance 2 l of two draws of the prior."""


def kernel(first: Tensor, second: Tensor) -> Tensor:
    """k(x, y) of each of n points (n, l) and each of k others (k, l): (n, k)."""
    distances = (first.unsqueeze(1) - second.unsqueeze(0)).square().sum(-1)
    scales = [2 * first.shape[-1] * scale for scale in SCALES]
    return torch.stack([scale / (scale + distances) for scale in scales]).sum(0)


def maximum_mean_discrepancy(z: Tensor, prior: Tensor) -> Tensor:
    """MMD² of two samples (b, l) of the same size, unbiased.

    >>> z = torch.tensor([[0.0], [1.0]])
    >>> maximum_mean_discrepancy(z, z).item() < 0
    True
    """
    size = len(z)
    # The kernel of a point and itself is the number of scales.
    within = sum(kernel(points, points).sum() - size * len(SCALES) for points in (z, prior))
    return within / (size * (size - 1)) - 2 * kernel(z, prior).mean()


def _info_loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    discrepancy = maximum_mean_discrepancy(elbo.z, step.noise["prior"])
    weights = 1 - run.method.alpha, run.method.alpha + run.method.discrepancy - 1
    total = elbo.reconstruction + weights[0] * elbo.kl + weights[1] * discrepancy
    return Losses(total, {**elbo.terms, "mmd": discrepancy})


def _wasserstein_loss(nets: Nets, step: Step, run: Any) -> Losses:
    z, _ = nets("encoder", step.images)
    reconstruction = negative_log_likelihood(nets("decoder", z), step.images, run.likelihood).mean()
    discrepancy = maximum_mean_discrepancy(z, step.noise["prior"])
    total = reconstruction + run.method.discrepancy * discrepancy
    return Losses(total, {"reconstruction": reconstruction, "mmd": discrepancy})


def _check_batch(run: Run) -> None:
    if run.batch_size < 2:
        raise RunError(
            f"batch_size is {run.batch_size}; the discrepancy of {type(run.method).__name__} compares the images of a batch "
            "with each other: expected 2 or more, and 64 for an estimate that is not all noise"
        )


@dataclass(frozen=True)
class InfoVAE(Autoencoder):
    """InfoVAE. `discrepancy` is λ and `alpha` α: the KL weighs 1 − α and the discrepancy α + λ − 1."""

    name, title, symbol = "info-vae", "InfoVAE", "λ"

    discrepancy: float = 100.0
    """Weight λ; the squared discrepancy weighs α + λ − 1, so that 1 with α = 0 is the plain VAE."""
    alpha: float = 0.0
    """α: the KL weighs 1 − α; 1 is MMD-VAE, below 0 the KL weighs more than the VAE's."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.alpha > 1:
            raise RunError(f"alpha of InfoVAE is {self.alpha}; expected at most 1: the KL weighs 1 − alpha")
        if self.alpha + self.discrepancy < 1:
            raise RunError(
                f"discrepancy of InfoVAE is {self.discrepancy} and alpha {self.alpha}; expected a sum of 1 or more: with "
                "less, the aggregate posterior would be pushed away from the prior"
            )

    def phases(self, run: Run) -> tuple[Phase, ...]:
        _check_batch(run)
        return (evidence_phase(_info_loss, run, prior_draws(run)),)


@dataclass(frozen=True)
class WAEMMD(DeterministicAutoencoder):
    """WAE-MMD. `discrepancy` is λ, the weight of the squared discrepancy of the codes from the prior."""

    name, title, symbol = "wae-mmd", "WAE-MMD", "λ"

    discrepancy: float = 100.0
    """Weight λ of the squared discrepancy; 0 only reconstructs."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        _check_batch(run)
        return (replace(autoencoder_phase(_wasserstein_loss, run), draws=prior_draws(run)),)
