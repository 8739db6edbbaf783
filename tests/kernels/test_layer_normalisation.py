"""Layer normalisation with its leaky ReLU against PyTorch's in float64, and on CUDA its kernels with second derivatives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, vmap

from hackle.kernels import layer_normalise
from hackle.kernels.layer_normalisation import EPSILON

SHAPES = [(64, 128), (64, 1024), (5, 7), (3, 300), (1, 2)]
# Roundings to eight bits, of the penalty at the layer's result, at the gradient and at its own gradient.
TOLERANCE = {torch.float32: (1e-5, 1e-4), torch.bfloat16: (6e-3, 4e-2)}


def random(*shape: int, device: str = "cpu", seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device)


def mapped(slope: float) -> Callable[..., Tensor]:
    return vmap(lambda values, weight, bias: layer_normalise(values, weight, bias, slope))


def exact(values: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
    normal = F.layer_norm(values, values.shape[-1:], eps=EPSILON)
    return F.leaky_relu(normal * weight[:, None] + bias[:, None], slope)


@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0])
def test_values_and_gradients(slope: float) -> None:
    given = [random(2, 5, 4), random(2, 4, seed=1), random(2, 4, seed=2)]
    expected = exact(given[0], given[1], given[2], slope)
    torch.testing.assert_close(mapped(slope)(*given), expected, rtol=1e-10, atol=1e-10)
    x, weight, bias = (value[1].requires_grad_() for value in given)
    torch.testing.assert_close(layer_normalise(x, weight, bias, slope), expected[1], rtol=1e-10, atol=1e-10)

    def layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return layer_normalise(x, weight, bias, slope)

    assert gradcheck(layer, (x, weight, bias))
    assert gradgradcheck(layer, (x, weight, bias))


def penalties(x: Tensor, weight: Tensor, bias: Tensor, start: Tensor) -> Tensor:
    """(m,): a function of gradients in x that start from products with `start`, as a critic's output layer gives them."""

    def gradient(x: Tensor, weight: Tensor, bias: Tensor, start: Tensor) -> Tensor:
        def critic(x: Tensor) -> Tensor:
            found = layer_normalise(x, weight, bias, 0.2)
            return (found.to(start.dtype) * start).square().sum()

        return grad(critic)(x).to(start.dtype)

    found = vmap(gradient)(x, weight, bias, start)
    return (found.square().sum(2).sqrt() - 1).square().mean(1)


def exact_penalties(x: Tensor, weight: Tensor, bias: Tensor, start: Tensor, dtype: torch.dtype) -> Tensor:
    """The same by PyTorch in float64, with the layer's result rounded as the kernel rounds it."""
    found = exact(x, weight, bias, 0.2)
    found = found + (found.to(dtype).double() - found).detach()
    (gradient,) = torch.autograd.grad((found * start[:, None]).square().sum(), x, create_graph=True)
    return (gradient.square().sum(2).sqrt() - 1).square().mean(1)


def distance(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    return float((found.detach().double() - expected.detach()).norm() / expected.detach().norm())


def on_cuda(shape: tuple[int, int], dtype: torch.dtype, models: int = 3) -> list[Tensor]:
    """Values, parameters as fleets hold them, columns of wider rows, and a start for `penalties`."""
    features = shape[1]
    rows = random(models, 2 * features + 16, device="cuda", seed=1).float()
    values = (1 + random(models, *shape, device="cuda")).to(dtype)
    start = random(models, features, device="cuda", seed=2).float()
    return [values, rows[:, :features], rows[:, features + 16 :], start]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_and_both_derivatives(shape: tuple[int, int], dtype: torch.dtype) -> None:
    given = [value.detach().requires_grad_() for value in on_cuda(shape, dtype)]
    doubled = [value.detach().double().requires_grad_() for value in given]
    first, second = TOLERANCE[dtype]
    found, expected = mapped(0.2)(*given[:3]), exact(doubled[0], doubled[1], doubled[2], 0.2)
    assert found.dtype == dtype
    assert distance(found, expected) < first
    signal = random(*found.shape, device="cuda", seed=3).to(dtype)
    gradients = torch.autograd.grad(found, given[:3], signal)
    references = torch.autograd.grad(expected, doubled[:3], signal.double())
    # Two features are ±1 whatever their values, so that the gradient in x is ε's alone.
    for gradient, reference in list(zip(gradients, references, strict=True))[int(shape[1] == 2) :]:
        assert distance(gradient, reference) < first
    if shape[1] > 2:
        found = penalties(given[0], given[1], given[2], given[3])
        expected = exact_penalties(doubled[0], doubled[1], doubled[2], doubled[3], dtype)
        assert distance(found, expected) < second
        gradients, references = torch.autograd.grad(found.sum(), given), torch.autograd.grad(expected.sum(), doubled)
        for gradient, reference in zip(gradients, references, strict=True):
            assert distance(gradient, reference) < second


@pytest.mark.gpu
def test_a_model_has_the_same_bits_alone_and_stacked() -> None:
    given = on_cuda((64, 128), torch.bfloat16, models=5)

    def all_of(values: list[Tensor]) -> list[Tensor]:
        values = [value.detach().requires_grad_() for value in values]
        output, penalty = mapped(0.2)(*values[:3]), penalties(values[0], values[1], values[2], values[3])
        first = torch.autograd.grad(output.float().square().sum(), values[:3])
        return [output, *first, penalty, *torch.autograd.grad(penalty.sum(), values)]

    together, alone = all_of(given), all_of([value[3:4] for value in given])
    assert all(torch.equal(a[3:4], b) for a, b in zip(together, alone, strict=True))
