"""Total correlation TC(z) = KL(q(z) ‖ Π q(z_j)), by five estimators that fail in different ways.

- of a covariance matrix, or of the Gaussian fitted to codes: ½ (Σ log C_jj − log det C). Locatello et al. 2019 (section
  5.2) add 1e-5 to the diagonal. Exact only for Gaussian q(z); it is blind to scale, so on the means of collapsed codes
  it reports their tiny correlated fluctuations in full.
- `monte_carlo_total_correlation`: Yang et al. 2020, appendix D. Mixture and draws come from the same B points, so the
  mutual information behind it is capped at ln B; a SaturatedEstimateWarning says when it is. The paper's densities are
  factorised even if the noise is correlated; with correlated densities a saturated estimate is larger by −½ ln det Σ,
  whatever was learnt. With the whole data set as `mixture`, q(z) is exact, and the estimate is exact up to sampling
  noise.
- `batch_total_correlation`: Kim & Mnih 2018, appendix D, Eq. 6. Draws come from the whole set, the mixture from a batch:
  a draw whose point is not in the batch lies in the tails and the estimate becomes negative. Kept to show the failure.
- `density_ratio_total_correlation`: Kim & Mnih's Eq. 3 from a discriminator's logits, known to underestimate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hackle.core.code_table import CodeTable, SizeError, is_large
from hackle.core.columns import SparseMatrix, as_array
from hackle.information.mixture import mixture_log_densities
from hackle.information.posterior import Floats, LogDensities, PosteriorError, Posteriors, generator
from hackle.information.sampled import Device, Mixture, draw


def covariance_total_correlation(covariance: ArrayLike) -> float:
    """The total correlation of a Gaussian with this covariance matrix, (c, c).

    >>> round(covariance_total_correlation([[1.0, 0.9], [0.9, 1.0]]), 5)
    0.83037
    """
    matrix = as_array(covariance).astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise PosteriorError(f"covariance has shape {matrix.shape}; expected a square matrix of one code or more")
    if not np.isfinite(matrix).all():
        raise PosteriorError("covariance holds NaN or infinity; expected finite numbers")
    if not np.allclose(matrix, matrix.T):
        raise PosteriorError("covariance is not symmetric; expected entry (i, j) to equal entry (j, i)")
    try:
        # Exists exactly for positive definite matrices, at a fraction of what eigenvalues cost.
        half_log_determinant = np.log(np.diag(np.linalg.cholesky(matrix))).sum()
    except np.linalg.LinAlgError as error:
        raise PosteriorError(
            "covariance is not positive definite; add a small number to its diagonal (for codes, raise jitter)"
        ) from error
    return float(0.5 * np.log(np.diag(matrix)).sum() - half_log_determinant)


def gaussian_total_correlation(codes: ArrayLike | SparseMatrix, *, jitter: float = 1e-5) -> float:
    """The total correlation of the Gaussian fitted to codes (n, c), with `jitter` added to its variances.

    A constant code has variance `jitter` and contributes nothing. A determinant takes time that grows with the third power
    of codes or rows, whichever are fewer; sparse or memory-mapped codes that do not fit into 1 GiB are refused.
    """
    try:
        values = CodeTable(codes).dense() if is_large(codes) else as_array(codes).astype(np.float64)
    except SizeError as error:
        raise PosteriorError(str(error)) from error
    if values.ndim != 2 or values.shape[1] == 0 or len(values) < 2:
        raise PosteriorError(f"codes have shape {values.shape}; expected (n, c) with at least 2 samples in rows")
    if not np.isfinite(values).all():
        raise PosteriorError(
            "codes hold NaN or infinity; expected finite numbers. A model that diverged gives such codes"
        )
    if not 0.0 <= jitter < np.inf:
        raise PosteriorError(f"jitter is {jitter}; expected zero or a small positive number, the paper has 1e-5")
    if jitter > 0 and len(values) < values.shape[1]:
        return _of_few_rows(values - values.mean(axis=0), jitter)
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = np.atleast_2d(np.cov(values, rowvar=False))
    if not np.isfinite(covariance).all():
        raise PosteriorError(
            "codes are so large that their squares leave the range of float64; divide them all by a number"
        )
    return covariance_total_correlation(covariance + jitter * np.eye(len(covariance)))


def _of_few_rows(centred: Floats, jitter: float) -> float:
    """The same from the rows' inner products where there are fewer rows than codes: det(XᵀX + j I) is det(XXᵀ + j I) times j
    for each code that rows lack (Sylvester)."""
    rows = len(centred)
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.square(centred).sum(axis=0) / (rows - 1)
        products = centred @ centred.T / (rows - 1)
    if not np.isfinite(products).all():
        raise PosteriorError(
            "codes are so large that their squares leave the range of float64; divide them all by a number"
        )
    products[np.diag_indices(rows)] += jitter
    half_log_determinant = np.log(np.diag(np.linalg.cholesky(products))).sum()
    return float(0.5 * (np.log((variances + jitter) / jitter).sum() + rows * np.log(jitter)) - half_log_determinant)


def monte_carlo_total_correlation(
    means: ArrayLike,
    logvars: ArrayLike,
    batch: int | None = 64,
    samples: int = 30,
    *,
    mixture: Mixture | None = None,
    factorised: bool = False,
    seed: int = 0,
    correlation: float = 0.0,
    device: Device = None,
) -> float:
    """The mean of log q(z) − Σ log q(z_j) over `samples` draws from each of `batch` points, which also form the mixture.

    `batch=None` takes all points. `seed` chooses the points, without replacement, and the draws of z. `mixture` is the
    pair of means and logvars over which q(z) is averaged in place of the batch; it must contain the points. With
    `factorised`, the draws use the noise's `correlation` but the densities ignore it, as the paper's q(z|x) = N(μ, diag
    σ²) does.
    """
    points = Posteriors(means, logvars, correlation)
    chosen = points if batch is None else _batch(points, batch, seed)
    draws = draw(
        chosen, mixture=mixture, samples=samples, seed=seed, marginal=True, factorised=factorised, device=device
    )
    draws.warn("I(z; x), on which the total correlation rests,", draws.total)
    return float(log_ratio(draws.mixed).mean())


def batch_total_correlation(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    batch: int = 64,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    correlation: float = 0.0,
    device: Device = None,
) -> float:
    """Eq. 6 of Kim & Mnih: z from every point's posterior, q̂(z) from the mixture over `batch` of the points, or over
    other points given as `mixture` (means, logvars), so that no draw's own point is among them.

    A divergence cannot be negative, this estimate can: use it to see why a batch cannot replace q(z).
    """
    points = Posteriors(means, logvars, correlation)
    z = points.repeat(samples).draw(seed)
    chosen = _batch(points, batch, seed) if mixture is None else Posteriors(*mixture, correlation)
    return float(log_ratio(mixture_log_densities(z, chosen, marginal=True, device=device)).mean())


def density_ratio_total_correlation(logits: ArrayLike) -> float:
    """The discriminator's estimate, the mean of log D(z)/(1 − D(z)) over draws of q(z).

    Logits (n,) are log D/(1 − D) themselves; (n, 2) are a classifier's two outputs, q(z) first.

    >>> density_ratio_total_correlation([[2.0, 1.0], [0.0, -2.0]])
    1.5
    """
    values = as_array(logits).astype(np.float64)
    if values.size == 0 or not (values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 2)):
        raise PosteriorError(
            f"logits have shape {values.shape}; expected (n,), or (n, 2) with q(z) in the first column"
        )
    if not np.isfinite(values).all():
        raise PosteriorError("logits hold NaN or infinity; expected finite numbers")
    return float((values if values.ndim == 1 else values[:, 0] - values[:, 1]).mean())


def log_ratio(densities: LogDensities) -> Floats:
    """log q(z) − Σ log q(z_j) of each draw, (m,)."""
    return densities.joint - densities.marginal.sum(axis=1)


def _batch(points: Posteriors, batch: int, seed: int) -> Posteriors:
    if not 2 <= batch <= len(points):
        raise PosteriorError(
            f"batch is {batch}; expected 2 to {len(points)}, the number of points: give {batch} or more"
        )
    rows = generator(seed, "batch").choice(len(points), size=batch, replace=False)
    return Posteriors(points.means[rows], points.logvars[rows], points.correlation)
