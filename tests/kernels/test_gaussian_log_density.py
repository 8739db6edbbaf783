"""The Gaussian log density for training against PyTorch's multivariate normal in float64; on CUDA the kernels."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal
from torch.func import vmap

from hackle.core.gaussian import covariance
from hackle.kernels import gaussian_log_density

CORRELATIONS = (0.0, 0.5, -0.01, 0.9)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def exact(values: Tensor, z: Tensor, correlation: Tensor) -> Tensor:
    means, logvars = values[..., : z.shape[-1]], values[..., z.shape[-1] : 2 * z.shape[-1]]
    found = [
        MultivariateNormal(mean, covariance(logvar, sigma)).log_prob(value)
        for mean, logvar, value, sigma in zip(means, logvars, z, correlation, strict=True)
    ]
    return torch.stack(found)


def density(values: Tensor, z: Tensor, correlation: Tensor) -> Tensor:
    """Means and logvars are columns of a wider table, as a network gives them."""
    means, logvars, _ = values.split([z.shape[-1], z.shape[-1], values.shape[-1] - 2 * z.shape[-1]], dim=-1)
    return gaussian_log_density(z, means, logvars, correlation)


def given(models: int, batch: int, latents: int) -> tuple[Tensor, Tensor, Tensor]:
    values = random(models, batch, 2 * latents + 3)
    return values, random(models, batch, latents, seed=1), torch.tensor(CORRELATIONS[:models], dtype=torch.float64)


def test_it_is_the_log_density() -> None:
    values = given(4, 5, 3)
    torch.testing.assert_close(vmap(density)(*values), exact(*values), rtol=1e-10, atol=1e-10)
    means, logvars, _ = values[0][0].split(3, dim=-1)
    plain = gaussian_log_density(values[1][0], means, logvars, 0.0)
    torch.testing.assert_close(plain, exact(*values)[0], rtol=1e-10, atol=1e-10)


@pytest.mark.gpu
@pytest.mark.parametrize(("batch", "latents"), [(64, 10), (1, 2), (70, 17), (5, 1)])
def test_kernels_and_their_gradients(batch: int, latents: int) -> None:
    values, z, correlation = given(4, batch, latents)
    wanted = values.clone().requires_grad_()
    expected = exact(wanted, z, correlation)
    signal = random(*expected.shape, seed=2)
    (reference,) = torch.autograd.grad(expected, wanted, signal)
    inputs = [value.to("cuda", torch.float32) for value in (values, z, correlation)]
    inputs[0].requires_grad_()
    found = vmap(density)(*inputs)
    (gradient,) = torch.autograd.grad(found, inputs[0], signal.to("cuda", torch.float32))
    torch.testing.assert_close(found.cpu().double(), expected.detach(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient.cpu().double(), reference, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        assert torch.equal(density(*(value[2] for value in inputs)), found[2])
