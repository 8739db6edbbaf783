"""Clips the gradients of a stack of models by each model's global norm (Pascanu et al. 2013).

    g ← g · min(1, c / (‖g‖ + 10⁻⁶)),    ‖g‖² = Σ over all parameters of one model

as `torch.nn.utils.clip_grad_norm_` does for one model. On CUDA a Triton kernel reads every gradient once and sums its
squares in an order that depends on the parameter alone, so that a model is clipped bit-identically alone and in any
stack; the host does not wait. Adam multiplies by the factors as it reads the gradients.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.triton_sums import add_parts

_BLOCK = 4096


@jit
def _squares_kernel(gradient, parts, width, start, count, BLOCK: tl.constexpr):
    """parts[model, start + block] = Σ g² over a block of one parameter's gradient."""
    model = tl.program_id(1).to(tl.int64)
    block = tl.program_id(0)
    column = block * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gradient + model * width + column, mask=column < width, other=0.0).to(tl.float32)
    tl.store(parts + model * count + start + block, tl.sum(g * g, 0))


def clip_factors(gradients: Sequence[Tensor | Sequence[Tensor]], norms: Tensor) -> Tensor:
    """The factors (m, 1) that bring each model's gradients, (m, …) or one tensor for each model, to at most its given norm.

    Where the norm is 0, the factor is 1.
    """
    stacks = [gradient for gradient in gradients if isinstance(gradient, Tensor) and on_triton(gradient)]
    squares = _squares(stacks) if len(stacks) == len(gradients) else _squares_by_pytorch(gradients)
    factors = (norms / (squares.sqrt() + 1e-6)).clamp(max=1)
    return torch.where(norms > 0, factors, torch.ones_like(factors))


def _squares_by_pytorch(gradients: Sequence[Tensor | Sequence[Tensor]]) -> Tensor:
    """Model by model, so that each one's sum is the same alone and in any stack."""
    return torch.stack(
        [torch.stack([_square(own) for own in of_model]).sum(0) for of_model in zip(*gradients, strict=True)]
    )


def _square(gradient: Tensor) -> Tensor:
    return gradient.flatten().to(torch.promote_types(gradient.dtype, torch.float32)).square().sum(0, keepdim=True)


def _squares(gradients: Sequence[Tensor]) -> Tensor:
    """The squared norm of each model's gradients together, (m, 1), by Triton."""
    models, widths = len(gradients[0]), [gradient[0].numel() for gradient in gradients]
    counts = [triton.cdiv(width, _BLOCK) for width in widths]
    parts = torch.empty(models, sum(counts), dtype=torch.float32, device=gradients[0].device)
    start = 0
    for gradient, width, count in zip(gradients, widths, counts, strict=True):
        launch(
            _squares_kernel, (count, models), gradient.contiguous(), parts, width, start, parts.shape[1],
            BLOCK=min(_BLOCK, triton.next_power_of_2(width)),
        )  # fmt: skip
        start += count
    return add_parts(parts)[:, None]
