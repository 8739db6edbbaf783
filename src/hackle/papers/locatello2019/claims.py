"""Claims of Locatello et al. 2019, section 5: total correlations, agreement of metrics, what matters, what can be tuned
without labels, what transfers, and what disentanglement is good for.

The paper reads "correlated" and "not correlated" off figures. Here scores are correlated if their rank correlation
exceeds 0.3, and a way to choose settings is useful if it exceeds 0.5. Where the paper says that scores are not
correlated, absolute values are averaged over metrics and data sets, so that opposite signs do not cancel. A label-free
score tells settings apart if it does so in the same direction on all data sets, so its correlations are averaged over
data sets first. AnnealedVAE is left out of Figures 2 and 3, as in the paper.

The total correlation of a Gaussian fitted to means exceeds that of samples for every model, since independent noise only adds
to the covariance's diagonal. Figure 4 is therefore judged by how much higher it is: "much higher" means twice here.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, agreement, gap, log_difference, magnitude, trend
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
LEAST_LOG, TWICE = 0.1, 0.7
"""Logarithms of total correlations' ratios: one is higher where it is a tenth higher, and much higher where twice."""


def _claim(name: str, where: str, statement: str, effect: str, region: Region, measure: Measure, strata: tuple, **more):
    design = {"seeds": 50, "runs_per_seed": _runs(strata[0])}
    return Claim(name, PAPER, where, statement, effect, region, measure, strata, **design, **more)


def _runs(stratum: Stratum) -> int:
    """The runs per seed in the paper's design: six strengths of each method on each data set."""
    several = lambda value: len(value) if isinstance(value, tuple) else 1  # noqa: E731
    return sum(6 * several(part["method"]) * several(part["dataset"]) for part in stratum.conditions)


def _each(methods: tuple[str, ...], datasets: tuple[str, ...] = DATASETS) -> tuple[Stratum, ...]:
    """A stratum for each method on each data set."""
    return tuple(
        Stratum(f"{method} on {dataset}", ({"method": method, "dataset": dataset, "latents": 10},))
        for method, dataset in product(methods, datasets)
    )


def _all(dataset: str | tuple[str, ...]) -> dict[str, object]:
    return {"method": METHODS, "dataset": dataset, "latents": 10}


def _sets(datasets: tuple[str, ...] = DATASETS) -> tuple[Stratum, ...]:
    """A stratum for each data set, with all methods."""
    return tuple(Stratum(dataset, (_all(dataset),)) for dataset in datasets)


TOGETHER = (Stratum("all data sets", (_all(DATASETS),)),)

_TOTAL_CORRELATION = (
    _claim(
        "tc-of-samples-falls",
        "Figure 2",
        "Stronger regularisation lowers the total correlation of sampled codes in β-VAE, β-TCVAE and both DIP-VAEs.",
        "rank correlation of strength and total correlation of samples",
        Region(high=-CORRELATED),
        trend("gaussian_tc/sampled"),
        _each(("beta-vae", "beta-tcvae", "dip-vae-i", "dip-vae-ii")),
    ),
    _claim(
        "tc-of-samples-factor-vae",
        "Figure 2",
        "In FactorVAE the total correlation of sampled codes does not fall with γ.",
        "rank correlation of γ and total correlation of samples",
        Region(low=-CORRELATED),
        trend("gaussian_tc/sampled"),
        _each(("factor-vae",)),
    ),
    _claim(
        "tc-of-means-rises",
        "Figure 3",
        "The total correlation of means does not fall with regularisation: in β-VAE, β-TCVAE and FactorVAE it rises.",
        "rank correlation of strength and total correlation of means",
        Region(low=CORRELATED),
        trend("gaussian_tc/mean"),
        _each(("beta-vae", "beta-tcvae", "factor-vae")),
    ),
    _claim(
        "means-above-samples",
        "Figure 4",
        "Outside DIP-VAE-I the total correlation of means is much higher than that of samples, twice or more.",
        "logarithm of the total correlation of means over that of samples",
        Region(low=TWICE),
        gap("gaussian_tc/mean", "gaussian_tc/sampled", logarithms=True),
        _each(tuple(method for method in METHODS if method != "dip-vae-i")),
    ),
    _claim(
        "dip-vae-i-exception",
        "Figure 4",
        "DIP-VAE-I alone keeps the total correlation of means low: lower than every other method.",
        "logarithm of another method's total correlation of means over DIP-VAE-I's, for the method nearest to it",
        Region(low=LEAST_LOG),
        log_difference("gaussian_tc/mean"),
        tuple(
            Stratum(
                method,
                tuple({"method": name, "dataset": DATASETS, "latents": 10} for name in ("dip-vae-i", method)),
            )
            for method in METHODS
            if method != "dip-vae-i"
        ),
        combine="every",
    ),
)

_pairs = tuple(combinations(METRICS, 2))
_METRICS = (
    _claim(
        "three-metrics-agree",
        "Figures 5 and 6",
        "BetaVAE score, FactorVAE score and MIG are correlated with one another on every data set.",
        "rank correlation of the two of them that agree least, on the data set where it is lowest",
        Region(low=CORRELATED),
        agreement(*(pair for pair in _pairs if set(pair) <= set(TRIO)), of=np.min),
        _sets(),
        combine="every",
    ),
    _claim(
        "other-metrics-differ",
        "Figures 5 and 6",
        "The other pairs of metrics are not correlated: they measure different things.",
        "rank correlation, without its sign, of the pairs with DCI, modularity or SAP, mean over pairs and data sets",
        Region(high=CORRELATED),
        agreement(*(pair for pair in _pairs if not set(pair) <= set(TRIO)), of=magnitude),
        _sets(),
    ),
)

_WHAT_MATTERS = (
    _claim(
        "strength-over-method",
        "Figure 7",
        "How strongly a method regularises matters more to its scores than which method it is.",
        "share of variance between strengths minus share between methods",
        Region(low=0.0),
        across(strength_minus_method, METRICS, span=(-1, 1)),
        _sets(),
    ),
    _claim(
        "no-method-dominates",
        "Figure 8",
        "No method is best, each at its best strength, on half of the data sets and metrics or more.",
        "share of data sets and metrics on which the most successful method is best",
        Region(high=0.5),
        across(share_of_the_best_method, METRICS, datasets=2, span=(0, 1), bootstrapped=True),
        TOGETHER,
    ),
    _claim(
        "no-rule-for-strength",
        "Figure 8",
        "No rule says which strength of a method is good: data sets and metrics order its strengths differently.",
        "mean rank correlation of two columns' orders of a method's strengths",
        Region(high=USEFUL),
        across(agreement_of_tuning, METRICS, datasets=2, span=(-1, 1), widened=True),
        TOGETHER,
    ),
    *(
        _claim(
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
    return _claim(
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
    _claim(
        "transfer-to-color",
        "Figures 10 and 11",
        "Settings that are good on dSprites are good on Color-dSprites.",
        "rank correlation of settings' scores on both, mean over metrics",
        Region(low=USEFUL),
        across(agreement_of_datasets, METRICS, datasets=2, span=(-1, 1), widened=True),
        (Stratum("dsprites and color-dsprites", (_all("dsprites"), _all("color-dsprites"))),),
    ),
    _claim(
        "no-transfer-elsewhere",
        "Figures 10 and 11",
        "Settings that are good on dSprites are not necessarily good on other data sets.",
        "rank correlation of settings' scores on dSprites and another set, mean over metrics and sets",
        Region(high=USEFUL),
        across(agreement_of_datasets, METRICS, datasets=2, span=(-1, 1), widened=True),
        tuple(Stratum(f"dsprites and {other}", (_all("dsprites"), _all(other))) for other in DATASETS[2:]),
    ),
    _table_1("same", "the same data set and metric, with another seed,", 0.773),
    _table_1("other_data", "another data set by the same metric", 0.550),
    _table_1("other_metric", "the same data set by another metric", 0.518),
    _table_1("other_both", "another data set by another metric", 0.519),
)

_DOWNSTREAM = (
    _claim(
        "downstream-correlates",
        "Figure 12",
        "On dSprites and its variants BetaVAE score, FactorVAE score and MIG correlate with accuracy on downstream tasks.",
        "mean rank correlation of the three with downstream accuracies",
        Region(low=CORRELATED),
        agreement(*product(TRIO, DOWNSTREAM)),
        _sets(SPRITES),
    ),
    _claim(
        "downstream-isolated",
        "Figure 12",
        "DCI disentanglement and modularity do not correlate with downstream accuracy.",
        "rank correlation, without its sign, of the two with downstream accuracies, mean over tasks and data sets",
        Region(high=CORRELATED),
        agreement(*product(("dci_disentanglement", "modularity"), DOWNSTREAM), of=magnitude),
        _sets(),
    ),
    *(
        _claim(
            f"efficiency-{name}",
            where,
            f"Higher disentanglement scores do not make {words} more efficient with few samples.",
            f"mean rank correlation of the metrics with the efficiency of {words}",
            Region(high=CORRELATED),
            agreement(*((metric, score) for metric in METRICS)),
            _sets(),
        )
        for name, score, words, where in (
            ("logistic", "efficiency_logistic_cv", "logistic regression", "Figure 13"),
            ("trees", "efficiency_gbt", "boosted trees", "Figure 14"),
        )
    ),
)

CLAIMS: tuple[Claim, ...] = (*_TOTAL_CORRELATION, *_METRICS, *_WHAT_MATTERS, *_TRANSFER, *_DOWNSTREAM)
