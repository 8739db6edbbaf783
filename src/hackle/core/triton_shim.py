"""All access to Triton: its names where it is installed, whether kernels run on given tensors, and how to launch one.

PyTorch's wheels for the CPU come without Triton. Kernels are plain functions there, and PyTorch does their work.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

has_triton = find_spec("triton") is not None
triton: Any = import_module("triton") if has_triton else None
tl: Any = import_module("triton.language") if has_triton else None
libdevice: Any = import_module("triton.language.extra.libdevice") if has_triton else None

KERNEL_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""The dtypes that kernels accept: they sum in float32, which would lose the precision of float64."""


def jit(function: Any) -> Any:
    """`triton.jit` where there is Triton; elsewhere the plain function, which is never launched."""
    return triton.jit(function) if has_triton else function


def on_triton(*tensors: Tensor, dtypes: Collection[torch.dtype] = KERNEL_DTYPES) -> bool:
    """Whether Triton kernels run on these tensors: Triton is installed, and all are on CUDA and of one of these dtypes.

    >>> on_triton(torch.zeros(3))
    False
    """
    return has_triton and all(value.device.type == "cuda" and value.dtype in dtypes for value in tensors)


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch a kernel over the grid, on the device of its first argument, a tensor."""
    with torch.cuda.device_of(arguments[0]):
        kernel[grid](*arguments, **constants)
