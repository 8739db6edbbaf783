"""Claims of Do & Tran 2020: which models are informative, separable and interpretable, on dSprites. What the paper says of
CelebA is in `celeba_claims`, what it says of metrics in `metric_claims`.

Which weights the models of Tables 8 and 9 have is not said; here it is 10, and 50 for the adversarial autoencoder. Means over
factors replace the tables' columns.

I(x; z), shared and separable information and MISJED are those computed with every image in q(z), as they are defined:
with 10,000 points, as in the paper's estimate by sampling, the information of all codes is limited to ln 10,000, below that of
a VAE's, and separable ones fall to 0. Verdicts on the total information show what that estimate says beside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, below, claims_of, within
from hackle.claims.measures import (
    INFORMATIVE,
    Measure,
    Number,
    best_difference,
    by_run,
    difference,
    difference_of,
    of_arrays,
    of_gaps,
    relative_change,
    trend,
)
from hackle.claims.view import Column, Data, Frame
from hackle.figures.words import FACTORS
from hackle.papers.do2020.settings import BETAS

PAPER = "do2020"
TREND = 0.3
LEAST = 0.01
STEADY = 0.1
HARDLY = 0.2
"""The largest relative change of shared information that is not significant."""
POOR, NOTHING = 0.5, 0.05
"""The least information, in nats, that a poorly separable code shares with the others, and the most that is about none. In
Figure 4 the least that an informative code of FactorVAE shares is 1.4, and the most that one of β-VAE with β = 10 does 0.14."""
EQUALLY = 0.8
"""Codes are equally informative where the least has this part of what the most informative one has."""
SEEDS = 8
"""The paper trained four, in which even rank correlations of 1 do not reach the level that Holm requires of the first
of 40."""
SIZES = dict(FACTORS["dsprites"])
"""The number of values of each factor of dSprites, in the order of the arrays' columns."""


def runs(
    method: str | tuple[str, ...],
    strength: float | tuple[float, ...] | None = None,
    latents: int | tuple[int, ...] = 10,
    dataset: str = "dsprites",
) -> dict[str, object]:
    """The condition of these runs, on dSprites unless another data set is named."""
    condition: dict[str, object] = {"method": method, "dataset": dataset, "latents": latents}
    return condition if strength is None else {**condition, "strength": strength}


claim = claims_of(PAPER, seeds=SEEDS)

VAE, BETA, FACTOR = runs("beta-vae", 1.0), runs("beta-vae"), runs("factor-vae")
BETA_10, FACTOR_10, AAE = runs("beta-vae", 10.0), runs("factor-vae", 10.0), runs("adversarial-autoencoder")


_OTHER_BETAS = runs("beta-vae", tuple(float(beta) for beta in BETAS if beta != 10))
MODELS = {"factor": FACTOR_10, "beta": BETA_10, "aae": AAE}
_NAMES = {"factor": "FactorVAE", "beta": "β-VAE", "aae": "the adversarial autoencoder"}


def _least_in_use(informativeness: Any) -> float:
    """The informativeness of the least informative code in use; NaN if none is."""
    used = np.asarray(informativeness)[np.asarray(informativeness) > INFORMATIVE]
    return float(used.min()) if len(used) else math.nan


INFORMATIVE_CODES = of_arrays(lambda array: float((array > INFORMATIVE).sum()), "informativeness")
"""The number of a run's informative codes."""
_LEAST_TO_MOST = of_arrays(lambda array: _least_in_use(array) / float(np.max(array)), "informativeness")
"""The informativeness of the least informative code in use as part of the most informative one's."""


def _shared(informative: bool) -> Number:
    """The mean of I(z_i; z_≠i) over the informative codes of a run, or over the others; NaN if it has none."""

    def of(data: Data, rows: Frame) -> Column:
        known, overlaps = data.array("informativeness"), data.of_factors("whole_overlap")
        means = []
        for run in rows.index:
            both = run in known and run in overlaps.index
            codes = np.flatnonzero((known[run] > INFORMATIVE) == informative) if both else ()
            means.append(float(overlaps.loc[run, [f"z{code}" for code in codes]].mean()) if len(codes) else math.nan)
        return np.array(means)

    return Number(of, scores=("whole_overlap",), arrays=("informativeness",))


def by_sampling(measure: Callable[..., Measure], **options: Any) -> tuple[tuple[str, Measure], ...]:
    """The total information by the paper's estimator, to show beside the other."""
    return (("by the paper's estimate from 10,000 images", measure("total_information", **options)),)


_INFORMATION = (
    *(
        claim(
            f"{name}-falls-with-beta",
            "Figure 2",
            f"In β-VAE the {words} falls as β grows.",
            f"rank correlation of β and {words}",
            below(-TREND, trend(score), BETA),
            beside=by_sampling(trend) if name == "total-information" else (),
        )
        for name, score, words in (
            ("informativeness", "informativeness_mean", "mean informativeness of a code"),
            ("total-information", "whole_total_information", "information of all codes together"),
        )
    ),
    claim(
        "factor-vae-less-informative",
        "Figure 2",
        "FactorVAE's codes are each less informative than a VAE's.",
        "mean informativeness of a VAE's codes minus that of FactorVAE's, in nats",
        above(0.0, difference("informativeness_mean"), FACTOR, VAE),
    ),
    claim(
        "factor-vae-keeps-information",
        "Figure 2",
        "Together FactorVAE's codes hold about as much information as a VAE's.",
        "relative change of the total information from VAE to FactorVAE",
        within(-STEADY, STEADY, relative_change("whole_total_information"), VAE, FACTOR),
        beside=by_sampling(relative_change),
    ),
    claim(
        "beta-separates",
        "Figure 3",
        "In β-VAE a larger β makes codes more separable: they share less information with the others.",
        "rank correlation of β and the weighted mean of I(z_i; z_≠i)",
        below(-TREND, trend("whole_overlap"), BETA),
    ),
    claim(
        "informative-codes-share",
        "Figure 4",
        "FactorVAE's informative codes are poorly separable: they share much information with the others.",
        "mean of I(z_i; z_≠i) over FactorVAE's informative codes, in nats",
        above(POOR, by_run(_shared(informative=True)), FACTOR_10),
        paper_effect=(2.7832 + 2.7307 + 2.6833 + 2.3561 + 1.4175) / 5,
    ),
    claim(
        "noise-codes-share-nothing",
        "Figure 4",
        "FactorVAE's noise codes are perfectly separable.",
        "mean of I(z_i; z_≠i) over FactorVAE's noise codes, in nats",
        within(-NOTHING, NOTHING, by_run(_shared(informative=False)), FACTOR_10),
    ),
    claim(
        "sharing-hardly-falls-with-gamma",
        "Figures 3 and 4",
        "In FactorVAE a higher weight of the total correlation hardly changes how much information codes share.",
        "relative change of the weighted mean of I(z_i; z_≠i) from γ = 10 to 100",
        within(-HARDLY, HARDLY, relative_change("whole_overlap"), FACTOR_10, runs("factor-vae", 100.0)),
    ),
    *(
        claim(
            f"{name}-peaks-at-beta-10",
            "Figure 3",
            f"β-VAE with β = 10 has the highest {words}, above every other β and above FactorVAE.",
            f"{words} at β = 10 minus that of the best other setting",
            above(
                0.0, best_difference(score), every={"other β": (_OTHER_BETAS, BETA_10), "FactorVAE": (FACTOR, BETA_10)}
            ),
        )
        for name, score, words in (("wsepin", "whole_wsepin", "WSEPIN"), ("sepin", "whole_sepin@3", "SEPIN@3"))
    ),
    claim(
        "five-informative-codes",
        "Figures 4 and 14",
        "Of ten codes FactorVAE with γ = 10 makes about five informative, as many as dSprites has factors, and the others "
        "noise.",
        "number of informative codes",
        within(3.5, 6.5, by_run(INFORMATIVE_CODES), FACTOR_10),
        paper_effect=5.0,
    ),
    claim(
        "aae-five-codes",
        "Figure 14",
        "Of ten codes the adversarial autoencoder, too, makes about five informative and the others nearly empty.",
        "number of informative codes",
        within(3.5, 6.5, by_run(INFORMATIVE_CODES), AAE),
        paper_effect=5.0,
    ),
    claim(
        "aae-codes-equal",
        "Figure 14",
        "Those of the adversarial autoencoder's codes that are informative on dSprites are equally so.",
        "least informativeness of an informative code as part of the most",
        above(EQUALLY, by_run(_LEAST_TO_MOST), AAE),
    ),
    claim(
        "factor-vae-codes-unequal",
        "Figure 14",
        "Some of FactorVAE's informative codes are less so than those of the adversarial autoencoder.",
        "informativeness of the least informative code in use in the adversarial autoencoder minus that in FactorVAE, in nats",
        above(0.1, difference_of(of_arrays(_least_in_use, "informativeness")), FACTOR_10, AAE),
    ),
)


def order(
    name: str, where: str, score: str, names: tuple[str, str], models: Mapping[str, Condition], **more: Any
) -> Claim:
    """The claim that the first of two models, of those given by name, has the higher score."""
    (upper, lower), words = (_NAMES[one] for one in names), score.upper()
    on = " on CelebA" if models[names[0]]["dataset"] == "celeba" else ""
    return claim(
        name,
        where,
        f"{upper.replace('the ', 'The ')} has a higher {words}{on} than {lower}.",
        f"{words} of {upper} minus that of {lower}",
        above(LEAST, difference(score), models[names[1]], models[names[0]]),
        **more,
    )


def _of_factors_apart(score: str, upper: str, lower: str) -> Measure:
    """A score of one factor minus that of another, of the same run."""

    def of(data: Data, rows: Frame) -> Column:
        scores = data.of_factors(score).reindex(index=rows.index, columns=[upper, lower])
        return scores[upper] - scores[lower]

    return by_run(Number(of, scores=(score,)))


_INTERPRETABILITY = (
    *(
        order(f"rmig-above-{one}", "Table 8", "rmig", ("factor", one), MODELS, paper_effect=0.4906 - printed)
        for one, printed in (("beta", 0.2067), ("aae", 0.1876))
    ),
    *(
        order(f"jemmig-below-{one}", "Table 9", "jemmig", (one, "factor"), MODELS, paper_effect=printed - 0.4620)
        for one, printed in (("beta", 0.7427), ("aae", 0.7246))
    ),
    claim(
        "rmig-of-scale-like-x",
        "Table 8",
        "FactorVAE's RMIG of scale and of x-position are about the same.",
        "RMIG of scale minus that of x in FactorVAE",
        within(-STEADY, STEADY, _of_factors_apart("rmig", "scale", "x"), FACTOR_10),
        paper_effect=0.7139 - 0.7198,
    ),
    claim(
        "jemmig-of-scale-above-x",
        "Table 9",
        "FactorVAE's JEMMIG of scale is higher than that of x-position: fewer values fit a code of many bins less well.",
        "JEMMIG of scale minus that of x in FactorVAE",
        above(LEAST, _of_factors_apart("jemmig", "scale", "x"), FACTOR_10),
        paper_effect=0.3422 - 0.2908,
    ),
    claim(
        "scale-and-position-found",
        "Table 8",
        "FactorVAE disentangles scale and position but not shape and rotation.",
        "mean information gap, as part of the factor's entropy, of scale, x and y minus that of shape and orientation",
        above(0.2, by_run(of_gaps(SIZES, ("scale", "x", "y"), ("shape", "orientation"))), FACTOR_10),
        paper_effect=0.7198 - 0.1468,
    ),
)

CLAIMS: tuple[Claim, ...] = (*_INFORMATION, *_INTERPRETABILITY)
