"""From images to codes: every image of a plan is encoded once, whatever the number of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from hackle.core.allocator import keep_freed_memory
from hackle.core.code_table import CodeTable
from hackle.core.errors import HackleError
from hackle.core.gaussian import reparameterise
from hackle.core.randomness import Stream, check_seed
from hackle.core.terminal import Terminal
from hackle.core.types import Dataset, Images
from hackle.scoring.plan import SPREAD, distinct
from hackle.train.errors import is_out_of_memory
from hackle.train.model import Model, images_at_once

Encoder = Callable[[NDArray[np.uint8]], Any]
"""Any function from uint8 images (n, h, w, c) to codes (n, c), or to a pair of means and logvars."""


class EncodingError(HackleError):
    """An encoder that does not return codes."""


@dataclass(frozen=True)
class ModuleEncoder:
    """A plain PyTorch module and the images that it takes: floats of its parameters' dtype on their device.

    channels: first, (n, c, h, w), or last. value_range: the values of black and of white. It returns codes (n, c), or a
    pair of means and logvars.
    """

    module: nn.Module
    channels: Literal["first", "last"] = "first"
    value_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        low, high = self.value_range
        if self.channels not in ("first", "last") or not low < high:
            raise EncodingError(
                f"channels is {self.channels!r} and value_range {self.value_range!r}; expected 'first' or 'last', and the "
                "values of black and white, such as (-1.0, 1.0)"
            )

    @property
    def _parameter(self) -> Tensor:
        """The tensor whose dtype and device the images get; float32 on the CPU if the module has none."""
        floating = (value for value in (*self.module.parameters(), *self.module.buffers()) if value.is_floating_point())
        return next(floating, torch.empty(0))

    @property
    def device(self) -> torch.device:
        return self._parameter.device

    def images(self, shape: Sequence[int]) -> str:
        """A description of the images that the module is given."""
        height, width, channels = shape
        sizes = (channels, height, width) if self.channels == "first" else (height, width, channels)
        low, high = self.value_range
        kind = str(self._parameter.dtype).removeprefix("torch.")
        return f"{kind} images (n, {', '.join(map(str, sizes))}), channels {self.channels}, in [{low:g}, {high:g}]"

    def __call__(self, images: Tensor) -> Any:
        """What the module returns for uint8 images (n, h, w, c)."""
        low, high = self.value_range
        values = (low + (high - low) * (images.to(torch.float32) / 255)).to(self._parameter.dtype)
        given = values.permute(0, 3, 1, 2).contiguous() if self.channels == "first" else values
        try:
            with torch.no_grad():
                return self.module(given)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            if is_out_of_memory(error):
                raise
            raise EncodingError(
                f"{type(self.module).__name__} failed on {self.images(images.shape[1:])}: {error}. Where it takes "
                'others, say channels="last" or value_range=(-1.0, 1.0), or give a function from uint8 images (n, h, w, c) to '
                "codes"
            ) from error


@contextmanager
def _evaluating(encoder: Any) -> Iterator[None]:
    """Puts modules in evaluation mode, and restores the mode of each submodule afterwards."""
    modules = list(encoder.module.modules()) if isinstance(encoder, ModuleEncoder) else []
    before = [module.training for module in modules]
    for module in modules[:1]:
        module.eval()
    try:
        yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


class PosteriorNoise:
    """The noise with which posteriors of images are sampled; that of the last images is kept, since every model that is
    scored on a plan needs the same."""

    def __init__(self) -> None:
        self._seed, self._index, self._noise = 0, np.empty(0, dtype=np.int64), torch.empty(0, 0)

    def of(self, index: NDArray[np.int64], codes: int, seed: int) -> Tensor:
        """Standard normal numbers (n, codes), which depend only on the images at flat indices (n,) and the seed."""
        known = self._seed == seed and self._noise.shape[1] == codes and np.array_equal(self._index, index)
        if not known:
            self._noise = _stream_of_images(torch.from_numpy(index), seed, "sample").normal("posterior", (codes,))
            self._seed, self._index = seed, index.copy()
        return self._noise


class Codebook:
    """Means and logvars (None if the encoder gives plain codes) of the images at sorted flat indices.

    Means may be a table of sparse or memory-mapped codes, of which metrics then get a table.
    """

    def __init__(
        self, index: NDArray[np.int64], means: NDArray[np.float32] | CodeTable, logvars: NDArray[np.float32] | None
    ) -> None:
        self.index, self._means, self._logvars = index, means, logvars

    @property
    def has_posterior(self) -> bool:
        return self._logvars is not None

    @property
    def width(self) -> int:
        """The number of codes per image."""
        return self._means.shape[1]

    @cached_property
    def _table(self) -> NDArray[np.int64] | None:
        """The place of each flat index, −1 where there is none; None if few of the indices up to the last are there."""
        size = int(self.index[-1]) + 1
        if size > SPREAD * len(self.index):
            return None
        table = np.full(size, -1)
        table[self.index] = np.arange(len(self.index))
        return table

    def _places(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        # A table is read thirty times as fast as sorted indices are searched.
        if self._table is None:
            places = np.minimum(np.searchsorted(self.index, index), len(self.index) - 1)
            absent = self.index[places] != index
        else:
            last = len(self._table) - 1
            if index.size and (index.min() < 0 or index.max() > last):
                places = np.where((index < 0) | (index > last), -1, self._table[np.clip(index, 0, last)])
            else:
                places = self._table[index]
            absent = places < 0
        if absent.any():
            first = np.asarray(index)[absent].ravel()[0]
            raise EncodingError(f"image {first} has not been encoded; encode every image of the plan (plan.images)")
        return places

    def means(self, index: NDArray[np.int64]) -> Any:
        """Codes (*index.shape, c) of the images at flat indices of any shape; of a table, some of its rows as a table, or
        groups of them as an array."""
        places = self._places(index)
        if not isinstance(self._means, CodeTable):
            return self._means.take(places, axis=0)
        if places.ndim == 1:
            return self._means.take(places)
        return self._means.take(places.ravel()).dense().reshape(*places.shape, self.width)

    def logvars(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Logarithms of the posteriors' variances, (*index.shape, c)."""
        if self._logvars is None:
            raise EncodingError("this encoder gives codes, not posteriors: return (means, logvars) to score posteriors")
        return self._logvars.take(self._places(index), axis=0)

    def shuffled(self, seed: int) -> Codebook:
        """The codes permuted among the images, so that they have nothing to do with them."""
        other = np.random.default_rng([seed, 6]).permutation(len(self.index))
        means = self._means.take(other) if isinstance(self._means, CodeTable) else self._means[other]
        return Codebook(self.index, means, None if self._logvars is None else self._logvars[other])

    def levels(self, code: int) -> NDArray[np.float32]:
        """The values that a code takes, in order."""
        return np.unique(np.asarray(self._means)[:, code])

    def sampled(
        self,
        correlation: float,
        seed: int,
        discrete: bool | Sequence[bool] = False,
        noise: PosteriorNoise | None = None,
    ) -> Codebook:
        """One sample of each image's posterior in place of its mean. The noise depends only on the image and the seed; that
        of models before is taken from `noise`. discrete: the codes that are class numbers, which have no noise."""
        if self._logvars is None:
            raise EncodingError("codes without posteriors cannot be sampled: return (means, logvars) to sample them")
        own, drawn = np.asarray(self._means), (noise or PosteriorNoise()).of(self.index, self.width, seed)
        drawn = reparameterise(torch.from_numpy(own), torch.from_numpy(self._logvars), drawn, correlation).numpy()
        return Codebook(self.index, np.where(discrete, own, drawn), None)


def _stream_of_images(index: Tensor, seed: int, purpose: str) -> Stream:
    """A stream with a row for each image, whose draws depend only on the seed and the image index."""
    return Stream(index, torch.tensor(check_seed(seed), device=index.device), purpose)


def _array(part: Any) -> NDArray[np.float32]:
    if part is None:
        raise EncodingError("the encoder returned nothing; expected codes, or a pair (means, logvars)")
    if isinstance(part, Tensor):
        part = part.detach().float().cpu().numpy()
    try:
        return np.asarray(part, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EncodingError(
            f"the encoder returned {type(part).__name__}, which is no array of numbers ({error}); expected codes, or a "
            "pair (means, logvars)"
        ) from error


def _split(answer: Any, images: int) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Means and logvars from what an encoder returned, or codes and None."""
    pair = answer if isinstance(answer, tuple) else (answer, None)
    if len(pair) != 2:
        raise EncodingError(f"the encoder returned {len(pair)} arrays; expected codes, or a pair (means, logvars)")
    means, logvars = _array(pair[0]), None if pair[1] is None else _array(pair[1])
    if means.ndim != 2 or len(means) != images:
        raise EncodingError(
            f"the encoder returned codes of shape {means.shape} for {images} images; expected ({images}, codes)"
        )
    if logvars is not None and logvars.shape != means.shape:
        raise EncodingError(f"the encoder returned logvars of shape {logvars.shape} for means of shape {means.shape}")
    return means, logvars


def _join(parts: list[NDArray[np.float32]], name: str, index: NDArray[np.int64]) -> NDArray[np.float32]:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise EncodingError(f"the encoder returned {min(widths)} {name} for some images and {max(widths)} for others")
    joined = np.concatenate(parts)
    if not np.isfinite(joined).all():
        bad = int(index[np.flatnonzero(~np.isfinite(joined).all(axis=1))[0]])
        raise EncodingError(f"the encoder gives {name} that are not finite, first for image {bad}")
    return joined


def drawn(images: Images, index: Tensor, seed: int) -> Tensor:
    """The images (n, h, w, c) at flat indices (n,). In stochastic data sets an image's noise depends only on the seed and the
    image, not on the others."""
    return images(index[:, None], _stream_of_images(index, seed, "encode"))[:, 0]


def _answer(encoder: Model | ModuleEncoder | Encoder, batch: Tensor) -> Any:
    if isinstance(encoder, Model):
        return encoder.encode(batch)
    return encoder(batch if isinstance(encoder, ModuleEncoder) else batch.numpy())  # type: ignore[arg-type]


def encode_images(
    encoder: Model | ModuleEncoder | Encoder,
    dataset: Dataset,
    index: NDArray[np.int64],
    *,
    seed: int = 0,
    chunk: int | None = None,
    progress: bool = False,
) -> Codebook:
    """Encode the images at flat indices, each once even if repeated, `chunk` of them at a time."""
    index = distinct(np.asarray(index, dtype=np.int64))
    if not len(index):
        raise EncodingError("there are no images to encode: the index is empty")
    keep_freed_memory()
    device = encoder.device if isinstance(encoder, Model | ModuleEncoder) else torch.device("cpu")
    images = dataset.images_on(device)
    chunk = chunk or (2048 if device.type == "cpu" else images_at_once(device))
    means: list[NDArray[np.float32]] = []
    logvars: list[NDArray[np.float32]] = []
    columns = (TextColumn("encoding"), BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} images"))
    console = Terminal(stderr=True, quiet=not progress)
    with _evaluating(encoder), Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("encoding", total=len(index))
        for part in torch.from_numpy(index).to(device).split(chunk):
            codes, spread = _split(_answer(encoder, drawn(images, part, seed)), len(part))
            means.append(codes)
            if spread is not None:
                logvars.append(spread)
            bar.advance(task, len(part))
    if logvars and len(logvars) < len(means):
        raise EncodingError("the encoder returned (means, logvars) for some images and plain codes for others")
    return Codebook(index, _join(means, "codes", index), _join(logvars, "logvars", index) if logvars else None)
