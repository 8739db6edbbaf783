"""Do two models represent the same thing? CKA and CCA of codes X (n, p) and Y (n, q) of the same n samples.

Both are blind to rotations by design: a rotated copy scores 1. They ask whether two models hold the same subspace;
`mcc_score` and `consistency` ask whether they hold the same axes. With columns centred:

    linear CKA     ‖YᵀX‖² / (‖XᵀX‖ ‖YᵀY‖), Frobenius norms (Kornblith et al. 2019); invariant to rotations and one scale
    debiased CKA   h(X, Y) / √(h(X, X) h(Y, Y)),
                   h(X, Y) = ‖YᵀX‖² − n/(n−2) Σ_i ‖x_i‖² ‖y_i‖² + ‖X‖² ‖Y‖² / ((n−1)(n−2))
    RBF CKA        tr(K L) / √(tr(K K) tr(L L)) of centred Gaussian Gram matrices, of bandwidth · the median distance
    CCA            the mean of the canonical correlations ρ_1 … ρ_min(p, q); invariant to every invertible linear map
    SVCCA          CCA of the leading principal directions that hold 99% of each side's variance (Raghu et al. 2017)

Independent codes have a linear CKA of about p / (n + p), a debiased one of 0, which may come out negative, and a mean
ρ that is large unless n ≫ p: give many more rows than codes. Constant codes are left out; a side that is constant is
similar to nothing and scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from hackle.core.columns import TableLike
from hackle.metrics.checks import MetricError, Table, check_choice, check_codes, varying

_MOST_ROWS = 10_000
"""RBF CKA holds two matrices of rows by rows: 1.6 GB at this number."""


def cka(
    first: TableLike, second: TableLike, *, kernel: str = "linear", debiased: bool = False, bandwidth: float = 1.0
) -> float:
    """Centred kernel alignment, 0 to 1, of codes (n, p) and (n, q) of the same samples in the same order.

    `kernel` is "linear" or "rbf", whose `bandwidth` is in units of the median distance between samples. `debiased`, of
    the linear one, removes what chance adds in few rows; it may be slightly negative.

    >>> codes = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(cka(codes, 3 * codes @ [[0.6, 0.8], [-0.8, 0.6]]), 6)
    1.0
    """
    check_choice(kernel, ("linear", "rbf"), "kernel")
    x, y = _centred(first, second)
    if debiased and (kernel == "rbf" or len(x) < 4):
        raise MetricError(
            f"debiased CKA is of the linear kernel and 4 rows or more; there are {len(x)}, kernel {kernel!r}"
        )
    if not x.size or not y.size:
        return 0.0
    if kernel == "linear":
        alignment = _debiased if debiased else lambda a, b: float(np.sum((b.T @ a) ** 2))
    else:
        x, y = (_gram(part, bandwidth) for part in (x, y))
        alignment = lambda a, b: float(np.sum(a * b))  # noqa: E731
    own = alignment(x, x), alignment(y, y)
    return alignment(x, y) / math.sqrt(own[0]) / math.sqrt(own[1]) if min(own) > 0 else 0.0


def cca(first: TableLike, second: TableLike, *, variance: float = 1.0) -> float:
    """The mean canonical correlation, 0 to 1, of codes (n, p) and (n, q) of the same samples in the same order.

    `variance` is the share of each side's variance that its leading principal directions must hold to be compared; 0.99
    gives SVCCA.

    >>> codes = np.random.default_rng(0).normal(size=(100, 2))
    >>> round(cca(codes, codes @ [[1.0, 5.0], [0.0, 2.0]]), 6)
    1.0
    """
    if not 0 < variance <= 1:
        raise MetricError(f"variance is {variance}; expected a share above 0, up to 1 for all directions")
    bases = [_basis(part, variance) for part in _centred(first, second)]
    if not all(base.shape[1] for base in bases):
        return 0.0
    cosines = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    return float(np.minimum(cosines, 1.0).mean())


def similarity_matrix(
    codes: Sequence[TableLike], measure: Callable[[TableLike, TableLike], float] = cka
) -> NDArray[np.float64]:
    """The similarity (m, m) of every pair of m models, from their codes of the same samples: CKA, or another measure.

    The measure must be symmetric; each pair is compared once, and every model with itself.
    """
    matrix = np.empty((len(codes), len(codes)))
    for i, one in enumerate(codes):
        matrix[i, i:] = matrix[i:, i] = [measure(one, other) for other in codes[i:]]
    return matrix


def _centred(first: TableLike, second: TableLike) -> tuple[Table, Table]:
    """Both sides centred, without constant columns, each in units of its largest range, which no measure sees."""
    x, y = check_codes(first, "first codes"), check_codes(second, "second codes")
    if len(x) != len(y):
        raise MetricError(
            f"{len(x)} rows of first codes but {len(y)} of second; expected the same samples in one order"
        )
    if len(x) < 2:
        raise MetricError("1 sample has no similarity; expected at least 2 rows of codes")
    kept = [part[:, varying(part)] for part in (x, y)]
    scaled = [(part - part.min(axis=0)) / np.ptp(part, axis=0).max() if part.size else part for part in kept]
    left, right = (part - part.mean(axis=0) for part in scaled)
    return left, right


def _debiased(x: Table, y: Table) -> float:
    n, (left, right) = len(x), ((part**2).sum(axis=1) for part in (x, y))
    return float(np.sum((y.T @ x) ** 2) - n / (n - 2) * (left @ right) + left.sum() * right.sum() / ((n - 1) * (n - 2)))


def _gram(values: Table, bandwidth: float) -> Table:
    if len(values) > _MOST_ROWS:
        raise MetricError(f"{len(values):,} rows; RBF CKA compares all pairs of them: give {_MOST_ROWS:,} or fewer")
    if not bandwidth > 0:
        raise MetricError(f"bandwidth is {bandwidth}; expected a positive number, in units of the median distance")
    distances = pdist(values)
    gram = squareform(np.exp(-0.5 * (distances / (bandwidth * np.median(distances))) ** 2))
    np.fill_diagonal(gram, 1.0)
    gram -= gram.mean(axis=0)
    return gram - gram.mean(axis=1, keepdims=True)


def _basis(values: Table, variance: float) -> Table:
    """Orthonormal columns that span the centred values, or the leading directions that hold a share of their variance."""
    if not values.size:
        return values
    left, sizes, _ = np.linalg.svd(values, full_matrices=False)
    kept = sizes > sizes[0] * max(values.shape) * np.finfo(float).eps
    if variance < 1:
        held = np.cumsum(sizes**2) / np.sum(sizes**2)
        kept &= np.concatenate([[0.0], held[:-1]]) < variance
    return left[:, kept]
