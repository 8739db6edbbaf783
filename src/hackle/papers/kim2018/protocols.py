"""How Kim & Mnih 2018 run their metrics, and the variants that they compare."""

from __future__ import annotations

from dataclasses import replace

from hackle.scoring.protocol import LARGE, Protocol, points

KIM = Protocol(
    "kim2018",
    replace(LARGE, groups=800, test_groups=800, group_size=100, test_pair_groups=800, pairs=200),
    minimum_variance=0.0,
    prune_collapsed=True,
    beta_vae_classifier="adagrad",
)
"""Appendix B. Their linear classifier sees 10,000 batches of 10 fresh points; here the batches are drawn from 10,000 points."""

PAIRS = tuple(
    Protocol(
        f"kim2018-pairs-{pairs}-iterations-{iterations}",
        replace(points(10_000), pair_groups=10_000, test_pair_groups=800, pairs=pairs),
        beta_vae_classifier="adagrad",
        beta_vae_iterations=iterations,
        metrics=("beta_vae",),
    )
    for pairs in (50, 100, 200)
    for iterations in (1_000, 3_000, 10_000, 30_000)
)
"""Figure 16: the BetaVAE score over pairs per point, L, and iterations of Adagrad; 800 test points."""

POINTS = tuple(
    Protocol(
        f"kim2018-points-{size}-votes-{votes}",
        replace(points(10_000), groups=votes, test_groups=votes, group_size=size),
        minimum_variance=0.0,
        prune_collapsed=True,
        metrics=("factor_vae",),
    )
    for size in (25, 50, 100, 200)
    for votes in (100, 200, 400, 800, 1600)
)
"""Figure 17: the FactorVAE score over points per vote, L, and votes."""

SENSITIVITY = tuple(f"{one.name}@{seed}" for one in (*PAIRS, *POINTS) for seed in range(10))
"""Both figures' protocols, each with the ten seeds that their error bars are over."""
