"""Runs that never trained, with scores made up from their seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hackle.core.types import Run
from hackle.store.tables import Outcome
from hackle.studies.presets import default_run, method_at


def made_up_run(seed: int = 0, method: str = "beta-vae", strength: float | None = None, **fields: Any) -> Run:
    run = replace(default_run(method, "dsprites"), seed=seed, **fields)
    return run if strength is None else replace(run, method=method_at(method, strength))


def made_up_scores(seed: int = 0, metrics: int = 4, protocol: str = "locatello2019") -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    nan = float("nan")
    return [
        {
            "metric": f"metric_{number}",
            "representation": representation,
            "score": float(rng.random()),
            "reference": 0.9 if number else nan,
            "low": nan,
            "high": nan,
            "better": "higher",
            "protocol": protocol,
            "seed": 0,
            "seconds": 0.25,
            "note": "saturated" if number == 2 else "",
        }
        for number in range(metrics)
        for representation in ("mean", "sampled")
    ]


def made_up(seed: int = 0, method: str = "beta-vae", **fields: Any) -> Outcome:
    """An outcome with scores, two curves and two arrays."""
    rng = np.random.default_rng(seed)
    return Outcome(
        made_up_run(seed, method),
        **{
            "status": "done",
            "scores": made_up_scores(seed),
            "curves": {"step": np.arange(100, 1100, 100), "kl": rng.random(10), "reconstruction": rng.random(10)},
            "arrays": {"codes": rng.normal(size=(32, 10)).astype(np.float32), "informativeness": rng.random(10)},
            "device": "cpu",
            "training_seconds": 12.5,
            "scoring_seconds": 3.5,
            **fields,
        },
    )
