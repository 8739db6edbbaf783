"""Mutual information of posteriors whose latents depend on each other given x: Gaussians, each with a covariance of its own.

Do & Tran 2020, section 3.2: for autoregressive encoders z_i and z_≠i share information that is not in x, so that
I(x; z_i | z_≠i) = I(x; z) − I(x; z_≠i) is more than I(x; z_i) − I(z_i; z_≠i), by I(z_i; z_≠i | x). The last has a closed form;
the others are means of log q(·|x) − log q(·) over one draw from each posterior, q(·) being the mixture of all of them, and so
at most the logarithm of their number.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from hackle.information.posterior import Floats, PosteriorError, generator
from hackle.information.sampled import SaturatedEstimateWarning


@dataclass(frozen=True)
class DependentInformation:
    """In nats. single: I(x; z_i), (l,). conditional: I(x; z_i | z_≠i), (l,). shared: I(z_i; z_≠i | x), (l,), the mean over
    points. total: I(x; z). total_correlation: of q(z)."""

    single: Floats
    conditional: Floats
    shared: Floats
    total: float
    total_correlation: float

    @property
    def weights(self) -> Floats:
        """ρ_i, the share of each latent in the sum of I(x; z_i); equal shares where no latent is informative."""
        positive = np.maximum(self.single, 0)
        return positive / positive.sum() if positive.any() else np.full(len(positive), 1 / len(positive))

    @property
    def wsepin(self) -> float:
        """Σ ρ_i I(x; z_i | z_≠i)."""
        return float(self.weights @ self.conditional)

    @property
    def windin(self) -> float:
        """Σ ρ_i (I(x; z_i | z_≠i) − I(z_i; z_≠i | x)), Eq. 9."""
        return float(self.weights @ (self.conditional - self.shared))


def dependent_information(means: ArrayLike, roots: ArrayLike, *, seed: int = 0) -> DependentInformation:
    """Of posteriors with these means (n, l) and roots L (n, l, l), lower triangular, of their covariances L Lᵀ.

    >>> found = dependent_information(np.zeros((40, 2)), np.tile([[1.0, 0.0], [0.6, 0.8]], (40, 1, 1)))
    >>> abs(round(found.total, 5)), found.shared.round(5)
    (0.0, array([0.22314, 0.22314]))
    """
    centres, lower = (torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64)) for values in (means, roots))
    if centres.dim() != 2 or len(centres) < 2 or lower.shape != (*centres.shape, centres.shape[-1]):
        raise PosteriorError(
            f"means have shape {tuple(centres.shape)} and roots {tuple(lower.shape)}; expected (n, l) of two points or more, "
            "and (n, l, l)"
        )
    if not (centres.isfinite().all() and lower.isfinite().all() and (lower.diagonal(dim1=1, dim2=2) > 0).all()):
        raise PosteriorError(
            "means or roots are not finite, or a root has no positive diagonal; the encoder has diverged"
        )
    points, latents = centres.shape
    noise = torch.from_numpy(generator(seed, "posterior noise").standard_normal((points, latents)))
    z = centres + (lower @ noise.unsqueeze(-1)).squeeze(-1)
    covariances = lower @ lower.transpose(1, 2)
    whole = list(range(latents))
    own, mixed = _densities(z, centres, covariances, whole)
    total = float((own - mixed).mean())
    single, conditional, marginals = np.empty(latents), np.empty(latents), torch.zeros(points, dtype=torch.float64)
    for latent in whole:
        alone, of_mixture = _densities(z, centres, covariances, [latent])
        single[latent] = float((alone - of_mixture).mean())
        marginals += of_mixture
        rest = [other for other in whole if other != latent]
        without = _densities(z, centres, covariances, rest) if rest else (z.new_zeros(points),) * 2
        conditional[latent] = total - float((without[0] - without[1]).mean())
    variances = covariances.diagonal(dim1=1, dim2=2)
    precisions = torch.cholesky_inverse(lower).diagonal(dim1=1, dim2=2)
    shared = (0.5 * (variances * precisions).log()).mean(0).numpy()
    if total > math.log(points) - math.log(10):
        warnings.warn(
            f"I(x; z) is estimated at {total:.2f} nats, where {points:,} points allow at most {math.log(points):.2f}: the true "
            "value may be much larger",
            SaturatedEstimateWarning,
            stacklevel=2,
        )
    return DependentInformation(single, conditional, shared, total, float((mixed - marginals).mean()))


def _densities(z: Tensor, means: Tensor, covariances: Tensor, chosen: list[int]) -> tuple[Tensor, Tensor]:
    """Of the chosen latents of each draw: the log density under its own posterior and under the mixture of all, each (n,)."""
    lower = torch.linalg.cholesky(covariances[:, chosen][:, :, chosen])
    away = z[:, chosen].unsqueeze(0) - means[:, chosen].unsqueeze(1)
    scaled = torch.linalg.solve_triangular(lower, away.transpose(1, 2), upper=False)
    constant = lower.diagonal(dim1=1, dim2=2).log().sum(1) + 0.5 * len(chosen) * math.log(2 * math.pi)
    every = -0.5 * scaled.square().sum(1) - constant.unsqueeze(1)
    return every.diagonal(), torch.logsumexp(every, dim=0) - math.log(len(z))
