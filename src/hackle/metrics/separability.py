"""SEPIN@k, WSEPIN, INDIN@k and WINDIN (Do & Tran 2020, section 3.2): information that no other code shares.

    separate_i    = I(x; z_i | z_{≠i})                       = I(x; z) − I(x; z_{≠i})            (Eq. 8)
    independent_i = I(x; z_i) − I(z_i; z_{≠i})               = separate_i − I(z_i; z_{≠i} | x)   (Eq. 9)

    SEPIN@k = mean of the k largest separate_i         WSEPIN = Σ ρ_i separate_i,   ρ_i = I(x; z_i) / Σ_j I(x; z_j)
    INDIN@k = mean of the k largest independent_i      WINDIN = Σ ρ_i independent_i

Higher is better; in nats, without a fixed upper bound. Joint densities of many codes can only be sampled; the weights
ρ are quantised. For a factorised encoder I(z_i; z_{≠i}|x) = 0, so INDIN = SEPIN and WINDIN = WSEPIN by definition. For
noise with correlation σ it is the constant −½ ln(det Σ_c / det Σ_{c−1}).

With n points in the mixture, both I(x; z) and I(x; z_{≠i}) are capped at ln n. A good encoder reaches it, and
separate_i, their difference, falls to 0: `saturated` and a SaturatedEstimateWarning report this, and a larger `mixture`
is the remedy. Codes without any information have WSEPIN = WINDIN = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsFloat, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hackle.core.gaussian import correlation_divergence
from hackle.information.posterior import Floats, PosteriorError, Posteriors, check_groups
from hackle.information.quantised import Bins, Bounds, Rule, bins_over, quantise
from hackle.information.sampled import (
    Device,
    Mixture,
    draw,
    draw_subsets,
    everything_is_enough,
    mixture_of,
    saturated,
    warn_if_saturated,
)
from hackle.metrics.informativeness import informativeness
from hackle.metrics.metric import EVERY_PART, WHOLE_MIXTURE, Evaluation, Metric, PerFactor, Row


class SeparabilityOptions(TypedDict, total=False):
    """How to estimate. See `separable_information`."""

    correlation: float
    bins: int
    bounds: Bounds
    rule: Rule
    mixture: Mixture | None
    samples: int
    seed: int
    device: Device
    groups: Sequence[Sequence[int]] | None


class SeparableInformation(NamedTuple):
    """What each code, or group of codes, says about the data, alone and beyond the others, in nats; the four scores need
    nothing else."""

    informativeness: Floats
    """I(x; z_i), (c,)."""
    separate: Floats
    """I(x; z_i | z_{≠i}), (c,)."""
    independent: Floats
    """I(x; z_i) − I(z_i; z_{≠i}), (c,)."""
    entropies: Floats
    """H(z_i) of the quantised codes, (c,); dividing separate information by them bounds it by 1."""
    total: float
    """I(x; z)."""
    ceiling: float
    """ln N, the largest `total` possible with a mixture of N points."""
    saturated: bool
    """Whether `total` is so near the ceiling that `separate` and `independent` are underestimates."""

    def sepin(self, k: int = 3) -> float:
        return _top_mean(self.separate, k)

    def wsepin(self) -> float:
        return float(self._weights @ self.separate)

    def indin(self, k: int = 3) -> float:
        return _top_mean(self.independent, k)

    def windin(self) -> float:
        return float(self._weights @ self.independent)

    @property
    def _weights(self) -> Floats:
        total = self.informativeness.sum()
        return self.informativeness / total if total > 0 else np.zeros_like(self.informativeness)


def separable_information(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    correlation: float = 0.0,
    bins: int = 100,
    bounds: Bounds = (-4.0, 4.0),
    rule: Rule = "exact",
    mixture: Mixture | None = None,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> SeparableInformation:
    """Everything that SEPIN, WSEPIN, INDIN and WINDIN need, computed once, from posteriors with means and logvars (n, c).

    `correlation` is the σ of the posteriors' noise. `mixture` is the pair of means and logvars over which q(z) is
    averaged, the points themselves by default; it must contain them. `samples` draws of z are taken from each point
    with `seed`; densities are computed on `device`. `bins`, `bounds` and `rule` quantise the codes for the weights.
    `groups`, such as [[0, 1], [2]], count as one representation each; their weights are sampled, too.
    """
    points = Posteriors(means, logvars, correlation)
    cut = bins_over([points], bins, bounds, rule)
    if groups is not None:
        parts = check_groups(groups, points.codes)
        return _of_groups(points, parts, cut, mixture=mixture, samples=samples, seed=seed, device=device)
    draws = draw(points, mixture=mixture, samples=samples, seed=seed, without=True, device=device)
    draws.warn("I(z; x), from which separable information is subtracted,", draws.total)
    quantised = quantise(mixture_of(points, mixture), cut, device=device)
    given_x = points.total_correlation - float(correlation_divergence(correlation, points.codes - 1))
    return SeparableInformation(
        informativeness=quantised.information,
        separate=draws.conditional,
        independent=draws.conditional - given_x,
        entropies=quantised.entropies,
        total=draws.total,
        ceiling=draws.ceiling,
        saturated=bool(draws.saturated(draws.total)),
    )


def _of_groups(points: Posteriors, groups: list[list[int]], cut: Bins, **options: Any) -> SeparableInformation:
    """The same of groups of codes: I(z_g; z_≠g | x) of correlated noise is the difference of the blocks' divergences."""
    codes = set(range(points.codes))
    own, mixed, ceiling = draw_subsets(
        points, [sorted(codes), *groups, *(sorted(codes - set(group)) for group in groups)], **options
    )
    total, *others = (own - mixed).mean(axis=1)
    alone, rest = np.split(np.array(others), 2)
    warn_if_saturated("I(z; x), from which separable information is subtracted,", total, ceiling)
    sizes = np.array([len(group) for group in groups])
    blocks = [
        sum(float(correlation_divergence(points.correlation, part)) for part in (size, points.codes - size))
        for size in sizes.tolist()
    ]
    return SeparableInformation(
        informativeness=np.maximum(alone, 0.0),
        separate=total - rest,
        independent=total - rest - (points.total_correlation - np.array(blocks)),
        entropies=-mixed[1 : 1 + len(groups)].mean(axis=1) - sizes * np.log(cut.width),
        total=float(total),
        ceiling=ceiling,
        saturated=bool(saturated(total, ceiling)),
    )


def sepin_score(means: ArrayLike, logvars: ArrayLike, k: int = 3, **options: Unpack[SeparabilityOptions]) -> float:
    """SEPIN@k: the mean of the k largest I(x; z_i | z_{≠i}). Options are those of `separable_information`."""
    return separable_information(means, logvars, **options).sepin(k)


def wsepin_score(means: ArrayLike, logvars: ArrayLike, **options: Unpack[SeparabilityOptions]) -> float:
    """WSEPIN: I(x; z_i | z_{≠i}) averaged with the codes' informativeness as weights."""
    return separable_information(means, logvars, **options).wsepin()


def indin_score(means: ArrayLike, logvars: ArrayLike, k: int = 3, **options: Unpack[SeparabilityOptions]) -> float:
    """INDIN@k: the mean of the k largest I(x; z_i) − I(z_i; z_{≠i})."""
    return separable_information(means, logvars, **options).indin(k)


def windin_score(means: ArrayLike, logvars: ArrayLike, **options: Unpack[SeparabilityOptions]) -> float:
    """WINDIN: I(x; z_i) − I(z_i; z_{≠i}) averaged with the codes' informativeness as weights."""
    return separable_information(means, logvars, **options).windin()


def _top_mean(values: Floats, k: int) -> float:
    if not 1 <= k <= len(values):
        raise PosteriorError(f"k is {k}; expected 1 to {len(values)}, the number of codes")
    return float(np.sort(values)[-k:].mean())


def _compute(e: Evaluation) -> dict[str, SupportsFloat]:
    information = separable_information(
        *e.posteriors,
        correlation=e.correlation,
        mixture=e.mixture,
        seed=e.seed,
        device=e.device,
        **e.protocol.quantisation,
    )
    return {"informativeness_mean": float(information.informativeness.mean()), **_scores(e, information)}


def _whole(e: Evaluation) -> dict[str, SupportsFloat]:
    """Draws from some training points, the mixture over every image of the plan: for dSprites, nearly the whole set.

    `whole_overlap` is Σ ρ_i I(z_i; z_≠i) = Σ ρ_i I(x; z_i) − WINDIN, with every term estimated from the same draws. It and
    WSEPIN come with the value of each code.
    """
    means, logvars = (part[: e.protocol.draws] for part in e.posteriors)
    shared: dict[str, Any] = {"mixture": e.everything, "seed": e.seed, "device": e.device}
    with everything_is_enough(e.coverage):
        information = separable_information(
            means, logvars, correlation=e.correlation, **e.protocol.quantisation, **shared
        )
        alone = informativeness(means, logvars, estimator="sampled", **shared)
    total = information.informativeness.sum()
    overlap = information.informativeness @ (alone - information.independent) / total if total > 0 else 0.0
    of_codes = {
        "wsepin": _by_code(information.wsepin(), information.separate),
        "overlap": _by_code(overlap, alone - information.independent),
    }
    return {f"whole_{name}": value for name, value in {**_scores(e, information), **of_codes}.items()}


def _by_code(score: float, values: Floats) -> PerFactor:
    """A score with the value of each code, which takes the place of a factor."""
    return PerFactor(float(score), {f"z{code}": float(value) for code, value in enumerate(values)})


def _scores(e: Evaluation, information: SeparableInformation) -> dict[str, SupportsFloat]:
    k = min(e.protocol.top, len(information.separate))
    return {
        "total_information": information.total,
        f"sepin@{k}": information.sepin(k),
        "wsepin": information.wsepin(),
        f"indin@{k}": information.indin(k),
        "windin": information.windin(),
    }


def _rows(prefix: str = "", over: str = "") -> tuple[Row, ...]:
    return (
        Row(f"{prefix}wsepin", f"WSEPIN{over} (nats)", "WSEPIN", None, None),
        Row(f"{prefix}total_information", f"I(z, x){over} (nats)", "I(z, x)", 0.0, None),
        Row(f"{prefix}sepin@*", f"SEPIN@*{over} (nats)", "SEPIN@*", None, None),
        Row(f"{prefix}indin@*", f"INDIN@*{over} (nats)", "INDIN@*", None, None),
        Row(f"{prefix}windin", f"WINDIN{over} (nats)", "WINDIN", None, None),
    )


SEPARABILITY = Metric(
    "separability",
    _compute,
    (*_rows(), Row("informativeness_mean", "mean I(z_i, x) (nats)", "I(z_i, x)", 0.0, None)),
    needs=(),
    on="posterior",
    remedy=WHOLE_MIXTURE,
)
WHOLE_SEPARABILITY = Metric(
    "whole_separability",
    _whole,
    (
        *_rows("whole_", " over all images"),
        Row("whole_overlap", "weighted mean of I(z_i, z_≠i) (nats)", "I(z_i, z_≠i)", None, None),
    ),
    needs=(),
    on="posterior",
    slow=True,
    parts=EVERY_PART,
)
