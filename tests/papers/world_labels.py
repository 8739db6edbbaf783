"""Worlds for the claims of Locatello et al. 2020 (ICLR). `truth` 1: what they say is true. −1: the contrary."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from claims.synthetic import Run, sweep, tables
from hackle.core.design import as_column
from hackle.core.factors import Factor, FactorGrid
from hackle.core.regimes import Labels
from hackle.figures.words import FACTORS
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2020_labels.claims import COMPLETE
from hackle.papers.locatello2020_labels.settings import BETAS, DATASETS
from hackle.scoring.plan import kept_images
from hackle.store.tables import Tables


@cache
def kept_factors(dataset: str) -> np.ndarray:
    """The factors, from 0 to 1, of the images whose codes are kept."""
    grid = FactorGrid([Factor(name, size) for name, size in FACTORS[dataset]])
    return grid.rows(kept_images(grid)) / np.array(grid.sizes)


def locatello2020_labels(truth: int, seeds: int = 6, spread: float = 1.0, seed: int = 0) -> Tables:
    """Where it is true, codes of better settings have less noise, on a hundred images as on all."""
    designs = [
        run
        for method, labels in (
            ("beta-vae", ""),
            *(("s2-beta-vae", as_column(Labels(images))) for images in (100, 1_000)),
        )
        for run in sweep(
            study="locatello2020-labels",
            dataset=list(DATASETS),
            method=method,
            strength=[float(beta) for beta in BETAS],
            labels=labels,
            seed=range(seeds),
        )
    ]
    designs += sweep(
        study="locatello2019",
        dataset=list(COMPLETE),
        method="factor-vae",
        strength=[float(value) for value in STRENGTHS["factor-vae"]],
        seed=range(seeds),
    )
    rank = {float(value): place / 5 for place, value in enumerate(STRENGTHS["factor-vae"])}

    def scores(run: Run, noise: Any) -> dict[str, float]:
        raised = 0.15 * truth * (run["method"] == "s2-beta-vae")
        if run["method"] == "factor-vae":
            raised = 0.3 * truth * rank[run["strength"]]
        return {name: 0.3 + raised + 0.02 * spread * noise() for name in ("mig", "dci_disentanglement")}

    def arrays(run: Run, noise: Any) -> dict[str, Any]:
        if run["method"] != "factor-vae":
            return {}
        factors = kept_factors(run["dataset"])
        own = np.random.default_rng([run["seed"], round(run["strength"])]).normal(size=factors.shape)
        return {"codes": factors + (1.0 - 0.9 * rank[run["strength"]]) * own}

    return tables(designs, scores, arrays=arrays, seed=seed)
