"""Worlds for the claim of Duan et al. 2020. `truth` 1: what it says is true. −1: the contrary."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from claims.synthetic import Run, tables
from hackle.papers.locatello2019.settings import DATASETS
from hackle.store.tables import Tables
from papers.world_locatello import design

SCORES = ("beta_vae", "factor_vae", "mig", "dci_disentanglement")


def quality(run: Run) -> float:
    """A number in [0, 1] that depends on the setting alone."""
    return zlib.crc32(repr((run["method"], run["strength"])).encode()) / 2**32


def duan2020(truth: int, seeds: int = 5, spread: float = 1.0, seed: int = 0) -> Tables:
    """Codes are three axes that all seeds share, and beside them noise, the less the better the setting is."""
    designs = design(seeds, ("beta-vae", "factor-vae"), datasets=DATASETS)
    axes = np.random.default_rng(0).normal(size=(100, 3))

    def scores(run: Run, noise: Any) -> dict[str, float]:
        return {name: 0.5 + 0.4 * truth * quality(run) + 0.02 * spread * noise() for name in SCORES}

    def arrays(run: Run, noise: Any) -> dict[str, Any]:
        own = np.random.default_rng(zlib.crc32(repr(sorted(run.items(), key=str)).encode())).normal(size=(100, 3))
        return {"codes": axes + (1.5 - quality(run)) * own, "kl": np.ones(3)}

    return tables(designs, scores, arrays=arrays, seed=seed)
