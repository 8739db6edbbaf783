"""CKA and CCA between two representations: Gram matrices by hand, closed forms, invariances and null levels."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hackle.metrics import MetricError, cca, cka, similarity_matrix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * np.array([1.0, 2.0, 0.5, 1.0])
ROTATION = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
NOISE = RNG.normal(size=(200, 3))
OTHERS = {"perfect": X, "rotated": X @ ROTATION, "noise": NOISE, "part": X[:, :2] + 0.3 * NOISE[:, :2]}


def centred_gram(gram: np.ndarray) -> np.ndarray:
    keep = np.eye(len(gram)) - 1 / len(gram)
    return keep @ gram @ keep


def unbiased_hsic(k: np.ndarray, other: np.ndarray) -> float:
    """Song et al. 2012, equation 5, with the diagonals of both Gram matrices set to 0."""
    n = len(k)
    a, b = k - np.diag(np.diag(k)), other - np.diag(np.diag(other))
    return float(
        np.trace(a @ b) + a.sum() * b.sum() / ((n - 1) * (n - 2)) - 2 * a.sum(axis=0) @ b.sum(axis=0) / (n - 2)
    )


@pytest.mark.parametrize("kind", OTHERS)
def test_they_are_what_gram_matrices_give(kind: str) -> None:
    y = OTHERS[kind]
    k, other = (centred_gram(part @ part.T) for part in (X, y))
    biased = np.sum(k * other) / np.sqrt(np.sum(k * k) * np.sum(other * other))
    assert cka(X, y) == pytest.approx(biased, abs=1e-12)
    debiased = unbiased_hsic(k, other) / np.sqrt(unbiased_hsic(k, k) * unbiased_hsic(other, other))
    assert cka(X, y, debiased=True) == pytest.approx(debiased, abs=1e-10)
    grams = []
    for part in (X, y):
        squares = ((part[:, None] - part[None]) ** 2).sum(axis=2)
        median = np.median(np.sqrt(squares[np.triu_indices(len(part), 1)]))
        grams.append(centred_gram(np.exp(-squares / (2 * (0.5 * median) ** 2))))
    k, other = grams
    expected = np.sum(k * other) / np.sqrt(np.sum(k * k) * np.sum(other * other))
    assert cka(X, y, kernel="rbf", bandwidth=0.5) == pytest.approx(expected, abs=1e-10)
    # Canonical correlations are square roots of the eigenvalues of Σx⁻¹ Σxy Σy⁻¹ Σyx.
    whole = np.cov(X, y, rowvar=False)
    xx, xy, yy = whole[:4, :4], whole[:4, 4:], whole[4:, 4:]
    eigenvalues = np.linalg.eigvals(np.linalg.solve(xx, xy) @ np.linalg.solve(yy, xy.T)).real
    rho = np.sqrt(np.clip(np.sort(eigenvalues)[::-1][: y.shape[1]], 0, 1))
    assert cca(X, y) == pytest.approx(rho.mean(), abs=1e-9)


@pytest.mark.parametrize(
    "measure", [cka, partial(cka, debiased=True), partial(cka, kernel="rbf"), cca, partial(cca, variance=0.99)]
)
def test_rotations_scale_and_order_do_not_matter(measure: partial) -> None:
    assert measure(X, 3.0 * X @ ROTATION + 7.0) == pytest.approx(1.0, abs=1e-9)
    y = OTHERS["part"]
    assert measure(X, y) == pytest.approx(measure(-2.0 * y, X @ ROTATION), abs=1e-9)
    assert measure(np.insert(X, 1, 5.0, axis=1), y) == pytest.approx(measure(X, y), abs=1e-12)
    assert measure(1e200 * X, 1e-200 * y) == pytest.approx(measure(X, y), abs=1e-9)
    assert measure(X, np.ones((200, 2))) == 0.0


def test_closed_forms() -> None:
    white = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0][:, :2]
    assert cka(white, white[:, :1]) == pytest.approx(np.sqrt(0.5), abs=1e-12)
    assert cca(white, white[:, :1]) == pytest.approx(1.0, abs=1e-12)
    stretched = white * np.array([10.0, 1.0])
    assert cka(white, stretched) == pytest.approx(101 / np.sqrt(2 * 10_001), abs=1e-12)
    assert cca(white, stretched) == pytest.approx(1.0, abs=1e-12)
    assert cca(X, X @ np.triu(np.ones((4, 4)))) == pytest.approx(1.0, abs=1e-12)
    # Ninety-nine in a hundred parts of the variance are in the first direction, which both share.
    both = [np.column_stack([white[:, 0], 1e-3 * part]) for part in (white[:, 1], NOISE[:, 0] - NOISE[:, 0].mean())]
    assert cca(*both) < 0.8 < 0.999 < cca(*both, variance=0.99)


@pytest.mark.parametrize(
    ("measure", "rows", "codes", "level"),
    [
        (cka, 100, 10, 0.089),
        (cka, 100, 100, 0.50),
        (partial(cka, debiased=True), 100, 10, 0.0),
        (cca, 500, 4, 0.074),
        (cca, 100, 50, 0.65),
    ],
)
def test_null_levels(measure: partial, rows: int, codes: int, level: float) -> None:
    rng = np.random.default_rng(0)
    drawn = [measure(rng.normal(size=(rows, codes)), rng.normal(size=(rows, codes))) for _ in range(20)]
    assert np.mean(drawn) == pytest.approx(level, abs=0.015)


def test_a_matrix_over_models_and_what_is_refused() -> None:
    found = similarity_matrix([X, X @ ROTATION, NOISE])
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(np.diag(found), 1.0)
    np.testing.assert_allclose(found[0], [1.0, 1.0, cka(X, NOISE)])
    assert similarity_matrix([X, NOISE], partial(cca, variance=0.9))[0, 1] == cca(X, NOISE, variance=0.9)
    for wrong, words in (
        (lambda: cka(X, X[:10]), "200 rows of first codes but 10 of second"),
        (lambda: cka(X, X, kernel="cosine"), "expected one of linear, rbf"),
        (lambda: cka(X, X, kernel="rbf", debiased=True), "debiased CKA is of the linear kernel"),
        (lambda: cka(X, X, kernel="rbf", bandwidth=0.0), "bandwidth is 0"),
        (
            lambda: cka(np.zeros((10_001, 1)) + np.arange(10_001)[:, None], np.arange(10_001.0), kernel="rbf"),
            "10,000 or fewer",
        ),
        (lambda: cca(X, X, variance=0.0), "variance is 0"),
        (lambda: cka(X[:1], X[:1]), "1 sample has no similarity"),
        (lambda: cka(np.full((5, 1), np.nan), X[:5]), "NaN"),
    ):
        with pytest.raises(MetricError, match=words):
            wrong()
