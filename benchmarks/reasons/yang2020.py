"""Why results differ from Yang et al. 2020: what correlated noise does to the VAE, FactorVAE and β-TCVAE.

With Theorem 1, I(z; x) = Σ I(z_j; x) − TC(z) − ½ ln det Σ: the last term is what correlated noise leaves to codes together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reasons.runs import STUDY, Reason, numbers, offset, runs_of
from hackle.claims.view import KL_WITHOUT_CONSTANT, View
from hackle.figures.words import listing
from hackle.papers.yang2020.settings import WEIGHTS
from hackle.store.tables import Tables, correlation_constant

_BATCH = 64
"""Of posteriors, in training and in the estimate of the total correlation (appendix D)."""
_DRIFTED = 5.0
"""The offset, in nats, of a run whose codes have drifted away from 0; other runs have at most 1.6."""
_RANGE = 4.0
"""Codes are quantised between this and its negative."""
_SIGMAS = 0.0, 0.9
FLOAT32 = Path(__file__).parents[1] / "results" / "drift-float32-cpu.csv"
"""Curves of `hackle train factor-vae --dataset dsprites --preset yang2020 --correlation 0.9 --precision float32 --steps 6000`
with --seed 0 and 3, on a CPU."""


def reasons(tables: Tables) -> list[Reason]:
    runs = runs_of(tables, "yang2020")
    runs = runs[runs["latents"].eq(10)]
    scores = _scores(tables, runs)
    drift, drifts = _of_drift(tables, runs, scores)
    vae, spends = _of_vae(scores)
    return [
        (drifts and spends, ("yang2020.kl-hardly-moves",), f"{vae} {drift}"),
        (drifts, ("yang2020.reconstruction-hardly-moves",), drift),
        _of_total_correlation(scores),
        _of_tcvae(scores),
    ]


def _scores(tables: Tables, runs: Any) -> Any:
    """By run, with its method and σ as the index's other levels: scores, and what the table's codes of it tell."""
    data, codes = View(tables).of("yang2020"), tables.array("codes")
    names = ("kl", KL_WITHOUT_CONSTANT, "reconstruction", "monte_carlo_tc", "informativeness_mean")
    scores: Any = pd.DataFrame({name: pd.Series(data.scored(name), index=data.runs.index) for name in names})
    # What the quantised codes tell one by one, in sum, and the estimate with what its posteriors allow all codes together.
    summed, estimate = runs["latents"] * scores["informativeness_mean"], scores["monte_carlo_tc"] + np.log(_BATCH)
    scores = scores.assign(summed=summed, estimate=estimate).reindex(runs.index)
    scores = scores.assign(
        constant=correlation_constant(runs),
        offset=[offset(codes[run]) for run in runs.index],
        farthest=[float(np.abs(np.asarray(codes[run], float).mean(axis=0)).max()) for run in runs.index],
        outside=[float((np.abs(np.asarray(codes[run], float)) > _RANGE).mean()) for run in runs.index],
        seed=runs["seed"],
    )
    return scores.set_index([runs["method"].astype(str), runs["correlation"]]).sort_index()


def _of_vae(scores: Any) -> tuple[str, bool]:
    before, after = (scores.loc[("vae", sigma)].mean() for sigma in _SIGMAS)
    saved = before[KL_WITHOUT_CONSTANT] - after[KL_WITHOUT_CONSTANT]
    text = (
        f"By Theorem 1 the noise of Eq. 11 leaves to the codes together {after['constant']:.2f} nats, −½ ln det Σ, that the "
        f"decoder can use, and the VAE uses {saved:.2f} of them: its KL term, which leaves this constant out like the paper's "
        f"(appendix B), falls from {before[KL_WITHOUT_CONSTANT]:.2f} to {after[KL_WITHOUT_CONSTANT]:.2f} at the same error "
        f"({numbers([before['reconstruction'], after['reconstruction']], 1)}). With the constant it would be "
        f"{after['kl']:.1f}, a change of {after['kl'] / before['kl'] - 1:+.0%}. Why the paper's does not fall is not known."
    )
    same_error = abs(after["reconstruction"] / before["reconstruction"] - 1) < 0.05
    return text, bool(same_error and 0.8 < saved / after["constant"] < 1.2)


def _of_drift(tables: Tables, runs: Any, scores: Any) -> tuple[str, bool]:
    """Codes of FactorVAE that drift away from 0 as a whole: of Yang et al.'s with correlated noise, and of others without."""
    low, high = (scores.loc[("factor-vae", sigma)] for sigma in _SIGMAS)
    before, after = low.mean(), high.mean()
    stay, drifted = high[high["offset"].le(_DRIFTED)], high[high["offset"].gt(_DRIFTED)]
    same_seeds = low[low["seed"].isin(stay["seed"])]
    others: Any = tables.runs
    others = others[others["study"].eq(STUDY) & others["dataset"].isin(runs["dataset"]) & others["status"].eq("done")]
    others = others[others["method"].eq("factor-vae") & others["strength"].eq(100.0)]
    codes = tables.array("codes")
    elsewhere = [offset(codes[run]) > _DRIFTED for run in others["run"] if run in codes]
    risen, apart = (float(after[name] - before[name]) for name in (KL_WITHOUT_CONSTANT, "offset"))
    centred = [float(part[KL_WITHOUT_CONSTANT] - part["offset"]) for part in (before, after)]
    which = f"seed {listing(str(seed) for seed in sorted(stay['seed']))}"
    text = (
        f"FactorVAE's KL term rises from {before[KL_WITHOUT_CONSTANT]:.1f} to {after[KL_WITHOUT_CONSTANT]:.1f} nats and its "
        f"error from {before['reconstruction']:.1f} to {after['reconstruction']:.1f}, but {apart:.1f} of the {risen:.1f} nats "
        f"tell nothing of an image: in {len(drifted)} of {len(high)} runs at σ = {_SIGMAS[1]:g} codes as a whole drift away "
        f"from 0, with means over images of up to {high['farthest'].max():.1f} in size. The discriminator compares codes "
        "with permuted ones, which have the same means. Shifted back, codes would have a KL term of "
        f"{numbers(centred, 1)} nats, a change of {centred[1] / centred[0] - 1:+.0%}. Runs that drift have KL terms of "
        f"{drifted[KL_WITHOUT_CONSTANT].min():.0f} to {drifted[KL_WITHOUT_CONSTANT].max():.0f} nats. Without drift ({which}) "
        f"it is {stay[KL_WITHOUT_CONSTANT].mean():.1f} and the error {stay['reconstruction'].mean():.1f}; at σ = 0 the same "
        f"seed has {same_seeds[KL_WITHOUT_CONSTANT].mean():.1f} and {same_seeds['reconstruction'].mean():.1f}, nearly "
        f"unchanged, as the paper says. Codes drift without correlated noise, too, in {sum(elsewhere)} of the "
        f"{len(elsewhere)} FactorVAEs of Locatello et al. with γ = 100. Why is not known. It begins early, and not because "
        f"networks compute in bfloat16 here: {_early_in_float32(tables)}. The rest of the training was not repeated in float32."
    )
    borne_out = len(stay) and any(elsewhere) and apart > 0.7 * risen and risen > 0.5 * before[KL_WITHOUT_CONSTANT]
    return text, bool(borne_out)


def _early_in_float32(tables: Tables) -> str:
    """The KL term of two seeds after 6,000 steps, in float32 on a CPU and here, with what it is without correlated noise."""
    exact: Any = pd.read_csv(FLOAT32)
    end, start = int(exact["step"].max()), int(exact["step"].max()) - 2000
    found: Any = exact[exact["step"] > start].groupby("seed")["kl"].mean()
    runs = runs_of(tables, "yang2020")
    runs = runs[runs["method"].eq("factor-vae") & runs["latents"].eq(10) & runs["seed"].isin(found.index)]
    curve: Any = tables.curve("kl")
    here = curve[curve["step"].eq(end)].set_index("run")["value"].reindex(runs.index)
    noisy, plain = (here[runs["correlation"].eq(sigma)] for sigma in (0.9, 0.0))
    return (
        f"over steps {start + 1:,} to {end:,} the KL terms of seeds {listing(map(str, found.index))} are {numbers(found, 0)} "
        f"nats in float32 and {numbers(noisy, 0)} in bfloat16, where they are {numbers(plain, 0)} without correlated noise"
    )


def _of_total_correlation(scores: Any) -> Reason:
    means = scores.groupby(level=[0, 1]).mean()
    vae, factor = (means.loc[method].loc[list(_SIGMAS)] for method in ("vae", "factor-vae"))
    outside = factor["outside"].iloc[1]
    text = (
        f"The estimate is of batches of {_BATCH} posteriors, of which all codes together can tell ln {_BATCH} nats at most, "
        f"and these do. So with ln {_BATCH} added it is what codes tell one by one, in sum, and falls as that does: the "
        f"VAE's from {vae['estimate'].iloc[0]:.1f} to {vae['estimate'].iloc[1]:.1f} nats (of quantised codes the sum is "
        f"{numbers(vae['summed'], 1)}), FactorVAE's from {factor['estimate'].iloc[0]:.1f} to "
        f"{factor['estimate'].iloc[1]:.1f} (no such check at σ = {_SIGMAS[1]:g}: codes are quantised from −{_RANGE:g} to "
        f"{_RANGE:g}, and {outside:.0%} of them lie outside). Why the paper's stays the same is not known."
    )
    checked = [*(vae["estimate"] - vae["summed"]), factor["estimate"].iloc[0] - factor["summed"].iloc[0]]
    falls = all(part["estimate"].iloc[1] < 0.9 * part["estimate"].iloc[0] for part in (vae, factor))
    borne_out = max(map(abs, checked)) < 1 and falls and outside > 0.01
    return bool(borne_out), ("yang2020.tc-hardly-moves",), text


def _of_tcvae(scores: Any) -> Reason:
    """The penalty, of factorised posteriors, sees what codes tell one by one and not what correlated noise leaves to all."""
    before, after = (scores.loc[("beta-tcvae", sigma)].mean() for sigma in _SIGMAS)
    weight = (WEIGHTS["beta-tcvae"] or 0.0) - 1
    fewer, kl = (float(before[name] - after[name]) for name in ("estimate", KL_WITHOUT_CONSTANT))
    text = (
        f"By Theorem 1 I(z; x) = Σ I(z_j; x) − TC(z) + {after['constant']:.2f} nats at σ = {_SIGMAS[1]:g}. The penalty is of "
        f"factorised posteriors in batches of {_BATCH}, and so it is Σ I(z_j; x) − ln {_BATCH}: as estimated from such batches "
        f"the sum is {before['estimate']:.2f} at σ = 0 and {after['estimate']:.2f} at σ = {_SIGMAS[1]:g}, of quantised codes "
        f"{numbers([before['summed'], after['summed']])}. What correlated noise leaves to the codes together it does not "
        f"see. So codes can tell less one by one and more together: the penalty, of weight β − 1 = {weight:g}, falls by "
        f"{weight:g} × {fewer:.2f} = {weight * fewer:.1f} nats, and with it the KL term by {kl:.1f} and the error by "
        f"{before['reconstruction'] - after['reconstruction']:.1f}, from {before['reconstruction']:.1f} to "
        f"{after['reconstruction']:.1f}. With the constant the KL term, which bounds what codes can tell of an image, rises "
        f"from {before['kl']:.1f} to {after['kl']:.1f}. Why the paper's error rises is not known."
    )
    matches = all(abs(part["estimate"] - part["summed"]) < 0.3 for part in (before, after))
    all_fall = fewer > 0 and kl > 0 and after["reconstruction"] < before["reconstruction"]
    return bool(matches and all_fall and after["kl"] > before["kl"]), ("yang2020.tcvae-reconstruction",), text
