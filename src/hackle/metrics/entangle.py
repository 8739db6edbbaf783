"""Fully entangled codes with the same marginals: the construction of Locatello et al. 2019, Theorem 1 and appendix A.

For independent codes z the function f(z) = g⁻¹(h⁻¹(A h(g(z)))) has the same distribution as z although every ∂f_i/∂z_j is
non-zero: g maps each code to a uniform by its distribution function, h each uniform to a standard normal, and A is orthogonal
without zero entries. From the data alone, no model can prefer z to f(z).

Here the distribution functions are empirical: g is the mid-rank, and g⁻¹ sorts a code's own values into the order of
the mixed code, so every code keeps exactly the values it had. The default A is a cosine matrix. The proof's own choice,
a Householder reflection, is `householder_rotation`; except for the first code it tends to the identity as codes are
added (A_11 = 1 − 2α, the others A_ii = 1 − 2(1 − α)/(c − 1)), so with ten codes it hardly mixes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from hackle.metrics.checks import MetricError, check_codes, varying


def entangle(codes: ArrayLike, *, rotation: ArrayLike | None = None) -> NDArray[np.float64]:
    """Codes (n, c) with the same values in each column, in which every varying code depends on all the others.

    `rotation` is an orthogonal matrix without zeros, one row for each code that is not constant; by default
    `cosine_rotation`. Constant codes stay as they are.

    >>> codes = np.random.default_rng(0).normal(size=(1000, 2))
    >>> mixed = entangle(codes)
    >>> bool((np.sort(mixed, axis=0) == np.sort(codes, axis=0)).all())
    True
    """
    table = check_codes(codes)
    kept = np.flatnonzero(varying(table))
    if len(kept) < 2:
        raise MetricError(f"{len(kept)} of the codes vary; expected two or more, one code cannot be mixed with itself")
    matrix = cosine_rotation(len(kept)) if rotation is None else _check_rotation(rotation, len(kept))
    normal = ndtri((rankdata(table[:, kept], axis=0) - 0.5) / len(table))
    order = np.argsort(normal @ matrix.T, axis=0, kind="stable")
    mixed = table.copy()
    values = np.sort(table[:, kept], axis=0)
    for column, code in enumerate(kept):
        mixed[order[:, column], code] = values[:, column]
    return mixed


def cosine_rotation(size: int) -> NDArray[np.float64]:
    """The orthogonal matrix A_jk = √(2/c) cos(π (j + ½)(k + ½) / c), which mixes well for every number of codes c.

    No entry is zero: that would need (2j + 1)(2k + 1), which is odd, to be a multiple of 2c.
    """
    if size < 2:
        raise MetricError(f"size is {size}; expected two codes or more")
    half = np.arange(size) + 0.5
    return np.sqrt(2.0 / size) * np.cos(np.pi / size * np.outer(half, half))


def householder_rotation(size: int, *, alpha: float = 0.25) -> NDArray[np.float64]:
    """The matrix of the proof: A = I − 2vvᵀ with v_1 = √α and the other v_i = √((1 − α)/(c − 1)), for 0 < α < ½."""
    if size < 2 or not 0 < alpha < 0.5:
        raise MetricError(f"size is {size}, alpha {alpha}; expected two codes or more and alpha between 0 and 0.5")
    v = np.full(size, np.sqrt((1.0 - alpha) / (size - 1)))
    v[0] = np.sqrt(alpha)
    return np.eye(size) - 2.0 * np.outer(v, v)


def _check_rotation(rotation: ArrayLike, size: int) -> NDArray[np.float64]:
    matrix = check_codes(rotation, "rotation", "c c")
    if matrix.shape != (size, size) or not np.allclose(matrix @ matrix.T, np.eye(size)) or (matrix == 0).any():
        raise MetricError(
            f"rotation, of shape {matrix.shape}, must be an orthogonal {size}×{size} matrix without zeros; "
            "cosine_rotation or householder_rotation make one"
        )
    return matrix
