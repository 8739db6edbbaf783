"""Worlds for the claims of Hsu et al. 2023. `truth` 1: what they say is true. −1: the contrary."""

from __future__ import annotations

from typing import Any

from claims.synthetic import Run, sweep, tables
from hackle.papers.hsu2023.settings import BETAS, LATENTS
from hackle.store.tables import Tables


def hsu2023(truth: int, seeds: int = 6, spread: float = 1.0, seed: int = 0) -> Tables:
    designs = [
        run
        for dataset, latents in LATENTS.items()
        for method, strengths in (("beta-vae", [float(beta) for beta in BETAS]), ("wae-mmd", 100.0), ("qlae", 0.01))
        for run in sweep(
            study="hsu2023", dataset=dataset, latents=latents, method=method, strength=strengths, seed=range(seeds)
        )
    ]

    def scores(run: Run, noise: Any) -> dict[str, float]:
        infom = 0.5 + 0.2 * truth * (run["method"] == "qlae") + 0.02 * spread * noise()
        return {"infom": infom, "infoc": 0.3, "infoe": 0.9}

    return tables(designs, scores, seed=seed)
