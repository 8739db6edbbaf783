"""Worlds for the claims of Schott et al. 2022. `truth` 1: what they say is true. −1: the contrary."""

from __future__ import annotations

from typing import Any

from claims.synthetic import Run, sweep, tables
from hackle.core.design import as_column
from hackle.core.regimes import Drawing
from hackle.papers.schott2022.settings import DATASETS, METHODS, RULES
from hackle.store.tables import Tables
from papers.world_locatello2020 import PAIRED


def schott2022(truth: int, seeds: int = 6, spread: float = 1.0, seed: int = 0) -> Tables:
    designs = [
        run
        for method, strength, pairs in zip(METHODS, (4.0, 1.0), ("", PAIRED), strict=True)
        for run in sweep(
            study="schott2022",
            dataset=list(DATASETS),
            method=method,
            strength=strength,
            pairs=pairs,
            drawing=[as_column(Drawing(left_out=rule)) for rule in RULES],
            seed=range(seeds),
        )
    ]

    def scores(run: Run, noise: Any) -> dict[str, float]:
        extrapolates = "extrapolation" in run["drawing"]
        fails = extrapolates if truth > 0 else not extrapolates
        lost = 0.5 * fails + 0.02 * spread * noise()
        return {"generalisation_loss": lost, "generalisation_seen": 0.6, "generalisation": 0.6 - lost}

    return tables(designs, scores, seed=seed)
