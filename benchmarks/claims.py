"""Time to judge every claim on a table as large as Locatello et al.'s study: 12,600 runs with 60 scores each.

python benchmarks/claims.py
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pandas as pd

from hackle.claims import CLAIMS, judge
from hackle.papers.locatello2019.claims import DATASETS, DOWNSTREAM, METRICS
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables

SCORES = [
    *((name, representation) for name in METRICS for representation in ("mean", "sampled")),
    *((name, representation) for name in ("gaussian_tc", "explicitness") for representation in ("mean", "sampled")),
    *((name, "mean") for name in (*DOWNSTREAM, "efficiency_logistic_cv", "efficiency_gbt")),
    *((name, "posterior") for name in ("kl", "elbo", "reconstruction", "monte_carlo_tc", "rmig", "jemmig", "wsepin")),
]


def study(scores: int = 60) -> Tables:
    """The whole study with random scores."""
    rng = np.random.default_rng(0)
    settings = [(method, float(strength)) for method, values in STRENGTHS.items() for strength in values]
    designs = list(product(DATASETS, settings, range(50)))
    runs = pd.DataFrame(
        {
            "run": [f"{index:016x}" for index in range(len(designs))],
            "dataset": [design[0] for design in designs],
            "method": [design[1][0] for design in designs],
            "strength": [design[1][1] for design in designs],
            "seed": [design[2] for design in designs],
            "record": [f'{{"design": "{design[:2]}", "seed": {design[2]}}}' for design in designs],
        }
    )
    runs = runs.assign(study="locatello2019", status="done", architecture="convolutional", steps=300_000, batch_size=64)
    runs = runs.assign(latents=10, likelihood="bernoulli", correlation=0.0, precision="float32")
    names = [*SCORES, *((f"other_{index}", "mean") for index in range(scores - len(SCORES)))]
    parts = runs.loc[runs.index.repeat(len(names))].reset_index(drop=True)
    parts = parts.assign(
        metric=np.tile([name for name, _ in names], len(runs)),
        representation=np.tile([representation for _, representation in names], len(runs)),
        score=rng.uniform(0.1, 1, len(parts)),
        protocol="locatello2019",
        scoring_seed=0,
    )
    return Tables(parts.reindex(columns=list(SCORE_COLUMNS)), runs.reindex(columns=list(RUN_COLUMNS)))


def main() -> None:
    tables = study()
    start = time.process_time()
    found = judge(tables)
    seconds = time.process_time() - start
    tested = sum(judgement.evidence.estimate is not None for judgement in found)
    print(f"{len(tables.runs):,} runs, {len(tables.scores):,} scores")
    print(f"{tested} of {len(CLAIMS)} claims tested in {seconds:.1f} s of one core")


if __name__ == "__main__":
    main()
