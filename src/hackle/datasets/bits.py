"""Black-and-white images stored as bits, eight pixels per byte, and unpacked on any device.

An image of 64×64 pixels is 64 words of 64 bits; bit c of word r is the pixel in row r and column c. All of dSprites
then takes 360 MiB, an eighth of its size as bytes, and a batch is unpacked where it is needed. On CUDA with Triton one
fused kernel gathers and unpacks; everywhere else PyTorch does, with the same bytes.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.randomness import Stream
from hackle.core.triton_shim import on_triton
from hackle.datasets import sprite_kernels

SIDE = 64


def pack(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(n, 64) words for images (n, 64, 64) of zeros and ones.

    >>> pack(np.eye(64, dtype=np.uint8)[None])[0, :3]
    array([1, 2, 4])
    """
    return np.packbits(images, axis=-1, bitorder="little").view("<i8")[..., 0]


@functools.cache
def _pixels_of_byte(channels: int, device: torch.device) -> Tensor:
    """For each byte its eight pixels, 0 or 255 in every channel, as `channels` 64-bit words."""
    pixels = ((torch.arange(256)[:, None] >> torch.arange(8)) & 1) * 255
    return pixels.to(torch.uint8).repeat_interleave(channels, dim=1).view(torch.int64).to(device)


def unpack(words: Tensor, channels: int = 1) -> Tensor:
    """uint8 pixels (…, 64, 64, channels), 0 or 255, for words (…, 64).

    >>> unpack(torch.tensor([[5] + 63 * [0]]))[0, 0, :4, 0]
    tensor([255,   0, 255,   0], dtype=torch.uint8)
    """
    octets = words.contiguous().view(torch.uint8).flatten()
    pixels = _pixels_of_byte(channels, words.device).index_select(0, octets.int())
    return pixels.view(torch.uint8).view(*words.shape, SIDE, channels)


def gather(words: Tensor, index: Tensor) -> Tensor:
    """The words (…, 64) of the images at flat indices of any shape."""
    return words.index_select(0, index.flatten()).view(*index.shape, SIDE)


def drawn_by_kernels(words: Tensor) -> bool:
    """Whether images of these words are drawn by `sprite_kernels`."""
    return on_triton(words, dtypes=(torch.int64,))


class BitImages:
    """White sprites on black, (m, b, 64, 64, 1), from the words (n, 64) of n images."""

    def __init__(self, words: Tensor) -> None:
        self.words = words

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        if drawn_by_kernels(self.words):
            return sprite_kernels.plain(self.words, index)
        return unpack(gather(self.words, index))
