"""Why results differ from Kim & Mnih 2018: what FactorVAE's reconstruction costs, and what β-VAE finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.reasons.runs import DATA, Reason, Sweep, numbers
from hackle.metrics import agreement
from hackle.store.tables import Tables
from hackle.studies.presets import preset

_PARTS = 0.25, 0.5, 0.75, 1.0
"""Of the training."""
_SHOWN = 10.0, 35.0
"""FactorVAE's γ, the weakest, and that of the paper's appendix E."""
_PRINTED, _BOUND = 45.0, 43.3
"""The error of the paper's best β-VAE and FactorVAE (section 6); its VAE's bound of the log likelihood, without its sign."""
_OLD, _NEW = "kim2018-pairs-200-iterations-10000@", "kim2018-points-100-votes-800@"
"""Protocols with the numbers by which the paper scores, each before its scoring seed."""
_CORRELATION = 0.444
"""Of the old metric and the new one in the paper's section 6."""
_DRAWS = 200
_HARDLY = 0.1
"""What the claim allows; the bound is hackle's."""


def reasons(tables: Tables) -> list[Reason]:
    sweep = Sweep(tables, study="kim2018")
    return [_of_figure(sweep), _of_cost(sweep), _of_gaps(sweep), _of_old_metric(sweep, tables)]


def _times() -> str:
    """How long the paper trains, in the words of a reason."""
    return f"trains {preset('kim2018', 'factor-vae', DATA).steps:,} steps"


def _of_figure(sweep: Sweep) -> Reason:
    early, late = (sweep.training("factor-vae", _SHOWN[1], at) for at in (0.75, 1.0))
    text = (
        f"The paper {_times()}, these runs have {int(sweep.runs['steps'].max()):,}, and FactorVAE's error is still falling "
        f"when they end: at γ = {_SHOWN[1]:g} that of the batches was {early:.1f} nats after three quarters of the training "
        f"and {late:.1f} at its end."
    )
    return late < 0.95 * early, ("kim2018-figure-5",), text


def _of_cost(sweep: Sweep) -> Reason:
    """The ratio to the VAE's error does not shrink, and the paper's own numbers do not speak for a tenth."""
    plain, weakest = (sweep.mean(*setting, "reconstruction") for setting in (("beta-vae", 1.0), ("factor-vae", 10.0)))
    of_vae = [sweep.training("beta-vae", 1.0, part) for part in _PARTS]
    ratios = {
        gamma: [sweep.training("factor-vae", gamma, part) / own for part, own in zip(_PARTS, of_vae, strict=True)]
        for gamma in _SHOWN
    }
    shown = " and ".join(f"{numbers(of)} times the VAE's at γ = {gamma:g}" for gamma, of in ratios.items())
    of_beta = sweep.mean("beta-vae", 4.0, "reconstruction") / plain
    allowed = _PRINTED / (1 + _HARDLY)
    text = (
        f"Here the VAE's error is {plain:.1f} nats, and already the weakest FactorVAE, γ = 10, has {weakest:.1f}. The ratio "
        "is no smaller at the end than after a quarter of the training: after a quarter, half, three quarters and all of it "
        f"FactorVAE's error of batches is {shown}. The bound of a tenth is hackle's; the paper reads “barely sacrificing "
        "reconstruction error” off its Figure 4 and prints no error of its VAE. What it prints suggests that its FactorVAE, "
        "too, costs far more than a tenth. Its best β-VAE, β = 4, has the same error as its best FactorVAE, around 45 "
        f"(section 6), and a higher one than a VAE (section 2); here it is {of_beta:.1f} times as high. And its VAE's bound "
        f"of the log likelihood is −{_BOUND} (appendix E), so that error and KL term together are {_BOUND} nats and what "
        f"that bound is tighter by than the one that is trained. If {_PRINTED:g} were a tenth more than its error, that "
        f"would be {allowed:.0f} and its KL term {_BOUND - allowed:.1f} nats and that difference; here the VAE's KL term is "
        f"{sweep.mean('beta-vae', 1.0, 'kl'):.0f} nats."
    )
    closer = any(of[-1] < of[0] for of in ratios.values())
    costs = weakest > (1 + _HARDLY) * plain and of_beta > 1.5
    return costs and not closer, ("kim2018.factor-vae-keeps-reconstruction",), text


def _of_gaps(sweep: Sweep) -> Reason:
    """Of what Kim & Mnih's best β-VAE finds, those here find scale and leave position mixed."""
    gaps = {beta: sweep.gaps("beta-vae", beta) for beta in (4.0, 16.0)}
    position = {beta: float(means[["x", "y"]].mean()) for beta, means in gaps.items()}
    text = (
        f"At β = 4 scale is found (a gap of {gaps[4.0]['scale']:.2f}), and orientation and shape are not "
        f"({gaps[4.0]['orientation']:.2f} and {gaps[4.0]['shape']:.2f}), but neither is position ({position[4.0]:.2f}): at "
        f"β = 16 it is {position[16.0]:.2f}. The paper {_times()}, three times as many; whether that is enough for β = 4 has "
        "not been tested."
    )
    borne_out = position[4.0] < 0.5 * gaps[4.0]["scale"] and position[16.0] > 2 * position[4.0]
    return borne_out, ("kim2018.finds-position-and-scale-beta-vae",), text


def _of_old_metric(sweep: Sweep, tables: Tables) -> Reason:
    """The paper trains the old metric's classifier by Adagrad for so many iterations, which is noise to each of its scores."""
    noise = {
        metric: _deviation_over_seeds(tables, metric, protocol)
        for metric, protocol in (("beta_vae", _OLD), ("factor_vae", _NEW))
    }
    mine: Any = sweep.scores[sweep.runs["method"].isin(["beta-vae", "factor-vae"])][list(noise)].dropna()
    without = agreement(mine["beta_vae"], mine["factor_vae"]).spearman
    rng = np.random.default_rng(0)
    drawn = [mine + rng.normal(size=mine.shape) * list(noise.values()) for _ in range(_DRAWS)]
    noisy = float(np.mean([agreement(one["beta_vae"], one["factor_vae"]).spearman for one in drawn]))
    text = (
        "The paper trains the old metric's classifier by Adagrad for 10,000 iterations; these runs are scored by a logistic "
        "regression that is fitted to its end. A model that was scored in both of the paper's ways, with ten scoring seeds, "
        f"has a deviation of {noise['beta_vae']:.3f} over them by the old metric and of {noise['factor_vae']:.3f} by the new "
        f"one, where the old metric's over these {len(mine)} models is {mine['beta_vae'].std():.3f}. With such noise added to "
        f"both, their rank correlation would be {noisy:.2f} in place of {without:.2f}: a part of the difference from "
        f"{_CORRELATION}."
    )
    return noisy < without - 0.25 * (without - _CORRELATION), ("kim2018.metrics-correlate",), text


def _deviation_over_seeds(tables: Tables, metric: str, protocol: str) -> float:
    """Of a metric of the model that was scored often, under the protocols of this name with their seeds."""
    scores: Any = tables.scores
    rows = scores[scores["metric"].eq(metric) & scores["representation"].eq("mean")]
    rows = rows[rows["protocol"].astype(str).str.startswith(protocol)]
    return float(rows.groupby(rows["protocol"].astype(str))["score"].mean().std())
