"""Any images as bytes (n, h, w, c): recognises the order of axes and the range of values, and reports what was done.

Bytes are taken as they are. Other numbers are mapped to 0 … 255 from a given or recognised range; if the range is
ambiguous, the images are refused, because a wrong guess would train a model on darkened or clipped images.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.core.progress import progress
from hackle.core.terminal import Terminal
from hackle.datasets.damage import check_room
from hackle.datasets.source import DataError

Channels = Literal["first", "last"]
MOST_CHANNELS = 4
"""Grey, grey with transparency, colour, colour with transparency."""
_SIDE = 8
"""An axis with at least this many entries is height or width rather than channels."""
_SLACK = 1e-4
"""How far floats may exceed their range, as resized or computed pixels do."""
_CHUNK_BYTES = 64 * 2**20
_SIXTEEN = (0.0, 65535.0)


@dataclass(frozen=True)
class Reading:
    """How images are to be read. None means that it is recognised, or that sizes stay as they are.

    resize: the side of the square that images are scaled to. pad: the side of the black square in which they are
    centred. With both, the longer side is scaled to `resize`, the shorter one in proportion, and then they are padded.
    channels: where the channel axis is. value_range: the values of black and of white.
    """

    resize: int | None = None
    pad: int | None = None
    channels: Channels | None = None
    value_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("resize", "pad"):
            side = getattr(self, name)
            if side is not None and (type(side) is not int or side < 1):
                raise DataError(f"{name} is {side!r}; expected the side of a square in pixels, such as 64")
        if self.channels not in (None, "first", "last"):
            raise DataError(f"channels is {self.channels!r}; expected 'first' or 'last', or None to recognise it")
        span = self.value_range
        if span is not None and not (len(span) == 2 and np.isfinite(span).all() and span[0] < span[1]):
            raise DataError(f"value_range is {span!r}; expected the values of black and white, such as (0.0, 1.0)")

    @property
    def changes_size(self) -> bool:
        return self.resize is not None or self.pad is not None


AS_THEY_ARE = Reading()


def say(name: str, said: Iterable[str]) -> None:
    """Report on standard error what was done with a data set's images; child processes stay silent."""
    if (words := "; ".join(said)) and multiprocessing.parent_process() is None:
        Terminal(stderr=True).print(f"{name}: {words}", markup=False, highlight=False, soft_wrap=True)


def as_bytes(
    where: str, images: Any, how: Reading = AS_THEY_ARE, *, in_doubt: Channels = "last"
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Images as uint8 (n, h, w, c), and what was done to them.

    images: an array (n, h, w), (n, h, w, c) or (n, c, h, w), or something that can be sliced like one, which is read in
    parts; or a list of arrays without the first axis, which may differ in size if `how` resizes them. where: what
    errors call them. in_doubt: where channels are if both are possible.
    """
    shapes = _shapes(where, images)
    order = how.channels or _order(shapes, in_doubt)
    sizes = dict.fromkeys(_last(shape, order) for shape in shapes)
    size, channels = _final_size(where, sizes, how)
    as_stored = not isinstance(images, list) and images.dtype == np.uint8 and not how.changes_size
    if not as_stored:
        check_room(where, len(images) * math.prod((*size, channels)))
    black, white, said = _range(where, images, how.value_range)
    if order == "first":
        said = [*said, "channels come first and are moved last"]
    said = [*said, *alpha_words(channels), *size_words(sizes, size, how)]
    if as_stored and (black, white) == (0, 255):
        return _channels_last(np.asarray(images), order), tuple(said)
    out = np.empty((len(images), *size, channels), np.uint8)
    for part in progress(_parts(images), f"converting {where}"):
        fitted = _to_bytes(_channels_last(_read(images, part), order), black, white)
        out[part] = fit_images(where, fitted, how) if how.changes_size else fitted
    return out, tuple(said)


def fit_images(where: str, images: NDArray[np.uint8], how: Reading) -> NDArray[np.uint8]:
    """Images (n, h, w, c) scaled and padded to the requested squares, with a Lanczos filter for each channel."""
    height, width = images.shape[1:3]
    (rows, columns), side = _scaled(where, height, width, how), how.pad
    if (rows, columns) != (height, width):
        out = np.empty((len(images), rows, columns, images.shape[3]), np.uint8)
        for number, channel in np.ndindex(len(images), images.shape[3]):
            picture = Image.fromarray(np.ascontiguousarray(images[number, :, :, channel]))
            out[number, :, :, channel] = np.asarray(picture.resize((columns, rows), Image.Resampling.LANCZOS))
        images = out
    if side is None:
        return images
    top, left = (side - rows) // 2, (side - columns) // 2
    return np.pad(images, ((0, 0), (top, side - rows - top), (left, side - columns - left), (0, 0)))


def size_text(shape: Sequence[int]) -> str:
    """An image's size in words: 64×64 with 3 channels."""
    height, width, channels = shape
    return f"{height}×{width} with {channels} channel{'s' * (channels > 1)}"


def _shapes(where: str, images: Any) -> list[tuple[int, ...]]:
    """The shapes of the images, without the first axis, each once."""
    if isinstance(images, list):
        shapes = list(dict.fromkeys(image.shape for image in images))
        whole: tuple[int, ...] = (len(images), *(shapes[0] if shapes else ()))
    else:
        whole, shapes = tuple(images.shape), [tuple(images.shape[1:])]
    if not shapes or any(len(shape) not in (2, 3) or 0 in (len(images), *shape) for shape in shapes):
        raise DataError(
            f"{where}: images have shape {whole}; expected (n, height, width), (n, height, width, channels) or (n, channels, "
            "height, width), none of them zero: flat images get their axes back by images.reshape(n, height, width), a single "
            "one is images[None]"
        )
    return shapes


def _order(shapes: Sequence[tuple[int, ...]], in_doubt: Channels) -> Channels:
    """Where these images have their channels. Images with many channels or very few rows count as channels last."""
    for shape in shapes:
        few = [len(shape) == 3 and shape[axis] <= MOST_CHANNELS for axis in (0, 2)]
        if few == [True, False] and (min(shape[1:]) >= _SIDE or in_doubt == "first"):
            return "first"
        if few == [True, True] and in_doubt == "first":
            return "first"
    return "last"


def _last(shape: tuple[int, ...], order: Channels) -> tuple[int, int, int]:
    if len(shape) == 2:
        return shape[0], shape[1], 1
    return (shape[1], shape[2], shape[0]) if order == "first" else (shape[0], shape[1], shape[2])


def _channels_last(images: NDArray, order: Channels) -> NDArray:
    if images.ndim == 3:
        return images[..., None]
    return np.moveaxis(images, 1, -1) if order == "first" else images


def _scaled(where: str, height: int, width: int, how: Reading) -> tuple[int, int]:
    """The size before padding; an error if it exceeds the padded size."""
    rows, columns = height, width
    if how.resize is not None and how.pad is None:
        rows, columns = how.resize, how.resize
    elif how.resize is not None:
        share = how.resize / max(height, width)
        rows, columns = max(1, round(share * height)), max(1, round(share * width))
    if how.pad is not None and max(rows, columns) > how.pad:
        raise DataError(
            f"{where}: images of {rows}×{columns} do not fit into {how.pad}×{how.pad} pixels; pad to {max(rows, columns)} or "
            f"more, or scale them, too: resize={how.pad} (--resize {how.pad})"
        )
    return rows, columns


def _final_size(where: str, sizes: Iterable[tuple[int, int, int]], how: Reading) -> tuple[tuple[int, int], int]:
    """The final height and width of all images, and their channels; an error if they would differ."""
    first_with: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for height, width, channels in sizes:
        rows, columns = _scaled(where, height, width, how)
        after = (rows, columns, channels) if how.pad is None else (how.pad, how.pad, channels)
        first_with.setdefault(after, (height, width, channels))
    if len(first_with) > 1:
        one, other, *_ = first_with.values()
        raise DataError(f"{where}: one image is {size_text(one)}, another {size_text(other)}; {ONE_SIZE}")
    ((rows, columns, channels),) = first_with
    return (rows, columns), channels


ONE_SIZE = (
    "expected images of one size and one number of channels: bring them to one size with resize=64 or pad=64 (--resize 64, "
    "--pad 64), and convert those that differ in channels"
)


def alpha_words(channels: int) -> list[str]:
    """A note that transparency, if present, is a channel like any other."""
    return ["the fourth channel, alpha, is kept"] if channels == MOST_CHANNELS else []


def size_words(sizes: Iterable[Sequence[int]], size: Sequence[int], how: Reading) -> list[str]:
    """A note on how images of these sizes were resized; empty if they were not."""
    if not how.changes_size:
        return []
    verb = " and ".join(word for word, side in (("resized", how.resize), ("padded with black", how.pad)) if side)
    before = list(dict.fromkeys(f"{height}×{width}" for height, width, _ in sizes))
    return [f"{verb} from {before[0] if len(before) == 1 else f'{len(before)} sizes'} to {size[0]}×{size[1]} pixels"]


def _parts(images: Any) -> list[slice]:
    """The parts in which images are read: those of a list, which may differ in size, one by one."""
    step = 1
    if not isinstance(images, list):
        step = max(1, _CHUNK_BYTES // max(1, images.dtype.itemsize * math.prod(images.shape[1:])))
    return [slice(start, start + step) for start in range(0, len(images), step)]


def _read(images: Any, part: slice) -> NDArray:
    """Some of the images, with a first axis."""
    return images[part.start][None] if isinstance(images, list) else np.asarray(images[part])


def _to_bytes(images: NDArray, black: float, white: float) -> NDArray[np.uint8]:
    if (black, white) == (0, 255) and images.dtype.kind in "iu":
        return images.astype(np.uint8)
    values = (images.astype(np.promote_types(images.dtype, np.float32)) - black) / (white - black)
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)


def _range(where: str, images: Any, told: tuple[float, float] | None) -> tuple[float, float, list[str]]:
    """The values of black and white, given or recognised, and notes on them."""
    kinds = {image.dtype for image in images} if isinstance(images, list) else {images.dtype}
    if len(kinds) > 1:
        raise DataError(
            f"{where}: images are {' and '.join(sorted(map(str, kinds)))}; expected one dtype for all of them"
        )
    (dtype,) = kinds
    if dtype.kind not in "biuf":
        raise DataError(f"{where}: images are {dtype}; expected {_EXPECTED}")
    if told is None and dtype == np.bool_:
        return 0, 1, ["booleans: False is black, True is white"]
    if told is None and dtype == np.uint8:
        return 0, 255, _nearly_black(images)
    low, high, whole = _extent(where, images)
    if told is not None:
        slack = _SLACK * (told[1] - told[0])
        if low < told[0] - slack or high > told[1] + slack:
            raise DataError(f"{where}: images hold values from {low:g} to {high:g}, outside value_range {told}")
        return told[0], told[1], [f"{dtype} with black at {told[0]:g} and white at {told[1]:g}, as told"]
    black, white = _recognised(where, dtype, low, high, whole)
    if (black, white) == (0, 255):
        return black, white, [f"{dtype} from 0 to 255, taken as bytes"]
    span = f"{dtype} from {low:g} to {high:g}"
    return black, white, [f"{span}, taken as numbers in [{black:g}, {white:g}] and mapped on bytes"]


_EXPECTED = (
    "uint8 from 0 to 255, booleans, uint16 from 0 to 65535, or floating-point numbers in [0, 1], [−1, 1] or 0 … 255. Convert "
    "them, or tell the values of black and white: hackle.from_arrays(…, value_range=(0.0, 4095.0))"
)


def _recognised(where: str, dtype: np.dtype, low: float, high: float, whole: bool) -> tuple[float, float]:
    """The only range that fits these values; an error if it is ambiguous."""
    if dtype.kind == "f" and low >= -_SLACK and high <= 1 + _SLACK:
        return 0, 1
    if dtype.kind == "f" and -1 - _SLACK <= low < -0.5 and high <= 1 + _SLACK:
        return -1, 1
    if dtype.kind in "iu" and low >= 0 and high <= 1:
        return 0, 1
    # If all values are small, such as 1.5, they are more likely values of [0, 1] gone wrong, or something else.
    if low >= 0 and high <= 255 and (high >= 128 or (whole and high >= 16)):
        return 0, 255
    # More than half of the range is used, so these are not 10, 12 or 14 bits.
    if dtype == np.uint16 and high > 32767:
        return _SIXTEEN
    raise DataError(f"{where}: images are {dtype} from {low:g} to {high:g}; expected {_EXPECTED}")


def _extent(where: str, images: Any) -> tuple[float, float, bool]:
    """The smallest and the largest value, and whether all are integers."""
    low, high, whole = np.inf, -np.inf, True
    for part in (_read(images, each) for each in progress(_parts(images), f"reading {where}")):
        least, most = float(part.min()), float(part.max())
        if not np.isfinite([least, most]).all():
            raise DataError(
                f"{where}: images hold a value that is not a finite number: leave such images out, or fill it in; expected "
                f"{_EXPECTED}"
            )
        low, high = min(low, least), max(high, most)
        whole = whole and (part.dtype.kind in "iu" or bool((part == np.rint(part)).all()))
    return low, high, whole


def _nearly_black(images: Any) -> list[str]:
    """A note if all bytes are 0 or 1. The search ends at the first larger one."""
    highest = 0
    for part in _parts(images):
        highest = max(highest, int(_read(images, part).max()))
        if highest > 1:
            return []
    dark = "bytes of 0 and 1 alone, which are nearly black of 255; give booleans if they mean black and white"
    return [dark] if highest == 1 else []
