"""Claims of Locatello et al. 2019, sections 5.3 to 5.6: agreement of metrics, what matters, what can be tuned without labels,
what transfers, and what disentanglement is good for.

The paper reads "correlated" and "not correlated" off figures. Here scores are correlated if their rank correlation exceeds
0.3, a correlation "vanishes" below that, and a way to choose settings is useful if it exceeds 0.5. Where the paper says that
scores are not correlated, absolute values are averaged over metrics and data sets, so that opposite signs do not cancel. A
label-free score tells settings apart if it does so in the same direction on all data sets, so its correlations are averaged
over data sets first. Section 5.2, on total correlations, is in `total_correlation_claims`.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from hackle.claims.agreement import agreement, magnitude
from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, least_best_difference
from hackle.papers.locatello2019.settings import DATASETS, METHODS
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


def claim(name: str, where: str, statement: str, effect: str, region: Region, measure: Measure, strata: tuple, **more):
    """A claim of this paper, of which the whole study has 50 seeds."""
    design = {"seeds": 50, "runs_per_seed": runs_of(strata[0])}
    return Claim(name, PAPER, where, statement, effect, region, measure, strata, **design, **more)


def runs_of(stratum: Stratum) -> int:
    """The runs per seed in the paper's design: six strengths of each method on each data set."""
    several = lambda value: len(value) if isinstance(value, tuple) else 1  # noqa: E731
    strengths = lambda part: several(part["strength"]) if "strength" in part else 6  # noqa: E731
    return sum(strengths(part) * several(part["method"]) * several(part["dataset"]) for part in stratum.conditions)


def _all(dataset: str | tuple[str, ...]) -> dict[str, object]:
    return {"method": METHODS, "dataset": dataset, "latents": 10}


def sets(datasets: tuple[str, ...] = DATASETS) -> tuple[Stratum, ...]:
    """A stratum for each data set, with all methods."""
    return tuple(Stratum(dataset, (_all(dataset),)) for dataset in datasets)


TOGETHER = (Stratum("all data sets", (_all(DATASETS),)),)

_RANKED = {"bootstrapped": True, "widened": True}
"""How statistics are tested that rank settings by their medians: in simulations of 5, 10 and 50 seeds verdicts then erred in at
most 5% of tables, with the jackknife in up to 40%."""
_pairs = tuple(combinations(METRICS, 2))
_METRICS = (
    claim(
        "three-metrics-agree",
        "Figures 5 and 6",
        "BetaVAE score, FactorVAE score and MIG are correlated with one another on every data set.",
        "rank correlation of the two of them that agree least, on the data set where it is lowest",
        Region(low=CORRELATED),
        agreement(*(pair for pair in _pairs if set(pair) <= set(TRIO)), of=np.min),
        sets(),
        combine="every",
    ),
    claim(
        "other-metrics-differ",
        "Figures 5 and 6",
        "The other pairs of metrics are not correlated: they measure different things.",
        "rank correlation, without its sign, of the pairs with DCI, modularity or SAP, mean over pairs and data sets",
        Region(high=CORRELATED),
        agreement(*(pair for pair in _pairs if not set(pair) <= set(TRIO)), of=magnitude),
        sets(),
    ),
)

_WHAT_MATTERS = (
    claim(
        "strength-over-method",
        "Figure 7",
        "How strongly a method regularises matters more to its scores than which method it is.",
        "share of the variance of settings' medians between strengths minus share between methods",
        Region(low=0.0),
        across(strength_minus_method, METRICS, span=(-1, 1), **_RANKED),
        sets(),
    ),
    claim(
        "no-method-dominates",
        "Figure 8",
        "No method is best, each at its best strength, on half of the data sets and metrics or more.",
        "share of data sets and metrics on which the most successful method is best, by medians",
        Region(high=0.5),
        across(share_of_the_best_method, METRICS, datasets=2, span=(0, 1), bootstrapped=True),
        TOGETHER,
    ),
    claim(
        "no-rule-for-strength",
        "Figure 8",
        "No rule says which strength of a method is good: data sets and metrics order its strengths differently.",
        "mean rank correlation of two columns' orders of a method's strengths, by their medians",
        Region(high=USEFUL),
        across(agreement_of_tuning, METRICS, datasets=2, span=(-1, 1), **_RANKED),
        TOGETHER,
    ),
    *(
        claim(
            f"{name}-does-not-select",
            "Figure 9",
            f"The {words} does not tell which settings disentangle.",
            f"rank correlation of the {words} with a metric, over data sets, without its sign: mean over metrics",
            Region(high=USEFUL),
            agreement(*((score, metric) for metric in METRICS), of=magnitude, datasets=2),
            TOGETHER,
        )
        for name, score, words in (
            ("reconstruction", "reconstruction", "reconstruction error"),
            ("kl", "kl", "KL divergence"),
            ("elbo", "elbo", "evidence bound"),
            ("tc", "gaussian_tc/sampled", "total correlation of samples"),
        )
    ),
)


STRENGTHS_OF_TABLE_1 = 5
"""That every method needs: the table depends on how many settings there are to choose from, and takes nearly all of 36."""


def _table_1(field: str, words: str, reported: float) -> Claim:
    return claim(
        f"table-1-{field.replace('_', '-')}",
        "Table 1",
        f"A setting chosen by its score beats a random one on {words} in {reported:.1%} of cases, give or take five points.",
        f"share of cases in which the chosen setting equals or beats a random one on {words.removesuffix(',')}",
        Region(reported - 0.05, reported + 0.05),
        across(
            lambda scores, methods: transfer(scores)[Transfer._fields.index(field)],
            METRICS,
            span=(0, 1),
            datasets=2,
            methods=len(METHODS),
            strengths=STRENGTHS_OF_TABLE_1,
        ),
        TOGETHER,
        paper_effect=reported,
    )


_TRANSFER = (
    claim(
        "transfer-to-color",
        "Figures 10 and 11",
        "Settings that are good on dSprites are good on Color-dSprites.",
        "rank correlation of settings' medians on both, mean over metrics",
        Region(low=USEFUL),
        across(agreement_of_datasets, METRICS, datasets=2, span=(-1, 1), **_RANKED),
        (Stratum("dsprites and color-dsprites", (_all("dsprites"), _all("color-dsprites"))),),
    ),
    *(
        claim(
            name,
            where,
            statement,
            f"rank correlation of settings' medians on {words}, mean over metrics, for the {weakest} where the claim is "
            "weakest",
            Region(high=CORRELATED),
            across(agreement_of_datasets, METRICS, datasets=2, span=(-1, 1), **_RANKED),
            tuple(Stratum(f"{first} and {second}", (_all(first), _all(second))) for first, second in pairs),
            combine="every",
        )
        for name, where, statement, words, weakest, pairs in (
            (
                "transfer-vanishes",
                "Figures 10 and 11",
                "The correlation with dSprites vanishes on Noisy-dSprites and on Scream-dSprites.",
                "dSprites and the other data set",
                "set",
                tuple(product(SPRITES[:1], SPRITES[2:])),
            ),
            (
                "no-transfer-elsewhere",
                "Figures 10 and 11",
                "Settings that are good on dSprites are not for that good on SmallNORB, Cars3D or Shapes3D.",
                "dSprites and the other data set",
                "set",
                tuple(product(SPRITES[:1], DATASETS[4:])),
            ),
            (
                "no-transfer-between-others",
                "Figure 10",
                "Settings that are good on one of SmallNORB, Cars3D and Shapes3D are not for that good on another of them.",
                "two of the three",
                "two",
                tuple(combinations(DATASETS[4:], 2)),
            ),
        )
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
_DOWNSTREAM = (
    claim(
        "downstream-correlates",
        "Figure 12",
        "On dSprites and its variants BetaVAE score, FactorVAE score and MIG correlate with accuracy on downstream tasks.",
        "mean rank correlation of the three with downstream accuracies",
        Region(low=CORRELATED),
        agreement(*product(TRIO, DOWNSTREAM)),
        sets(SPRITES),
    ),
    claim(
        "downstream-isolated",
        "Figure 12",
        "DCI disentanglement and modularity do not correlate with downstream accuracy.",
        "rank correlation, without its sign, of the two with downstream accuracies, mean over tasks and data sets",
        Region(high=CORRELATED),
        agreement(*product(("dci_disentanglement", "modularity"), DOWNSTREAM), of=magnitude),
        sets(),
    ),
    *(
        claim(
            f"efficiency-{name}",
            where,
            f"Higher disentanglement scores do not make {words} more efficient with few samples.",
            f"mean rank correlation of the metrics with the efficiency of {words}",
            Region(high=CORRELATED),
            agreement(*((metric, f"efficiency_{classifier}") for metric in METRICS)),
            sets(),
        )
        for name, classifier, words, where in _CLASSIFIERS
    ),
    *(
        claim(
            f"annealed-efficient-{name}",
            where,
            f"On Scream-dSprites some AnnealedVAEs have a high efficiency of {words}.",
            f"efficiency of {words} of AnnealedVAE minus that of the best other method, each at its most efficient strength",
            Region(low=HIGHER),
            least_best_difference(f"efficiency_{classifier}"),
            (Stratum("scream-dsprites", (_OTHERS_ON_SCREAM, _ANNEALED_ON_SCREAM)),),
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
            Region(high=-CORRELATED),
            agreement((f"efficiency_{classifier}", f"downstream_{classifier}_10000")),
            (Stratum("scream-dsprites", (_ANNEALED_ON_SCREAM,)),),
        )
        for name, classifier, words, where in _CLASSIFIERS
    ),
)

CLAIMS: tuple[Claim, ...] = (*_METRICS, *_WHAT_MATTERS, *_TRANSFER, *_DOWNSTREAM)
