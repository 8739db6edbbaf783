"""Posteriors against PyTorch's multivariate normal in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from hackle.core.gaussian import (
    NOISELESS,
    correlate,
    correlation_divergence,
    covariance,
    kl_per_latent,
    log_density,
    log_density_per_latent,
    reparameterise,
)

CORRELATIONS = [0.0, 0.3, 0.9]


def parameters(latents: int = 4, rows: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(latents)
    means = torch.randn(rows, latents, dtype=torch.float64, generator=generator)
    return means, torch.randn(rows, latents, dtype=torch.float64, generator=generator)


def posterior(means: Tensor, logvars: Tensor, correlation: float) -> MultivariateNormal:
    """Yang et al., Eq. 12, written out."""
    latents = means.shape[-1]
    deviations = torch.diag_embed((0.5 * logvars).exp())
    matrix = (1 - correlation) * torch.eye(latents, dtype=torch.float64) + correlation
    return MultivariateNormal(means, deviations @ matrix @ deviations)


def test_kl_of_each_latent() -> None:
    means, logvars = parameters()
    expected = kl_divergence(Normal(means, (0.5 * logvars).exp()), Normal(0.0, 1.0))
    torch.testing.assert_close(kl_per_latent(means, logvars), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("latents", [1, 2, 10])
def test_log_density(correlation: float, latents: int) -> None:
    means, logvars = parameters(latents)
    z = means.flip(0)
    expected = posterior(means, logvars, correlation).log_prob(z)
    for given in (correlation, torch.tensor(correlation, dtype=torch.float64)):
        torch.testing.assert_close(log_density(z, means, logvars, given), expected, rtol=1e-10, atol=1e-10)


def test_log_density_per_latent() -> None:
    means, logvars = parameters()
    z = means.flip(0)
    expected = Normal(means, (0.5 * logvars).exp()).log_prob(z)
    torch.testing.assert_close(log_density_per_latent(z, means, logvars), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_covariance(correlation: float) -> None:
    means, logvars = parameters()
    expected = posterior(means, logvars, correlation).covariance_matrix
    torch.testing.assert_close(covariance(logvars, correlation), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("correlation", [0.3, 0.9])
@pytest.mark.parametrize("latents", [2, 10, 20])
def test_correlation_adds_a_constant_to_the_kl(correlation: float, latents: int) -> None:
    """Yang et al., appendix B: the difference is ½ log(1 / det Σ), whatever the means and variances."""
    means, logvars = parameters(latents)
    prior = MultivariateNormal(torch.zeros(latents, dtype=torch.float64), torch.eye(latents, dtype=torch.float64))
    whole = kl_divergence(posterior(means, logvars, correlation), prior)
    matrix = (1 - correlation) * torch.eye(latents, dtype=torch.float64) + correlation
    constant = 0.5 * torch.log(1 / torch.linalg.det(matrix))
    torch.testing.assert_close(whole - kl_per_latent(means, logvars).sum(-1), constant.expand(len(means)))
    torch.testing.assert_close(correlation_divergence(correlation, latents), constant, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("latents", [1, 3, 10])
def test_correlate_is_a_square_root(correlation: float, latents: int) -> None:
    """The map is linear, so the covariance of its output is its matrix times its transpose: exactly Σ."""
    root = correlate(torch.eye(latents, dtype=torch.float64), correlation)
    expected = (1 - correlation) * torch.eye(latents, dtype=torch.float64) + correlation
    torch.testing.assert_close(root.T @ root, expected, rtol=1e-12, atol=1e-12)


def test_samples_have_the_posteriors_moments() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(200_000, 3, dtype=torch.float64, generator=generator)
    means = torch.tensor([1.0, -2.0, 0.0], dtype=torch.float64)
    logvars = torch.tensor([0.0, -1.0, 1.5], dtype=torch.float64)
    z = reparameterise(means, logvars, noise, 0.9)
    # The error of a sample covariance is about s_i s_j √(2 / n): 0.015 at most.
    torch.testing.assert_close(z.mean(0), means, rtol=0, atol=0.02)
    torch.testing.assert_close(torch.cov(z.T), covariance(logvars, 0.9), rtol=0, atol=0.06)


def test_no_correlation_changes_nothing_at_all() -> None:
    """Exactly: a fleet passes correlations as tensors, 0 among them."""
    means, logvars = (value.float() for value in parameters(10, 64))
    noise = means.flip(0)
    zero = torch.tensor(0.0)
    assert torch.equal(correlate(noise, zero), noise)
    assert torch.equal(reparameterise(means, logvars, noise, zero), means + torch.exp(0.5 * logvars) * noise)
    assert torch.equal(log_density(noise, means, logvars, zero), log_density(noise, means, logvars, 0.0))


def test_noiseless_posteriors_are_finite_and_sharp() -> None:
    zeros = torch.zeros(2)
    logvars = torch.full((2,), NOISELESS)
    assert torch.isfinite(log_density(zeros, zeros, logvars))
    assert torch.isfinite(kl_per_latent(zeros, logvars)).all()
    assert math.exp(0.5 * NOISELESS) < 1e-4
