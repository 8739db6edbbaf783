"""How far the joint information of codes is from the sum of each one's own (Yang et al. 2020, Theorem 1, Eq. 8).

    I(z_S; x) − Σ_{i∈S} I(z_i; x) = E_x KL(q(z_S|x) ‖ Π q(z_i|x)) − KL(q(z_S) ‖ Π q(z_i))
              gap                 =          conditional           −       marginal

The authors require of disentangled codes that the gap be 0 for every subset S (Eq. 7). The conditional term is 0 for a
factorised posterior and −½ ln det Σ for noise with correlation σ; the marginal term is the total correlation of z_S.
Gap and marginal are sampled, conditional is exact: the two sides agree up to rounding for σ = 0 and up to sampling
error for σ > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from hackle.information.posterior import Posteriors
from hackle.information.sampled import Device, Mixture, draw, mixture_of
from hackle.information.total_correlation import log_ratio


class IsolationGap(NamedTuple):
    """The three terms of Theorem 1 in nats; gap = conditional − marginal."""

    gap: float
    conditional: float
    marginal: float


def isolation_gap(
    means: ArrayLike,
    logvars: ArrayLike,
    subset: Sequence[int] | None = None,
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> IsolationGap:
    """The gap of the codes in `subset` (all by default) for posteriors with `means` and `logvars` (n, c).

    `correlation` is the σ of the posteriors' noise. `mixture` is the pair of means and logvars over which q(z) is
    averaged, the points themselves by default; it must contain them. `samples` draws are taken from each point with
    `seed`.

    >>> abs(isolation_gap([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]).gap) < 1e-12
    True
    """
    points = Posteriors(means, logvars, correlation)
    chosen = list(range(points.codes)) if subset is None else subset
    whole = mixture_of(points, mixture).select(chosen)
    points = points.select(chosen)
    draws = draw(points, mixture=(whole.means, whole.logvars), samples=samples, seed=seed, marginal=True, device=device)
    draws.warn("I(z; x), one side of the gap,", draws.total)
    return IsolationGap(
        gap=draws.total - float(draws.single.sum()),
        conditional=points.total_correlation,
        marginal=float(log_ratio(draws.mixed).mean()),
    )
