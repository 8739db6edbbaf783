"""Claims of Do & Tran 2020 about estimates (appendices A.5, A.11, A.13): what bins, samples and latents do to the scores, and
whether sampling, quantisation and other implementations of MIG agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, below, within
from hackle.claims.measures import (
    Measure,
    Number,
    between,
    by_run,
    gap,
    of_arrays,
    of_score,
    ratio_numbers,
    relative_change,
    trend,
)
from hackle.claims.statistics import Floats, Units, correlations, jackknife
from hackle.claims.view import Data
from hackle.information.ranks import rank_correlations, spearman_matrix
from hackle.papers.do2020.claims import BETA_10, LEAST, STEADY, TREND, by_sampling, claim, runs
from hackle.papers.do2020.metric_claims import BOTH
from hackle.papers.do2020.nats import NATS, NORMALISED, in_nats
from hackle.papers.do2020.settings import LATENTS

_BINS, _SAMPLES = re.compile(r"do2020-bins-(\d+)$"), re.compile(r"do2020-samples-(\d+)$")


def _variants(data: Data, condition: Condition, score: str, pattern: re.Pattern[str]) -> tuple[Floats, Floats, Floats]:
    """The numbers in the protocols' names, the runs' scores under each (runs, numbers), and the runs' seeds."""
    rows = data.rows(condition)
    places = data.runs.index.get_indexer(rows.index)
    by_number = {
        int(match[1]): data.scored(score, name)[places]
        for name in data.view.protocols
        if (match := pattern.match(name))
    }
    numbers = sorted(number for number, values in by_number.items() if np.isfinite(values).any())
    scores = np.stack([by_number[number] for number in numbers], axis=1) if numbers else np.empty((len(rows), 0))
    return np.array(numbers, float), scores, rows["seed"].to_numpy()


def _of_protocols(
    score: str, pattern: re.Pattern[str], number: Callable[[Floats, Floats, Floats], Units | None]
) -> Measure:
    """A measure of one score under protocols that differ in one number."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        numbers, scores, seeds = _variants(data, conditions[0], score, pattern)
        known = np.isfinite(scores).all(axis=1)
        if len(numbers) < 2 or not known.any():
            return None
        return number(numbers, scores[known], seeds[known])

    return Measure(compute)


def _along(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The rank correlation of the score with the number within each run, averaged over a seed's runs."""
    if len(numbers) < 3:
        return None
    trends = rank_correlations(scores, numbers[None, :], constant=0.0)
    means = np.array([trends[seeds == seed].mean() for seed in np.unique(seeds)])
    return correlations(means, len(seeds) / len(means), len(numbers))


def _same_order(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The rank correlation over all models of the scores under two of the protocols, the lowest of all pairs; jackknifed over
    seeds, and widened, since they choose the pair."""
    every = np.unique(seeds)
    models = len(seeds) / len(every)
    if len(every) < 2 or round(models) < 3:
        return None

    def lowest(kept: np.ndarray) -> float:
        mine = scores[np.isin(seeds, every[kept])]
        return float(spearman_matrix(mine, mine, constant=0.0).min())

    return replace(correlations(jackknife(lowest, len(every)), models, round(models)), widened=True)


def _beyond_200(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The relative change from 200 to the largest number."""
    high = numbers >= 200
    return _first_to_last(numbers[high], scores[:, high], seeds) if high.sum() > 1 else None


def _unstable(score: str) -> Measure:
    """The absolute change of a score between two conditions, as part of its mean under the first."""
    return between(lambda before, after: abs(after - before) / abs(before.mean()), of_score(score))


def _first_to_last(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The relative change from the smallest number to the largest."""
    sides = [np.array([scores[seeds == seed, side].mean() for seed in np.unique(seeds)]) for side in (0, -1)]
    return Units(ratio_numbers(*sides), len(seeds) / len(sides[0]))


_SUM = of_arrays(lambda array: float(np.sum(array)), "informativeness")
_OF_20, _OF_ALL_SIZES = (runs("beta-vae", 10.0, latents=latents) for latents in (20, LATENTS))
_ABLATIONS = (
    *(
        claim(
            f"{score}-rises-with-bins",
            "Figure 17",
            f"{score.upper()} rises with the number of bins.",
            f"rank correlation of the number of bins and {score.upper()}",
            above(TREND, _of_protocols(score, _BINS, _along), BOTH),
        )
        for score in ("rmig", "jemmig")
    ),
    *(
        claim(
            f"{score}-order-kept",
            "Figure 17",
            f"Models keep their order by {score.upper()} whatever the number of bins.",
            f"rank correlation of models' {score.upper()} under two numbers of bins, the lowest of all pairs",
            above(0.7, _of_protocols(score, _BINS, _same_order), BOTH),
        )
        for score in ("rmig", "jemmig")
    ),
    claim(
        "rmig-stable-beyond-200-bins",
        "Figure 17",
        "RMIG is stable beyond 200 bins.",
        "relative change of RMIG from 200 bins to the most",
        within(-0.05, 0.05, _of_protocols("rmig", _BINS, _beyond_200), BOTH),
    ),
    *(
        claim(
            f"{name}-needs-few-samples",
            "Figure 18",
            f"{name.upper()} by sampling does not depend on the number of samples.",
            f"relative change of {name.upper()} from the fewest to the most samples",
            within(-STEADY, STEADY, _of_protocols(score, _SAMPLES, _first_to_last), BOTH),
        )
        for name, score in (("jemmig", "sampled_jemmig"), ("wsepin", "whole_wsepin"))
    ),
    claim(
        "total-information-falls-with-latents",
        "Figure 19",
        "With more latents the estimate of the total information falls, in β-VAE at β = 10.",
        "rank correlation of the number of latents and total information",
        below(-TREND, trend("whole_total_information", along="latents"), _OF_ALL_SIZES),
        beside=by_sampling(trend, along="latents"),
    ),
    claim(
        "informativeness-bears-latents",
        "Figure 19",
        "The informativeness of single codes does not depend on the number of latents: those that are added are noise.",
        "relative change of the sum of the codes' informativeness from 10 to 20 latents",
        within(-STEADY, STEADY, between(ratio_numbers, _SUM), BETA_10, _OF_20),
    ),
    claim(
        "sharing-grows-with-latents",
        "Figure 19",
        "With more latents codes share more information with the others.",
        "rank correlation of the number of latents and the weighted mean of I(z_i; z_≠i)",
        above(TREND, trend("whole_overlap", along="latents"), _OF_ALL_SIZES),
    ),
    claim(
        "wsepin-unstable-with-latents",
        "Figure 19",
        "WSEPIN by sampling is unstable with many latents.",
        "change of WSEPIN from 10,000 images, without its sign, from 10 to 20 latents, as part of it",
        above(STEADY, _unstable("wsepin"), BETA_10, _OF_20),
        beside=(("with every image in q(z)", _unstable("whole_wsepin")),),
    ),
    *(
        claim(
            f"{score}-bears-latents",
            "Figure 19",
            f"{score.upper()} does not depend on the number of latents.",
            f"relative change of {score.upper()} from 10 to 20 latents",
            within(-STEADY, STEADY, relative_change(score), BETA_10, _OF_20),
        )
        for score in ("rmig", "jemmig")
    ),
)


def _apart(first: str, second: str) -> Measure:
    """The mean absolute difference of two scores of the same runs."""
    return by_run(Number(lambda data, rows: (rows[first] - rows[second]).abs(), scores=(first, second)))


# Both of a seed are one number: its strengths are no independent strata. The paper's β = 30 is of `do2020-appendix`, and a
# condition takes runs of one study.
_LARGE_BETAS = (20.0, 50.0)
_ESTIMATES = (
    *(
        claim(
            f"{score}-sampled",
            "Figure 24",
            f"{score.upper()} is the same by sampling and by quantisation{but}.",
            f"mean absolute difference of sampled and quantised {score.upper()} in nats, as part of its largest value",
            below(0.05, in_nats(_apart(f"sampled_{score}{NATS}", f"{score}{NATS}")), BOTH),
            instead=(NORMALISED, _apart(f"sampled_{score}", score)),
        )
        for score, but in (("rmig", ""), ("jemmig", ", but for the logarithm of the bins' width"))
    ),
    claim(
        "rmig-is-mig",
        "Figure 25",
        "RMIG is almost the same as MIG in its original definition, by sampling.",
        "mean absolute difference of original MIG and RMIG",
        below(0.05, _apart("sampled_mig", "rmig"), BOTH),
    ),
    claim(
        "mig-of-means-overestimates",
        "Figure 25",
        "MIG of means overestimates MIG in its original definition for β-VAEs with a large β.",
        "MIG of means minus original MIG, mean over β = 20 and 50",
        above(LEAST, gap("mig", "sampled_mig"), runs("beta-vae", _LARGE_BETAS)),
    ),
)

CLAIMS: tuple[Claim, ...] = (*_ABLATIONS, *_ESTIMATES)
