"""Claims of Hsu et al. 2023: latents that take one of a few values each say something of one factor alone.

The direction is the paper's, the bound ours. All methods have the same networks; the β-VAE is taken at its best β.
"""

from __future__ import annotations

from hackle.claims.claim import Claim
from hackle.claims.forms import above, claims_of, runs
from hackle.claims.measures import least_best_difference
from hackle.papers.hsu2023.settings import BETAS, LATENTS

PAPER = "hsu2023"
RIVALS = ("beta-vae", "wae-mmd")
LEAST = 0.05
"""The smallest difference of InfoM, which is at most 1, that counts."""


_SETS = {name: (runs(RIVALS, name, latents), runs("qlae", name, latents)) for name, latents in LATENTS.items()}
CLAIMS: tuple[Claim, ...] = (
    claims_of(PAPER)(
        "quantised-latents-are-modular",
        "Section 5",
        "Quantised latents (QLAE) have a higher InfoM than those of a β-VAE and of a WAE with the same networks.",
        "InfoM of QLAE minus that of the β-VAE at its best β or of WAE-MMD, whichever is higher, mean over data sets",
        above(LEAST, least_best_difference("infom"), mean=_SETS),
        seeds=5,
        runs_per_seed=2 + len(BETAS),
    ),
)
