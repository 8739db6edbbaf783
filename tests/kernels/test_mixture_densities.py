"""Mixtures of a batch's posteriors, and their gradients, against PyTorch's distributions in float64, alone and mapped."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, Normal
from torch.func import vmap

from hackle.core.gaussian import covariance
from hackle.kernels import mixture_densities

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
WEIGHTS = {
    "equal": (-math.log(64), -math.log(64)),
    "stratified": (-math.log(1000), math.log(999 / 1000 / 63)),
    "own alone": (0.0, -math.inf),
}


def batch(models: int, size: int, latents: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Samples with the means and logvars of the posteriors that they come from, (m, b, l)."""
    generator = torch.Generator().manual_seed(size)
    means, logvars, noise = torch.randn(3, models, size, latents, generator=generator).unbind()
    means, logvars = 2 * means, logvars - 1
    z = means + (0.5 * logvars).exp() * noise
    z, means, logvars = (value.to(device).requires_grad_() for value in (z, means, logvars))
    return z, means, logvars


def exact(z: Tensor, means: Tensor, logvars: Tensor, correlation: float, own: float, others: float) -> list[Tensor]:
    """One model's densities by PyTorch's distributions."""
    joint = MultivariateNormal(means, covariance(logvars, correlation)).log_prob(z[:, None])
    each = Normal(means, (0.5 * logvars).exp()).log_prob(z[:, None])
    diagonal = torch.eye(len(z), dtype=torch.bool, device=z.device)
    weights = torch.full(joint.shape, others, dtype=z.dtype, device=z.device).masked_fill(diagonal, own)
    return [joint.diagonal(), (joint + weights).logsumexp(1), (each + weights[..., None]).logsumexp(1)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("size", "latents"), [(1, 1), (7, 3), (64, 10), (100, 15), (33, 16), (150, 31)])
def test_densities_and_gradients(device: str, weights: str, size: int, latents: int) -> None:
    own, others = WEIGHTS[weights]
    correlations = [0.0, 0.3, 0.8]
    given = batch(3, size, latents, device)
    stacked = torch.tensor(correlations, device=device)
    found = vmap(lambda z, mu, s, c: mixture_densities(z, mu, s, c, own, others))(*given, stacked)
    doubles = [value.detach().double().requires_grad_() for value in given]
    alone = [
        exact(z, means, logvars, correlation, own, others)
        for z, means, logvars, correlation in zip(*doubles, correlations, strict=True)
    ]
    expected = [torch.stack(values) for values in zip(*alone, strict=True)]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-4)
    generator = torch.Generator().manual_seed(0)
    pulls = [torch.randn(value.shape, generator=generator).to(device) for value in expected]
    gradients, exact_gradients = (
        torch.autograd.grad(sum((value * pull).sum() for value, pull in zip(values, pulls, strict=True)), inputs)  # type: ignore[arg-type]
        for values, inputs in ((found, given), (expected, doubles))
    )
    for one, other in zip(gradients, exact_gradients, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-5 * other.abs().max().item())


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_alone_is_the_same_as_in_a_stack(device: str) -> None:
    given = batch(4, 64, 10, device)
    correlations = torch.tensor([0.0, 0.2, 0.4, 0.6], device=device)
    weights = WEIGHTS["stratified"]
    found = vmap(lambda z, mu, s, c: mixture_densities(z, mu, s, c, *weights))(*given, correlations)
    gradients = torch.autograd.grad(sum(value.sum() for value in found), given)  # type: ignore[arg-type]
    single = [value[2].detach().requires_grad_() for value in given]
    alone = mixture_densities(single[0], single[1], single[2], correlations[2], *weights)
    of_alone = torch.autograd.grad(sum(value.sum() for value in alone), single)  # type: ignore[arg-type]
    # The kernel runs through the batch in the same order whatever is stacked beside it; PyTorch promises no order.
    rtol, atol = (0.0, 0.0) if device == "cuda" else (1e-5, 1e-5)
    for one, other in zip((*alone, *of_alone), (*found, *gradients), strict=True):
        torch.testing.assert_close(one, other[2], rtol=rtol, atol=atol)


@pytest.mark.parametrize("device", DEVICES)
def test_far_samples_and_broken_models(device: str) -> None:
    """Posteriors that never meet have densities that underflow; a model that is not finite must show it, and alone."""
    means = (1e4 * torch.arange(5.0, device=device))[:, None].expand(2, 5, 2).clone()
    logvars, correlations = torch.zeros_like(means), torch.zeros(2, device=device)
    z = means.clone()
    z[1, 3, 0] = math.nan
    conditional, joint, marginals = vmap(lambda z, mu, s, c: mixture_densities(z, mu, s, c, 0.0, 0.0))(
        z, means, logvars, correlations
    )
    density = -math.log(2 * math.pi)
    torch.testing.assert_close(conditional[0], torch.full_like(conditional[0], density))
    torch.testing.assert_close(joint[0], torch.full_like(joint[0], density))
    torch.testing.assert_close(marginals[0], torch.full_like(marginals[0], density / 2))
    assert joint[1].isnan().tolist() == [False, False, False, True, False]
    assert marginals[1].isnan().sum() == 1


@pytest.mark.parametrize("device", DEVICES)
def test_a_number_does_for_the_correlation(device: str) -> None:
    z, means, logvars = (value[0].detach() for value in batch(1, 6, 4, device))
    for one, other in zip(
        mixture_densities(z, means, logvars, 0.5, -1.0, -2.0),
        mixture_densities(z, means, logvars, torch.tensor(0.5, device=device), -1.0, -2.0),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
