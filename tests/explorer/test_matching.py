"""Latents of several models, matched by what they say about the factors."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from hackle.explorer.matching import direction, matched_latents


def test_latents_that_were_permuted_are_found_again() -> None:
    rng = np.random.default_rng(0)
    first = rng.random((6, 4))
    order = rng.permutation(6)
    rows = matched_latents([first, first[order]])
    assert [order[other] for _, other in rows if other is not None] == list(range(6))


def test_the_sum_of_differences_is_the_least_of_all_assignments() -> None:
    rng = np.random.default_rng(1)
    first, other = rng.random((5, 3)), rng.random((5, 3))
    cost = np.abs(first[:, None] - other[None]).sum(axis=2)
    least = min(sum(cost[row, column] for row, column in enumerate(order)) for order in permutations(range(5)))
    found = matched_latents([first, other])
    assert sum(cost[a, b] for a, b in found if a is not None and b is not None) == pytest.approx(least, rel=1e-12)


def test_every_latent_of_every_model_has_one_place() -> None:
    rng = np.random.default_rng(2)
    sizes = (3, 5, 2)
    rows = matched_latents([rng.random((size, 4)) for size in sizes])
    assert [row[0] for row in rows[:3]] == [0, 1, 2]
    for model, size in enumerate(sizes):
        assert sorted(latent for row in rows if (latent := row[model]) is not None) == list(range(size))
    # Those that are left stand alone.
    assert all(sum(latent is not None for latent in row) == 1 for row in rows[3:])


def test_class_numbers_are_matched_with_one_another_alone() -> None:
    first = [[1.0, 0.0], [0.0, 1.0]]
    assert matched_latents([first, first], [[True, False], [False, True]]) == [[0, 1], [1, 0]]
    assert matched_latents([first, first], [[True, False], [False, False]]) == [[0, None], [1, 1], [None, 0]]


def test_directions() -> None:
    codes = np.random.default_rng(3).normal(size=50)
    assert direction(codes, 2 * codes + 3) == 1
    assert direction(codes, 5 - codes) == -1
