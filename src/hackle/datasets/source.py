"""What is known of a data set before it is loaded, and the loading that every set shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hackle.factors import FactorGrid
from hackle.randomness import Stream
from hackle.types import Dataset, HackleError, Images


class DataError(HackleError):
    """A data set that is not here, damaged or not of the expected format."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch: where it lies, what it must hash to and the name it gets under the data set's folder."""

    name: str
    address: str
    sha256: str | None
    size: int | None


@dataclass(frozen=True)
class Source:
    """One data set by name. `files` is empty where nothing needs fetching."""

    name: str
    summary: str
    images: str
    factors: str
    licence: str
    load: Callable[[Path], Dataset]
    files: tuple[RemoteFile, ...] = ()


def render_rows(
    images: Images, factors: FactorGrid, rows: ArrayLike, seed: int, chunk: int = 4096
) -> NDArray[np.uint8]:
    """A data set's `render`, from its images on the CPU, a chunk at a time."""
    index = torch.from_numpy(factors.index(rows))
    parts = [
        images(part[None], Stream.of([seed], step=number, purpose="render"))[0].numpy()
        for number, part in enumerate(index.split(chunk))
    ]
    return np.concatenate(parts)
