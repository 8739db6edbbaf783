"""What the operators share: under `vmap` their tensors get a leading axis of models."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def stacked(size: int, dims: tuple[int | None, ...], arguments: tuple[Any, ...]) -> list[Any]:
    """Tensors with the model axis first, each repeated where all models share it; other arguments as they are."""
    given = []
    for argument, dim in zip(arguments, dims, strict=True):
        if isinstance(argument, Tensor):
            argument = argument.unsqueeze(0).expand(size, *argument.shape) if dim is None else argument.movedim(dim, 0)
        given.append(argument)
    return given


class _Positional(inspect.Signature):
    """Arguments as they are given, without names and defaults."""

    def bind(self, *args: Any, **kwargs: Any) -> Any:
        return SimpleNamespace(args=args, kwargs=kwargs, apply_defaults=lambda: None)


class Stackable(torch.autograd.Function):
    """An operator on the tensors of one model or of a stack, all of whose arguments are given by position. By default its
    inputs are saved for the gradient."""

    def __init_subclass__(cls) -> None:
        """PyTorch binds the arguments of `forward` to its names at every call, which takes longer than a small operator."""
        super().__init_subclass__()
        cls.forward.__signature__ = _Positional()  # type: ignore[attr-defined]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, *arguments: Any) -> Any:
        results: Any = cls.apply(*stacked(info.batch_size, in_dims, arguments))
        return results, 0 if isinstance(results, Tensor) else (0,) * len(results)
