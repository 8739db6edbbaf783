"""Work beside work: on CUDA, kernels on a second stream that fill what the first leaves free.

In a CUDA graph this becomes a branch. Small fleets do not fill a GPU, so that a weight's gradient is computed while the chain
of gradients goes on; large ones fill the ends of launches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


@lru_cache(maxsize=16)
def _second_stream(device: torch.device) -> Any:
    return torch.cuda.Stream(device)


class Branch:
    """Calls functions beside what follows, where `like` is on CUDA; elsewhere at once. Its results are there when the block
    ends, and what the functions were given is kept until then, since its memory must not be used again before.

    alone: they are called at once there, too, as where their results are to be differentiated."""

    def __init__(self, like: Tensor, *, alone: bool = False) -> None:
        self._kept: list[Any] = []
        self._stream = _second_stream(like.device) if like.device.type == "cuda" and not alone else None

    def __enter__(self) -> Branch:
        return self

    def __call__(self, function: Callable[..., T], *arguments: Any) -> T:
        if self._stream is None:
            return function(*arguments)
        self._kept.append(arguments)
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            return function(*arguments)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A stream that nothing was given to is no part of a graph that is being captured.
        if self._stream is not None and self._kept:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        self._kept.clear()
