"""Counter-based random numbers: every draw is a pure function of (seed, step, purpose, position).

Philox 4×32 with ten rounds (Salmon et al. 2011), written in 64-bit integer arithmetic so that CPU and GPU give the same
bits. A run's noise therefore depends on its own seed alone: not on its neighbours in a fleet, the fleet's size, the
device or a restart. Integers and uniforms are identical everywhere; normals agree to the last digits of log and cos.
"""

from __future__ import annotations

import math
import operator
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import torch
from torch import Tensor

from hackle.core import randomness_kernel
from hackle.core.triton_shim import on_triton

_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def check_seed(seed: SupportsIndex) -> int:
    """The seed as a plain integer: a whole number from 0 to 2⁶³ − 1, which every generator tells apart.

    >>> check_seed(7)
    7
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**63:
        raise ValueError(f"seed is {seed!r}; expected a whole number from 0 to 2⁶³ − 1")
    return number


def _multiply(a: int, b: Any) -> tuple[Any, Any]:
    """High and low 32 bits of a·b; the wrap-around of int64 leaves exactly the low 64 bits of the product."""
    product = b * a
    return (product >> 32) & _WORD, product & _WORD


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]) -> tuple[Any, ...]:
    """Four 32-bit words from four counter words and two key words: int64 arrays of broadcastable shapes, or integers."""
    a, b, c, d = counter
    left, right = key
    for _ in range(10):
        high_a, low_a = _multiply(_MULTIPLIERS[0], a)
        high_c, low_c = _multiply(_MULTIPLIERS[1], c)
        a, b, c, d = high_c ^ b ^ left, low_c, high_a ^ d ^ right, low_a
        left, right = (left + _WEYL[0]) & _WORD, (right + _WEYL[1]) & _WORD
    return a, b, c, d


@dataclass(frozen=True)
class Stream:
    """Random tensors for m models at one step and for one purpose.

    `seeds` has shape (m,), `step` is a scalar tensor; both are int64 on the device that the draws land on. Every draw has
    m as its leading axis. Draws under different names are independent; two draws under one name share their bits, so
    every draw gets a name of its own. Nothing else enters: row i of a draw is what seed i alone would give.

    >>> Stream.of([7, 8], step=3, purpose="batch").integers("index", (2,), 100).shape
    torch.Size([2, 2])
    """

    seeds: Tensor
    step: Tensor
    purpose: str = ""

    @classmethod
    def of(
        cls, seeds: Sequence[SupportsIndex], step: int = 0, purpose: str = "", device: torch.device | str = "cpu"
    ) -> Stream:
        """The stream of these seeds, each from 0 to 2⁶³ − 1."""
        numbers = torch.tensor([check_seed(seed) for seed in seeds], dtype=torch.int64, device=device)
        return cls(numbers, torch.tensor(step, dtype=torch.int64, device=device), purpose)

    def tag(self, name: str) -> int:
        """The 32-bit number that tells the draws of this purpose and name from all others."""
        return zlib.crc32(f"{self.purpose}/{name}".encode())

    @property
    def _by_kernel(self) -> bool:
        return on_triton(self.seeds, dtypes=(torch.int64,))

    def words(self, name: str, count: int) -> Tensor:
        """(m, count) uniform 32-bit integers as int64: by one kernel on CUDA, elsewhere by NumPy on the CPU."""
        if self._by_kernel:
            return randomness_kernel.words(self.seeds, self.step, self.tag(name), count)
        position = np.arange(-(-count // 4))
        seeds, step = self.seeds.cpu().numpy()[:, None], int(self.step)
        counter = (position, self.tag(name), step & _WORD, (step >> 32) & _WORD)
        fours = np.stack(philox(counter, (seeds & _WORD, (seeds >> 32) & _WORD)), axis=-1)
        return torch.from_numpy(fours.reshape(len(seeds), 4 * len(position))[:, :count]).to(self.seeds.device)

    def uniform(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """(m, *shape) float32 numbers in [0, 1), multiples of 2⁻²⁴ and so exact on every device."""
        words = self.words(name, math.prod(shape))
        return ((words >> 8).to(torch.float32) * 2.0**-24).view(len(self.seeds), *shape)

    def integers(self, name: str, shape: tuple[int, ...], high: int) -> Tensor:
        """(m, *shape) int64 numbers in [0, high), high ≤ 2³¹; scaling moves each one's probability by less than 2⁻³²."""
        if not 1 <= high <= 2**31:
            raise ValueError(f"high is {high}; expected 1 to 2³¹")
        count = math.prod(shape)
        if self._by_kernel:
            return randomness_kernel.words(self.seeds, self.step, self.tag(name), count, high).view(
                len(self.seeds), *shape
            )
        return ((self.words(name, count) * high) >> 32).view(len(self.seeds), *shape)

    def normal(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """(m, *shape) standard normal float32 numbers, by Box and Muller's transform; 24 bits end the tails at ±5.77."""
        count = math.prod(shape)
        if self._by_kernel:
            return randomness_kernel.normal(self.seeds, self.step, self.tag(name), count).view(len(self.seeds), *shape)
        pairs = -(-count // 2)
        words = self.words(name, 2 * pairs).view(len(self.seeds), 2, pairs)
        radius = torch.sqrt(-2.0 * torch.log(((words[:, 0] >> 8).to(torch.float32) + 1.0) * 2.0**-24))
        angle = (words[:, 1] >> 8).to(torch.float32) * (2.0**-24 * 2 * math.pi)
        both = torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)
        return both[:, :count].view(len(self.seeds), *shape)

    def permutations(self, name: str, rows: int, columns: int) -> Tensor:
        """(m, rows, columns) int64: in each column an independent uniform permutation of 0 … rows − 1."""
        keys = self.words(name, rows * columns).view(len(self.seeds), rows, columns)
        return torch.argsort(keys, dim=1, stable=True)
