"""Claims of Kim & Mnih 2018: FactorVAE's trade-off, its estimate of the total correlation, the old and the new metric, and
rivals.

"Best" is the setting with the highest mean FactorVAE score. The true total correlation is the Monte-Carlo
estimate of the scores. Figure 3 is judged by models that leave a factor out (less than 0.1 nats on it in every code): the
old metric gives them much better marks than the new. In Figures 16 and 17 one model is scored many times, and the
replicates are scoring seeds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import (
    Measure,
    agreement,
    best_difference,
    by_run,
    difference,
    of_arrays,
    trend,
    value,
    without_noise,
)
from hackle.claims.statistics import Floats, Units
from hackle.claims.view import Column, Condition, Data, Frame

PAPER = "kim2018"
SPRITES, SHAPES = "dsprites", ("shapes3d", "rooms3d")
LEAST = 0.02
"""A difference of scores, which run from 0 to 1, that counts as one."""
TREND = 0.3
CAPTURED = 0.1
"""A factor is left out where no code has more information on it than this, in nats."""


def _runs(method: str, dataset: str | tuple[str, ...] = SPRITES, strength: float | None = None) -> dict[str, object]:
    runs: dict[str, object] = {"method": method, "dataset": dataset}
    return runs if strength is None else {**runs, "strength": float(strength)}


def _against(name: str, first: Condition, second: Condition) -> tuple[Stratum, ...]:
    return (Stratum(name, (first, second)),)


def _claim(name: str, where: str, statement: str, effect: str, region: Region, measure: Measure, strata: tuple, **more):
    return Claim(name, PAPER, where, statement, effect, region, measure, strata, **more)


_VAE, _BETA, _FACTOR = _runs("beta-vae", strength=1), _runs("beta-vae"), _runs("factor-vae")
_VAE_3D, _BETA_3D, _FACTOR_3D = (
    _runs("beta-vae", SHAPES, 1),
    _runs("beta-vae", SHAPES),
    _runs("factor-vae", SHAPES),
)
_RECONSTRUCTION = best_difference("reconstruction", chosen_by="factor_vae", relative=True)

_TRADE_OFF = (
    _claim(
        "factor-vae-above-vae",
        "Figure 4",
        "On 2D Shapes FactorVAE disentangles better than a VAE.",
        "FactorVAE score of the best FactorVAE minus that of the VAE",
        Region(low=LEAST),
        best_difference("factor_vae"),
        _against("dsprites", _VAE, _FACTOR),
    ),
    _claim(
        "factor-vae-keeps-reconstruction",
        "Figure 4",
        "For that FactorVAE gives up hardly any reconstruction.",
        "relative rise of the reconstruction error from the VAE to the best FactorVAE",
        Region(high=0.1),
        _RECONSTRUCTION,
        _against("dsprites", _VAE, _FACTOR),
    ),
    _claim(
        "factor-vae-above-beta-vae",
        "Figure 5",
        "The best FactorVAE disentangles 2D Shapes better than the best β-VAE.",
        "FactorVAE score of the best FactorVAE minus that of the best β-VAE",
        Region(low=LEAST),
        best_difference("factor_vae"),
        _against("dsprites", _BETA, _FACTOR),
        paper_effect=0.82 - 0.73,
    ),
    _claim(
        "same-reconstruction",
        "Figure 5",
        "The best FactorVAE reconstructs 2D Shapes as well as the best β-VAE.",
        "relative difference of the reconstruction errors of best FactorVAE and best β-VAE",
        Region(high=0.1),
        _RECONSTRUCTION,
        _against("dsprites", _BETA, _FACTOR),
        paper_effect=0.0,
    ),
    _claim(
        "factor-vae-above-vae-3d",
        "Figure 10",
        "On 3D Shapes FactorVAE disentangles better than a VAE.",
        "FactorVAE score of the best FactorVAE minus that of the VAE",
        Region(low=LEAST),
        best_difference("factor_vae"),
        _against("shapes3d", _VAE_3D, _FACTOR_3D),
    ),
    _claim(
        "same-score-3d",
        "Figure 10",
        "On 3D Shapes the best FactorVAE and the best β-VAE disentangle alike.",
        "FactorVAE score of the best FactorVAE minus that of the best β-VAE",
        Region(-0.05, 0.05),
        best_difference("factor_vae"),
        _against("shapes3d", _BETA_3D, _FACTOR_3D),
    ),
    _claim(
        "lower-reconstruction-3d",
        "Figure 10",
        "On 3D Shapes the best FactorVAE has a lower reconstruction error than the best β-VAE.",
        "relative difference of the reconstruction errors of best FactorVAE and best β-VAE",
        Region(high=0.0),
        _RECONSTRUCTION,
        _against("shapes3d", _BETA_3D, _FACTOR_3D),
        paper_effect=3515 / 3570 - 1,
    ),
    _claim(
        "likelihood-2d",
        "Appendix E",
        "On 2D Shapes the β-VAE with β = 4 has a higher likelihood bound than the FactorVAE with γ = 35.",
        "importance-weighted bound of β-VAE minus that of FactorVAE, in nats",
        Region(low=0.0),
        difference("iwae"),
        _against("dsprites", _runs("factor-vae", strength=35), _runs("beta-vae", strength=4)),
        paper_effect=-46.1 + 51.9,
    ),
    _claim(
        "likelihood-3d",
        "Appendix E",
        "On 3D Shapes the FactorVAE with γ = 6 has a higher likelihood bound than the β-VAE with β = 32.",
        "importance-weighted bound of FactorVAE minus that of β-VAE, in nats",
        Region(low=0.0),
        difference("iwae"),
        _against("shapes3d", _runs("beta-vae", SHAPES, 32), _runs("factor-vae", SHAPES, 6)),
        paper_effect=-3520.0 + 3534.0,
    ),
)


def _tail(data: Data, rows: Frame, term: str) -> Floats:
    return data.view.tail(term).reindex(rows.index).to_numpy(float)


def _underestimate(data: Data, rows: Frame) -> Column:
    return rows["true_tc"].to_numpy(float) - _tail(data, rows, "total_correlation")


_TOTAL_CORRELATION = (
    _claim(
        "discriminator-underestimates",
        "Figure 7",
        "FactorVAE's discriminator underestimates the total correlation.",
        "true total correlation minus the discriminator's, in nats",
        Region(low=0.1),
        by_run(_underestimate, scores=("true_tc",), curves=("total_correlation",)),
        (Stratum("dsprites", (_FACTOR,)),),
    ),
    _claim(
        "tc-falls-with-gamma",
        "Figure 7",
        "A higher γ leads to a lower true total correlation.",
        "rank correlation of γ and total correlation",
        Region(high=-TREND),
        trend("true_tc"),
        (Stratum("dsprites", (_FACTOR,)),),
    ),
    _claim(
        "tc-falls-in-training",
        "Figure 7",
        "FactorVAE's true total correlation falls as training goes on.",
        "rank correlation of the number of steps and total correlation, over runs of three lengths or more",
        Region(high=-TREND),
        trend("true_tc", along="steps"),
        (Stratum("dsprites", (_FACTOR,)),),
        options="--steps 10000 (then 30000, 100000 and 300000)",
    ),
    _claim(
        "accuracy-falls-with-gamma",
        "Figure 37",
        "A higher γ leads to a discriminator that is right less often.",
        "rank correlation of γ and the discriminator's final accuracy",
        Region(high=-TREND),
        by_run(
            lambda data, rows: _tail(data, rows, "discriminator_accuracy"),
            curves=("discriminator_accuracy",),
            along="strength",
        ),
        (Stratum("dsprites", (_FACTOR,)),),
    ),
    _claim(
        "batch-estimate-fails",
        "Figure 18",
        "Estimating the total correlation with a batch in place of q(z) fails: the estimate is negative.",
        "batch estimate of the total correlation, in nats",
        Region(high=0.0),
        value("batch_tc"),
        (Stratum("dsprites", (_BETA,)),),
    ),
)


_ARRAYS = ("mutual_information", "informativeness")


def _flattery(data: Data, rows: Frame) -> Column:
    """What the old metric gives beyond the new to models that leave a factor out."""
    weakest = of_arrays(data, rows, lambda *arrays: float(without_noise(*arrays).max(axis=0).min()), *_ARRAYS)
    return np.where(weakest < CAPTURED, rows["beta_vae"] - rows["factor_vae"], np.nan)


_OLD = re.compile(r"kim2018-pairs-(\d+)-iterations-(\d+)@(\d+)$")
_NEW = re.compile(r"kim2018-points-(\d+)-votes-(\d+)@(\d+)$")


def _scored_often(data: Data, condition: Condition, score: str, pattern: re.Pattern[str]) -> Frame:
    """The score of a model under each protocol that the pattern knows: columns its two numbers, `seed` and `score`."""
    runs = data.rows(condition).index
    places = data.runs.index.get_indexer(runs)
    found = []
    for protocol in data.view.protocols:
        if match := pattern.match(protocol):
            values = data.scored(score, protocol)[places]
            if np.isfinite(values).any():
                found.append((*map(int, match.groups()), float(np.nanmean(values))))
    return pd.DataFrame(found, columns=["first", "second", "seed", "score"])


def _gain_of_iterations(data: Data, conditions: Sequence[Condition]) -> Units | None:
    table = _scored_often(data, conditions[0], "beta_vae", _OLD)
    if table["second"].nunique() < 2:
        return None
    means = table.groupby(["seed", "second"])["score"].mean().unstack("second")
    gains = (means.iloc[:, -1] - means.iloc[:, 0]).dropna()
    return Units(gains.to_numpy(), 1)


def _difference_of_ranges(data: Data, conditions: Sequence[Condition]) -> Units | None:
    ranges = []
    for score, pattern in (("beta_vae", _OLD), ("factor_vae", _NEW)):
        scores = _scored_often(data, conditions[0], score, pattern).groupby("seed")["score"]
        ranges.append(scores.max() - scores.min())
    seeds = ranges[0].index.intersection(ranges[1].index)
    return Units((ranges[0][seeds] - ranges[1][seeds]).to_numpy(), 1) if len(seeds) else None


_SCORING = (Stratum("one model", ({"method": "beta-vae", "dataset": SPRITES},)),)

_METRICS = (
    _claim(
        "metrics-correlate",
        "Section 6",
        "The old and the new metric are positively correlated over models.",
        "rank correlation of BetaVAE score and FactorVAE score",
        Region(low=0.0),
        agreement(("beta_vae", "factor_vae")),
        (Stratum("dsprites", ({"method": ("beta-vae", "factor-vae"), "dataset": SPRITES},)),),
        paper_effect=0.444,
    ),
    _claim(
        "old-metric-fails",
        "Figure 3",
        "The old metric gives good marks to β-VAEs that leave a factor out; the new one does not.",
        "BetaVAE score minus FactorVAE score of models that leave a factor out",
        Region(low=0.1),
        by_run(_flattery, scores=("beta_vae", "factor_vae"), arrays=_ARRAYS),
        (Stratum("dsprites", (_BETA,)),),
    ),
    _claim(
        "old-metric-sensitive",
        "Figure 16",
        "The old metric depends on its classifier: it rises with the iterations spent on it.",
        "rise of a model's BetaVAE score from the fewest to the most iterations, over scoring seeds",
        Region(low=LEAST),
        Measure(_gain_of_iterations),
        _SCORING,
        study="kim2018-sensitivity",
        seeds=1,
    ),
    _claim(
        "new-metric-steady",
        "Figure 17",
        "The new metric depends less on its settings than the old one.",
        "range of a model's BetaVAE score over settings minus that of its FactorVAE score, over scoring seeds",
        Region(low=0.0),
        Measure(_difference_of_ranges),
        _SCORING,
        study="kim2018-sensitivity",
        seeds=1,
    ),
)


def _below(name: str, words: str, method: str, score: str, metric: str, where: str, least: float) -> Claim:
    return _claim(
        name,
        where,
        f"{words} is below FactorVAE on 2D Shapes, each at its best, by the {metric} metric.",
        f"{'BetaVAE' if score == 'beta_vae' else 'FactorVAE'} score of the best FactorVAE minus that of the best {words}",
        Region(low=least),
        best_difference(score),
        _against("dsprites", _runs(method), _FACTOR),
    )


_RIVALS = (
    _below("infowgan-gp-below-old", "InfoWGAN-GP", "infowgan-gp", "beta_vae", "old", "Figure 8", LEAST),
    _below("infowgan-gp-below-new", "InfoWGAN-GP", "infowgan-gp", "factor_vae", "new", "Figure 8", LEAST),
    _below("aae-below", "adversarial autoencoder", "adversarial-autoencoder", "factor_vae", "new", "Figure 23", 0.0),
    _below("prior-below", "the variant of Eq. 12", "factor-vae-prior", "factor_vae", "new", "Figure 23", 0.0),
)

CLAIMS: tuple[Claim, ...] = (*_TRADE_OFF, *_TOTAL_CORRELATION, *_METRICS, *_RIVALS)
