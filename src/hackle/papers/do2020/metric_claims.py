"""Claims of Do & Tran 2020 about metrics: how theirs compare with DCI and modularity, and what becomes of metrics if a code's
mean stands for it. How theirs are estimated is in `estimate_claims`.

"Often" modularity is higher for VAEs than for FactorVAEs, from which the paper concludes that it does not tell disentangled
codes. It is a mean over all codes, and FactorVAE has more that are noise, whose modularity is chance (A.9 calls the score
inaccurate for them). The claim is about the score as it is; over informative codes alone it may be otherwise.

DCI disentanglement and completeness are "strongly uncorrelated" with RMIG and JEMMIG: without their signs the rank correlations
are below 0.3. Correlation matrices of means and of samples (A.6) are compared by the total correlation of Gaussians with these
matrices. A code of noise has nearly no information about the data, and so none about factors; what its mean has beyond that
(A.9) is counted from 0.1 nats, since 10,000 points in 100 bins give a mean some hundredths about any factor.

The paper's Lasso sees codes and factors as they are (`hackle.metrics.dci`): codes of noise have tiny means and so may have huge
weights, and a factor with many values counts more. Its claims on DCI are about scores under the protocol `do2020-raw`; runs
without them are judged by DCI of standardised codes and factors. Where noise codes' weights themselves are compared, these are
the standardised ones' divided by the codes' deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hackle.claims.agreement import agreement, magnitude
from hackle.claims.claim import Claim, Region
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, below, inside, within
from hackle.claims.measures import INFORMATIVE, Measure, by_run, difference, gap, of_arrays, trend
from hackle.claims.statistics import Units, jackknife
from hackle.claims.view import UNDER, Data
from hackle.papers.do2020.claims import AAE, BETA, BETA_10, FACTOR, FACTOR_10, LEAST, SIZES, TREND, VAE, claim, runs
from hackle.papers.do2020.nats import NATS, NORMALISED, in_nats
from hackle.papers.do2020.protocols import RAW
from hackle.papers.do2020.settings import BETAS, GAMMAS

BOTH = runs(("beta-vae", "factor-vae"))
HIGH_BETA = runs("beta-vae", (20.0, 50.0))
STANDARDISED = "DCI of standardised codes and factors"
"""Stands in for DCI of codes and factors as they are where that is a matter of what a Lasso predicts, which scales hardly
change. Disentanglement and completeness are made of its weights, which they do, and have no stand-in."""


def _above_the_lowest(score: str) -> Measure:
    """The second condition's score minus that of the first condition's setting with the lowest mean, jackknifed over seeds."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        sweeps = [data.sweep(condition, (score,)) for condition in conditions]
        seeds = sorted(set.intersection(*(set(sweep.seeds.tolist()) for sweep in sweeps)))
        sides = [sweep.scores[score][np.isin(sweep.seeds, seeds)] for sweep in sweeps]
        # A setting that most seeds lack, since training diverged, is not compared with the others.
        sides = [side[:, 2 * np.isfinite(side).sum(axis=0) >= len(side)] for side in sides]
        if (
            len(seeds) < 2
            or not all(side.shape[1] for side in sides)
            or not all(np.isfinite(side).all() for side in sides)
        ):
            return None
        values = jackknife(lambda kept: sides[1][kept].mean() - sides[0][kept].mean(axis=0).min(), len(seeds))
        return Units(values, sum(side.shape[1] for side in sides), widened=True)

    return Measure(compute, (score,), least="two seeds of every setting")


_PARTS = ("disentanglement", "completeness")


def _raw(part: str) -> str:
    """The name of DCI's score of codes and factors as they are."""
    return f"dci_{part}{UNDER}{RAW.name}"


def _standardised(part: str) -> str:
    return f"dci_{part}"


def _with_both_parts(score: str, dci: Callable[[str], str]) -> Measure:
    return in_nats(agreement(*((f"{score}{NATS}", dci(part)) for part in _PARTS), of=magnitude))


def _with_informativeness(score: str, sign: int, dci: Callable[[str], str]) -> Measure:
    return in_nats(agreement((f"{score}{NATS}", dci("informativeness")), sign=sign))


_BETAS = {f"β = {beta:g}": (runs("beta-vae", float(beta)), FACTOR_10) for beta in BETAS}
_OTHERS = {
    **{f"FactorVAE {gamma:g}": (runs("factor-vae", float(gamma)), VAE) for gamma in GAMMAS},
    **{f"β-VAE {beta:g}": (runs("beta-vae", float(beta)), VAE) for beta in BETAS if beta > 1},
}

_OTHER_METRICS = (
    *(
        claim(
            f"{score}-order",
            "Figure 5",
            f"By {score.upper()}{words} the FactorVAEs with the lowest weight, 10, are more interpretable than the β-VAEs of "
            "every β.",
            f"{score.upper()} in nats, as part of its largest value, of FactorVAE at 10 minus that of β-VAE, at the β for "
            "which the claim is weakest",
            inside(region, in_nats(difference(f"{score}{NATS}")), every=_BETAS),
            instead=(NORMALISED, difference(score)),
        )
        for score, words, region in (
            ("rmig", "", Region(low=LEAST)),
            ("jemmig", ", which is lower for the better,", Region(high=-LEAST)),
        )
    ),
    claim(
        "jemmig-rmig-agree",
        "Figure 5",
        "JEMMIG and RMIG order models alike.",
        "rank correlation of RMIG and the negative of JEMMIG, in nats",
        above(0.5, in_nats(agreement((f"jemmig{NATS}", f"rmig{NATS}"), sign=-1)), BOTH),
        instead=(NORMALISED, agreement(("jemmig", "rmig"), sign=-1)),
    ),
    claim(
        "jemmig-vae-last",
        "Figure 5",
        "By JEMMIG VAEs, β = 1, are worse than every other model.",
        "JEMMIG in nats, as part of its largest value, of the VAE minus that of the other setting that is nearest",
        above(LEAST, in_nats(difference(f"jemmig{NATS}")), every=_OTHERS),
        instead=(NORMALISED, difference("jemmig")),
    ),
    *(
        claim(
            f"{score}-follows-informativeness",
            "Figure 6",
            f"{score.upper()} {verb} DCI informativeness over models.",
            f"rank correlation of {words}, in nats, and DCI informativeness",
            above(TREND, _with_informativeness(score, sign, _raw), BOTH),
            instead=(STANDARDISED, _with_informativeness(score, sign, _standardised)),
        )
        for score, verb, words, sign in (
            ("rmig", "follows", "RMIG", 1),
            ("jemmig", "falls with", "the negative of JEMMIG", -1),
        )
    ),
    *(
        claim(
            f"{score}-differs-from-dci",
            "Figure 6",
            f"{score.upper()} is uncorrelated with DCI disentanglement and completeness.",
            f"rank correlation of {score.upper()}, in nats, with the two, without its sign, mean of both",
            below(TREND, _with_both_parts(score, _raw), BOTH),
        )
        for score in ("rmig", "jemmig")
    ),
    *(
        claim(
            f"dci-{part}-vae-above-factor-vae",
            "Figure 7",
            f"DCI {part} puts VAEs above some FactorVAEs.",
            f"DCI {part} of the VAE minus that of the FactorVAEs with the lowest",
            above(0.0, _above_the_lowest(_raw(part)), FACTOR, VAE),
        )
        for part in _PARTS
    ),
    claim(
        "dci-parts-disagree",
        "Figure 6",
        "DCI disentanglement and completeness do not order models alike.",
        "rank correlation of DCI disentanglement and completeness",
        below(0.5, agreement((_raw(_PARTS[0]), _raw(_PARTS[1]))), BOTH),
    ),
    *(
        claim(
            f"dci-{part}-favours-beta",
            "Figure 7",
            f"DCI {part} favours β-VAEs with a high β.",
            f"rank correlation of β and DCI {part}",
            above(TREND, trend(_raw(part)), BETA),
        )
        for part in _PARTS
    ),
    claim(
        "high-beta-less-informative",
        "Figure 7",
        "Yet the codes of β-VAEs with a high β are less informative than FactorVAE's, by DCI.",
        "DCI informativeness of β-VAE at β = 20 and 50 minus that of FactorVAE",
        below(-LEAST, difference(_raw("informativeness")), FACTOR, HIGH_BETA),
        instead=(STANDARDISED, difference(_standardised("informativeness"))),
    ),
    *(
        claim(
            f"{name}-favours-vae",
            "Figure 8",
            f"Modularity {words}, a mean over all codes, also of noise, is higher for VAEs than for FactorVAEs.",
            f"modularity {words} of the VAE minus that of FactorVAE",
            above(0.0, difference(score), FACTOR, VAE),
        )
        for name, score, words in (
            ("modularity", "modularity", "of means"),
            ("posterior-modularity", "posterior_modularity", "of posteriors"),
        )
    ),
)


def _beyond_the_data(information: Any, informativeness: Any) -> float:
    """How much more a noise code's mean tells of a factor than the code tells of the data, mean over noise codes."""
    noise = np.asarray(informativeness) <= INFORMATIVE
    excess = np.asarray(information).max(axis=1) - informativeness
    return float(excess[noise].mean()) if noise.any() else math.nan


_OF_FACTORS = np.sqrt([(size**2 - 1) / 12 for name, size in SIZES.items() if name != "shape"])
"""The deviations of the numbers of each factor's values, of those that the Lasso predicts."""


def _weights_of_noise(importance: Any, codes: Any, informativeness: Any) -> float:
    """The largest Lasso weight of a noise code as part of the largest of an informative one; NaN without one of each.

    Weights between standardised codes and factors, times the deviations of the factors and divided by those of the codes, are
    those between codes and factors as they are, but for the penalty, which acts on the standardised ones.
    """
    deviations, noise = np.asarray(codes, float).std(axis=0), np.asarray(informativeness) <= INFORMATIVE
    if (
        importance.shape != (len(noise), len(_OF_FACTORS))
        or noise.all()
        or not noise.any()
        or not (deviations > 0).all()
    ):
        return math.nan
    largest = (np.asarray(importance) * _OF_FACTORS / deviations[:, None]).max(axis=1)
    return float(largest[noise].max() / largest[~noise].max()) if largest[~noise].max() > 0 else math.nan


_BEYOND_THE_DATA = of_arrays(_beyond_the_data, "mutual_information", "informativeness")
_WEIGHTS = of_arrays(_weights_of_noise, "importance", "codes", "informativeness")
_TC_OF_MEANS = gap("gaussian_tc/mean", "gaussian_tc/sampled")
_OF_MEANS = (
    claim(
        "means-misjudge-independence",
        "Figure 20",
        "Correlations of the means of FactorVAE's and β-VAE's codes overstate how dependent the codes are.",
        "total correlation of a Gaussian with the correlations of means minus that with those of samples, in nats, in the "
        "model where the claim is weakest",
        above(0.1, _TC_OF_MEANS, every={"FactorVAE": FACTOR_10, "β-VAE": BETA_10}),
    ),
    claim(
        "means-of-aae-suffice",
        "Figure 20",
        "The adversarial autoencoder's codes, which have no noise, are as dependent by their means as by samples.",
        "total correlation of a Gaussian with the correlations of means minus that with those of samples, in nats",
        within(-0.05, 0.05, _TC_OF_MEANS, AAE),
    ),
    claim(
        "means-overestimate-noise-codes",
        "Figure 23",
        "Computed from means, the information of FactorVAE's noise codes about factors is overestimated.",
        "information of a noise code's mean about the factor of which it has most minus the code's informativeness, mean over "
        "noise codes, in nats",
        above(0.1, by_run(_BEYOND_THE_DATA), runs("factor-vae", 20.0)),
    ),
    claim(
        "lasso-overrates-noise-codes",
        "Figure 23",
        "The Lasso behind DCI gives some of FactorVAE's noise codes very high weights, above those of every informative code.",
        "largest weight of a noise code as part of the largest of an informative one, codes and factors as they are",
        above(1.0, by_run(_WEIGHTS), runs("factor-vae", 20.0)),
        paper_effect=60.784 / 9.5193,
    ),
)

CLAIMS: tuple[Claim, ...] = (*_OTHER_METRICS, *_OF_MEANS)
