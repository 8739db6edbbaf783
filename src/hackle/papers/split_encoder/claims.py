"""Claims of "An Information Theoretic Perspective on Disentangled Representation Learning": the encoder's blocks without
shared parameters and its independent noise matter to MIG, and a split encoder raises MIG and lowers the error.

Figures 5 and 8, reconstructions and traversals, are judged by the reconstruction error that they show. What Figures 9 and
10 show of the FactorVAE score the text sums up as "not well correlated with MIG", and so does the claim.
"""

from __future__ import annotations

from hackle.claims.agreement import agreement
from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import difference, relative_change
from hackle.figures.words import DATASETS, METHODS
from hackle.papers.split_encoder.settings import WEIGHTS
from hackle.papers.yang2020.claims import LEAST_MIG

PAPER = "split-encoder"
STRENGTHS = {method: {} if weight is None else {"strength": weight} for method, weight in WEIGHTS.items()}
"""The weights that are compared."""


def _pair(method: str, dataset: str, **changed: object) -> tuple[Stratum, ...]:
    plain = {"method": method, "dataset": dataset, "latents": 10, **STRENGTHS[method]}
    return (Stratum(f"{method} on {dataset}", (plain, {**plain, **changed})),)


def _without(name: str, method: str, words: str, **changed: object) -> Claim:
    return Claim(
        name=f"{name}-{method}",
        paper=PAPER,
        where="Figure 2",
        statement=f"{METHODS[method]} on dSprites has a lower MIG {words}.",
        effect="fall of MIG",
        region=Region(low=LEAST_MIG),
        measure=difference("mig", sign=-1),
        strata=_pair(method, "dsprites", **changed),
    )


def _split_mig(method: str, dataset: str, where: str, sign: int = 1) -> Claim:
    return Claim(
        name=f"mig-{method}-{dataset}",
        paper=PAPER,
        where=where,
        statement=f"A split encoder {'raises' if sign > 0 else 'lowers'} the MIG of {METHODS[method]} on {DATASETS[dataset]}.",
        effect=f"{'rise' if sign > 0 else 'fall'} of MIG with the split encoder",
        region=Region(low=LEAST_MIG),
        measure=difference("mig", sign=sign),
        strata=_pair(method, dataset, architecture="split"),
    )


def _split_change(kind: str, score: str, method: str, dataset: str, where: str, sign: int) -> Claim:
    words = {"reconstruction": "reconstruction error", "kl": "KL term"}[kind]
    return Claim(
        name=f"{kind}-{method}-{dataset}",
        paper=PAPER,
        where=where,
        statement=f"A split encoder {'raises' if sign > 0 else 'lowers'} the {words} of {METHODS[method]} on "
        f"{DATASETS[dataset]}.",
        effect=f"relative {'rise' if sign > 0 else 'fall'} of the {words} with the split encoder",
        region=Region(low=0.0),
        measure=relative_change(score, sign=sign),
        strata=_pair(method, dataset, architecture="split"),
    )


def _scores_disagree(dataset: str, where: str) -> Claim:
    settings = tuple(
        {"method": method, "dataset": dataset, "architecture": encoder, "latents": 10, **STRENGTHS[method]}
        for method in ("vae", "factor-vae")
        for encoder in ("convolutional", "split")
    )
    return Claim(
        name=f"factor-vae-score-{dataset}",
        paper=PAPER,
        where=where,
        statement=f"On {DATASETS[dataset]} the FactorVAE score does not follow MIG over VAE and FactorVAE with either encoder.",
        effect="rank correlation of FactorVAE score and MIG",
        region=Region(high=0.5),
        measure=agreement(("factor_vae", "mig")),
        strata=(Stratum(dataset, settings),),
    )


CLAIMS: tuple[Claim, ...] = (
    *(
        _without("sharing", m, "without layers of each latent's own", architecture="sharing")
        for m in ("vae", "factor-vae")
    ),
    *(_without("noise", m, "when the posterior's noise is correlated", correlation=0.9) for m in ("vae", "factor-vae")),
    *(_split_mig(method, "dsprites", "Figure 3") for method in ("vae", "factor-vae")),
    *(
        _split_change("reconstruction", "reconstruction", method, "dsprites", "Figures 4 and 5", -1)
        for method in ("vae", "factor-vae")
    ),
    _split_change("kl", "kl", "vae", "dsprites", "Figure 4", -1),
    _split_change("kl", "kl", "factor-vae", "dsprites", "Figure 4", 1),
    _split_mig("vae", "cars3d", "Figure 6", sign=-1),
    _split_mig("factor-vae", "cars3d", "Figure 6"),
    *(
        _split_change("reconstruction", "reconstruction", method, "cars3d", "Figures 7 and 8", -1)
        for method in ("vae", "factor-vae")
    ),
    *(_split_change("kl", "kl", method, "cars3d", "Figure 7", 1) for method in ("vae", "factor-vae")),
    _scores_disagree("dsprites", "Figure 9"),
    _scores_disagree("cars3d", "Figure 10"),
    _split_mig("beta-vae", "dsprites", "Figure 11"),
    _split_change("reconstruction", "reconstruction", "beta-vae", "dsprites", "Figure 11", -1),
    _split_change("kl", "kl", "beta-vae", "dsprites", "Figure 11", 1),
)
