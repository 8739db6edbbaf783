"""Data sets whose images are one uint8 array, in memory or memory-mapped.

Images stay uint8 everywhere: 3D Shapes takes 5.9 GB on a device, not the 23.6 GB of its float32 form.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.factors import Factor, FactorGrid, Rows
from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.datasets.source import DataError, render_rows

_DEVICE_SHARE = 0.5
"""The largest share of a device's free memory that images may take there: training needs memory besides."""
_UPLOAD_BYTES = 256 * 2**20


class ArrayDataset:
    """Images (n, h, w, c) in uint8, in the order of the grid's flat index. said: how they were converted when read.

    >>> grid = FactorGrid([Factor("x", 2)])
    >>> data = ArrayDataset("dots", np.array([[[[0]]], [[[255]]]], dtype=np.uint8), grid)
    >>> data.shape, data.render([[1]]).tolist()
    ((1, 1, 1), [[[[255]]]])
    """

    def __init__(self, name: str, images: NDArray[np.uint8], factors: FactorGrid, said: Sequence[str] = ()) -> None:
        if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
            raise DataError(
                f"{name}: images are {images.dtype} of shape {images.shape}; expected uint8 of shape (n, height, width, "
                "channels), none of them zero"
            )
        if len(images) != factors.size:
            raise DataError(
                f"{name}: {len(images):,} images but {factors.size:,} factor rows; expected one row per image"
            )
        self.name = name
        self.factors = factors
        self.shape: tuple[int, int, int] = (images.shape[1], images.shape[2], images.shape[3])
        self.images = images
        self.said = tuple(said)
        self._placed: weakref.WeakValueDictionary[torch.device, Images] = weakref.WeakValueDictionary()

    def __repr__(self) -> str:
        return f"ArrayDataset({self.name!r}, {len(self.images):,} images of {'×'.join(map(str, self.shape))})"

    def render(self, rows: ArrayLike, *, seed: int = 0) -> NDArray[np.uint8]:
        """Images (n, h, w, c) for factor rows (n, f); nothing here is random, so the seed changes nothing."""
        return render_rows(self.images_on("cpu"), self.factors, rows, seed)

    def images_on(self, device: torch.device | str) -> Images:
        """The images on a device: uploaded once and shared by all users, or gathered on the CPU if too large."""
        device = torch.device(device)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        placed = self._placed.get(device)
        if placed is None:
            placed = _Resident(self.images, device) if _fits(self.images, device) else _Gathered(self.images, device)
            self._placed[device] = placed
        return placed


def _fits(images: NDArray[np.uint8], device: torch.device) -> bool:
    return device.type == "cuda" and images.nbytes <= _DEVICE_SHARE * torch.cuda.mem_get_info(device)[0]


class _Gathered:
    """Images that stay on the host; each batch is picked there and sent through pinned memory."""

    on_host = True

    def __init__(self, images: NDArray[np.uint8], device: torch.device) -> None:
        self._images, self._device = images, device

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        # Picking by an index array copies, so the tensor is writable even where the memory map is not.
        picked = torch.from_numpy(np.asarray(self._images[index.cpu().numpy()]))
        if self._device.type == "cuda":
            return picked.pin_memory().to(self._device, non_blocking=True)
        return picked.to(self._device)


class _Resident:
    """Images stored on the device."""

    def __init__(self, images: NDArray[np.uint8], device: torch.device) -> None:
        self._images = torch.empty(images.shape, dtype=torch.uint8, device=device)
        step = max(1, _UPLOAD_BYTES // images[0].nbytes)
        for start in range(0, len(images), step):
            self._images[start : start + step] = torch.from_numpy(np.array(images[start : start + step]))

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        return self._images[index]


def grid_of(factors: Sequence[Factor], rows: Rows) -> FactorGrid:
    """The grid whose flat index i has rows[i]: complete if the rows are every combination in order.

    >>> grid_of([Factor("a", 2), Factor("b", 2)], np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).complete
    True
    """
    sizes = tuple(factor.size for factor in factors)
    if len(rows) == np.prod(sizes, dtype=object):
        every = np.stack(np.unravel_index(np.arange(len(rows)), sizes), axis=1)
        if np.array_equal(every, rows):
            return FactorGrid(factors)
    return FactorGrid(factors, present=rows)


def number_instances(rows: Rows) -> NDArray[np.int64]:
    """For each row, how many equal rows come before it.

    >>> number_instances(np.array([[3, 0], [1, 1], [3, 0]])).tolist()
    [0, 0, 1]
    """
    if rows.shape[1] == 0:
        return np.arange(len(rows))
    group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    instance = np.empty(len(rows), dtype=np.int64)
    instance[order] = np.arange(len(rows)) - starts
    return instance


def with_instance(factors: Sequence[Factor], rows: Rows) -> tuple[list[Factor], Rows]:
    """Factors and rows with an unobserved instance number appended, so that no two rows are equal."""
    instance = number_instances(rows)
    names = {factor.name for factor in factors}
    name = next(
        name for name in ("instance", *(f"instance_{i}" for i in range(2, len(names) + 3))) if name not in names
    )
    added = Factor(name, int(instance.max()) + 1, "categorical", observed=False)
    return [*factors, added], np.column_stack([rows, instance])
