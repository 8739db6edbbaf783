"""Worlds for the claims of Locatello et al. 2020 (ICML). `truth` 1: what they say is true. −1: the contrary."""

from __future__ import annotations

from typing import Any

from claims.synthetic import Run, sweep, tables
from hackle.core.design import as_column
from hackle.core.regimes import Pairs
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2020.settings import BETAS, DATASETS, FACTORS, ONE
from hackle.store.tables import Tables

PAIRED = as_column(ONE)


def locatello2020(truth: int, seeds: int = 6, spread: float = 1.0, seed: int = 0) -> Tables:
    designs = [
        *(
            run
            for method, strengths in STRENGTHS.items()
            for run in sweep(
                study="locatello2019",
                dataset=list(DATASETS),
                method=method,
                strength=[float(value) for value in strengths],
                seed=range(seeds),
            )
        ),
        *sweep(
            study="locatello2020",
            dataset=list(DATASETS),
            method="ada-gvae",
            strength=[float(beta) for beta in BETAS],
            pairs=PAIRED,
            seed=range(seeds),
        ),
        *(
            {**run, "pairs": as_column(Pairs("resample", changed=changed))}
            for run in sweep(
                study="locatello2020-k", dataset=list(DATASETS), method="ada-gvae", strength=1.0, seed=range(seeds)
            )
            for changed in (1, 2, FACTORS[run["dataset"]] - 1)
            if changed > 1
        ),
    ]

    def scores(run: Run, noise: Any) -> dict[str, float]:
        ahead = 0.15 * truth * (run["method"] == "ada-gvae")
        more = 0.12 * truth * (run["pairs"] not in ("", PAIRED))
        return {
            name: 0.4 + ahead - more + 0.02 * spread * noise() for name in ("mig", "dci_disentanglement", "factor_vae")
        }

    return tables(designs, scores, seed=seed)
