"""Products in blocks: those of each block and model by themselves, twice differentiable, of tensors that lie apart."""

from __future__ import annotations

import pytest
import torch
from torch.func import vmap

from hackle.kernels import products

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape))
    ).requires_grad_()


@pytest.mark.parametrize("models", [1, 3, 7])
def test_each_block_of_each_model_is_multiplied_by_its_own(models: int) -> None:
    first, second = random(models, 4, 5, 6), random(models, 4, 6, 2)
    found = vmap(products)(first, second)
    expected = torch.einsum("mjpq,mjqr->mjpr", first, second)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(products(first[0], second[0]), expected[0])
    of_found, of_expected = (torch.autograd.grad(y.square().sum(), (first, second)) for y in (found, expected))
    torch.testing.assert_close(of_found, of_expected)


@pytest.mark.parametrize("models", [2, 5])
def test_gradients_and_their_gradients(models: int) -> None:
    arguments = random(models, 3, 2, 4), random(models, 3, 4, 2)
    assert torch.autograd.gradcheck(vmap(products), arguments)
    assert torch.autograd.gradgradcheck(vmap(products), arguments)


@pytest.mark.parametrize("device", DEVICES)
def test_weights_are_taken_from_rows_and_values_from_maps_as_they_lie(device: str) -> None:
    """As a fleet has them: models' rows hold other parameters, too, and a latent's features lie between those of others. The
    weights' gradient is contiguous, as the optimiser reads it."""
    rows, maps = random(12, 500).detach().to(device), random(12, 9, 3, 10).detach().to(device)
    weight = rows[:, 40:340].unflatten(1, (3, 10, 10)).requires_grad_()
    values = maps.requires_grad_()
    found = vmap(lambda x, w: products(x.transpose(0, 1), w))(values, weight)
    expected = torch.einsum("mbji,mjio->mjbo", values, weight)
    torch.testing.assert_close(found, expected)
    of_found, of_expected = (torch.autograd.grad(y.square().sum(), (values, weight)) for y in (found, expected))
    torch.testing.assert_close(of_found, of_expected)
    assert of_found[1].is_contiguous()
