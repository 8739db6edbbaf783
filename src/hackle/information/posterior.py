"""The posteriors q(z|x) of n points: Gaussians with means and logvars (n, c), all with one correlation.

Their average over the points is the aggregate posterior q(z); mutual information with x is mutual information with the
index of the point. The covariance of a point's posterior is diag(s) Σ diag(s) with s = exp(logvars / 2) and Σ = (1 − σ)
I + σ 11ᵀ (Yang et al. 2020, Eq. 11 and 12); σ is the correlation, and 0 means factorised.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hackle.core.code_table import CodeTable, SizeError, is_large
from hackle.core.columns import Kinds, TableLike, columns_of, read_columns, read_numbers
from hackle.core.factors import FactorError
from hackle.core.gaussian import correlation_divergence, log_density, log_density_per_latent, reparameterise

Floats = NDArray[np.float64]

# A standard deviation above e^25 means a diverged encoder. Below e^−25 the encoder is all but deterministic, and z/s, on
# which densities rest, loses precision in float64; closed-form divergences and bin masses do not.
_LARGEST_LOGVAR = 50.0


class PosteriorError(ValueError):
    """Means, logvars or factors from which mutual information cannot be computed."""


class LogDensities(NamedTuple):
    """Log densities at m draws of z. Those that were not requested are empty."""

    joint: Floats
    """Of all codes jointly, (m,)."""
    without: Floats
    """Of all codes but one, (m, c)."""
    marginal: Floats
    """Of each code alone, (m, c)."""


class Posteriors:
    """n checked posteriors of c codes.

    >>> Posteriors([[0.0, 1.0], [2.0, 3.0]], [[0.0, 0.0], [-1.0, -1.0]], correlation=0.5).codes
    2
    """

    def __init__(self, means: TableLike, logvars: TableLike, correlation: float = 0.0) -> None:
        self.means, self.logvars, self.correlation = _matrix(means, "means"), _matrix(logvars, "logvars"), correlation
        if self.means.shape != self.logvars.shape:
            raise PosteriorError(
                f"means have shape {self.means.shape} but logvars {self.logvars.shape}; expected a logvar for each mean"
            )
        if len(self.means) < 2:
            raise PosteriorError("1 point has no information to tell it from others; expected at least 2 rows")
        if (largest := self.logvars.max()) > _LARGEST_LOGVAR:
            raise PosteriorError(
                f"logvars reach {largest:g}; expected at most {_LARGEST_LOGVAR:g}: the encoder has diverged"
            )
        if not 0.0 <= correlation < 1.0:
            raise PosteriorError(f"correlation is {correlation}; expected 0 (factorised) up to, not including, 1")

    def __len__(self) -> int:
        return len(self.means)

    @property
    def codes(self) -> int:
        return self.means.shape[1]

    def select(self, subset: Sequence[int]) -> Posteriors:
        """The posteriors of a subset of the codes; their Σ has the same correlation."""
        chosen = list(subset)
        if not chosen or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(self.codes)):
            raise PosteriorError(f"subset is {chosen}; expected different codes out of 0 to {self.codes - 1}")
        return Posteriors(self.means[:, chosen], self.logvars[:, chosen], self.correlation)

    def repeat(self, samples: int) -> Posteriors:
        """Every point `samples` times in a row."""
        if samples < 1:
            raise PosteriorError(f"samples is {samples}; expected at least 1 draw for each point")
        return Posteriors(self.means.repeat(samples, axis=0), self.logvars.repeat(samples, axis=0), self.correlation)

    def draw(self, seed: int) -> Floats:
        """One draw of z from each posterior, (n, c)."""
        noise = torch.from_numpy(generator(seed, "posterior noise").standard_normal(self.means.shape))
        z = reparameterise(torch.from_numpy(self.means), torch.from_numpy(self.logvars), noise, self.correlation)
        return z.numpy()

    def check_densities(self) -> None:
        """Refuse posteriors that are too narrow for densities in float64."""
        if (smallest := self.logvars.min()) < -_LARGEST_LOGVAR:
            raise PosteriorError(
                f"logvars reach {smallest:g}, where densities lose their digits; expected at least −{_LARGEST_LOGVAR:g}: for "
                "deterministic codes give a small variance, such as a logvar of −20"
            )

    def log_density(self, z: Floats) -> Floats:
        """log q(z|x) of all codes of each row of z under its own point's posterior, (n,)."""
        self.check_densities()
        z_, means, logvars = (torch.from_numpy(values) for values in (z, self.means, self.logvars))
        return log_density(z_, means, logvars, self.correlation).numpy()

    def log_densities(self, z: Floats, *, without: bool = False) -> LogDensities:
        """log q(z|x) of each row of z under its own point's posterior; of all codes but one only if requested."""
        self.check_densities()
        z_, means, logvars = (torch.from_numpy(values) for values in (z, self.means, self.logvars))
        joint = log_density(z_, means, logvars, self.correlation)
        rest = np.zeros_like(z) if without else np.empty((0, 0))
        for code in range(self.codes if without and self.codes > 1 else 0):
            others = [other for other in range(self.codes) if other != code]
            part = log_density(z_[:, others], means[:, others], logvars[:, others], self.correlation)
            rest[:, code] = part.numpy()
        return LogDensities(joint.numpy(), rest, log_density_per_latent(z_, means, logvars).numpy())

    @property
    def total_correlation(self) -> float:
        """KL(q(z|x) ‖ Π q(z_i|x)) = −½ ln det Σ, the same for every point."""
        return float(correlation_divergence(self.correlation, self.codes)) + 0.0  # not −0.0


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Random numbers for one purpose, distinct from `default_rng(seed)`, which may have generated the means."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def label_factors(factors: TableLike, n: int, factor_bins: int, kinds: Kinds | None = None) -> NDArray[np.int64]:
    """Factors (n, f) as labels 0, 1, …: the values of classes, the equal-width bins of continuous factors.

    >>> label_factors([[5, 7], [9, 7]], n=2, factor_bins=20)
    array([[0, 0],
           [1, 0]])
    """
    try:
        columns = columns_of(factors, "factors")
        if not columns or any(len(column) != n for column in columns.values()):
            shape = len(next(iter(columns.values()), ())), len(columns)
            raise PosteriorError(f"factors have shape {shape}; expected ({n}, f), a row for each row of means")
        values = [column.class_values(factor_bins) for column in read_columns(columns, kinds)]
    except FactorError as error:
        raise PosteriorError(str(error)) from error
    return np.stack([np.unique(column, return_inverse=True)[1] for column in values], axis=1).astype(np.int64)


class LabelProbabilities:
    """Stochastic labels: p(y_k|x) of each point, a table (n, values) for each factor, such as a classifier's predictions.

    >>> [table.shape for table in LabelProbabilities([[[0.9, 0.1], [0.5, 0.5]]]).tables]
    [(2, 2)]
    """

    def __init__(self, tables: Sequence[ArrayLike]) -> None:
        self.tables = [_matrix(table, "label probabilities") for table in tables]
        for number, table in enumerate(self.tables):
            if len(table) != len(self.tables[0]):
                raise PosteriorError(f"label probabilities of factor {number} have {len(table)} rows, others differ")
            if (table < 0).any() or not np.allclose(table.sum(axis=1), 1.0, atol=1e-6):
                raise PosteriorError(
                    f"label probabilities of factor {number} do not sum to 1 in every row; expected p(y|x) of each value y"
                )
        if not self.tables:
            raise PosteriorError("no label probabilities; expected a table (n, values) for each factor")


Labels = NDArray[np.int64] | Sequence[Floats]
"""What is known of the factors: labels (n, f), or for each factor the probabilities of its values, (n, values)."""


def label_tables(labels: Labels) -> list[Floats]:
    """For each factor the probability of each of its values at each point, (n, values); labels have ones and zeros."""
    if isinstance(labels, np.ndarray):
        return [np.eye(size)[column] for size, column in zip(labels.max(axis=0) + 1, labels.T, strict=True)]
    return list(labels)


def check_groups(groups: Sequence[Sequence[int]], codes: int) -> list[list[int]]:
    """Groups of codes, each of which counts as one representation: every code is in exactly one of them."""
    numbers = [[int(code) for code in group] for group in groups]
    if sorted(code for group in numbers for code in group) != list(range(codes)) or not all(numbers):
        raise PosteriorError(f"groups are {numbers}; expected each of the codes 0 to {codes - 1} in exactly one group")
    return numbers


def _matrix(values: TableLike, name: str) -> Floats:
    try:
        values = CodeTable(values).dense() if is_large(values) else values
        array = read_numbers(values, name)
    except (FactorError, SizeError) as error:
        raise PosteriorError(str(error)) from error
    if array.ndim != 2 or array.size == 0:
        raise PosteriorError(f"{name} have shape {array.shape}; expected (n, c) with a sample in each row")
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise PosteriorError(f"{name} are {array.dtype}; expected real numbers")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise PosteriorError(f"{name} hold {array[row, column]} in row {row}, column {column}; expected finite numbers")
    return array
