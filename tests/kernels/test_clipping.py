"""Gradients of stacked models clipped by each one's own norm, against PyTorch's clipping of each model."""

from __future__ import annotations

import pytest
import torch

from hackle.kernels import Rows, adam_step, clip_factors
from kernels.test_adam import on, stacked

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SHAPES = [(4, 4, 3, 7), (7,), (33, 500), (1,)]
NORMS = [0.0, 0.5, 20.0, 1e9]


def gradients(dtype: torch.dtype, device: str = "cpu") -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(len(NORMS), *shape, generator=generator, dtype=torch.float64).to(device, dtype) for shape in SHAPES
    ]


def norms(dtype: torch.dtype, device: str = "cpu") -> torch.Tensor:
    return torch.tensor(NORMS, dtype=dtype, device=device)[:, None]


def test_each_model_is_clipped_as_pytorch_clips_it_alone() -> None:
    given = gradients(torch.float64)
    factors = clip_factors(given, norms(torch.float64))
    assert factors.shape == (len(NORMS), 1)
    assert float(factors[0]) == float(factors[3]) == 1.0
    assert float(factors[1]) < float(factors[2]) < 1.0
    for model, norm in enumerate(NORMS[1:], start=1):
        parameters = [torch.zeros(shape, dtype=torch.float64) for shape in SHAPES]
        for parameter, gradient in zip(parameters, given, strict=True):
            parameter.grad = gradient[model].clone()
        torch.nn.utils.clip_grad_norm_(parameters, norm)
        for parameter, gradient in zip(parameters, given, strict=True):
            torch.testing.assert_close(gradient[model] * factors[model, 0], parameter.grad, rtol=1e-14, atol=0)


@pytest.mark.parametrize("device", DEVICES)
def test_adam_follows_the_clipped_gradients(device: str) -> None:
    weights = torch.randn(2, 64, generator=torch.Generator().manual_seed(1)).to(device)
    gradient = torch.randn(2, 64, generator=torch.Generator().manual_seed(2)).to(device)
    factors = torch.tensor([[0.25], [1.0]], device=device)
    clipped, scaled = (Rows(weights.clone(), torch.zeros_like(weights), torch.zeros_like(weights)) for _ in range(2))
    alive = torch.ones(2, 1, dtype=torch.bool, device=device)
    for rows, given, scale in ((clipped, gradient, factors), (scaled, factors * gradient, None)):
        updates = torch.zeros((), dtype=torch.int64, device=device)
        adam_step(rows, [(0, given)], updates, on(device, stacked()), alive, scale)
    for found, wanted in zip(clipped[:3], scaled[:3], strict=True):
        assert torch.equal(found, wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_that_is_not_alive_stays_whatever_its_norm(device: str) -> None:
    start = torch.ones(2, 64, device=device)
    rows = Rows(start.clone(), torch.zeros_like(start), torch.zeros_like(start))
    gradient = torch.full((2, 64), torch.nan, device=device)
    gradient[1] = 1.0
    factors = clip_factors([gradient], torch.ones(2, 1, device=device))
    alive = torch.tensor([[False], [True]], device=device)
    updates = torch.zeros((), dtype=torch.int64, device=device)
    adam_step(rows, [(0, gradient)], updates, on(device, stacked()), alive, factors)
    assert torch.equal(rows.weights[0], start[0])
    assert bool(torch.isfinite(rows.weights[1]).all())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernels_sum_as_float64_does_and_the_same_bits_in_any_stack(dtype: torch.dtype) -> None:
    given = gradients(dtype, "cuda")
    factors = clip_factors(given, norms(torch.float32, "cuda"))
    wanted = clip_factors([gradient.cpu().double() for gradient in given], norms(torch.float64))
    torch.testing.assert_close(factors.cpu().double(), wanted, rtol=1e-6, atol=0)
    for model in range(len(NORMS)):
        rows = slice(model, model + 1)
        alone = clip_factors([gradient[rows] for gradient in given], norms(torch.float32, "cuda")[rows])
        assert torch.equal(alone, factors[rows])
