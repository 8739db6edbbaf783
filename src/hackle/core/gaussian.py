"""Gaussian posteriors q(z|x), factorised or correlated, against the prior N(0, I).

A posterior has `means` and `logvars` of shape (…, l) and a correlation σ: its covariance is diag(s) Σ diag(s) with
s = exp(logvars / 2) and Σ = (1 − σ) I + σ 11ᵀ (Yang et al. 2020, Eq. 11 and 12). σ = 0 is the factorised posterior, and
then every function here returns exactly what it would without Σ.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

Scalar = float | Tensor

NOISELESS = -20.0
"""The logvar that stands for no noise where an encoder is deterministic: its density is still finite."""


def correlate(noise: Tensor, correlation: Scalar) -> Tensor:
    """Turn independent standard normals (…, l) into N(0, Σ), by Σ's symmetric square root.

    Σ has eigenvalue 1 − σ + lσ along the vector of ones and 1 − σ across it, so its root scales those two parts.
    """
    latents = noise.shape[-1]
    correlation = torch.as_tensor(correlation, dtype=noise.dtype, device=noise.device)
    across = torch.sqrt(1 - correlation)
    along = torch.sqrt(1 - correlation + latents * correlation)
    return across * noise + (along - across) * noise.mean(-1, keepdim=True)


def reparameterise(means: Tensor, logvars: Tensor, noise: Tensor, correlation: Scalar = 0.0) -> Tensor:
    """A sample of the posterior, differentiable in its parameters (Yang et al., Eq. 9 and 12)."""
    return means + torch.exp(0.5 * logvars) * correlate(noise, correlation)


def covariance(logvars: Tensor, correlation: Scalar = 0.0) -> Tensor:
    """diag(s) Σ diag(s), shape (…, l, l)."""
    deviations = torch.exp(0.5 * logvars)
    identity = torch.eye(logvars.shape[-1], dtype=logvars.dtype, device=logvars.device)
    return deviations.unsqueeze(-1) * (identity + correlation * (1 - identity)) * deviations.unsqueeze(-2)


def kl_per_latent(means: Tensor, logvars: Tensor) -> Tensor:
    """KL(N(mean, var) ‖ N(0, 1)) of each latent, shape (…, l).

    >>> kl_per_latent(torch.ones(10), torch.zeros(10)).sum().item()
    5.0
    """
    return 0.5 * (means.square() + logvars.exp() - logvars - 1)


def correlation_divergence(correlation: Scalar, latents: int) -> Tensor:
    """½ log(1 / det Σ): what correlation adds to the KL to the prior, and to the posterior's own total correlation.

    Since diag Σ = 1 it is a constant in means and logvars (Yang et al., appendix B); det Σ = (1 − σ)^(l−1) (1 + (l − 1)σ).
    """
    if not isinstance(correlation, Tensor):
        correlation = torch.tensor(correlation, dtype=torch.float64)
    return -0.5 * ((latents - 1) * torch.log1p(-correlation) + torch.log1p((latents - 1) * correlation))


def log_density_per_latent(z: Tensor, means: Tensor, logvars: Tensor) -> Tensor:
    """log N(z; mean, var) of each latent, shape (…, l), arguments broadcast."""
    return -0.5 * (math.log(2 * math.pi) + logvars + (z - means).square() * torch.exp(-logvars))


def log_densities(z: Tensor, means: Tensor, logvars: Tensor, correlation: Scalar = 0.0) -> tuple[Tensor, Tensor]:
    """log q(z|x) of the whole vector, shape (…), and of each latent alone, shape (…, l); arguments broadcast.

    With u = (z − mean)/s the exponent is uᵀ Σ⁻¹ u, and by the two eigenvalues of Σ
    uᵀ Σ⁻¹ u = ‖u‖² / (1 − σ) + l ū² (1 / (1 − σ + lσ) − 1 / (1 − σ)).
    """
    latents = z.shape[-1]
    u = (z - means) * torch.exp(-0.5 * logvars)
    squares = u.square()
    each = -0.5 * (squares + (logvars + math.log(2 * math.pi)))
    if isinstance(correlation, float) and correlation == 0.0:
        return each.sum(-1), each
    correlation = torch.as_tensor(correlation, dtype=z.dtype, device=z.device)
    across, along = 1 / (1 - correlation), 1 / (1 - correlation + latents * correlation)
    excess = (across - 1) * squares.sum(-1) + latents * (along - across) * u.mean(-1).square()
    return each.sum(-1) - 0.5 * excess + correlation_divergence(correlation, latents), each


def log_density(z: Tensor, means: Tensor, logvars: Tensor, correlation: Scalar = 0.0) -> Tensor:
    """log q(z|x) of the whole vector, shape (…)."""
    return log_densities(z, means, logvars, correlation)[0]
