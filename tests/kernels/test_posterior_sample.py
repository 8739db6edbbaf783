"""Samples of posteriors, their KL to the prior and the gradients of both, in float64 and mapped over models."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch.func import vmap

from hackle.core.gaussian import covariance
from hackle.kernels import posterior_sample

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
CORRELATIONS = [0.0, 0.3, 0.8]


def batch(size: int, latents: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Means, logvars and noise of three models, (m, b, l)."""
    generator = torch.Generator().manual_seed(size + latents)
    means, logvars, noise = torch.randn(3, 3, size, latents, generator=generator).to(device).unbind()
    return means.clone().requires_grad_(), (logvars - 1).requires_grad_(), noise


def exact(means: Tensor, logvars: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The same by a symmetric root of each model's Σ and PyTorch's distributions."""
    roots = []
    for correlation in CORRELATIONS:
        values, vectors = torch.linalg.eigh(covariance(torch.zeros_like(means[0, 0]), correlation))
        roots.append(vectors @ values.sqrt().diag() @ vectors.T)
    posterior = Normal(means, (0.5 * logvars).exp())
    prior = Normal(torch.zeros_like(means), torch.ones_like(means))
    return means + posterior.stddev * (noise @ torch.stack(roots)), kl_divergence(posterior, prior).mean(1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("size", "latents"), [(1, 1), (7, 3), (64, 10), (100, 16), (150, 33)])
def test_samples_divergences_and_gradients(device: str, size: int, latents: int) -> None:
    means, logvars, noise = batch(size, latents, device)
    found = vmap(posterior_sample)(means, logvars, noise, torch.tensor(CORRELATIONS, device=device))
    doubles = [value.detach().double().requires_grad_() for value in (means, logvars)]
    expected = exact(doubles[0], doubles[1], noise.double())
    generator = torch.Generator().manual_seed(0)
    pulls = [torch.randn(value.shape, generator=generator).to(device) for value in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)
    gradients, exact_gradients = (
        torch.autograd.grad((values[0] * pulls[0]).sum() + (values[1] * pulls[1]).sum(), inputs)
        for values, inputs in ((found, [means, logvars]), (expected, doubles))
    )
    for one, other in zip(gradients, exact_gradients, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_alone_is_the_same_as_in_a_stack(device: str) -> None:
    means, logvars, noise = batch(64, 10, device)
    found = vmap(posterior_sample)(means, logvars, noise, torch.tensor(CORRELATIONS, device=device))
    alone = posterior_sample(means[2], logvars[2], noise[2], torch.tensor(CORRELATIONS[2], device=device))
    by_number = posterior_sample(means[2], logvars[2], noise[2], CORRELATIONS[2])
    # The kernel runs through the batch in the same order whatever is stacked beside it; PyTorch promises no order.
    rtol, atol = (0.0, 0.0) if device == "cuda" else (1e-5, 1e-6)
    for one, number, other in zip(alone, by_number, found, strict=True):
        torch.testing.assert_close(one, other[2], rtol=rtol, atol=atol)
        torch.testing.assert_close(number, one)


@pytest.mark.parametrize("device", DEVICES)
def test_views_do_for_means_and_logvars(device: str) -> None:
    """The two halves of an encoder's output, as they lie in memory."""
    both = torch.randn(3, 9, 8, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
    noise, correlation = torch.ones(3, 9, 4, device=device), torch.zeros(3, device=device)
    means, logvars = both.chunk(2, dim=-1)
    z, divergences = vmap(posterior_sample)(means, logvars, noise, correlation)
    torch.testing.assert_close(z, both[..., :4] + torch.exp(0.5 * both[..., 4:]))
    (gradient,) = torch.autograd.grad(z.sum() + 0 * divergences.sum(), both)
    expected = torch.cat([torch.ones_like(noise), 0.5 * torch.exp(0.5 * both[..., 4:])], dim=-1)
    torch.testing.assert_close(gradient, expected)
