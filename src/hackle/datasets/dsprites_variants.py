"""Color-dSprites, Noisy-dSprites and Scream-dSprites (Locatello et al. 2019, appendix D): dSprites with random colours or
backgrounds.

Factors are those of dSprites; everything else is drawn anew for every image, so two images of one factor row
differ. With v in [0, 1] for a channel's value and u uniform in [0, 1):

    color    v = (1 + u) / 2 on the sprite, 0 elsewhere; one u for each channel of each image
    noisy    v = 1 on the sprite, u elsewhere; one u for each channel of each pixel
    scream   v = 1 − (p + u) / 2 on the sprite, (p + u) / 2 elsewhere; p is a random 64×64 patch of Munch's painting, one u
             for each channel of each image

The painting is shrunk to fit into 350×274 pixels (width, height) with its proportions kept, as the authors' library does.

Departures. Images are bytes: color rounds 255 v, noise and shade are uniform bytes, scream rounds the mean of two bytes
up. Every patch of the painting can be drawn; the authors' library never reaches those at its right and lower edge.

Random numbers come four 32-bit words to an image (color: red, green, blue, unused; scream: patch, red, green, blue), or as
the bytes of 3,072 words, lowest byte first, in the order of the image's bytes (noisy).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from hackle.core.randomness import Stream
from hackle.datasets import sprite_kernels
from hackle.datasets.bits import SIDE, drawn_by_kernels, gather, unpack
from hackle.datasets.damage import reading
from hackle.datasets.decoding import FORMATS
from hackle.datasets.dsprites import Sprites, SpriteStore
from hackle.datasets.fetch import present_files
from hackle.datasets.source import DataError, RemoteFile, Source

_FITS = (350, 274)
_ADDRESS = "https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg"


def _words(name: str, sprites: Tensor, stream: Stream) -> Tensor:
    """Four words for each image, (m, b, 4)."""
    return stream.words(name, sprites.shape[1] * 4).view(*sprites.shape[:2], 4)


def _rows(colours: Tensor) -> Tensor:
    """Colours (m, b, 3) as rows of 64 pixels of one colour, (m, b, 1, 192): long runs of bytes are fast to combine."""
    return colours.repeat(1, 1, SIDE).unsqueeze(2)


def colour(sprites: Tensor, stream: Stream) -> Tensor:
    """Sprites (m, b, 64, 64, 3), 0 or 255, in a random colour."""
    colours = (((_words("colour", sprites, stream)[..., :3] >> 8) * 255) >> 25) + 128
    return (sprites.flatten(3) & _rows(colours.to(torch.uint8))).view(sprites.shape)


def noise(sprites: Tensor, stream: Stream) -> Tensor:
    """Sprites (m, b, 64, 64, 3), 0 or 255, on random bytes."""
    words = stream.words("noise", sprites[0].numel() // 4)
    return words.to(torch.int32).view(torch.uint8).view(sprites.shape).bitwise_or_(sprites)


def scream(sprites: Tensor, stream: Stream, painting: Tensor) -> Tensor:
    """Patches of a painting (h, w, 3), inverted on the sprites (m, b, 64, 64, 3), which are 0 or 255."""
    words = _words("scream", sprites, stream)
    patches = _patches(words[..., 0], painting).view(torch.int64)
    shades = _rows((words[..., 1:] >> 24).to(torch.uint8)).view(torch.int64)
    # Eight bytes at a time and in place, for speed. In each byte the mean, rounded up, is (p | u) − ((p ^ u) >> 1).
    halves = (patches ^ shades).bitwise_right_shift_(1).bitwise_and_(0x7F7F7F7F7F7F7F7F)
    means = patches.bitwise_or_(shades).sub_(halves)
    return means.view(torch.uint8).view(sprites.shape).bitwise_xor_(sprites)


def _patches(places: Tensor, painting: Tensor) -> Tensor:
    """A patch of the painting for each uniform 32-bit number (m, b), as rows of bytes (m, b, 64, 192)."""
    height, width, _ = painting.shape
    across = width - SIDE + 1
    corner = (places * ((height - SIDE + 1) * across)) >> 32
    first = (corner // across * width + corner % across) * 3
    every = first.unsqueeze(-1) + torch.arange(SIDE, device=painting.device) * (width * 3)
    # A row of a patch is a run of 192 bytes, which may start at any byte of the painting.
    runs = painting.flatten().as_strided((painting.numel() - SIDE * 3 + 1, SIDE * 3), (1, 1))
    return runs.index_select(0, every.flatten()).view(*every.shape, SIDE * 3)


class VariantImages:
    """Images (m, b, 64, 64, 3) of one kind, from the words (n, 64) of n sprites."""

    def __init__(self, words: Tensor, kind: str, painting: Tensor | None = None) -> None:
        self.words = words
        self.kind = kind
        self._paint: Callable[[Tensor, Stream], Tensor] = {"colour": colour, "noise": noise, "scream": scream}[kind]
        self._size, self._slides = (SIDE, SIDE), None
        if painting is not None:
            painting = painting.to(words.device)
            self._paint = partial(scream, painting=painting)
            self._size = (painting.shape[0], painting.shape[1])
            if drawn_by_kernels(words):
                self._slides = sprite_kernels.sliding_words(painting)

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        if len(stream.seeds) != len(index):
            raise ValueError(f"indices for {len(index)} models but a stream for {len(stream.seeds)}; expected one each")
        if drawn_by_kernels(self.words):
            return sprite_kernels.variant(self.words, index, stream, self.kind, self._slides, self._size)
        return self._paint(unpack(gather(self.words, index), channels=3), stream)


def read_painting(root: Path) -> Tensor:
    """The Scream from the data folder, (h, w, 3), shrunk to fit into 350×274 pixels."""
    (path,) = present_files(SOURCES[-1], root)
    with reading(path, f"a picture; save {_ADDRESS} there"), Image.open(path, formats=FORMATS) as picture:
        picture.thumbnail(_FITS)
        painting = np.array(picture.convert("RGB"))
    if min(painting.shape[:2]) < SIDE:
        raise DataError(
            f"{path}, shrunk to fit into {_FITS[0]}×{_FITS[1]}, has {painting.shape[1]}×{painting.shape[0]} pixels; "
            f"expected at least {SIDE}×{SIDE}. Save {_ADDRESS} there"
        )
    return torch.from_numpy(painting)


def _load(name: str, kind: str, root: Path) -> Sprites:
    painting = read_painting(root) if kind == "scream" else None
    return Sprites(name, 3, SpriteStore(root / "dsprites"), partial(VariantImages, kind=kind, painting=painting))


def _source(name: str, kind: str, summary: str, *files: RemoteFile, steps: str = "", stand_in: str = "") -> Source:
    return Source(
        name=name,
        title=f"{name.partition('-')[0].capitalize()}-dSprites",
        summary=summary,
        images="737,280 of 64×64×3",
        factors="shape 3, scale 6, orientation 40, x 32, y 32",
        licence="Apache-2.0",
        load=partial(_load, name, kind),
        files=files,
        steps=steps,
        stand_in=stand_in,
    )


SOURCES = (
    _source("color-dsprites", "colour", "dSprites in a random colour, drawn anew each time"),
    _source("noisy-dsprites", "noise", "dSprites on random noise, drawn anew each time"),
    _source(
        "scream-dsprites",
        "scream",
        "dSprites inverted out of random patches of The Scream, drawn anew each time",
        RemoteFile("scream.jpg", _ADDRESS),
        steps="save a picture of Munch's The Scream as scream.jpg",
        # Also shapes in front of a busy background.
        stand_in="noisy-dsprites",
    ),
)
