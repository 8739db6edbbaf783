"""DIP-VAE's two penalties and their gradients against NumPy-like covariances in float64, alone and mapped over models."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from hackle.kernels import covariance_deviations

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
CORRELATIONS = [0.0, 0.3, 0.8]


def batch(size: int, latents: int, device: str) -> tuple[Tensor, Tensor]:
    """Means and logvars of three models, (m, b, l), with averages far from 0."""
    generator = torch.Generator().manual_seed(size + latents)
    means, logvars = torch.randn(2, 3, size, latents, generator=generator).to(device).unbind()
    return (means + 3).requires_grad_(), (logvars - 1).requires_grad_()


def exact(means: Tensor, logvars: Tensor | None, correlation: float) -> list[Tensor]:
    """One model's penalties, entry by entry."""
    latents = means.shape[1]
    matrix = torch.cov(means.T, correction=0).reshape(latents, latents)
    off_diagonal, diagonal = means.new_zeros(()), means.new_zeros(())
    for i in range(latents):
        for j in range(latents):
            entry = matrix[i, j]
            if logvars is not None:
                entry = entry + (0.5 * (logvars[:, i] + logvars[:, j])).exp().mean() * (1 if i == j else correlation)
            if i == j:
                diagonal = diagonal + (entry - 1) ** 2
            else:
                off_diagonal = off_diagonal + entry**2
    return [off_diagonal, diagonal]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("size", "latents"), [(1, 1), (7, 3), (64, 10), (100, 17)])
def test_penalties_and_gradients(device: str, within: bool, size: int, latents: int) -> None:
    given = batch(size, latents, device)[: 1 + within]
    correlations = torch.tensor(CORRELATIONS, device=device)
    if within:
        found = vmap(covariance_deviations)(given[0], given[1], correlations)
    else:
        found = vmap(covariance_deviations)(given[0])
    doubles = [value.detach().double().requires_grad_() for value in given]
    alone = [
        exact(doubles[0][row], doubles[1][row] if within else None, correlation)
        for row, correlation in enumerate(CORRELATIONS)
    ]
    expected = [torch.stack(values) for values in zip(*alone, strict=True)]
    pulls = torch.tensor([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]], device=device)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-6)
    gradients, exact_gradients = (
        torch.autograd.grad((values[0] * pulls[0]).sum() + (values[1] * pulls[1]).sum(), inputs)
        for values, inputs in ((found, given), (expected, doubles))
    )
    for one, other in zip(gradients, exact_gradients, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-5 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_alone_is_the_same_as_in_a_stack(device: str) -> None:
    means, logvars = batch(64, 10, device)
    found = vmap(covariance_deviations)(means, logvars, torch.tensor(CORRELATIONS, device=device))
    alone = covariance_deviations(means[2], logvars[2], torch.tensor(CORRELATIONS[2], device=device))
    by_number = covariance_deviations(means[2], logvars[2], CORRELATIONS[2])
    # The kernel runs through the batch in the same order whatever is stacked beside it; PyTorch promises no order.
    rtol = 0.0 if device == "cuda" else 1e-5
    for one, number, other in zip(alone, by_number, found, strict=True):
        torch.testing.assert_close(one, other[2], rtol=rtol, atol=0.0)
        torch.testing.assert_close(number, one)


@pytest.mark.parametrize("device", DEVICES)
def test_one_penalty_alone_has_its_gradient(device: str) -> None:
    means = batch(20, 4, device)[0].detach()[0].requires_grad_()
    both = [torch.autograd.grad(covariance_deviations(means)[which], means)[0] for which in range(2)]
    (together,) = torch.autograd.grad(sum(covariance_deviations(means)), means)  # type: ignore[arg-type]
    torch.testing.assert_close(both[0] + both[1], together, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(both[0], both[1])
