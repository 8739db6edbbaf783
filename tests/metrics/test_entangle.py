"""Entangled codes: the same marginals, independence kept, every code mixed into every other."""

import numpy as np
import pytest

from hackle.metrics import MetricError, cosine_rotation, entangle, householder_rotation


@pytest.mark.parametrize("size", [2, 3, 4, 8, 10, 16, 33])
@pytest.mark.parametrize("make", [cosine_rotation, householder_rotation])
def test_rotations_are_orthogonal_without_zeros(make, size):
    matrix = make(size)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-12)
    assert np.abs(matrix).min() > 1e-3


def test_the_householder_matrix_is_the_papers():
    v = np.array([np.sqrt(0.3), np.sqrt(0.35), np.sqrt(0.35)])
    np.testing.assert_allclose(householder_rotation(3, alpha=0.3), np.eye(3) - 2 * np.outer(v, v))


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(0)
    return np.stack([rng.normal(size=20_000), rng.exponential(size=20_000), rng.random(20_000)], axis=1)


def test_every_code_keeps_its_values(codes):
    mixed = entangle(codes)
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(codes, axis=0))


def test_independent_codes_stay_independent(codes):
    """The joint distribution is that of independent codes: counts in 4×4×4 cells of equal probability are even."""
    mixed = entangle(codes)
    cells = np.stack([np.searchsorted(np.quantile(c, [0.25, 0.5, 0.75]), c) for c in mixed.T], axis=1)
    counts = np.bincount(cells @ [16, 4, 1], minlength=64)
    chi_squared = ((counts - 312.5) ** 2 / 312.5).sum()
    assert chi_squared < 63 + 4 * np.sqrt(2 * 63)


@pytest.mark.parametrize("rotation", [None, householder_rotation(3)])
def test_every_new_code_depends_on_every_old_one(codes, rotation):
    mixed = entangle(codes, rotation=rotation)
    matrix = np.abs(cosine_rotation(3) if rotation is None else rotation)
    ranks = lambda table: np.argsort(np.argsort(table, axis=0), axis=0)  # noqa: E731
    correlation = np.abs(np.corrcoef(ranks(mixed).T, ranks(codes).T)[:3, 3:])
    # Spearman's correlation of two normals correlated by r.
    np.testing.assert_allclose(correlation, 6 / np.pi * np.arcsin(matrix / 2), atol=0.02)


def test_entangling_with_the_transpose_untangles(codes):
    matrix = householder_rotation(3)
    back = entangle(entangle(codes, rotation=matrix), rotation=matrix.T)
    ranks = lambda table: np.argsort(np.argsort(table, axis=0), axis=0) / len(table)  # noqa: E731
    assert np.abs(ranks(back) - ranks(codes)).mean() < 0.01


def test_constant_codes_stay_and_equal_values_are_treated_alike():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 3, 900), np.full(900, 7), rng.integers(0, 3, 900)], axis=1) * 1.0
    mixed = entangle(codes)
    np.testing.assert_array_equal(mixed[:, 1], 7)
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(codes, axis=0))


def test_wrong_arguments_are_refused(codes):
    with pytest.raises(MetricError, match="1 of the codes vary"):
        entangle(codes[:, :1])
    with pytest.raises(MetricError, match="orthogonal 3×3 matrix without zeros"):
        entangle(codes, rotation=np.eye(3))
    with pytest.raises(MetricError, match="orthogonal 3×3"):
        entangle(codes, rotation=np.ones((3, 3)))
    with pytest.raises(MetricError, match=r"between 0 and 0\.5"):
        householder_rotation(3, alpha=0.5)
    with pytest.raises(MetricError, match="two codes"):
        cosine_rotation(1)
