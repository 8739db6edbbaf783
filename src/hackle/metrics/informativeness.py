"""Informativeness (Do & Tran 2020, Eq. 1 and section 3.1): how much a code says about the data.

    I(z_i; x) = E_x KL(q(z_i|x) ‖ q(z_i)),      q(z_i) = (1/N) Σ_n q(z_i|x_n)

in nats, for each code alone and for all jointly. Higher is better, and no labels are needed. It is at most ln N for N
points and, quantised, also at most ln(bins), by which `normalised` divides (the paper advises against dividing by
H(z_i)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hackle.information.factor_information import Estimator
from hackle.information.posterior import Floats, PosteriorError, Posteriors
from hackle.information.quantised import Bins, quantise
from hackle.information.sampled import Device, Mixture, draw


def informativeness(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    estimator: Estimator = "quantised",
    bins: int = 100,
    bounds: tuple[float, float] = (-4.0, 4.0),
    normalised: bool = False,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> Floats:
    """I(z_i; x) of each code, (c,), for posteriors with `means` and `logvars` (n, c).

    `bins` and `bounds` set how the quantised estimator cuts a code. The sampled one takes `samples` draws from each
    point with `seed`, evaluates q(z_i) over `mixture` (by default the points themselves) and computes on `device`.
    `normalised` divides by ln(bins).

    >>> informativeness([[-2.0, 0.0], [2.0, 0.0]], [[-9.0, 0.0], [-9.0, 0.0]]).round(4)
    array([0.6931, 0.    ])
    """
    points, cut = Posteriors(means, logvars), Bins(bins, bounds)
    if estimator == "quantised":
        if mixture is not None:
            raise PosteriorError("a mixture serves the sampled estimator; give the quantised one all points as means")
        information = quantise(points, cut).information
    elif estimator == "sampled":
        draws = draw(points, mixture=mixture, samples=samples, seed=seed, marginal=True, device=device)
        information = draws.single
        draws.warn("I(z_i; x)", information)
    else:
        raise PosteriorError(f"estimator is {estimator!r}; expected quantised or sampled")
    return information / math.log(bins) if normalised else np.asarray(information)


def total_information(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> float:
    """I(z; x) of all codes jointly, by sampling; the arguments are those of `informativeness`.

    `correlation` is the σ of the posteriors' noise. A SaturatedEstimateWarning means that ln N, not the encoder,
    determined the value.
    """
    draws = draw(Posteriors(means, logvars, correlation), mixture=mixture, samples=samples, seed=seed, device=device)
    draws.warn("I(z; x)", draws.total)
    return draws.total
