"""Where kernels run: what decides between Triton and PyTorch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hackle.core import triton_shim
from hackle.core.triton_shim import launch, on_triton


def tensor(device: str = "cuda", dtype: torch.dtype = torch.float32) -> Any:
    return SimpleNamespace(device=torch.device(device), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_kernels_take_floats_of_up_to_32_bits_on_cuda(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_shim, "has_triton", True)
    assert on_triton(tensor(dtype=dtype))
    assert not on_triton(tensor("cpu", dtype))
    monkeypatch.setattr(triton_shim, "has_triton", False)
    assert not on_triton(tensor(dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8])
def test_kernels_leave_every_other_dtype_to_pytorch(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_shim, "has_triton", True)
    assert not on_triton(tensor(dtype=dtype))
    assert on_triton(tensor(dtype=dtype), dtypes=(dtype,))


def test_every_tensor_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_shim, "has_triton", True)
    assert on_triton(tensor(), tensor())
    assert not on_triton(tensor(), tensor("cpu"))
    assert not on_triton(tensor(), tensor(dtype=torch.float64))


def test_a_launch_gives_grid_arguments_and_constants_to_the_kernel() -> None:
    calls: list[Any] = []

    class Kernel:
        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            return lambda *arguments, **constants: calls.append((grid, arguments, constants))

    values = torch.zeros(3)
    launch(Kernel(), (2, 1), values, 7, BLOCK=16)
    assert calls == [((2, 1), (values, 7), {"BLOCK": 16})]
