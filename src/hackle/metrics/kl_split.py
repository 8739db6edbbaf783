"""The KL of a VAE's objective, split in three (Chen et al. 2018; Kim & Mnih 2018, appendix C).

    E_x KL(q(z|x) ‖ p(z)) = I(x; z) + KL(q(z) ‖ Π_j q(z_j)) + Σ_j KL(q(z_j) ‖ p(z_j))

what codes say about the data, their total correlation, and how far each is from its prior N(0, 1). All in nats. Minimising
the left side lowers all three, which is what a method that penalises one of them alone avoids.

The terms are averages of log q(z|x) − log q(z), log q(z) − Σ log q(z_j) and log q(z_j) − log p(z_j) over the same draws, with
q(z) the mixture over `mixture`. They therefore sum to the average of log q(z|x) − log p(z), whose expectation is the KL in
closed form; `error` is the standard error of the difference. A mixture of N points caps the first term at ln N, and what
it lacks is then in the others: the sum is right whatever the mixture.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from hackle.core.gaussian import kl_per_latent
from hackle.information.posterior import Floats, Posteriors
from hackle.information.sampled import Device, Mixture, draw, everything_is_enough
from hackle.information.total_correlation import log_ratio
from hackle.metrics.checks import MetricError, check_mask
from hackle.metrics.metric import EVERY_PART, Evaluation, Metric, Row


class KLSplit(NamedTuple):
    """The three terms in nats, and the KL that they sum to up to `error`."""

    information: float
    """I(x; z)."""
    total_correlation: float
    """KL(q(z) ‖ Π q(z_j))."""
    to_prior: Floats
    """KL(q(z_j) ‖ p(z_j)) of each code, (c,)."""
    kl: float
    """E_x KL(q(z|x) ‖ p(z)) in closed form."""
    error: float
    """The standard error of the terms' sum about `kl`."""

    @property
    def total(self) -> float:
        """The sum of the three terms."""
        return self.information + self.total_correlation + float(self.to_prior.sum())


class ClassNumbersWarning(UserWarning):
    """Codes that are class numbers have no density, so they are left out of a split of densities."""

    code = "classes"


def kl_split(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> KLSplit:
    """The split of E KL(q(z|x) ‖ N(0, I)) for posteriors with `means` and `logvars` (n, c).

    `correlation` is the σ of the posteriors' noise. `mixture` is the pair of means and logvars over which q(z) is averaged,
    the points themselves by default; it must contain them. `samples` draws of z are taken from each point with `seed`;
    densities are computed on `device`.

    >>> split = kl_split([[0.0], [0.0]], [[0.0], [0.0]])
    >>> abs(split.information) < 1e-12, abs(split.total) < 1e-12, split.kl
    (True, True, 0.0)
    """
    points = Posteriors(means, logvars, correlation)
    draws = draw(points, mixture=mixture, samples=samples, seed=seed, marginal=True, device=device)
    draws.warn("I(z; x), the first term of the split,", draws.total)
    prior = -0.5 * points.repeat(samples).draw(seed) ** 2 - 0.5 * math.log(2 * math.pi)
    exact = kl_per_latent(torch.from_numpy(points.means), torch.from_numpy(points.logvars)).sum(1).numpy()
    exact = exact + points.total_correlation
    sampled = draws.own.joint - prior.sum(axis=1)
    noise = sampled - exact.repeat(samples)
    return KLSplit(
        information=draws.total,
        total_correlation=float(log_ratio(draws.mixed).mean()),
        to_prior=(draws.mixed.marginal - prior).mean(axis=0),
        kl=float(exact.mean()),
        error=float(noise.std() / math.sqrt(len(noise))),
    )


def _compute(e: Evaluation) -> dict[str, float]:
    """Draws from some training points, the mixture over every image of the plan: for dSprites, nearly the whole set."""
    real = ~check_mask(e.discrete, e.posteriors[0].shape[1], "discrete")
    if not real.any():
        raise MetricError("every code is a class number; expected one with a density")
    if not real.all():
        words = f"{(~real).sum()} codes are class numbers, which have no density; the split is that of the others"
        warnings.warn(words, ClassNumbersWarning, stacklevel=2)
    means, logvars = (np.ascontiguousarray(part[: e.protocol.draws, real]) for part in e.posteriors)
    all_means, all_logvars = (np.ascontiguousarray(part[:, real]) for part in e.everything)
    with everything_is_enough(e.coverage):
        split = kl_split(
            means, logvars, correlation=e.correlation, mixture=(all_means, all_logvars), seed=e.seed, device=e.device
        )
    return {
        "kl_split_information": split.information,
        "kl_split_tc": split.total_correlation,
        "kl_split_to_prior": float(split.to_prior.sum()),
        "kl_split_sum": split.total,
        "kl_split_kl": split.kl,
        "kl_split_error": split.error,
    }


KL_SPLIT = Metric(
    "kl_split",
    _compute,
    (
        Row("kl_split_information", "I(x, z) of the KL (nats)", "KL: I(x, z)", None, None),
        Row("kl_split_tc", "total correlation of the KL (nats)", "KL: TC", None, None),
        Row(
            "kl_split_to_prior", "KL of each code's q(z_j) to the prior, summed (nats)", "KL: to the prior", None, None
        ),
        Row("kl_split_sum", "sum of the KL's three terms (nats)", "KL: sum", None, None),
        Row("kl_split_kl", "KL of the points that were drawn from (nats)", "KL: exact", 0.0, None),
        Row("kl_split_error", "standard error of the sum (nats)", "KL: error", 0.0, None),
    ),
    "neither",
    needs=(),
    on="posterior",
    slow=True,
    parts=EVERY_PART,
)
