"""Worlds for the claims of Träuble et al. 2021. `truth` 1: what they say is true. −1: the contrary."""

from __future__ import annotations

from typing import Any

import numpy as np

from claims.synthetic import Run, sweep, tables
from hackle.core.design import as_column
from hackle.core.regimes import Drawing
from hackle.figures.words import FACTORS
from hackle.papers.trauble2021.settings import CORRELATED, SIGMAS
from hackle.store.tables import Tables
from papers.world_locatello2020 import PAIRED


def trauble2021(truth: int, seeds: int = 6, spread: float = 1.0, seed: int = 0) -> Tables:
    designs = []
    for dataset, pair in CORRELATED.items():
        drawings = [Drawing(), *(Drawing("~".join(pair), sigma) for sigma in SIGMAS)]
        for method, strength, pairs in (("beta-vae", 4.0, ""), ("ada-gvae", 1.0, PAIRED)):
            designs += sweep(
                study="trauble2021",
                dataset=dataset,
                method=method,
                strength=strength,
                pairs=pairs,
                drawing=[as_column(drawing) for drawing in drawings],
                seed=range(seeds),
            )

    def arrays(run: Run, noise: Any) -> dict[str, Any]:
        """A code for each factor, and for the correlated pair's first also a part of the second."""
        names, sizes = zip(*FACTORS[run["dataset"]], strict=True)
        table = np.eye(len(names)) * 0.9
        first, second = (names.index(name) for name in CORRELATED[run["dataset"]])
        correlated = run["drawing"] != ""
        tied = 0.2 * correlated * (truth if run["method"] == "beta-vae" else 0.1 if truth > 0 else 2.0)
        table[first, second] = max(0.0, (0.0 if truth > 0 else 0.3) + tied + 0.01 * spread * abs(noise()))
        return {"mutual_information": np.maximum(table, 0) * np.log(sizes)}

    return tables(designs, lambda run, noise: {"mig": 0.3}, arrays=arrays, seed=seed)
