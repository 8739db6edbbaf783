"""From images to codes: every image that a plan names is encoded once, whatever the number of metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hackle.gaussian import reparameterise
from hackle.model import Model
from hackle.randomness import Stream
from hackle.types import Dataset, HackleError

Encoder = Callable[[NDArray[np.uint8]], Any]
"""Any function from uint8 images (n, h, w, c) to codes (n, c), or to a pair of means and logvars."""


class EncodingError(HackleError):
    """An encoder whose answer is not codes."""


class Codebook:
    """Means and logvars (None where the encoder gives plain codes) of the images at sorted flat indices."""

    def __init__(
        self, index: NDArray[np.int64], means: NDArray[np.float32], logvars: NDArray[np.float32] | None
    ) -> None:
        self.index, self._means, self._logvars = index, means, logvars

    @property
    def has_posterior(self) -> bool:
        return self._logvars is not None

    @property
    def width(self) -> int:
        """How many codes an image has."""
        return self._means.shape[1]

    def means(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Codes (*index.shape, c)."""
        return self._means[np.searchsorted(self.index, index)]

    def logvars(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        if self._logvars is None:
            raise EncodingError("this encoder gives codes, not posteriors: return (means, logvars) to score posteriors")
        return self._logvars[np.searchsorted(self.index, index)]

    def sampled(self, correlation: float, seed: int) -> Codebook:
        """One sample of each image's posterior in place of its mean."""
        if self._logvars is None:
            raise EncodingError("codes without posteriors cannot be sampled")
        noise = np.random.default_rng([seed, 77]).standard_normal(self._means.shape, dtype=np.float32)
        tensors = (torch.from_numpy(array) for array in (self._means, self._logvars, noise))
        return Codebook(self.index, reparameterise(*tensors, correlation).numpy(), None)


def _split(answer: Any, images: int) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    pair = answer if isinstance(answer, tuple) else (answer, None)
    if len(pair) != 2:
        raise EncodingError(f"the encoder returned {len(pair)} arrays; expected codes, or a pair (means, logvars)")
    means, logvars = (
        None
        if part is None
        else np.asarray(part.detach().cpu() if isinstance(part, torch.Tensor) else part, np.float32)
        for part in pair
    )
    if (
        means is None
        or means.ndim != 2
        or len(means) != images
        or (logvars is not None and logvars.shape != means.shape)
    ):
        shape = None if means is None else means.shape
        raise EncodingError(
            f"the encoder returned codes of shape {shape} for {images} images; expected ({images}, codes)"
        )
    return means, logvars


def encode_images(
    encoder: Model | Encoder,
    dataset: Dataset,
    index: NDArray[np.int64],
    *,
    seed: int = 0,
    chunk: int = 2048,
    progress: bool = False,
) -> Codebook:
    """Encode the images at sorted, distinct flat indices, a chunk at a time. Stochastic sets draw their noise by the seed."""
    device = encoder.device if isinstance(encoder, Model) else torch.device("cpu")
    images = dataset.images_on(device)
    parts: list[tuple[NDArray[np.float32], NDArray[np.float32] | None]] = []
    columns = (TextColumn("encoding"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} images"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True, quiet=not progress)) as bar:
        task = bar.add_task("encoding", total=len(index))
        for number, part in enumerate(torch.from_numpy(index).split(chunk)):
            stream = Stream.of([seed], step=number, purpose="encode", device=device)
            batch = images(part[None].to(device), stream)[0]
            answer = encoder.encode(batch) if isinstance(encoder, Model) else encoder(batch.numpy())
            parts.append(_split(answer, len(part)))
            bar.advance(task, len(part))
    means = np.concatenate([part for part, _ in parts])
    spread = [part for _, part in parts if part is not None]
    if not np.isfinite(means).all():
        bad = int(index[np.flatnonzero(~np.isfinite(means).all(axis=1))[0]])
        raise EncodingError(f"the encoder gives codes that are not finite, first for image {bad}")
    return Codebook(index, means, np.concatenate(spread) if spread else None)
