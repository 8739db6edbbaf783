"""What is known about a data set before it is loaded, and the rendering that all sets share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.factors import FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Dataset, Images

_CHUNK = 4096
"""Images that are rendered at once."""


class DataError(HackleError):
    """A data set that is missing, damaged or not in the expected format."""


class Checksum(NamedTuple):
    """What a file hashes to, in hexadecimal."""

    algorithm: Literal["SHA-256", "MD5"]
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm} {self.digest}"


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch: its address, expected checksum and name in the data set's folder.

    An MD5 detects damage, not forgery: it is for files whose SHA-256 is not known.
    """

    name: str
    address: str
    sha256: str | None = None
    size: int | None = None
    md5: str | None = None

    @property
    def checksum(self) -> Checksum | None:
        """The best known checksum of the published file."""
        if self.sha256 is not None:
            return Checksum("SHA-256", self.sha256)
        return None if self.md5 is None else Checksum("MD5", self.md5)


@dataclass(frozen=True)
class Source:
    """One data set by name. `files` is empty if nothing needs fetching; `factors` names the observed ones.

    A file with an empty address cannot be fetched. `steps` says how to get the files by hand, if their owner's terms
    require it. `optional` files are used if present; without them hackle generates the set itself.
    `title` is the name as papers spell it. `stand_in` is the closest set that hackle generates itself, for studies on a
    machine that does not have this one. `like` is the set whose settings this one takes in studies of papers that do not
    use it, and for which it may serve in their claims.
    """

    name: str
    summary: str
    images: str
    factors: str
    licence: str
    load: Callable[[Path], Dataset]
    files: tuple[RemoteFile, ...] = ()
    steps: str = ""
    optional: bool = False
    title: str = ""
    stand_in: str = ""
    like: str = ""

    @property
    def made_by_hackle(self) -> bool:
        """Whether nothing needs fetching."""
        return self.optional or not self.files

    @property
    def factor_sizes(self) -> dict[str, int]:
        """The observed factors with their numbers of values, if `factors` lists them.

        >>> Source("a", "", "", "shape 3, x 32", "", lambda root: None).factor_sizes
        {'shape': 3, 'x': 32}
        """
        pairs = [factor.rpartition(" ") for factor in self.factors.split(", ")]
        return {name: int(size) for name, _, size in pairs if size.isdigit()}


def render_rows(images: Images, factors: FactorGrid, rows: ArrayLike, seed: int) -> NDArray[np.uint8]:
    """A data set's `render`, from its images on the CPU."""
    return render_index(images, torch.from_numpy(factors.index(rows)), seed)


def render_index(images: Images, index: Tensor, seed: int) -> NDArray[np.uint8]:
    """Images (n, h, w, c) on the CPU for flat indices (n,), a chunk at a time."""
    parts = [
        images(part[None], Stream.of([seed], step=number, purpose="render"))[0].numpy()
        for number, part in enumerate(index.split(_CHUNK))
    ]
    return np.concatenate(parts)
