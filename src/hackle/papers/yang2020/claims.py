"""Claims of Yang et al. 2020: what correlated noise of the posterior (σ = 0.9 against 0) does to what is learnt.

Figure 3 shows generated digits; with σ = 0.9 "varying continuous factors leads to changing of digits". What is measured
stands in for that: the information on the digit, in nats, of the continuous codes that Q finds in real images. The paper
itself does not score Q's outputs. Its KL and total correlation are those of factorised posteriors at either σ (appendices B
and D), and so are those here.
"""

from __future__ import annotations

from collections.abc import Sequence

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, by_seed, difference, ratio_numbers, relative_change
from hackle.claims.statistics import Units
from hackle.claims.view import Condition, Data
from hackle.figures.words import METHODS
from hackle.papers.yang2020.settings import CORRELATIONS, DATASETS, WEIGHTS

PAPER = "yang2020"
STRENGTHS = {method: {} if weight is None else {"strength": weight} for method, weight in WEIGHTS.items()}
"""The weights that are compared: a folder may hold runs with others."""
LEAST_MIG = 0.01
"""The smallest change of MIG, which ranges from 0 to 1, that counts."""
HARDLY = 0.1
"""The largest relative change of a score that hardly changes."""


def correlated(method: str, dataset: str, latents: int) -> Stratum:
    """The same runs without and with correlated noise."""
    common = {"method": method, "dataset": dataset, "latents": latents, **STRENGTHS[method]}
    pair = tuple({**common, "correlation": sigma} for sigma in CORRELATIONS)
    return Stratum(f"{method} on {dataset}", pair)


def _mig(method: str, latents: int, where: str) -> Claim:
    return Claim(
        name=f"mig-{method}-{latents}",
        paper=PAPER,
        where=where,
        statement=f"{METHODS[method]} with {latents} latents has a lower MIG when the posterior's noise is correlated.",
        effect="fall of MIG from σ = 0 to 0.9",
        region=Region(low=LEAST_MIG),
        measure=difference("mig", sign=-1),
        strata=tuple(correlated(method, dataset, latents) for dataset in DATASETS),
    )


def _hardly_moves(name: str, score: str, words: str) -> Claim:
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
    )


def _moves(name: str, score: str, words: str, sign: int) -> Claim:
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


def _final_loss(term: str) -> Measure:
    """The relative change of a logged term's mean over the last tenth of training."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        tail = data.view.tail(term)
        sides = []
        for condition in conditions:
            rows = data.rows(condition)
            values = tail.reindex(rows.index)
            sides.append(by_seed(rows[values.notna().to_numpy()], values.dropna()))
        seeds = sides[0].index.intersection(sides[1].index)
        if seeds.empty:
            return None
        before, after = (side[seeds].to_numpy() for side in sides)
        return Units(ratio_numbers(before, after), 2)

    return Measure(compute, curves=(term,))


INFOGAN = Stratum(
    "infogan on mnist",
    tuple({"method": "infogan", "dataset": "mnist", "correlation": sigma} for sigma in CORRELATIONS),
)

CLAIMS: tuple[Claim, ...] = (
    *(_mig(method, 10, "Figure 1") for method in WEIGHTS),
    *(_mig(method, 20, "Figure 5") for method in WEIGHTS),
    _hardly_moves("reconstruction-hardly-moves", "reconstruction", "reconstruction error"),
    _hardly_moves("kl-hardly-moves", "kl_without_constant", "KL term"),
    _hardly_moves("tc-hardly-moves", "monte_carlo_tc", "total correlation"),
    _moves("tcvae-reconstruction", "reconstruction", "reconstruction error", 1),
    _moves("tcvae-kl", "kl_without_constant", "KL term", -1),
    _moves("tcvae-tc", "monte_carlo_tc", "total correlation", -1),
    Claim(
        name="infogan-digits",
        paper=PAPER,
        where="Figure 3",
        statement="With a correlated Q, InfoGAN's continuous codes on MNIST change the digit: Q finds more of it in them.",
        effect="information on the digit that Q's continuous codes of real images gain from σ = 0 to 0.9, in nats",
        region=Region(low=0.05),
        measure=Measure(_digits_in_continuous_codes, arrays=("mutual_information",)),
        strata=(INFOGAN,),
    ),
    Claim(
        name="infogan-converges",
        paper=PAPER,
        where="Figure 4",
        statement="InfoGAN's discriminator ends at the same loss whether Q is correlated or not.",
        effect="relative change of the final discriminator loss from σ = 0 to 0.9",
        region=Region(-0.2, 0.2),
        measure=_final_loss("discriminator"),
        strata=(INFOGAN,),
    ),
)
