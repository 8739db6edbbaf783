"""Claims of Locatello et al. 2019, sections 5.3 to 5.6: agreement of metrics, what matters, what can be tuned without labels,
what transfers, and what disentanglement is good for.

The paper reads "correlated" and "not correlated" off figures. Here scores are correlated if their rank correlation exceeds
0.3, a correlation "vanishes" below that, and a way to choose settings is useful if it exceeds 0.5. Where the paper says that
metrics are not correlated, absolute values are averaged over pairs and data sets, so that opposite signs do not cancel. A
label-free score tells settings apart if it does so in the same direction on all data sets, so its correlations are averaged
over data sets first. Section 5.2, on total correlations, is in `total_correlation_claims`. Where there are no runs of 3D
Shapes, those of its stand-in `rooms3d` count, and the verdict says so; the two are never mixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import numpy as np

from hackle.claims.agreement import agreement, magnitude
from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition, several
from hackle.claims.forms import Form, Strata, above, below, claims_of, within
from hackle.claims.measures import least_best_difference
from hackle.claims.statistics import Floats
from hackle.papers.locatello2019.settings import DATASETS, METHODS, STAND_IN, STRENGTHS
from hackle.papers.locatello2019.transfer import (
    Transfer,
    across,
    agreement_of_datasets,
    agreement_of_tuning,
    share_of_the_best_method,
    strength_minus_method,
    transfer,
)

PAPER = "locatello2019"
SPRITES = DATASETS[:4]
METRICS = ("beta_vae", "factor_vae", "mig", "dci_disentanglement", "modularity", "sap")
TRIO = ("beta_vae", "factor_vae", "mig")
DOWNSTREAM = tuple(
    f"downstream_{classifier}_{size}" for classifier, size in product(("logistic_cv", "gbt"), (10, 100, 1_000, 10_000))
)
CORRELATED, USEFUL = 0.3, 0.5
HIGHER = 0.02
"""The smallest difference of efficiencies, which range from 0 to 1, that counts."""


def claim(name: str, where: str, statement: str, effect: str, form: Form, **more: Any) -> Claim:
    """A claim of this paper, of which the whole study has 50 seeds: six strengths of each method on each data set."""
    swept = ({"strength": STRENGTHS["beta-vae"], **part} for part in form.strata[0].conditions)
    runs = [math.prod(len(several(part[name])) for name in ("strength", "method", "dataset")) for part in swept]
    usual = {"seeds": 50, "runs_per_seed": sum(runs), "stand_ins": STAND_IN}
    return claims_of(PAPER, **usual)(name, where, statement, effect, form, **more)


def _all(dataset: str | tuple[str, ...]) -> Condition:
    return {"method": METHODS, "dataset": dataset, "latents": 10}


def sets(datasets: tuple[str, ...] = DATASETS) -> Strata:
    """A stratum for each data set, with all methods."""
    return {dataset: _all(dataset) for dataset in datasets}


def _pairs_of_sets(pairs: Iterable[tuple[str, str]]) -> Strata:
    return {f"{first} and {second}": (_all(first), _all(second)) for first, second in pairs}


EVERY_SET = _all(DATASETS)
TOGETHER = {"all data sets": EVERY_SET}

_RANKED = {"bootstrapped": True, "widened": True}
"""How statistics are tested that rank settings by their medians: in simulations of 5, 10 and 50 seeds verdicts then erred in at
most 5% of tables, with the jackknife in up to 40%."""
_TRANSFERS = across(agreement_of_datasets, METRICS, datasets=2, span=(-1, 1), **_RANKED)
_IN_TRIO, _OTHERS = (
    [pair for pair in combinations(METRICS, 2) if (set(pair) <= set(TRIO)) == inside] for inside in (True, False)
)
_METRICS = (
    claim(
        "three-metrics-agree",
        "Figures 5 and 6",
        "BetaVAE score, FactorVAE score and MIG are correlated with one another on every data set.",
        "rank correlation of the two of them that agree least, on the data set where the claim is weakest",
        above(CORRELATED, agreement(*_IN_TRIO, of=np.min), every=sets()),
    ),
    claim(
        "other-metrics-differ",
        "Figures 5 and 6",
        "The other pairs of metrics are not correlated: they measure different things.",
        "rank correlation, without its sign, of the pairs with DCI, modularity or SAP, mean over pairs and data sets",
        below(CORRELATED, agreement(*_OTHERS, of=magnitude), mean=sets()),
    ),
)

_SHARE_OF_WINS = across(share_of_the_best_method, METRICS, datasets=2, span=(1 / len(METHODS), 1), bootstrapped=True)
_WHAT_MATTERS = (
    claim(
        "strength-over-method",
        "Figure 7",
        "How strongly a method regularises matters more to its scores than which method it is.",
        "share of the variance of settings' medians between strengths minus share between methods",
        above(0.0, across(strength_minus_method, METRICS, span=(-1, 1), **_RANKED), mean=sets()),
    ),
    claim(
        "no-method-dominates",
        "Figure 8",
        "No method is best, each at its best strength, on half of the data sets and metrics or more.",
        "share of data sets and metrics on which the most successful method is best, by medians",
        below(0.5, _SHARE_OF_WINS, mean=TOGETHER),
    ),
    claim(
        "no-rule-for-strength",
        "Figure 8",
        "No rule says which strength of a method is good: data sets and metrics order its strengths differently.",
        "mean rank correlation of two columns' orders of a method's strengths, by their medians",
        below(USEFUL, across(agreement_of_tuning, METRICS, datasets=2, span=(-1, 1), **_RANKED), mean=TOGETHER),
    ),
    *(
        claim(
            f"{name}-does-not-select",
            "Figure 9",
            f"The {words} does not tell which settings disentangle.",
            f"rank correlation of the {words} with a metric, over data sets, without its sign: mean over metrics",
            below(USEFUL, agreement(*((score, metric) for metric in METRICS), of=magnitude, datasets=2), mean=TOGETHER),
        )
        for name, score, words in (
            ("reconstruction", "reconstruction", "reconstruction error"),
            ("kl", "kl", "KL divergence"),
            ("elbo", "elbo", "evidence bound"),
            ("tc", "gaussian_tc/sampled", "total correlation of samples"),
        )
    ),
)


STRENGTHS_OF_TABLE_1, DATASETS_OF_TABLE_1 = 5, 6
"""That every method needs, and that it takes to choose on one and use on another: the table depends on how many settings there
are to choose from, and takes nearly all of 36; and on which data sets, since settings go from dSprites to Color-dSprites and
hardly elsewhere (Figure 10), and takes nearly all of 7."""


def _table_1(field: str, words: str, reported: float) -> Claim:
    chosen_beats_random = across(
        lambda scores, methods: transfer(scores)[Transfer._fields.index(field)],
        METRICS,
        span=(0, 1),
        datasets=DATASETS_OF_TABLE_1 if field in ("other_data", "other_both") else 2,
        methods=len(METHODS),
        strengths=STRENGTHS_OF_TABLE_1,
    )
    return claim(
        f"table-1-{field.replace('_', '-')}",
        "Table 1",
        f"A setting chosen by its score beats a random one on {words} in {reported:.1%} of cases, give or take five points.",
        f"share of cases in which the chosen setting equals or beats a random one on {words.removesuffix(',')}",
        within(reported - 0.05, reported + 0.05, chosen_beats_random, mean=TOGETHER),
        paper_effect=reported,
    )


_MEDIANS = "rank correlation of settings' medians on"
_TRANSFER = (
    claim(
        "transfer-to-color",
        "Figures 10 and 11",
        "Settings that are good on dSprites are good on Color-dSprites.",
        f"{_MEDIANS} both, mean over metrics",
        above(USEFUL, _TRANSFERS, mean=_pairs_of_sets([("dsprites", "color-dsprites")])),
    ),
    claim(
        "transfer-vanishes",
        "Figures 10 and 11",
        "The correlation with dSprites vanishes on Noisy-dSprites and on Scream-dSprites.",
        f"{_MEDIANS} dSprites and the other data set, mean over metrics, for the set where the claim is weakest",
        below(CORRELATED, _TRANSFERS, every=_pairs_of_sets(product(SPRITES[:1], SPRITES[2:]))),
    ),
    claim(
        "no-transfer-elsewhere",
        "Figures 10 and 11",
        "Settings that are good on dSprites are not for that good on SmallNORB, Cars3D or Shapes3D.",
        f"{_MEDIANS} dSprites and the other data set, mean over metrics, for the set where the claim is weakest",
        below(CORRELATED, _TRANSFERS, every=_pairs_of_sets(product(SPRITES[:1], DATASETS[4:]))),
    ),
    claim(
        "no-transfer-between-others",
        "Figure 10",
        "Settings that are good on one of SmallNORB, Cars3D and Shapes3D are not for that good on another of them.",
        f"{_MEDIANS} two of the three, mean over metrics, for the two where the claim is weakest",
        below(CORRELATED, _TRANSFERS, every=_pairs_of_sets(combinations(DATASETS[4:], 2))),
    ),
    _table_1("same", "the same data set and metric, with another seed,", 0.773),
    _table_1("other_data", "another data set by the same metric", 0.550),
    _table_1("other_metric", "the same data set by another metric", 0.518),
    _table_1("other_both", "another data set by another metric", 0.519),
)

_CLASSIFIERS = (
    ("logistic", "logistic_cv", "logistic regression", "Figure 13"),
    ("trees", "gbt", "boosted trees", "Figure 14"),
)
_OTHERS_ON_SCREAM, _ANNEALED_ON_SCREAM = (
    {**_all("scream-dsprites"), "method": methods}
    for methods in (tuple(method for method in METHODS if method != "annealed-vae"), "annealed-vae")
)
_ISOLATED = ("dci_disentanglement", "modularity")


def _larger_of_two(correlations: Floats) -> float:
    """Of the correlations of two scores, one after the other, the larger mean."""
    return max(float(half.mean()) for half in np.array_split(correlations, 2))


_DOWNSTREAM = (
    claim(
        "downstream-correlates",
        "Figure 12",
        "On dSprites and its variants BetaVAE score, FactorVAE score and MIG correlate with accuracy on downstream tasks.",
        "mean rank correlation of the three with downstream accuracies",
        above(CORRELATED, agreement(*product(TRIO, DOWNSTREAM)), mean=sets(SPRITES)),
    ),
    claim(
        "downstream-isolated",
        "Figure 12",
        "Neither DCI disentanglement nor modularity is correlated with increased downstream accuracy.",
        "rank correlation with downstream accuracies, mean over tasks, of the one of the two for which it is larger, mean over "
        "data sets",
        below(CORRELATED, agreement(*product(_ISOLATED, DOWNSTREAM), of=_larger_of_two), mean=sets()),
    ),
    *(
        claim(
            f"efficiency-{name}",
            where,
            f"Higher disentanglement scores do not make {words} more efficient with few samples.",
            f"mean rank correlation of the metrics with the efficiency of {words}",
            below(CORRELATED, agreement(*((metric, f"efficiency_{classifier}") for metric in METRICS)), mean=sets()),
        )
        for name, classifier, words, where in _CLASSIFIERS
    ),
    *(
        claim(
            f"annealed-efficient-{name}",
            where,
            f"On Scream-dSprites some AnnealedVAEs have a high efficiency of {words}.",
            f"efficiency of {words} of AnnealedVAE minus that of the best other method, each at its most efficient strength",
            above(HIGHER, least_best_difference(f"efficiency_{classifier}"), _OTHERS_ON_SCREAM, _ANNEALED_ON_SCREAM),
        )
        for name, classifier, words, where in _CLASSIFIERS
    ),
    *(
        claim(
            f"annealed-efficient-where-poor-{name}",
            where,
            f"The AnnealedVAEs with a high efficiency of {words} on Scream-dSprites are those whose accuracy is low even with "
            "10,000 samples.",
            f"rank correlation, over AnnealedVAEs on Scream-dSprites, of the efficiency of {words} and its accuracy with "
            "10,000 samples",
            below(
                -CORRELATED,
                agreement((f"efficiency_{classifier}", f"downstream_{classifier}_10000")),
                _ANNEALED_ON_SCREAM,
            ),
        )
        for name, classifier, words, where in _CLASSIFIERS
    ),
)

CLAIMS: tuple[Claim, ...] = (*_METRICS, *_WHAT_MATTERS, *_TRANSFER, *_DOWNSTREAM)
