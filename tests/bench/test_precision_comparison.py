"""The comparison of two dtypes finds a difference that is there, and none where there is none."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "precision.py"


@pytest.fixture(scope="module")
def precision() -> Any:
    spec = importlib.util.spec_from_file_location("precision_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(precision: Any, shift: float, seeds: int = 16) -> pd.DataFrame:
    """Normal scores; FactorVAE's KL is moved by so many standard deviations in bfloat16."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "method": method,
            "precision": name,
            "seed": seed,
            "representation": representation,
            "metric": metric,
            "score": rng.normal() + shift * (name == "bfloat16" and (method, metric) == ("factor-vae", "kl")),
        }
        for method in ("beta-vae", "factor-vae")
        for metric in precision.SCORES
        for representation in (("mean", "sampled") if metric in ("mig", "factor_vae") else ("posterior",))
        for name in ("bfloat16", "float32")
        for seed in range(seeds)
    )


def test_a_shift_is_found_and_noise_is_not(precision: Any) -> None:
    same, moved = (precision.comparison(table(precision, shift)) for shift in (0.0, 2.5))
    assert len(same) == len(moved) == 8
    assert (same["corrected"] > 0.05).all()
    found = moved[moved["corrected"] < 0.05]
    assert list(zip(found["method"], found["metric"], strict=True)) == [("factor-vae", "kl")]
    assert found["low"].item() > 0


def test_the_interval_is_that_of_the_difference_of_means(precision: Any) -> None:
    scores = table(precision, 1.0)
    row = precision.comparison(scores).set_index(["method", "metric"]).loc[("factor-vae", "kl")]
    part = scores[(scores["method"] == "factor-vae") & (scores["metric"] == "kl")]
    left, right = (part.loc[part["precision"] == name, "score"].to_numpy() for name in ("bfloat16", "float32"))
    pooled = np.sqrt((left.var(ddof=1) + right.var(ddof=1)) / 2)
    reach = t.ppf(0.975, 30) * pooled * np.sqrt(2 / 16)
    assert row["difference / sd"] == pytest.approx((left.mean() - right.mean()) / pooled)
    assert row["high"] - row["low"] == pytest.approx(2 * reach / pooled)


def test_holms_correction(precision: Any) -> None:
    assert precision.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert precision.holm([0.9, 0.5]) == pytest.approx([1.0, 1.0])


def test_the_study_pairs_formats_by_seed(precision: Any) -> None:
    runs = precision.precision(seeds=3, steps=7)
    assert len(runs) == 12
    assert {(type(run.method).__name__, run.precision) for run in runs} == {
        (name, dtype) for name in ("BetaVAE", "FactorVAE") for dtype in ("bfloat16", "float32")
    }
    assert {run.steps for run in runs} == {7}


def test_the_kept_runs_end_alike_in_both_formats(precision: Any) -> None:
    scores = pd.read_csv(SCRIPT.parent / "results" / "precision-h200.csv")
    assert int(scores["steps"].to_numpy().min()) >= 50_000
    found = precision.comparison(scores)
    assert list(found["method"].unique()) == sorted(precision.STRENGTHS)
    assert list(found["metric"]) == 2 * sorted(precision.SCORES)
    assert set(found["runs"]) == {"16 + 16"}
    assert (found["corrected"] > 0.05).all()
    assert ((found["low"] < 0) & (found["high"] > 0)).all()
