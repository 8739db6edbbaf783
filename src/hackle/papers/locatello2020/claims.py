"""Claims of Locatello et al. 2020 (ICML): pairs of images that share most factors suffice to disentangle.

The directions are the paper's, the bounds ours: its tables were not at hand. "Beats" means by more than 0.02 of a score that
ranges from 0 to 1. A method is compared at its best β, with the best strength of each unsupervised method of Locatello et al.
2019 that has runs, and with the β-VAE at every β. Runs of the unsupervised methods are those of `locatello2019`, from a merged
store.
"""

from __future__ import annotations

from hackle.claims.claim import Claim
from hackle.claims.forms import Strata, above, claims_of, runs
from hackle.claims.measures import difference, least_best_difference, least_difference
from hackle.core.regimes import Pairs
from hackle.papers.locatello2019.settings import METHODS as UNSUPERVISED
from hackle.papers.locatello2020.settings import BETAS, DATASETS, FACTORS, ONE

PAPER = "locatello2020"
LEAST = 0.02
"""The smallest difference of scores, which range from 0 to 1, that counts."""
SCORES = {"mig": "MIG", "dci": "DCI disentanglement", "factor-vae": "FactorVAE score"}
_ROWS = {"mig": "mig", "dci": "dci_disentanglement", "factor-vae": "factor_vae"}


claim = claims_of(PAPER, seeds=5)


def _against(method: str | tuple[str, ...]) -> Strata:
    """On each data set other methods, and Ada-GVAE with one factor of a pair changed."""
    return {name: (runs(method, name), runs("ada-gvae", name, pairs=ONE)) for name in DATASETS}


def _changing(dataset: str) -> tuple[dict[str, object], ...]:
    """Ada-GVAE on pairs in which one factor may change, and in which all but one may."""
    several = (Pairs("resample", changed=changed) for changed in (1, FACTORS[dataset] - 1))
    return tuple(runs("ada-gvae", dataset, strength=1.0, pairs=pairs) for pairs in several)


def _beats(name: str) -> Claim:
    return claim(
        f"ada-gvae-{name}",
        "Section 5",
        f"Ada-GVAE, from pairs that differ in one factor, has a higher {SCORES[name]} than every unsupervised method.",
        f"{SCORES[name]} of Ada-GVAE minus the best unsupervised method's, each at its best strength, mean over data sets",
        above(LEAST, least_best_difference(_ROWS[name]), mean=_against(UNSUPERVISED)),
        runs_per_seed=len(BETAS) * (1 + len(UNSUPERVISED)),
    )


def _at_every_beta(name: str) -> Claim:
    return claim(
        f"every-beta-{name}",
        "Section 5",
        f"At every β Ada-GVAE has a higher {SCORES[name]} than the β-VAE.",
        f"{SCORES[name]} of Ada-GVAE minus that of the β-VAE, at the β where it is least certain, mean over data sets",
        above(0.0, least_difference(_ROWS[name]), mean=_against("beta-vae")),
        runs_per_seed=2 * len(BETAS),
    )


CLAIMS: tuple[Claim, ...] = (
    *map(_beats, SCORES),
    *map(_at_every_beta, SCORES),
    claim(
        "one-factor-is-best",
        "Section 5",
        "Ada-GVAE disentangles better from pairs in which one factor may change than from pairs in which all but one may.",
        "MIG with k = 1 minus MIG with k = f − 1",
        above(LEAST, difference("mig", sign=-1), mean={name: _changing(name) for name in DATASETS}),
        study="locatello2020-k",
    ),
)
