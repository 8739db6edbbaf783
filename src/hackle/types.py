"""The contracts between rooms: data sets, runs, objectives and what flows between them.

Axes: m models, b batch, n samples, h height, w width, c channels, l latents, f factors. Rows are samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hackle.factors import FactorGrid
    from hackle.randomness import Stream


class HackleError(Exception):
    """Something the user can mend: the message says what was wrong, what was expected and what to do next."""


class Images(Protocol):
    """A data set's images on one device, in their smallest form."""

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        """uint8 images (m, b, h, w, c) for flat indices (m, b); stochastic sets draw their noise from the stream."""
        ...


@runtime_checkable
class Dataset(Protocol):
    """Images with known factors."""

    @property
    def name(self) -> str: ...

    @property
    def factors(self) -> FactorGrid: ...

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        ...

    def render(self, rows: ArrayLike, *, seed: int = 0) -> NDArray[np.uint8]:
        """Images (n, h, w, c) in 0 … 255 for factor rows (n, f). The seed matters to stochastic sets alone."""
        ...

    def images_on(self, device: torch.device | str) -> Images: ...
