"""A study that never trained: runs whose codes are factors of a small set with noise or mixed, and scores that go with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.core.types import Run
from hackle.scoring.plan import kept_images
from hackle.store import Store
from hackle.store.tables import Outcome
from hackle.studies.presets import default_run, method_at

GRID = FactorGrid([Factor("x", 5), Factor("y", 5), Factor("size", 4), Factor("tone", 12)])
FACTORS = GRID.rows(kept_images(GRID))
SEEDS = 4


def write_data(folder: Path) -> Path:
    """A set of 1,200 images as a file."""
    rows = GRID.rows(np.arange(GRID.size))
    images = np.repeat(rows.astype(np.uint8) * 20, 16, axis=1).reshape(-1, 8, 8, 1)
    np.savez(folder / "made.npz", images=images, factors=rows)
    return folder / "made.npz"


def codes_of(mixing: float, seed: int) -> np.ndarray:
    """Codes that are the factors in an order of the seed's, mixed by a matrix of its own to this degree, and one dead code."""
    rng = np.random.default_rng([seed, round(100 * mixing)])
    standard = (FACTORS - FACTORS.mean(axis=0)) / FACTORS.std(axis=0)
    mixed = standard[:, rng.permutation(4)] @ (np.eye(4) + mixing * rng.normal(size=(4, 4)))
    return np.hstack([mixed, 1e-3 * rng.normal(size=(len(mixed), 1))]).astype(np.float32)


def rows_of_scores(scores: dict[str, float]) -> list[dict[str, Any]]:
    nan = float("nan")
    return [
        {
            "metric": name.partition("/")[0],
            "representation": name.partition("/")[2] or "mean",
            "score": score,
            "reference": nan,
            "low": nan,
            "high": nan,
            "better": "lower" if name.startswith(("reconstruction", "jemmig")) else "higher",
            "protocol": "locatello2019",
            "seed": 0,
            "seconds": 0.1,
            "note": "",
        }
        for name, score in scores.items()
    ]


def made_run(method: str, strength: float, seed: int, data: str) -> Run:
    return replace(
        default_run(method, "dsprites"), method=method_at(method, strength), seed=seed, dataset=data, latents=5
    )


def made_study(folder: Path, data: str = "dsprites", **left_out: Any) -> Path:
    """β-VAEs at three strengths and FactorVAEs at two: the larger the strength, the less are the codes mixed."""
    settings = [("beta-vae", 1.0, 0.8), ("beta-vae", 4.0, 0.3), ("beta-vae", 8.0, 0.0)]
    settings += [("factor-vae", 10.0, 0.5), ("factor-vae", 20.0, 0.1)]
    with Store.create_or_open(folder, study="made") as store:
        for method, strength, mixing in settings:
            for seed in range(SEEDS):
                scores = {
                    "mig": 0.9 - mixing + 0.001 * seed,
                    "jemmig/posterior": mixing,
                    "elbo/posterior": -50 - 10 * mixing * (-1) ** seed,
                    "reconstruction/posterior": 30 + seed + strength,
                    "kl/posterior": 10 - strength / 10,
                    "gaussian_tc/sampled": mixing,
                }
                arrays: dict[str, Any] = {"codes": codes_of(mixing, seed), "kl": np.array([2, 2, 2, 2, 0.001])}
                if left_out.get("kl_arrays"):
                    del arrays["kl"]
                if left_out.get("codes_of_seed") == seed:
                    del arrays["codes"]
                rows = left_out.get("rows")
                arrays = {name: array[:rows] if name == "codes" else array for name, array in arrays.items()}
                curves = {
                    "step": np.arange(1, 21),
                    **{f"kl_per_latent_{j}": np.linspace(0, 2, 20) * (j < 4) for j in range(5)},
                }
                run = made_run(method, strength, seed, data)
                store.add(Outcome(run, "done", scores=rows_of_scores(scores), curves=curves, arrays=arrays))
        failed = made_run("beta-vae", 4.0, 99, data)
        store.add(Outcome(failed, "failed", "diverged at step 3"))
    return folder
