"""How often the 95% interval of a score contains the score's expectation, by metric and kind of codes, on simulated codes.

    python benchmarks/coverage.py benchmarks/results/coverage.json --simulations 200

Each simulation draws factors and codes anew, scores them as `hackle.score_codes` does and asks whether the interval holds the
mean score of all simulations of its kind, which stands for the expectation.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from hackle.datasets.labels import labelled_grid
from hackle.scoring.encode import Codebook
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import METRICS
from hackle.scoring.scorer import compute, prepare_scorer

PROTOCOL = Protocol("coverage", PlanSizes(10_000, 5_000, 200, 100, 16, 200, 100, 16), bins=10, posterior_bins=60)
OF_CODES = ("mig", "modularity", "sap", "dci", "explicitness", "factor_vae", "beta_vae", "gaussian_tc")
OF_POSTERIORS = ("interpretability", "jemmig", "kl", "misjed", "separability", "posterior_mig", "monte_carlo_tc")
KINDS = ("noisy", "mixed", "noise")


def codes_and_factors(kind: str, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three factors and four codes: factors with noise, two mixtures of them, or nothing but noise."""
    factors = rng.integers(0, [3, 4, 5], size=(rows, 3))
    standard = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    noise = rng.normal(size=(rows, 4))
    if kind == "noisy":
        return np.column_stack([standard + 0.7 * noise[:, :3], noise[:, 3]]), factors
    if kind == "mixed":
        mix = np.array([[1.0, 0.5, 0.0, 0.3], [0.0, 1.0, 0.5, 0.3], [0.5, 0.0, 1.0, 0.3]])
        return standard @ mix + 0.7 * noise, factors
    return noise, factors


def intervals(metric: str, kind: str, rows: int, seed: int, halves: int) -> dict[str, tuple[float, float, float]]:
    """Score, low and high of each row that a metric gives one simulation."""
    codes, factors = codes_and_factors(kind, rows, np.random.default_rng([seed, rows, KINDS.index(kind)]))
    grid = labelled_grid("factors", ["a", "b", "c"], ["categorical"] * 3, list(factors.T))
    scorer = prepare_scorer(grid, [METRICS[metric]], PROTOCOL, seed, split=True)
    logvars = np.full(codes.shape, -1.0, np.float32) if metric in OF_POSTERIORS else None
    book = Codebook(np.arange(rows), codes.astype(np.float32), logvars)
    found = compute(METRICS[metric], scorer.of_codes(book), halves)
    return {key: (score, *found.intervals.get(key, (np.nan, np.nan))) for key, score in found.scores.items()}


def covered(found: Iterable[dict[str, tuple[float, float, float]]]) -> dict[str, float]:
    """The share of simulations whose interval holds the mean score, by score."""
    drawn: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for simulation in found:
        for key, row in simulation.items():
            drawn[key].append(row)
    shares = {}
    for key, row in drawn.items():
        score, low, high = np.array(row).T
        expected = score.mean()
        shares[key] = float(np.mean((low <= expected + 1e-9) & (expected - 1e-9 <= high)))
    return shares


def main(
    path: Path, simulations: int = 200, rows: int = 300, halves: int = 10, workers: int = 1, names: str = ""
) -> None:
    results = []
    with ProcessPoolExecutor(workers) as pool:
        for metric in names.split(",") if names else (*OF_CODES, *OF_POSTERIORS):
            for kind in KINDS:
                one = partial(intervals, metric, kind, rows, halves=halves)
                for key, share in covered(pool.map(one, range(simulations), chunksize=5)).items():
                    results.append({"score": key, "codes": kind, "coverage": share, "simulations": simulations})
                    print(f"{key:24} {kind:6} {share:.3f}", flush=True)
            path.write_text(json.dumps({"rows": rows, "halves": halves, "results": results}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    for name, usual in (("simulations", 200), ("rows", 300), ("halves", 10), ("workers", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--names", default="", help="metrics, separated by commas")
    main(**vars(parser.parse_args()))
