"""Claims of Locatello et al. 2019, section 5.2: whether methods make the aggregate posterior, and the means, factorise.

Total correlations are those of a Gaussian fitted to the codes, and are compared by their logarithms. One is higher where it
is a tenth higher, "much higher" where it is twice as high, and a trend is "clear" where its rank correlation exceeds 0.5. A
Gaussian fitted to means exceeds one fitted to samples for every model, since independent noise only adds to the diagonal of the
covariance; so Figure 4 is judged by how many models have twice the total correlation.

AnnealedVAE's strength in Table 3 is its final capacity C, and the loss γ |KL − C| holds the KL at C: the larger C, the less is
regularised. "The total correlation seems to decrease with increased regularization strength" therefore says that it falls as
C falls; which way the axis of Figure 15 runs the paper does not say. The β-TCVAE with β = 1 is a plain VAE and not
compared with it. Means of DIP-VAE-II factorise where their total correlation is less than twice DIP-VAE-I's, of which the paper
says that it is low on every data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import Strata, above, below, runs, within
from hackle.claims.measures import SMALLEST, Measure, balanced, log_difference, trend
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Data
from hackle.papers.locatello2019.claims import CORRELATED, DATASETS, METHODS, claim, sets
from hackle.papers.locatello2019.settings import STRENGTHS

MEANS, SAMPLES = "gaussian_tc/mean", "gaussian_tc/sampled"
CLEARLY = 0.5
LEAST_LOG, TWICE = 0.1, 0.7
"""Logarithms of total correlations' ratios: one is higher where it is a tenth higher, and much higher where twice."""
WITHOUT_SMALLNORB, WITHOUT_SCREAM = (
    tuple(name for name in DATASETS if name != left) for left in ("smallnorb", "scream-dsprites")
)


def _vae(dataset: str) -> dict[str, Any]:
    return runs("beta-vae", dataset, strength=1.0)


def _stronger(method: str, dataset: str) -> dict[str, Any]:
    return runs(method, dataset, strength=tuple(float(value) for value in STRENGTHS[method] if value > 1))


def _each(methods: tuple[str, ...], datasets: tuple[str, ...] = DATASETS) -> Strata:
    """A stratum for each method on each data set."""
    return {f"{method} on {dataset}": runs(method, dataset) for method, dataset in product(methods, datasets)}


def _side_by_side(*methods: str, datasets: tuple[str, ...] = DATASETS) -> Strata:
    """A stratum for each data set, with the methods as conditions."""
    return {dataset: tuple(runs(method, dataset) for method in methods) for dataset in datasets}


def _with_vae(dataset: str) -> tuple[dict[str, Any], ...]:
    """The plain VAE, and every other method and strength of Figure 2."""
    stronger = (_stronger(method, dataset) for method in _PENALISED)
    return _vae(dataset), *stronger, *(runs(method, dataset) for method in _OTHERS)


def _logs(data: Data, condition: Condition, score: str) -> tuple[NDArray[Any], Floats]:
    """Seeds, and the logarithm of a score (seeds, settings) of the seeds and settings that are complete."""
    sweep = data.sweep(condition, (score,))
    logs = np.log(np.maximum(sweep.scores[score], SMALLEST))
    logs = logs[:, np.isfinite(logs).any(axis=0)]
    whole = np.isfinite(logs).all(axis=1)
    return sweep.seeds[whole], logs[whole]


def _common(data: Data, conditions: Sequence[Condition], score: str) -> list[Floats]:
    """Logarithms (seeds, settings) under each condition, in the seeds that all have."""
    parts = [_logs(data, condition, score) for condition in conditions]
    seeds = sorted(set.intersection(*(set(part.tolist()) for part, _ in parts)))
    return [logs[np.isin(part, seeds)] for part, logs in parts]


def _of_means(score: str, number: Any, settings: int = 1) -> Measure:
    """A number from the conditions' mean logarithms of each setting, jackknifed over seeds. It picks out settings by these
    means, so that it is widened. settings: how many each condition must have."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        parts = _common(data, conditions, score)
        if len(parts[0]) < 2 or any(part.shape[1] < settings for part in parts):
            return None
        values = jackknife(lambda kept: number([part[kept].mean(axis=0) for part in parts]), len(parts[0]))
        return Units(values, sum(part.shape[1] for part in parts), widened=True)

    return Measure(compute, (score,), least=f"{settings} strengths of each method in two seeds" if settings > 1 else "")


def _from_weakest_to_strongest(score: str, sign: int) -> Measure:
    """How much further the logarithm rises, or with the sign −1 falls, from the weakest to the strongest setting under the
    first two conditions than under the others, within each seed."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        parts = _common(data, conditions, score)
        if not len(parts[0]) or any(part.shape[1] < 3 for part in parts):
            return None
        rises = [sign * (part[:, -1] - part[:, 0]) for part in parts]
        return Units((rises[0] + rises[1]) / 2 - np.mean(rises[2:], axis=0), sum(part.shape[1] for part in parts))

    return Measure(compute, (score,), least="three strengths of each method")


def _share_of_models(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The share of models whose means have twice the total correlation of their samples."""
    rows = data.rows(conditions[0], (MEANS, SAMPLES)).dropna(subset=[MEANS, SAMPLES])
    if rows.empty:
        return None
    means, samples = (np.log(np.maximum(rows[name].to_numpy(float), SMALLEST)) for name in (MEANS, SAMPLES))
    table = balanced(rows, means - samples > TWICE)
    models = table.shape[1]
    # Seeds never agree for certain: one more may deviate as a share of so many models does by chance.
    return Units(table.mean(axis=1).to_numpy(), models, floor=1 / (4 * models), span=(0.0, 1.0)) if table.size else None


def _larger_of_both(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The logarithm of the larger of both total correlations under the second condition minus that under the first, mean over
    data sets, each of which counts alike, however many seeds it has; jackknifed over seeds."""
    sides = []
    for rows in data.matched(conditions, [MEANS, SAMPLES]):
        larger = np.log(np.maximum(rows[[MEANS, SAMPLES]].max(axis=1), SMALLEST))
        sides.append(rows.assign(log=larger).groupby(["seed", "dataset"], observed=True)["log"].mean())
    table = (sides[1] - sides[0]).dropna().unstack("dataset").to_numpy()
    if not len(table):
        return None

    def statistic(kept: NDArray[np.intp]) -> float:
        known = table[kept][:, np.isfinite(table[kept]).any(axis=0)]
        return float(np.nanmean(known, axis=0).mean())

    return Units(
        jackknife(statistic, len(table)), len(STRENGTHS["dip-vae-i"]) * 2 * np.isfinite(table).sum() / len(table)
    )


_PENALISED = ("beta-vae", "beta-tcvae")
_DIP = ("dip-vae-i", "dip-vae-ii")
_OTHERS = ("factor-vae", *_DIP)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "vae-highest-tc",
        "Figure 2",
        "On every data set but SmallNORB samples of the plain VAE, β = 1, have a higher total correlation than those of any "
        "other method and strength, AnnealedVAE aside.",
        "logarithm of the VAE's total correlation of samples over the highest of other settings, on the data set where it is "
        "lowest",
        above(
            0.0,
            _of_means(SAMPLES, lambda means: float(means[0][0] - max(part.max() for part in means[1:]))),
            every={name: _with_vae(name) for name in WITHOUT_SMALLNORB},
        ),
    ),
    claim(
        "dip-vae-i-above-vae-on-smallnorb",
        "Figure 2",
        "On SmallNORB samples of DIP-VAE-I have a slightly higher total correlation than those of the plain VAE.",
        "logarithm of DIP-VAE-I's total correlation of samples over the VAE's",
        within(0.0, TWICE, log_difference(SAMPLES), _vae("smallnorb"), runs("dip-vae-i", "smallnorb")),
    ),
    claim(
        "tc-of-samples-falls",
        "Figure 2",
        "In β-VAE and β-TCVAE stronger regularisation clearly lowers the total correlation of samples, on every data set.",
        "rank correlation of strength and total correlation of samples, for the method and data set where the claim is weakest",
        below(-CLEARLY, trend(SAMPLES), every=_each(_PENALISED)),
    ),
    claim(
        "tc-of-samples-falls-dip",
        "Figure 2",
        "Stronger regularisation lowers the total correlation of samples in the DIP-VAEs, both taken together.",
        "rank correlation of strength and total correlation of samples, mean over both and data sets",
        below(-CORRELATED, trend(SAMPLES), mean=_each(_DIP)),
    ),
    claim(
        "tc-of-samples-dip-less",
        "Figure 2",
        "Stronger regularisation lowers the total correlation of samples less in the DIP-VAEs than in β-VAE and β-TCVAE.",
        "fall of the logarithm of the total correlation of samples from the weakest to the strongest setting, in β-VAE and "
        "β-TCVAE minus that in the DIP-VAEs, mean over data sets",
        above(LEAST_LOG, _from_weakest_to_strongest(SAMPLES, -1), mean=_side_by_side(*_PENALISED, *_DIP)),
    ),
    claim(
        "tc-of-samples-factor-vae",
        "Figure 2",
        "In FactorVAE the total correlation of samples does not fall with γ.",
        "rank correlation of γ and total correlation of samples, mean over data sets",
        above(-CORRELATED, trend(SAMPLES), mean=_each(("factor-vae",))),
    ),
    claim(
        "annealed-tc-of-samples-falls",
        "Figure 15",
        "In AnnealedVAE stronger regularisation, a smaller final capacity, lowers the total correlation of samples on every "
        "data set but Scream-dSprites.",
        "rank correlation of final capacity and total correlation of samples, on the data set where the claim is weakest",
        above(CORRELATED, trend(SAMPLES), every=_each(("annealed-vae",), WITHOUT_SCREAM)),
    ),
    claim(
        "annealed-most-sensitive",
        "Figure 15",
        "The total correlation of samples depends much more on the strength in AnnealedVAE than in any other method.",
        "range over strengths of the logarithm of the total correlation of samples in AnnealedVAE minus the largest range of "
        "another method, mean over data sets",
        above(
            TWICE,
            _of_means(
                SAMPLES, lambda means: float(np.ptp(means[0]) - max(np.ptp(part) for part in means[1:])), settings=3
            ),
            mean=_side_by_side("annealed-vae", *_PENALISED, *_OTHERS),
        ),
    ),
    claim(
        "tc-of-means-rises",
        "Figure 3",
        "The total correlation of means does not fall with regularisation: in β-VAE, β-TCVAE and FactorVAE it rises.",
        "rank correlation of strength and total correlation of means, mean over methods and data sets",
        above(CORRELATED, trend(MEANS), mean=_each(("beta-vae", "beta-tcvae", "factor-vae"))),
    ),
    claim(
        "tc-of-means-rises-less",
        "Figure 3",
        "In FactorVAE regularisation raises the total correlation of means less than in β-VAE and β-TCVAE.",
        "rise of the logarithm of the total correlation of means from the weakest to the strongest setting, in β-VAE and "
        "β-TCVAE minus that in FactorVAE, mean over data sets",
        above(LEAST_LOG, _from_weakest_to_strongest(MEANS, 1), mean=_side_by_side(*_PENALISED, "factor-vae")),
    ),
    claim(
        "dip-vae-ii-factorises",
        "Figure 3",
        "Means of DIP-VAE-II factorise on Shapes3D and Cars3D.",
        "logarithm of DIP-VAE-II's total correlation of means over DIP-VAE-I's, on the data set where it is higher",
        below(TWICE, log_difference(MEANS), every=_side_by_side(*_DIP, datasets=("shapes3d", "cars3d"))),
    ),
    claim(
        "dip-vae-ii-fails",
        "Figure 3",
        "Means of DIP-VAE-II do not factorise on dSprites.",
        "logarithm of DIP-VAE-II's total correlation of means over DIP-VAE-I's",
        above(TWICE, log_difference(MEANS), mean=_side_by_side(*_DIP, datasets=("dsprites",))),
    ),
    claim(
        "annealed-tc-of-means-high",
        "Figure 16",
        "Means of AnnealedVAE have a very high total correlation, twice that of the plain VAE or more.",
        "logarithm of AnnealedVAE's total correlation of means over the plain VAE's, mean over data sets",
        above(TWICE, log_difference(MEANS), mean={name: (_vae(name), runs("annealed-vae", name)) for name in DATASETS}),
    ),
    claim(
        "means-above-samples",
        "Figure 4",
        "For a large number of models, more than half of all, the total correlation of means is much higher than that of "
        "samples, twice or more.",
        "share of models whose means have twice the total correlation of their samples or more, mean over data sets",
        above(0.5, Measure(_share_of_models, (MEANS, SAMPLES)), mean=sets()),
    ),
    claim(
        "dip-vae-i-exception",
        "Figure 4",
        "DIP-VAE-I alone keeps the total correlation low for means and samples: lower than every other method.",
        "logarithm of another method's total correlation over DIP-VAE-I's, of means or samples, whichever is larger, for the "
        "method for which the claim is weakest",
        above(
            LEAST_LOG,
            Measure(_larger_of_both, (MEANS, SAMPLES)),
            every={one: (runs("dip-vae-i", DATASETS), runs(one, DATASETS)) for one in METHODS if one != "dip-vae-i"},
        ),
    ),
)
