"""Informativeness (Do & Tran 2020, Eq. 1 and section 3.1): how much a code says about the data.

    I(z_i; x) = E_x KL(q(z_i|x) ‖ q(z_i)),      q(z_i) = (1/N) Σ_n q(z_i|x_n)

in nats, for each code alone and for all jointly. Higher is better, and no labels are needed. It is at most ln N for N
points and, quantised, also at most ln(bins), by which `normalised` divides (the paper advises against dividing by
H(z_i)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.code_table import CodeTable, is_large
from hackle.core.columns import TableLike
from hackle.core.progress import bar
from hackle.information.factor_information import Estimator
from hackle.information.posterior import Floats, PosteriorError, Posteriors, check_groups
from hackle.information.quantised import Bins, Bounds, Rule, bins_over, quantise, quantised_information
from hackle.information.sampled import Device, Mixture, draw, draw_subsets, warn_if_saturated
from hackle.metrics.metric import WHOLE_MIXTURE, Evaluation, Metric, Row


def informativeness(
    means: TableLike,
    logvars: TableLike,
    *,
    estimator: Estimator = "quantised",
    bins: int = 100,
    bounds: Bounds = (-4.0, 4.0),
    rule: Rule = "exact",
    normalised: bool = False,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
    groups: Sequence[Sequence[int]] | None = None,
    correlation: float = 0.0,
    progress: bool = False,
) -> Floats:
    """I(z_i; x) of each code, (c,), for posteriors with `means` and `logvars` (n, c).

    Both may be mapped from files, of any size: the quantised estimator reads them some codes at a time.

    `bins`, `bounds` (a range, or "data" for that of the posteriors) and `rule` set how the quantised estimator cuts a
    code. The sampled one takes `samples` draws from each point with `seed` and evaluates q(z_i) over `mixture` (by default the
    points themselves). Both compute on `device`; `progress` shows a bar with the time left where codes are read from files.
    `normalised` divides by ln(bins). `groups`, such as [[0, 1], [2]], count as one representation each, (g,); they are
    sampled, and `correlation` is the σ of the noise within one.

    >>> informativeness([[-2.0, 0.0], [2.0, 0.0]], [[-9.0, 0.0], [-9.0, 0.0]]).round(4)
    array([0.6931, 0.    ])
    """
    if estimator == "quantised" and groups is None:
        if mixture is not None:
            raise PosteriorError("a mixture serves the sampled estimator; give the quantised one all points as means")
        with bar(progress):
            information = _of_bins(means, logvars, bins, bounds, rule, device)
        return information / math.log(bins) if normalised else information
    points = Posteriors(means, logvars, correlation)
    bins_over([points], bins, bounds, rule)  # refuses what is wrong, though draws have no bins
    if groups is not None:
        if estimator != "sampled" or normalised:
            raise PosteriorError(
                'a group of codes has no bins; expected estimator="sampled", not normalised, with groups'
            )
        shared: dict[str, Any] = {"mixture": mixture, "samples": samples, "seed": seed, "device": device}
        own, mixed, ceiling = draw_subsets(points, check_groups(groups, points.codes), **shared)
        information = (own - mixed).mean(axis=1)
        warn_if_saturated("I(z_i; x)", information, ceiling)
    elif estimator == "sampled":
        draws = draw(points, mixture=mixture, samples=samples, seed=seed, marginal=True, device=device)
        information = draws.single
        draws.warn("I(z_i; x)", information)
    else:
        raise PosteriorError(f"estimator is {estimator!r}; expected quantised or sampled")
    return information / math.log(bins) if normalised else np.asarray(information)


def _of_bins(
    means: TableLike, logvars: TableLike, bins: int, bounds: Bounds, rule: Rule, device: Device
) -> NDArray[np.float64]:
    if not (is_large(means) or is_large(logvars)):
        points = Posteriors(means, logvars)
        return quantise(points, bins_over([points], bins, bounds, rule), device=device).information
    tables = CodeTable(means), CodeTable(logvars)
    if tables[0].shape != tables[1].shape or any(table.is_sparse or 0 in table.shape for table in tables):
        kinds = ["a sparse matrix" if table.is_sparse else "an array" for table in tables]
        raise PosteriorError(
            f"means are {kinds[0]} of shape {tables[0].shape} and logvars {kinds[1]} of shape {tables[1].shape}; expected "
            "dense arrays of the same shape, (n, c), which may be mapped from files"
        )
    return quantised_information(*tables, bins, bounds, rule, device)


def total_information(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    correlation: float = 0.0,
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
    paired: bool = True,
) -> float:
    """I(z; x) of all codes jointly, by sampling; the arguments are those of `informativeness`.

    `correlation` is the σ of the posteriors' noise. A SaturatedEstimateWarning means that ln N, not the encoder,
    determined the value. Without `paired`, H(z) and H(z|x) are averaged over draws of their own, as the paper does (A.10):
    the same on average, with more noise, and it may exceed ln N.
    """
    points = Posteriors(means, logvars, correlation)
    draws = draw(points, mixture=mixture, samples=samples, seed=seed, device=device)
    draws.warn("I(z; x)", draws.total)
    if paired:
        return draws.total
    others = points.repeat(samples)
    return float(others.log_density(others.draw(seed + 1)).mean() - draws.mixed.joint.mean())


Order = Literal["variance", "informativeness", "kl"]


def latent_order(means: ArrayLike, logvars: ArrayLike, by: Order = "informativeness") -> NDArray[np.int64]:
    """The codes of posteriors (n, c) from the most to the least important, as latents are sorted in Figures 27 and 28.

    `by` the variance of a code's mean over the points, its informativeness, or its KL to the prior.

    >>> latent_order([[0.0, 3.0], [0.1, -3.0]], [[-9.0, 0.0], [-9.0, 0.0]], by="variance").tolist()
    [1, 0]
    """
    points = Posteriors(means, logvars)
    if by == "variance":
        keys = points.means.var(axis=0)
    elif by == "kl":
        keys = 0.5 * (points.means**2 + np.exp(points.logvars) - points.logvars - 1).mean(axis=0)
    elif by == "informativeness":
        keys = quantise(points, Bins()).information
    else:
        raise PosteriorError(f"by is {by!r}; expected variance, informativeness or kl")
    return np.argsort(-keys, kind="stable")


def _of_entropies(e: Evaluation) -> float:
    return total_information(
        *e.posteriors, correlation=e.correlation, mixture=e.mixture, seed=e.seed, device=e.device, paired=False
    )


ENTROPY_INFORMATION = Metric(
    "entropy_information",
    lambda e: {"entropy_total_information": _of_entropies(e)},
    (Row("entropy_total_information", "I(z, x) from two entropies (nats)", "I(z, x), entropies", None, None),),
    needs=(),
    on="posterior",
    slow=True,
    remedy=WHOLE_MIXTURE,
)
