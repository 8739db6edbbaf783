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

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from hackle.claims.agreement import agreement
from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, by_seed, difference, on_the_first, relative_change
from hackle.claims.statistics import Units
from hackle.claims.view import OWN_DENSITY, Condition, Data, final_values
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


def correlated(method: str, dataset: str, latents: int) -> Stratum:
    """The same runs without and with correlated noise."""
    common = {"method": method, "dataset": dataset, "latents": latents, **STRENGTHS[method]}
    pair = tuple({**common, "correlation": sigma} for sigma in CORRELATIONS)
    return Stratum(f"{method} on {dataset}", pair)


def _mig(method: str, dataset: str, latents: int, where: str) -> Claim:
    exception = (method, dataset, latents) == EXCEPTION
    fate = "keeps its MIG or has a slightly higher one" if exception else "has a lower MIG"
    return Claim(
        name=f"mig-{method}-{latents}-{dataset}",
        paper=PAPER,
        where=where,
        statement=f"On {DATASET_TITLES[dataset]} {METHODS[method]} with {latents} latents {fate} when the posterior's noise is "
        "correlated.",
        effect="fall of MIG from σ = 0 to 0.9",
        region=Region(-SLIGHTLY, LEAST_MIG) if exception else Region(low=LEAST_MIG),
        measure=difference("mig", sign=-1),
        strata=(correlated(method, dataset, latents),),
    )


def _difference_of_falls(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The fall of MIG between the last two conditions minus that between the first two, within a seed."""
    sides = [by_seed(rows, rows["mig"]) for rows in data.matched(conditions, ["mig"])]
    seeds = sorted(set.intersection(*(set(side.index) for side in sides)))
    few, few_after, many, many_after = (side[seeds].to_numpy() for side in sides)
    return Units((many - many_after) - (few - few_after), 4) if seeds else None


def _falls_further(method: str) -> Claim:
    return Claim(
        name=f"fall-grows-{method}",
        paper=PAPER,
        where="Appendix F",
        statement=f"Correlated noise lowers the MIG of {METHODS[method]} more with 20 latents than with 10.",
        effect="fall of MIG from σ = 0 to 0.9 with 20 latents minus that with 10, mean over data sets",
        region=Region(low=0.0),
        measure=Measure(_difference_of_falls, ("mig",)),
        strata=tuple(
            Stratum(
                f"{method} on {dataset}",
                tuple(part for latents in LATENTS for part in correlated(method, dataset, latents).conditions),
            )
            for dataset in DATASETS
        ),
    )


def _hardly_moves(name: str, score: str, words: str, **more: Any) -> Claim:
    return Claim(
        name=name,
        paper=PAPER,
        where="Figure 2",
        statement=f"In VAE and FactorVAE on dSprites correlated noise hardly changes the {words}.",
        effect=f"relative change of the {words} from σ = 0 to 0.9, in the one of the two for which the claim is weaker",
        region=Region(-HARDLY, HARDLY),
        measure=relative_change(score),
        strata=tuple(correlated(method, "dsprites", 10) for method in ("vae", "factor-vae")),
        combine="every",
        **more,
    )


def _moves(name: str, score: str, words: str, sign: int, **more: Any) -> Claim:
    direction = "raises" if sign > 0 else "lowers"
    return Claim(
        name=name,
        paper=PAPER,
        where="Figure 2",
        statement=f"In β-TCVAE on dSprites, other than in VAE and FactorVAE, correlated noise {direction} the {words}.",
        effect=f"relative change of the {words} from σ = 0 to 0.9",
        region=Region(low=0.0) if sign > 0 else Region(high=0.0),
        measure=relative_change(score),
        strata=(correlated("beta-tcvae", "dsprites", 10),),
        **more,
    )


def _digits_in_continuous_codes(data: Data, conditions: Sequence[Condition]) -> Units | None:
    information = data.array("mutual_information")
    sides = []
    for condition in conditions:
        rows = data.rows(condition)
        rows = rows[rows.index.isin(list(information))]
        if rows.empty:
            return None
        # The first codes are the continuous ones, `latents` of them; the digit is MNIST's only factor.
        values = [
            information[run][: int(row.latents), 0].sum()
            for run, row in zip(rows.index, rows.itertuples(), strict=True)
        ]
        sides.append(by_seed(rows, values))
    seeds = sides[0].index.intersection(sides[1].index)
    return Units((sides[1][seeds] - sides[0][seeds]).to_numpy(), 2) if len(seeds) else None


LOSSES = ("discriminator", "generator", "information")
"""The three curves of Figure 4."""


def _still_moving(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """How far the loss that is farthest from having converged still moves, between the last two tenths of training."""
    rows = data.rows(conditions[0])
    moved = []
    for term in LOSSES:
        change = data.view.tail(term) - final_values(data.view.tables.curve(term), earlier=1)
        moved.append(change.abs().reindex(rows.index).to_numpy(float))
    worst = np.max(moved, axis=0)
    known = np.isfinite(worst)
    if not known.any():
        return None
    values = by_seed(rows[known], worst[known])
    return Units(values.to_numpy(), 1)


DIGITS = "mnist-train", "mnist"
"""The 60,000 images that the paper trains on, or all 70,000 where there are no runs of these."""
_INFOGANS = tuple({"method": "infogan", "dataset": DIGITS, "correlation": sigma} for sigma in CORRELATIONS)
INFOGAN = Stratum("infogan on mnist", _INFOGANS)
_OWN = ("with the posterior's own density in place of a factorised one", relative_change(OWN_DENSITY))

CLAIMS: tuple[Claim, ...] = (
    *(_mig(method, dataset, 10, "Figure 1") for method, dataset in product(WEIGHTS, DATASETS)),
    *(_mig(method, dataset, 20, "Figure 5") for method, dataset in product(WEIGHTS, DATASETS)),
    *(_falls_further(method) for method in ("factor-vae", "beta-tcvae")),
    _hardly_moves("reconstruction-hardly-moves", "reconstruction", "reconstruction error"),
    _hardly_moves("kl-hardly-moves", "kl_without_constant", "KL term"),
    _hardly_moves("tc-hardly-moves", "monte_carlo_tc", "total correlation", beside=(_OWN,)),
    _moves("tcvae-reconstruction", "reconstruction", "reconstruction error", 1),
    _moves("tcvae-kl", "kl_without_constant", "KL term", -1),
    _moves("tcvae-tc", "monte_carlo_tc", "total correlation", -1, beside=(_OWN,)),
    Claim(
        name="tc-follows-kl",
        paper=PAPER,
        where="Appendix D",
        statement="Over VAE, FactorVAE and β-TCVAE on dSprites, without and with correlated noise, the total correlation is "
        "positively correlated with the KL term.",
        effect="rank correlation of total correlation and KL term over models",
        region=Region(low=0.0),
        measure=agreement(("monte_carlo_tc", "kl_without_constant")),
        strata=(
            Stratum(
                "dsprites", tuple(part for method in WEIGHTS for part in correlated(method, "dsprites", 10).conditions)
            ),
        ),
    ),
    Claim(
        name="infogan-digits",
        paper=PAPER,
        where="Figure 3",
        statement="With a correlated Q, what Q reads from real MNIST images as InfoGAN's continuous codes tells more of the "
        "digit. It stands in for what the paper sees, that varying these codes changes generated digits.",
        effect="information on the digit that Q's continuous codes of real images gain from σ = 0 to 0.9, in nats",
        region=Region(low=0.05),
        measure=on_the_first(Measure(_digits_in_continuous_codes, arrays=("mutual_information",)), DIGITS),
        strata=(INFOGAN,),
    ),
    Claim(
        name="infogan-converges",
        paper=PAPER,
        where="Figure 4",
        statement="InfoGAN converges with a correlated Q as with a factorised one: discriminator, generator and information "
        "end at rest.",
        effect="change, in nats, between the last two tenths of training, of that of the three losses which moves most, at "
        "the σ for which the claim is weaker",
        region=Region(high=SETTLED),
        measure=on_the_first(Measure(_still_moving, curves=LOSSES), DIGITS),
        strata=tuple(
            Stratum(f"σ = {sigma:g}", (condition,)) for sigma, condition in zip(CORRELATIONS, _INFOGANS, strict=True)
        ),
        combine="every",
    ),
)
