"""The stacked fully connected layer: PyTorch's own for each model, twice differentiable, gradients in the weight's order."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.nn.functional as F
from torch.func import vmap

from hackle.kernels import linear

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("slope", [0.0, 0.2])
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"), [(5, 7, 3), (64, 10, 256), (1, 4, 1), (70, 33, 130), (300, 16, 1000)]
)
def test_leaky_relu_with_the_layer(device: str, slope: float, rows: int, inputs: int, outputs: int) -> None:
    shapes = ((2, rows, inputs), (2, outputs, inputs), (2, outputs))
    doubles = [random(*shape).detach().to(device).requires_grad_() for shape in shapes]
    singles = [value.detach().float().requires_grad_() for value in doubles]
    found = vmap(lambda x, w, b: linear(x, w, b, slope))(*singles)
    expected = F.leaky_relu(doubles[0] @ doubles[1].mT + doubles[2][:, None], slope)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)
    pull = random(2, rows, outputs).detach().to(device)
    # Where rounding moves a value across zero the gradient may go either way.
    pull = torch.where(expected.abs() > 1e-4, pull, 0.0)
    gradients = torch.autograd.grad((found * pull).sum(), singles)
    for one, other in zip(gradients, torch.autograd.grad((expected * pull).sum(), doubles), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4 * max(1.0, other.abs().max().item()))
        assert one.is_contiguous()
    alone = linear(*(value[1] for value in singles), slope=slope)  # type: ignore[misc]
    torch.testing.assert_close(alone, found[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_layers_answer_in_bfloat16_and_take_views(device: str) -> None:
    generator = torch.Generator().manual_seed(0)
    row = torch.randn(3, 500, generator=generator).to(device, torch.bfloat16)
    weight, bias = row[:, :320].unflatten(1, (20, 16)), row[:, 352:372]
    weight, bias = weight.detach().requires_grad_(), bias.detach().requires_grad_()
    values = torch.randn(3, 9, 16, generator=generator).to(device, torch.bfloat16).requires_grad_()
    found = vmap(lambda x, w, b: linear(x, w, b, 0.0))(values, weight, bias)
    before = values.double() @ weight.double().mT + bias.double()[:, None]
    torch.testing.assert_close(found.double(), before.relu(), rtol=2**-7, atol=0.05)
    gradients = torch.autograd.grad(found.sum(), (values, weight, bias))
    passed = (found > 0).double()
    exact = passed @ weight.double(), passed.mT @ values.double(), passed.sum(1)
    for one, other in zip(gradients, exact, strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one.double(), other, rtol=2**-7, atol=0.02)


def test_off_cuda_the_bent_layer_can_be_differentiated_twice() -> None:
    arguments = random(2, 3, 4), random(2, 5, 4), random(2, 5)
    assert torch.autograd.gradgradcheck(vmap(lambda x, w, b: linear(x, w, b, 0.2)), arguments)


def test_large_products_on_a_cpu_and_their_gradients_are_those_of_float64() -> None:
    """The library that multiplies large matrices in float32 has no gradient of its own."""
    generator = torch.Generator().manual_seed(4)
    x, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((64, 300), (300, 300), (300,)))
    assert x.numel() * len(weight) >= sys.modules["hackle.kernels.product"]._LARGE

    def found(dtype: torch.dtype) -> list[torch.Tensor]:
        given = tuple(value.to(dtype).requires_grad_() for value in (x, weight, bias))
        values, filters, added = given
        output = linear(values, filters, added)
        once = torch.autograd.grad(output.square().mean(), given)
        again = torch.autograd.grad(linear(values, filters, added).square().mean(), given, create_graph=True)
        twice = torch.autograd.grad(again[0].square().sum(), given)
        return [value.detach() for value in (output, *once, *again, *twice)]

    for mine, exact in zip(found(torch.float32), found(torch.float64), strict=True):
        torch.testing.assert_close(mine.double(), exact, rtol=1e-4, atol=1e-5 * exact.abs().max().item())
