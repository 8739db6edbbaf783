"""The Bernoulli error and its gradient against the textbook formula in float64, alone and mapped over models."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from hackle.kernels import bernoulli_error, unit_interval

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def exact(logits: Tensor, images: Tensor) -> Tensor:
    p = torch.sigmoid(logits.double())
    x = images.double()
    return -(x * p.log() + (1 - x) * (1 - p).log()).flatten(-3).sum(-1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(64, 64, 1), (28, 28, 1), (16, 16, 3)])
def test_errors_and_gradients(device: str, shape: tuple[int, int, int]) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(3, 5, *shape, generator=generator)).to(device).requires_grad_()
    images = torch.rand(3, 5, *shape, generator=generator).to(device)
    weights = torch.randn(3, 5, generator=generator).to(device)
    found = vmap(bernoulli_error)(logits, images)
    torch.testing.assert_close(found.double(), exact(logits, images), rtol=1e-5, atol=1e-4)
    (gradient,) = torch.autograd.grad((found * weights).sum(), [logits])
    expected = weights[:, :, None, None, None] * (torch.sigmoid(logits.double()) - images)
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-4, atol=1e-6)
    # The kernel sums an image's pixels in the same order whatever is stacked beside it; PyTorch promises no order.
    alone = bernoulli_error(logits[1], images[1])
    torch.testing.assert_close(alone, found[1], rtol=0 if device == "cuda" else 1e-6, atol=0)


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_logits_are_summed_in_float32(device: str) -> None:
    logits = torch.randn(4, 64, 64, 1, generator=torch.Generator().manual_seed(0)).to(device, torch.bfloat16)
    images = (logits > 0).float()
    found = bernoulli_error(logits.requires_grad_(), images)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), exact(logits, images), rtol=1e-5, atol=1e-3)
    (gradient,) = torch.autograd.grad(found.sum(), [logits])
    assert gradient.dtype == torch.bfloat16
    torch.testing.assert_close(gradient.double(), torch.sigmoid(logits.double()) - images, rtol=4e-3, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_extreme_logits_stay_finite(device: str) -> None:
    logits = torch.tensor([-1e4, 1e4, 0.0, 88.0], device=device).reshape(4, 1, 1, 1).requires_grad_()
    found = bernoulli_error(logits, torch.zeros(4, 1, 1, 1, device=device))
    assert found.tolist() == pytest.approx([0.0, 1e4, 0.6931472, 88.0])
    (gradient,) = torch.autograd.grad(found.sum(), [logits])
    assert gradient.flatten().tolist() == pytest.approx([0.0, 1.0, 0.5, 1.0])


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_are_read_as_numbers_from_0_to_1(device: str) -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (3, 16, 16, 3), generator=generator, dtype=torch.uint8).to(device)
    logits = torch.randn(3, 16, 16, 3, generator=generator).to(device).requires_grad_()
    found, expected = bernoulli_error(logits, images), bernoulli_error(logits, images / 255)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    gradients = [torch.autograd.grad(error.sum(), [logits])[0] for error in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
def test_rounding_bytes_rounds_once(device: str) -> None:
    images = torch.arange(256, dtype=torch.uint8).to(device)
    exact = images.double() / 255
    # CUDA multiplies by 1/255 or divides approximately: an error of a unit or two in the last place of float32.
    torch.testing.assert_close(unit_interval(images).double(), exact, rtol=2e-7 if device == "cuda" else 6e-8, atol=0)
    assert torch.equal(unit_interval(images, torch.bfloat16), exact.to(torch.bfloat16))
    assert torch.equal(unit_interval(images, torch.float64), exact)
    mapped = vmap(lambda row: unit_interval(row, torch.bfloat16))(images.repeat(20, 5)[:, 5:].reshape(20, 5, 255))
    assert torch.equal(mapped, exact.to(torch.bfloat16).repeat(20, 5)[:, 5:].reshape(20, 5, 255))
    numbers = torch.rand(7, generator=torch.Generator().manual_seed(0)).to(device)
    assert torch.equal(unit_interval(numbers), numbers)
