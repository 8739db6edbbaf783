"""Products of matrices off CUDA, by the faster of two libraries."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

_LARGE = 2**22
"""Products of so many numbers and more are large."""


def _by_onednn(values: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN multiplies these matrices. It takes 5 to 50% less time than the library that PyTorch calls for large ones,
    but its product has no gradient."""
    return (
        values.device.type == "cpu"
        and values.dtype == torch.float32
        and values.numel() * weight.shape[0] >= _LARGE
        and torch.backends.mkldnn.is_available()
        and not torch.is_grad_enabled()
    )


def times(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """values (b, i) · weight (o, i)ᵀ + bias (o,)."""
    if _by_onednn(values, weight):
        return torch.ops.mkldnn._linear_pointwise(values, weight, bias, "none", [], "")
    return F.linear(values, weight, bias)
