"""Batch normalisation with its leaky ReLU against PyTorch's in float64; on CUDA the kernels, both ways, in any fleet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import vmap

from hackle.kernels import batch_normalise
from hackle.kernels.normalisation import EPSILON

# The generator's and recogniser's layers, one row, odd sizes, features in several blocks.
SHAPES = [(64, 128), (64, 1024), (64, 8, 8, 64), (64, 16, 16, 32), (64, 32, 32, 32), (1, 4), (3, 5, 5, 7), (70, 300)]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 6e-3}


def random(*shape: int, device: str = "cpu", seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device)


def mapped(slope: float) -> Callable[..., Tensor]:
    return vmap(lambda values, weight, bias: batch_normalise(values, weight, bias, slope))


def exact(values: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
    """A stack of models, one after another, by PyTorch's own layers."""
    found = [
        F.leaky_relu(F.batch_norm(x.movedim(-1, 1), None, None, w, b, training=True, eps=EPSILON).movedim(1, -1), slope)
        for x, w, b in zip(values, weight, bias, strict=True)
    ]
    return torch.stack(found)


@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("shape", [(9, 4), (2, 3, 3, 4)])
def test_values_and_gradients(shape: tuple[int, ...], slope: float) -> None:
    given = [random(2, *shape), random(2, 4, seed=1), random(2, 4, seed=2)]
    expected = exact(*given, slope=slope)
    torch.testing.assert_close(mapped(slope)(*given), expected, rtol=1e-10, atol=1e-10)
    alone = [value[1].requires_grad_() for value in given]
    torch.testing.assert_close(batch_normalise(*alone, slope=slope), expected[1], rtol=1e-10, atol=1e-10)
    assert gradcheck(lambda *values: batch_normalise(*values, slope=slope), alone)


def test_results_keep_the_dtype_of_the_values() -> None:
    values = random(9, 4).to(torch.bfloat16)
    found = batch_normalise(values, torch.ones(4), torch.zeros(4), 0.2)
    assert found.dtype == torch.bfloat16
    expected = exact(values.double()[None], torch.ones(1, 4).double(), torch.zeros(1, 4).double(), 0.2)[0]
    # Rounded twice to eight bits, before and behind the leaky ReLU.
    torch.testing.assert_close(found.double(), expected, rtol=2**-7, atol=1e-6)


def distance(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    return float((found.detach().double() - expected.detach()).norm() / expected.detach().norm())


def on_cuda(shape: tuple[int, ...], dtype: torch.dtype, models: int = 3) -> list[Tensor]:
    """Values far from zero, and parameters as fleets hold them: columns of wider rows."""
    features = shape[-1]
    rows = random(models, 2 * features + 16, device="cuda", seed=1).float()
    values = (3 + random(models, *shape, device="cuda")).to(dtype)
    return [values, rows[:, :features], rows[:, features + 16 :]]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_and_their_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    slope = 0.0 if len(shape) == 2 else 0.2
    given = [value.detach().requires_grad_() for value in on_cuda(shape, dtype)]
    found = mapped(slope)(*given)
    doubled = [value.detach().double().requires_grad_() for value in given]
    if shape[0] == 1:  # One row is its own mean, and PyTorch refuses it.
        torch.testing.assert_close(found, F.leaky_relu(given[2], slope)[:, None].to(dtype))
        return
    expected = exact(*doubled, slope=slope)
    assert found.dtype == dtype
    assert distance(found, expected) < TOLERANCE[dtype]
    signal = random(*found.shape, device="cuda", seed=3).to(dtype)
    gradients = torch.autograd.grad(found, given, signal)
    for gradient, reference in zip(gradients, torch.autograd.grad(expected, doubled, signal.double()), strict=True):
        assert distance(gradient, reference) < TOLERANCE[dtype]


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_has_the_same_bits_alone_and_stacked(shape: tuple[int, ...]) -> None:
    given = on_cuda(shape, torch.bfloat16, models=5)

    def all_of(values: list[Tensor]) -> list[Tensor]:
        values = [value.detach().requires_grad_() for value in values]
        output = mapped(0.2)(*values)
        return [output, *torch.autograd.grad(output.float().square().sum(), values)]

    together, alone = all_of(given), all_of([value[3:4] for value in given])
    assert all(torch.equal(a[3:4], b) for a, b in zip(together, alone, strict=True))
    single = batch_normalise(*(value[3] for value in given), slope=0.2)
    assert torch.equal(single, together[0][3])
