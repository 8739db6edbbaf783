"""Claims of Yang et al. 2020: what correlated noise of the posterior (σ = 0.9 against 0) does to what is learnt.

Figure 3 shows generated digits; with σ = 0.9 "varying continuous factors leads to changing of digits", which is seen and not
counted: a count takes a classifier of generated digits, whose errors on blurred ones would count as changes. What is measured
stands in for that, and the claim says so: the information on the digit, in nats, of the continuous codes that Q finds in real
images. The paper itself does not score Q's outputs. Its KL and total correlation are those of factorised posteriors at either
σ (appendices B and D), and so are those here. The sign of what correlated noise does to the total correlation depends on
that: with the posterior's own density, which is higher by −½ ln det Σ, it rises in β-TCVAE where it falls with factorised
ones. So verdicts on the total correlation show both, and the paper's decides.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from hackle.claims.agreement import agreement
from hackle.claims.claim import Claim, Region
from hackle.claims.columns import final_values
from hackle.claims.conditions import Condition
from hackle.claims.forms import Strata, above, below, claims_of, inside, runs, within
from hackle.claims.measures import (
    Number,
    between,
    by_run,
    difference,
    difference_of,
    of_score,
    on_the_first,
    relative_change,
)
from hackle.claims.view import KL_WITHOUT_CONSTANT, OWN_DENSITY, Column, Data, Frame
from hackle.figures.words import DATASETS as DATASET_TITLES
from hackle.figures.words import METHODS
from hackle.papers.yang2020.settings import CORRELATIONS, DATASETS, LATENTS, WEIGHTS

PAPER = "yang2020"
STRENGTHS = {method: {} if weight is None else {"strength": weight} for method, weight in WEIGHTS.items()}
"""The weights that are compared: a folder may hold runs with others."""
LEAST_MIG = 0.01
"""The smallest change of MIG, which ranges from 0 to 1, that counts."""
SLIGHTLY = 0.05
"""The largest rise of MIG that is slight."""
EXCEPTION = ("vae", "cars3d", 20)
"""Where the paper reports that MIG does not fall: "the anomaly of vanilla VAE on Cars3D is slight" (appendix F)."""
HARDLY = 0.1
"""The largest relative change of a score that hardly changes."""
SETTLED = 0.1
"""The largest change, in nats, of a loss that has converged."""

claim = claims_of(PAPER)


def _both(method: str, dataset: str, latents: int) -> tuple[Condition, ...]:
    """The same runs without and with correlated noise."""
    return tuple(runs(method, dataset, latents, **STRENGTHS[method], correlation=sigma) for sigma in CORRELATIONS)


def _on_dsprites(*methods: str) -> Strata:
    return {f"{method} on dsprites": _both(method, "dsprites", 10) for method in methods}


def _mig(method: str, dataset: str, latents: int, where: str) -> Claim:
    exception = (method, dataset, latents) == EXCEPTION
    fate = "keeps its MIG or has a slightly higher one" if exception else "has a lower MIG"
    region = Region(-SLIGHTLY, LEAST_MIG) if exception else Region(low=LEAST_MIG)
    return claim(
        f"mig-{method}-{latents}-{dataset}",
        where,
        f"On {DATASET_TITLES[dataset]} {METHODS[method]} with {latents} latents {fate} when the posterior's noise is "
        "correlated.",
        "fall of MIG from σ = 0 to 0.9",
        inside(region, difference("mig", sign=-1), mean={f"{method} on {dataset}": _both(method, dataset, latents)}),
    )


def _falls_further(method: str) -> Claim:
    of_both_sizes = between(
        lambda few, few_after, many, many_after: many - many_after - (few - few_after), of_score("mig")
    )
    sizes = {
        f"{method} on {dataset}": tuple(part for latents in LATENTS for part in _both(method, dataset, latents))
        for dataset in DATASETS
    }
    return claim(
        f"fall-grows-{method}",
        "Appendix F",
        f"Correlated noise lowers the MIG of {METHODS[method]} more with 20 latents than with 10.",
        "fall of MIG from σ = 0 to 0.9 with 20 latents minus that with 10, mean over data sets",
        above(0.0, of_both_sizes, mean=sizes),
    )


def _hardly_moves(name: str, score: str, words: str, **more: Any) -> Claim:
    return claim(
        name,
        "Figure 2",
        f"In VAE and FactorVAE on dSprites correlated noise hardly changes the {words}.",
        f"relative change of the {words} from σ = 0 to 0.9, in the one of the two for which the claim is weaker",
        within(-HARDLY, HARDLY, relative_change(score), every=_on_dsprites("vae", "factor-vae")),
        **more,
    )


def _moves(name: str, score: str, words: str, sign: int, **more: Any) -> Claim:
    direction, form = ("raises", above) if sign > 0 else ("lowers", below)
    return claim(
        name,
        "Figure 2",
        f"In β-TCVAE on dSprites, other than in VAE and FactorVAE, correlated noise {direction} the {words}.",
        f"relative change of the {words} from σ = 0 to 0.9",
        form(0.0, relative_change(score), mean=_on_dsprites("beta-tcvae")),
        **more,
    )


def _digits(data: Data, rows: Frame) -> Column:
    """The information on the digit, MNIST's only factor, of the continuous codes, which are the first `latents` ones."""
    known = data.array("mutual_information")
    pairs = zip(rows.index, rows["latents"], strict=True)
    return np.array([known[run][: int(latents), 0].sum() if run in known else np.nan for run, latents in pairs])


LOSSES = ("discriminator", "generator", "information")
"""The three curves of Figure 4."""


def _still_moving(data: Data, rows: Frame) -> Column:
    """How far the loss that is farthest from having converged still moves, between the last two tenths of training."""
    moved = []
    for term in LOSSES:
        change = data.view.tail(term) - final_values(data.view.tables.curve(term), earlier=1)
        moved.append(change.abs().reindex(rows.index).to_numpy(float))
    return np.max(moved, axis=0)


DIGITS = "mnist-train", "mnist"
"""The 60,000 images that the paper trains on, or all 70,000 where there are no runs of these."""
_INFOGANS = tuple({"method": "infogan", "dataset": DIGITS, "correlation": sigma} for sigma in CORRELATIONS)
_GAIN = on_the_first(difference_of(Number(_digits, arrays=("mutual_information",))), DIGITS)
_MOVED = on_the_first(by_run(Number(_still_moving, curves=LOSSES)), DIGITS)
_OWN = ("with the posterior's own density in place of a factorised one", relative_change(OWN_DENSITY))

CLAIMS: tuple[Claim, ...] = (
    *(_mig(method, dataset, 10, "Figure 1") for method, dataset in product(WEIGHTS, DATASETS)),
    *(_mig(method, dataset, 20, "Figure 5") for method, dataset in product(WEIGHTS, DATASETS)),
    *(_falls_further(method) for method in ("factor-vae", "beta-tcvae")),
    _hardly_moves("reconstruction-hardly-moves", "reconstruction", "reconstruction error"),
    _hardly_moves("kl-hardly-moves", KL_WITHOUT_CONSTANT, "KL term"),
    _hardly_moves("tc-hardly-moves", "monte_carlo_tc", "total correlation", beside=(_OWN,)),
    _moves("tcvae-reconstruction", "reconstruction", "reconstruction error", 1),
    _moves("tcvae-kl", KL_WITHOUT_CONSTANT, "KL term", -1),
    _moves("tcvae-tc", "monte_carlo_tc", "total correlation", -1, beside=(_OWN,)),
    claim(
        "tc-follows-kl",
        "Appendix D",
        "Over VAE, FactorVAE and β-TCVAE on dSprites, without and with correlated noise, the total correlation is "
        "positively correlated with the KL term.",
        "rank correlation of total correlation and KL term over models",
        above(
            0.0,
            agreement(("monte_carlo_tc", KL_WITHOUT_CONSTANT)),
            *(part for method in WEIGHTS for part in _both(method, "dsprites", 10)),
        ),
    ),
    claim(
        "infogan-digits",
        "Figure 3",
        "With a correlated Q, what Q reads from real MNIST images as InfoGAN's continuous codes tells more of the "
        "digit. It stands in for what the paper sees, that varying these codes changes generated digits.",
        "information on the digit that Q's continuous codes of real images gain from σ = 0 to 0.9, in nats",
        above(0.05, _GAIN, mean={"infogan on mnist": _INFOGANS}),
    ),
    claim(
        "infogan-converges",
        "Figure 4",
        "InfoGAN converges with a correlated Q as with a factorised one: discriminator, generator and information "
        "end at rest.",
        "change, in nats, between the last two tenths of training, of that of the three losses which moves most, at "
        "the σ for which the claim is weaker",
        below(SETTLED, _MOVED, every={f"σ = {one['correlation']:g}": one for one in _INFOGANS}),
    ),
)
