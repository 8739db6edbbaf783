"""Claims of Do & Tran 2020 about metrics: how theirs compare with DCI and modularity, what they depend on, how they are
estimated, and whether FactorVAE learns the same codes every time.

"Often" modularity is higher for VAEs than for FactorVAEs, from which the paper concludes that it does not tell disentangled
codes. It is a mean over all codes, and FactorVAE has more that are noise, whose modularity is chance (A.9 calls the score
inaccurate for them). The claim is about the score as it is; over informative codes alone it may be otherwise.

Consistency (A.18) is shown in pictures of CelebA there. Here two runs on dSprites are as alike as
`hackle.metrics.consistency` has it, computed from the stored codes and informativeness; the claim is that FactorVAE's runs
reach 0.7 of the 1 that equal codes have. The number of informative codes is compared between 10 and 20 latents, which the
study of Yang et al. 2020 trains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from hackle.claims.claim import Claim, Region
from hackle.claims.measures import (
    Measure,
    agreement,
    by_run,
    by_seed,
    difference,
    gap,
    ratio_numbers,
    relative_change,
    trend,
)
from hackle.claims.statistics import Floats, Units, correlations, jackknife
from hackle.claims.view import Condition, Data
from hackle.information.ranks import rank_correlations, spearman_matrix
from hackle.papers.do2020.claims import (
    BETA,
    FACTOR,
    FACTOR_10,
    LEAST,
    STEADY,
    TREND,
    VAE,
    claim,
    informative_codes,
    runs,
)

BOTH = runs(("beta-vae", "factor-vae"))
HIGH_BETA = runs("beta-vae", (20.0, 50.0))
_BINS, _SAMPLES = re.compile(r"do2020-bins-(\d+)$"), re.compile(r"do2020-samples-(\d+)$")


def _variants(data: Data, condition: Condition, score: str, pattern: re.Pattern[str]) -> tuple[Floats, Floats, Floats]:
    """The numbers in the protocols' names, the runs' scores under each (runs, numbers), and the runs' seeds."""
    rows = data.rows(condition)
    places = data.runs.index.get_indexer(rows.index)
    found = {
        int(match[1]): data.scored(score, name)[places]
        for name in data.view.protocols
        if (match := pattern.match(name))
    }
    numbers = sorted(number for number, values in found.items() if np.isfinite(values).any())
    scores = np.stack([found[number] for number in numbers], axis=1) if numbers else np.empty((len(rows), 0))
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
    found = rank_correlations(scores, numbers[None, :], constant=0.0)
    means = np.array([found[seeds == seed].mean() for seed in np.unique(seeds)])
    return correlations(means, round(len(seeds) / len(means)), len(numbers))


def _same_order(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The rank correlation, over the models of a seed, of the scores under two of the protocols; the lowest of all pairs."""
    found = []
    for seed in np.unique(seeds):
        mine = scores[seeds == seed].T
        if mine.shape[1] > 2:
            pairs = list(combinations(range(len(numbers)), 2))
            left, right = (mine[[pair[side] for pair in pairs]] for side in (0, 1))
            found.append(rank_correlations(left, right, constant=0.0).min())
    models = round(len(seeds) / max(1, len(np.unique(seeds))))
    return correlations(np.array(found), models, models) if found else None


def _first_to_last(numbers: Floats, scores: Floats, seeds: Floats) -> Units | None:
    """The relative change from the smallest number to the largest."""
    sides = [np.array([scores[seeds == seed, side].mean() for seed in np.unique(seeds)]) for side in (0, -1)]
    return Units(ratio_numbers(*sides), round(len(seeds) / len(sides[0])))


_OTHER_METRICS = (
    claim(
        "rmig-follows-informativeness",
        "Figure 6",
        "RMIG follows DCI informativeness over models.",
        "rank correlation of RMIG and DCI informativeness",
        Region(low=TREND),
        agreement(("rmig", "dci_informativeness")),
        BOTH,
    ),
    claim(
        "rmig-differs-from-dci",
        "Figure 6",
        "RMIG does not follow DCI disentanglement and completeness.",
        "mean rank correlation of RMIG with the two",
        Region(high=TREND),
        agreement(("rmig", "dci_disentanglement"), ("rmig", "dci_completeness")),
        BOTH,
    ),
    *(
        claim(
            f"dci-{part}-favours-beta",
            "Figure 7",
            f"DCI {part} favours β-VAEs with a high β.",
            f"rank correlation of β and DCI {part}",
            Region(low=TREND),
            trend(f"dci_{part}"),
            BETA,
        )
        for part in ("disentanglement", "completeness")
    ),
    claim(
        "high-beta-less-informative",
        "Figure 7",
        "Yet the codes of β-VAEs with a high β are less informative than FactorVAE's, by DCI.",
        "DCI informativeness of β-VAE at β = 20 and 50 minus that of FactorVAE",
        Region(high=-LEAST),
        difference("dci_informativeness"),
        FACTOR,
        HIGH_BETA,
    ),
    *(
        claim(
            f"{name}-favours-vae",
            "Figure 8",
            f"Modularity {words}, a mean over all codes, also of noise, is higher for VAEs than for FactorVAEs.",
            f"modularity {words} of the VAE minus that of FactorVAE",
            Region(low=0.0),
            difference(score),
            FACTOR,
            VAE,
        )
        for name, score, words in (
            ("modularity", "modularity", "of means"),
            ("posterior-modularity", "posterior_modularity", "of posteriors"),
        )
    ),
)

_ABLATIONS = (
    *(
        claim(
            f"{score}-rises-with-bins",
            "Figure 17",
            f"{score.upper()} rises with the number of bins.",
            f"rank correlation of the number of bins and {score.upper()}",
            Region(low=TREND),
            _of_protocols(score, _BINS, _along),
            BOTH,
        )
        for score in ("rmig", "jemmig")
    ),
    *(
        claim(
            f"{score}-order-kept",
            "Figure 17",
            f"Models keep their order by {score.upper()} whatever the number of bins.",
            f"rank correlation of models' {score.upper()} under two numbers of bins, the lowest of all pairs",
            Region(low=0.7),
            _of_protocols(score, _BINS, _same_order),
            BOTH,
        )
        for score in ("rmig", "jemmig")
    ),
    *(
        claim(
            f"{name}-needs-few-samples",
            "Figure 18",
            f"{name.upper()} by sampling does not depend on the number of samples.",
            f"relative change of {name.upper()} from the fewest to the most samples",
            Region(-STEADY, STEADY),
            _of_protocols(score, _SAMPLES, _first_to_last),
            BOTH,
        )
        for name, score in (("jemmig", "sampled_jemmig"), ("wsepin", "whole_wsepin"))
    ),
    claim(
        "total-information-falls-with-latents",
        "Figure 19",
        "With more latents the estimate of the total information falls, in β-VAE at β = 10.",
        "rank correlation of the number of latents and total information",
        Region(high=-TREND),
        trend("whole_total_information", along="latents"),
        runs("beta-vae", 10.0, latents=(5, 10, 15, 20)),
    ),
    *(
        claim(
            f"{score}-bears-latents",
            "Figure 19",
            f"{score.upper()} does not depend on the number of latents.",
            f"relative change of {score.upper()} from 10 to 20 latents",
            Region(-STEADY, STEADY),
            relative_change(score),
            runs("beta-vae", 10.0),
            runs("beta-vae", 10.0, latents=20),
        )
        for score in ("rmig", "jemmig")
    ),
)


def _apart(first: str, second: str) -> Measure:
    """The mean absolute difference of two scores of the same runs."""
    return by_run(lambda data, rows: (rows[first] - rows[second]).abs(), scores=(first, second))


_ESTIMATES = (
    *(
        claim(
            f"{score}-sampled",
            "Figure 24",
            f"{score.upper()} is the same by sampling and by quantisation.",
            f"mean absolute difference of sampled and quantised {score.upper()}",
            Region(high=0.05),
            _apart(f"sampled_{score}", score),
            BOTH,
        )
        for score in ("rmig", "jemmig")
    ),
    claim(
        "rmig-is-mig",
        "Figure 25",
        "RMIG is almost the same as MIG in its original definition, by sampling.",
        "mean absolute difference of original MIG and RMIG",
        Region(high=0.05),
        _apart("sampled_mig", "rmig"),
        BOTH,
    ),
    claim(
        "mig-of-means-overestimates",
        "Figure 25",
        "MIG of means overestimates MIG in its original definition for β-VAEs with a large β.",
        "MIG of means minus original MIG, at β = 20 and 50",
        Region(low=LEAST),
        gap("mig", "sampled_mig"),
        HIGH_BETA,
    ),
)


def alike(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> float:
    """How alike two models' codes (points, codes) are, each with its informativeness: 1 where they are the same up to order,
    sign and monotone transformations. The score of `hackle.metrics.consistency`."""
    left, right = first[1], second[1]
    # Newer stores keep the codes of more images; the first ones are the same.
    rows = min(len(first[0]), len(second[0]))
    agreement = np.abs(spearman_matrix(first[0][:rows], second[0][:rows], constant=0.0))
    total = left.sum() + right.sum()
    if total <= 0:
        return 0.0
    weighted = (left[:, None] + right) / total * agreement
    return float(weighted[linear_sum_assignment(weighted, maximize=True)].sum())


def _consistency(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The mean similarity of two seeds' codes, jackknifed over seeds."""
    codes, information = data.array("codes"), data.array("informativeness")
    rows = data.rows(conditions[0])
    known = [run for run in rows.index if run in codes and run in information]
    if len(known) < 3:
        return None
    models = [(np.asarray(codes[run], float), np.asarray(information[run], float)) for run in known]
    similarity = np.zeros((len(known), len(known)))
    for i, j in combinations(range(len(known)), 2):
        similarity[i, j] = alike(models[i], models[j])

    def mean(kept: np.ndarray) -> float:
        return float(similarity[np.ix_(kept, kept)].sum() / (len(kept) * (len(kept) - 1) / 2))

    return Units(jackknife(mean, len(known)), 1, span=(0.0, 1.0))


def _number_of_codes(data: Data, conditions: Sequence[Condition]) -> Units | None:
    sides = []
    for condition in conditions:
        rows = data.rows(condition)
        counts = np.asarray(informative_codes(data, rows), float)
        known = np.isfinite(counts)
        sides.append(by_seed(rows[known], counts[known]))
    seeds = sides[0].index.intersection(sides[1].index)
    if seeds.empty or sides[0][seeds].mean() == 0:
        return None
    return Units(ratio_numbers(sides[0][seeds].to_numpy(), sides[1][seeds].to_numpy()), 2)


_CONSISTENCY = (
    claim(
        "consistent-codes",
        "Appendix A.18",
        "FactorVAE learns the same codes with every seed, up to order and sign (the paper shows it on CelebA).",
        "mean similarity of two seeds' codes, of at most 1",
        Region(low=0.7),
        Measure(_consistency, arrays=("codes", "informativeness")),
        FACTOR_10,
    ),
    claim(
        "consistent-number-of-codes",
        "Appendix A.18",
        "FactorVAE learns as many informative codes with 20 latents as with 10 (the paper: on CelebA, with 65 to 200).",
        "relative change of the number of informative codes",
        Region(-0.2, 0.2),
        Measure(_number_of_codes, arrays=("informativeness",)),
        runs("factor-vae", 35.0),
        runs("factor-vae", 35.0, latents=20),
        study="yang2020",
    ),
)

CLAIMS: tuple[Claim, ...] = (*_OTHER_METRICS, *_ABLATIONS, *_ESTIMATES, *_CONSISTENCY)
