"""Which of an operator's two paths is taken: its Triton kernel, or PyTorch.

There is no GPU in most places that run this: tensors of the CPU are taken for tensors on CUDA, and a kernel that is started
says so instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from hackle.core import triton_shim
from hackle.core.triton_shim import on_triton
from hackle.core.types import Adam
from hackle.kernels import (
    Rows,
    adam_step,
    batch_normalise,
    bernoulli_error,
    covariance_deviations,
    down,
    gaussian_log_density,
    halves,
    layer_normalise,
    linear,
    mixture_densities,
    posterior_sample,
    tower,
    unit_interval,
    up_layer,
)


class KernelStarted(Exception):
    """Instead of a kernel."""


def values(dtype: torch.dtype, *shape: int) -> Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)
    return drawn.to(dtype)


def adam(dtype: torch.dtype) -> Rows:
    rows = Rows(*(values(dtype, 2, 16).square() for _ in range(3)))
    settings = Adam(*(torch.full((2, 1), value) for value in (1e-3, 0.9, 0.999, 1e-8)))  # type: ignore[arg-type]
    alive = torch.ones(2, 1, dtype=torch.bool)
    adam_step(rows, [(0, values(dtype, 2, 16))], torch.zeros((), dtype=torch.int64), settings, alive)
    return rows


OPERATORS: dict[str, Callable[[torch.dtype], Any]] = {
    "adam_step": adam,
    "batch_normalise": lambda t: batch_normalise(values(t, 6, 3), values(t, 3), values(t, 3)),
    "bernoulli_error": lambda t: bernoulli_error(values(t, 2, 4, 4, 1), values(t, 2, 4, 4, 1).sigmoid()),
    "covariance_deviations": lambda t: covariance_deviations(values(t, 6, 3)),
    "down": lambda t: down(values(t, 2, 4, 4, 1), values(t, 4, 4, 1, 2)),
    "gaussian_log_density": lambda t: gaussian_log_density(
        values(t, 6, 3), values(t, 6, 3), values(t, 6, 3), 0.1 * values(t, 1)[0].sigmoid()
    ),
    "halves": lambda t: halves(values(t, 6, 4)),
    "layer_normalise": lambda t: layer_normalise(values(t, 6, 3), values(t, 3), values(t, 3)),
    "linear": lambda t: linear(values(t, 6, 3), values(t, 2, 3), values(t, 2), 0.2),
    "mixture_densities": lambda t: mixture_densities(
        values(t, 6, 3), values(t, 6, 3), values(t, 6, 3), 0.0, -1.0, -2.0
    ),
    "posterior_sample": lambda t: posterior_sample(values(t, 6, 3), values(t, 6, 3), values(t, 6, 3), 0.0),
    "tower": lambda t: tower(values(t, 2, 4, 4, 1), [(values(t, 4, 4, 1, 2), values(t, 2))], upward=False),
    "unit_interval": lambda t: unit_interval(torch.zeros(3, dtype=torch.uint8), t),
    "up_layer": lambda t: up_layer(values(t, 2, 4, 4, 2), values(t, 4, 4, 1, 2), values(t, 1)),
}


class Sizes:
    """What operators ask of Triton before they start a kernel."""

    @staticmethod
    def cdiv(a: int, b: int) -> int:
        return -(-a // b)

    @staticmethod
    def next_power_of_2(number: int) -> int:
        return 1 << (number - 1).bit_length()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor counts as one on CUDA, Triton as installed, and a kernel that is started raises `KernelStarted`."""

    def counts_as_on_triton(*tensors: Tensor, **options: Any) -> bool:
        there: list[Any] = [SimpleNamespace(device=torch.device("cuda"), dtype=value.dtype) for value in tensors]
        return on_triton(*there, **options)

    def started(*arguments: Any, **constants: Any) -> None:
        raise KernelStarted

    monkeypatch.setattr(triton_shim, "has_triton", True)
    stand_ins = {"on_triton": counts_as_on_triton, "launch": started, "triton": Sizes}
    for name, module in list(sys.modules.items()):
        for attribute, stand_in in stand_ins.items():
            if name.startswith("hackle.kernels.") and hasattr(module, attribute):
                monkeypatch.setattr(module, attribute, stand_in)


@pytest.mark.parametrize("name", OPERATORS)
def test_float32_on_cuda_goes_to_the_kernel(name: str, cuda: None) -> None:
    with pytest.raises(KernelStarted):
        OPERATORS[name](torch.float32)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "adam_step"])
def test_float64_on_cuda_goes_to_pytorch_and_stays_float64(name: str, cuda: None) -> None:
    found = OPERATORS[name](torch.float64)
    assert (found if isinstance(found, Tensor) else found[0]).dtype == torch.float64


@pytest.mark.parametrize("name", OPERATORS)
def test_cuda_without_triton_goes_to_pytorch(name: str, cuda: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_shim, "has_triton", False)
    OPERATORS[name](torch.float32)


@pytest.mark.gpu
def test_the_error_of_float64_logits_on_cuda_is_that_of_the_cpu() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 16, 16, 1, generator=generator, dtype=torch.float64)
    images = torch.rand(3, 16, 16, 1, generator=generator, dtype=torch.float64)
    found = bernoulli_error(logits.cuda(), images.cuda())
    assert found.dtype == torch.float64
    torch.testing.assert_close(found.cpu(), bernoulli_error(logits, images), rtol=1e-12, atol=0)


@pytest.mark.gpu
def test_adam_on_cuda_without_triton_is_that_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def stepped(device: str) -> Tensor:
        start = torch.linspace(-1, 1, 32).view(2, 16).to(device)
        rows = Rows(start.clone(), torch.zeros_like(start), torch.zeros_like(start))
        columns = (torch.full((2, 1), value, device=device) for value in (1e-3, 0.9, 0.999, 1e-8))
        settings = Adam(*columns)  # type: ignore[arg-type]
        alive = torch.ones(2, 1, dtype=torch.bool, device=device)
        adam_step(rows, [(0, start.square())], torch.zeros((), dtype=torch.int64, device=device), settings, alive)
        return rows.weights.cpu()

    monkeypatch.setattr(triton_shim, "has_triton", False)
    torch.testing.assert_close(stepped("cuda"), stepped("cpu"), rtol=1e-6, atol=1e-7)
