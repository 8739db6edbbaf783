"""Claims of "An Information Theoretic Perspective on Disentangled Representation Learning": the encoder's blocks without
shared parameters and its independent noise matter to MIG, and a split encoder raises MIG and lowers the error.

Figures 5 and 8, reconstructions and traversals, are judged by the reconstruction error that they show. What Figures 9 and
10 show of the FactorVAE score the text sums up as "not well correlated with MIG", and so does the claim.
"""

from __future__ import annotations

from hackle.claims.agreement import agreement
from hackle.claims.claim import Claim
from hackle.claims.forms import Form, above, below, claims_of, runs
from hackle.claims.measures import Measure, difference, relative_change
from hackle.figures.words import DATASETS, METHODS
from hackle.papers.split_encoder.settings import WEIGHTS
from hackle.papers.yang2020.claims import LEAST_MIG

PAPER = "split-encoder"
STRENGTHS = {method: {} if weight is None else {"strength": weight} for method, weight in WEIGHTS.items()}
"""The weights that are compared."""

claim = claims_of(PAPER)


def _rises(least: float, measure: Measure, method: str, dataset: str, **changed: object) -> Form:
    """A change from the convolutional encoder with independent noise to another, above the least."""
    plain = {**runs(method, dataset), **STRENGTHS[method]}
    return above(least, measure, mean={f"{method} on {dataset}": (plain, {**plain, **changed})})


def _without(name: str, method: str, words: str, **changed: object) -> Claim:
    return claim(
        f"{name}-{method}",
        "Figure 2",
        f"{METHODS[method]} on dSprites has a lower MIG {words}.",
        "fall of MIG",
        _rises(LEAST_MIG, difference("mig", sign=-1), method, "dsprites", **changed),
    )


_NAMES = {"mig": "MIG", "reconstruction": "reconstruction error", "kl": "KL term"}


def _split(score: str, method: str, dataset: str, where: str, sign: int) -> Claim:
    """The claim that a split encoder raises a score, or with the sign −1 lowers it: MIG by a difference, others by a share."""
    verb, noun = ("raises", "rise") if sign > 0 else ("lowers", "fall")
    of_mig, words = score == "mig", "MIG" if score == "mig" else f"the {_NAMES[score]}"
    measure = difference(score, sign) if of_mig else relative_change(score, sign)
    return claim(
        f"{score}-{method}-{dataset}",
        where,
        f"A split encoder {verb} the {_NAMES[score]} of {METHODS[method]} on {DATASETS[dataset]}.",
        f"{'' if of_mig else 'relative '}{noun} of {words} with the split encoder",
        _rises(LEAST_MIG if of_mig else 0.0, measure, method, dataset, architecture="split"),
    )


def _scores_disagree(dataset: str, where: str) -> Claim:
    settings = (
        {"method": method, "dataset": dataset, "architecture": encoder, "latents": 10, **STRENGTHS[method]}
        for method in _TWO
        for encoder in ("convolutional", "split")
    )
    return claim(
        f"factor-vae-score-{dataset}",
        where,
        f"On {DATASETS[dataset]} the FactorVAE score does not follow MIG over VAE and FactorVAE with either encoder.",
        "rank correlation of FactorVAE score and MIG",
        below(0.5, agreement(("factor_vae", "mig")), *settings),
    )


_TWO = ("vae", "factor-vae")

CLAIMS: tuple[Claim, ...] = (
    *(_without("sharing", one, "without layers of each latent's own", architecture="sharing") for one in _TWO),
    *(_without("noise", one, "when the posterior's noise is correlated", correlation=0.9) for one in _TWO),
    *(_split("mig", one, "dsprites", "Figure 3", 1) for one in _TWO),
    *(_split("reconstruction", one, "dsprites", "Figures 4 and 5", -1) for one in _TWO),
    _split("kl", "vae", "dsprites", "Figure 4", -1),
    _split("kl", "factor-vae", "dsprites", "Figure 4", 1),
    _split("mig", "vae", "cars3d", "Figure 6", -1),
    _split("mig", "factor-vae", "cars3d", "Figure 6", 1),
    *(_split("reconstruction", one, "cars3d", "Figures 7 and 8", -1) for one in _TWO),
    *(_split("kl", one, "cars3d", "Figure 7", 1) for one in _TWO),
    _scores_disagree("dsprites", "Figure 9"),
    _scores_disagree("cars3d", "Figure 10"),
    _split("mig", "beta-vae", "dsprites", "Figure 11", 1),
    _split("reconstruction", "beta-vae", "dsprites", "Figure 11", -1),
    _split("kl", "beta-vae", "dsprites", "Figure 11", 1),
)
