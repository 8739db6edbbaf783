"""Codes with known quality for the classical scores: an encoder of factor rows, and every array that a score may ask for.
And posteriors whose mutual information with the data is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

SIZES = (3, 4, 5, 6)


@dataclass(frozen=True)
class Sample:
    """Training and test rows, and groups of codes that share one factor."""

    codes: NDArray
    factors: NDArray
    test_codes: NDArray
    test_factors: NDArray
    groups: NDArray
    held: NDArray
    test_groups: NDArray
    test_held: NDArray

    @property
    def test(self) -> tuple[NDArray, NDArray]:
        return self.test_codes, self.test_factors

    @property
    def differences(self) -> NDArray:
        return _differences(self.groups)

    @property
    def test_differences(self) -> NDArray:
        return _differences(self.test_groups)

    def map_codes(self, function: Callable[[NDArray], NDArray]) -> Sample:
        """All codes of the sample sent through one function of (n, c), so that it sees them as one encoder's."""
        parts = (self.codes, self.test_codes, self.groups, self.test_groups)
        rows = [part.reshape(-1, part.shape[-1]) for part in parts]
        mapped = np.split(function(np.vstack(rows)), np.cumsum([len(part) for part in rows])[:-1])
        shaped = [new.reshape(*old.shape[:-1], new.shape[-1]) for new, old in zip(mapped, parts, strict=True)]
        return replace(self, codes=shaped[0], test_codes=shaped[1], groups=shaped[2], test_groups=shaped[3])


def _differences(groups: NDArray) -> NDArray:
    half = groups.shape[1] // 2
    return np.abs(groups[:, :half] - groups[:, half:]).mean(axis=1)


def values(factors: NDArray, sizes: tuple[int, ...] = SIZES) -> NDArray:
    """Factor rows as numbers spread evenly over −1 … 1."""
    return (factors + 0.5) / np.array(sizes) * 2 - 1


def make_sample(
    encode: Callable[[NDArray, np.random.Generator], NDArray],
    *,
    sizes: tuple[int, ...] = SIZES,
    rows: int = 600,
    groups: int = 160,
    group_size: int = 32,
    seed: int = 0,
) -> Sample:
    """Encode rows drawn independently, and groups in which one factor is held at a value drawn for the group."""
    rng = np.random.default_rng(seed)
    factors, test_factors = (rng.integers(0, sizes, size=(n, len(sizes))) for n in (rows, rows // 2))

    def held_groups(count: int) -> tuple[NDArray, NDArray]:
        held = rng.integers(len(sizes), size=count)
        grouped = rng.integers(0, sizes, size=(count, group_size, len(sizes)))
        grouped[np.arange(count), :, held] = grouped[np.arange(count), 0, held][:, None]
        return encode(grouped.reshape(-1, len(sizes)), rng).reshape(count, group_size, -1), held

    train_groups, held = held_groups(groups)
    test_groups, test_held = held_groups(groups // 2)
    codes, test_codes = encode(factors, rng), encode(test_factors, rng)
    return Sample(codes, factors, test_codes, test_factors, train_groups, held, test_groups, test_held)


def disentangled(factors: NDArray, rng: np.random.Generator) -> NDArray:
    """One code for each factor, with a little noise."""
    return values(factors) + 0.05 * rng.normal(size=factors.shape)


def imperfect(factors: NDArray, rng: np.random.Generator) -> NDArray:
    """Seven codes: four that lean towards one factor each, one that repeats a factor, one mixture and one of noise."""
    u = values(factors)
    leak = 0.2 * np.roll(u, 1, axis=1) + 0.1 * np.sin(3 * u)
    extra = np.stack([np.tanh(2 * u[:, 1]), u[:, 0] * u[:, 2] + 0.5 * u[:, 3], np.zeros(len(u))], axis=1)
    scale = np.array([0.15] * 6 + [0.5])
    return np.hstack([u + leak, extra]) + scale * rng.normal(size=(len(u), 7))


def channels(scales: ArrayLike, n: int = 2000, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Posteriors of independent channels with aggregate N(0, 1) each, means at shuffled quantiles: I(z_i; x) = −ln s_i."""
    rng = np.random.default_rng(seed)
    quantiles = ndtri((np.arange(n) + 0.5) / n)
    means = np.stack([np.sqrt(1 - scale**2) * rng.permutation(quantiles) for scale in np.asarray(scales)], axis=1)
    return means, np.tile(2 * np.log(scales), (n, 1))
