"""dSprites and its three stochastic variants drawn by one kernel launch for each batch, written in Triton.

Images are written four bytes at a time. The random numbers are those of `hackle.core.randomness.Stream`, computed in place
from the same counters and keys, so that a batch has the same bytes as on the CPU.

Without Triton, as in PyTorch's wheels for the CPU, the kernels stay the plain functions below and cannot be launched.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import torch
from torch import Tensor

from hackle.core.randomness import Stream
from hackle.core.randomness_kernel import philox
from hackle.core.triton_shim import jit, launch, tl


@jit
def sprite_words(bits, word):
    """Four bytes of a three-channel image, 0xFF where the sprite is: they belong to one pixel and to the next one."""
    pixel = word * 4 // 3
    following = pixel + 1
    here = (tl.load(bits + pixel // 32) >> (pixel % 32)) & 1
    there = (tl.load(bits + following // 32) >> (following % 32)) & 1
    first = 0xFFFFFF >> (word % 3 * 8)
    return ((-here & first) | (-there & ~first)).to(tl.uint32, bitcast=True)


@jit
def channel_words(red, green, blue, word):
    """Four bytes of an image of one colour: word 0 begins with red, word 1 with green, word 2 with blue."""
    from_red = red | (green << 8) | (blue << 16) | (red << 24)
    from_green = green | (blue << 8) | (red << 16) | (green << 24)
    from_blue = blue | (red << 8) | (green << 16) | (blue << 24)
    return tl.where(word % 3 == 0, from_red, tl.where(word % 3 == 1, from_green, from_blue))


@jit
def plain_kernel(out, bits, index):
    image = tl.program_id(0).to(tl.int64)
    word = tl.arange(0, 1024)
    packed = tl.load(bits + tl.load(index + image) * 128 + word // 8)
    four = (packed >> (word % 8 * 4)) & 15
    # The product puts bit k of the four at bit 8 k, among copies elsewhere that the mask removes.
    tl.store(out + image * 1024 + word, ((four * 0x204081) & 0x01010101) * 255)


@jit
def variant_kernel(
    out, bits, index, seeds, step, tag, batch, slides, length, width, patches, KIND: tl.constexpr
):  # fmt: skip
    image = tl.program_id(0)
    part = tl.program_id(1)
    position = image % batch
    seed = tl.load(seeds + image // batch)
    left = seed.to(tl.uint32)
    right = (seed >> 32).to(tl.uint32)
    now = tl.load(step)
    early = now.to(tl.uint32)
    late = (now >> 32).to(tl.uint32)
    purpose = tag.to(tl.uint32)
    image = image.to(tl.int64)
    word = part * 1024 + tl.arange(0, 1024)
    sprite = sprite_words(bits + tl.load(index + image) * 128, word)
    if KIND == "noise":
        counter = (position * 768 + part * 256 + tl.arange(0, 256)).to(tl.uint32)
        a, b, c, d = philox(counter, purpose, early, late, left, right)
        pixels = tl.interleave(tl.interleave(a, c), tl.interleave(b, d)) | sprite
    else:
        a, b, c, d = philox(position.to(tl.uint32), purpose, early, late, left, right)
        if KIND == "colour":
            red = (((a >> 8) * 255) >> 25) + 128
            green = (((b >> 8) * 255) >> 25) + 128
            blue = (((c >> 8) * 255) >> 25) + 128
            pixels = channel_words(red, green, blue, word) & sprite
        else:
            shade = channel_words(b >> 24, c >> 24, d >> 24, word)
            corner = ((a.to(tl.int64) * patches) >> 32).to(tl.int32)
            across = width - 63
            row = corner // across + word // 48
            octet = (row * width + corner % across) * 3 + word % 48 * 4
            paint = tl.load(slides + octet % 4 * length + octet // 4).to(tl.uint32, bitcast=True)
            # In each byte the mean of paint and shade, halves rounded up; to invert it is to flip its bits.
            pixels = ((paint | shade) - (((paint ^ shade) & 0xFEFEFEFE) >> 1)) ^ sprite
    tl.store(out + image * 3072 + word, pixels.to(tl.int32, bitcast=True))


def sliding_words(painting: Tensor) -> Tensor:
    """(4, k) int32: row s holds the bytes of a painting (h, w, 3) from byte s on, four to a word.

    A patch begins at any byte; with these copies its words are loaded whole.
    """
    octets = painting.flatten()
    length = -(-octets.numel() // 4) * 4
    padded = torch.cat([octets, octets.new_zeros(length + 3 - octets.numel())])
    return torch.stack([padded[shift : shift + length].clone().view(torch.int32) for shift in range(4)])


def plain(words: Tensor, index: Tensor) -> Tensor:
    """uint8 images (m, b, 64, 64, 1) for flat indices (m, b) into words (n, 64), all on one device."""
    out = torch.empty(*index.shape, 64, 64, 1, dtype=torch.uint8, device=words.device)
    if index.numel():
        pixels, bits = out.view(-1).view(torch.int32), words.view(torch.int32)
        launch(plain_kernel, (index.numel(),), pixels, bits, index.contiguous())
    return out


def variant(
    words: Tensor, index: Tensor, stream: Stream, kind: str, slides: Tensor | None, size: tuple[int, int]
) -> Tensor:
    """uint8 images (m, b, 64, 64, 3) of a kind: colour, noise or scream.

    Scream alone looks at the painting's sliding words and its size (height, width).
    """
    out = torch.empty(*index.shape, 64, 64, 3, dtype=torch.uint8, device=words.device)
    height, width = size
    if index.numel():
        launch(
            variant_kernel, (index.numel(), 3),
            out.view(-1).view(torch.int32), words.view(torch.int32), index.contiguous(),
            stream.seeds.contiguous(), stream.step, stream.tag(kind), index.shape[1],
            slides, 0 if slides is None else slides.shape[1], width, (height - 63) * (width - 63), KIND=kind,
        )  # fmt: skip
    return out
