"""What the mapping rules of all operators share: models become a leading axis."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def stacked(size: int, dims: tuple[int | None, ...], arguments: tuple[Any, ...]) -> list[Any]:
    """Tensors with their models first, each repeated where all models share it; other arguments as they are."""
    found = []
    for argument, dim in zip(arguments, dims, strict=True):
        if isinstance(argument, Tensor):
            argument = argument.unsqueeze(0).expand(size, *argument.shape) if dim is None else argument.movedim(dim, 0)
        found.append(argument)
    return found
