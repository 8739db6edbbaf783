"""The stacked fully connected layer: PyTorch's own for each model, twice differentiable, gradients in the weight's order."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.func import vmap

from hackle.kernels import linear


def random(*shape: int) -> torch.Tensor:
    return torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape))
    ).requires_grad_()


def test_each_model_gets_its_own_layer() -> None:
    values, weight, bias = random(3, 5, 7), random(3, 4, 7), random(3, 4)
    found = vmap(linear)(values, weight, bias)
    expected = torch.stack([F.linear(*given) for given in zip(values, weight, bias, strict=True)])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(linear(values[1], weight[1], bias[1]), expected[1])
    of_found, of_expected = (torch.autograd.grad(y.square().sum(), (values, weight, bias)) for y in (found, expected))
    for one, other in zip(of_found, of_expected, strict=True):
        torch.testing.assert_close(one, other)
        assert one.is_contiguous()


def test_shared_arguments_are_repeated() -> None:
    values, weight, bias = random(5, 7), random(3, 4, 7), random(4)
    found = vmap(linear, in_dims=(None, 0, None))(values, weight, bias)
    torch.testing.assert_close(found, torch.stack([F.linear(values, each, bias) for each in weight]))


def test_gradients_and_their_gradients() -> None:
    arguments = random(2, 3, 4), random(2, 5, 4), random(2, 5)
    assert torch.autograd.gradcheck(vmap(linear), arguments)
    assert torch.autograd.gradgradcheck(vmap(linear), arguments)
