"""Does training in bfloat16 end where training in float32 ends? A study of 16 seeds of β-VAE (β = 4) and FactorVAE (γ = 35).

    hackle study run benchmarks/precision.py:precision --metrics mig,factor_vae,reconstruction,kl --trainers 2 --out DIR
    python benchmarks/precision.py DIR [--csv FILE]

The second command compares, for each method and each of reconstruction error, KL, MIG and FactorVAE score, the distribution
over seeds in one dtype with that in the other: means, standard deviations, the standardised difference of the means
with its 95% interval, and the p-value of the two-sample Kolmogorov–Smirnov test, corrected over the eight comparisons by
Holm's procedure. A run in bfloat16 shares its seed with one in float32, but rounding drives the two apart within some
thousand steps, so they count as independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp, t

from hackle.core.types import Run
from hackle.studies.presets import default_run, method_at

STRENGTHS = {"factor-vae": 35.0, "beta-vae": 4.0}
SCORES = ("reconstruction", "kl", "mig", "factor_vae")


def precision(*, seeds: int = 16, steps: int = 50_000, methods: Sequence[str] = tuple(STRENGTHS)) -> list[Run]:
    """The runs of the comparison. Those that take longest come first, so that they train beside the others."""
    found = []
    for dtype in ("float32", "bfloat16"):
        for method in methods:
            settings = {"method": method_at(method, STRENGTHS[method]), "precision": dtype, "steps": steps}
            found += [replace(default_run(method, "dsprites"), **settings, seed=seed) for seed in range(seeds)]
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p-values."""
    order = np.argsort(p_values)
    scaled = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected.tolist()


def compared(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of the results that are compared: of means where samples are scored too, and of posteriors."""
    return scores.loc[(scores["representation"] != "sampled") & scores["metric"].isin(SCORES)]


def comparison(scores: pd.DataFrame) -> pd.DataFrame:
    """A row for each method and score, from the table of results."""
    rows = []
    for (method, metric), part in compared(scores).groupby(["method", "metric"], observed=True):  # type: ignore[misc]
        coarse, fine = (
            part.loc[part["precision"] == name, "score"].to_numpy(float) for name in ("bfloat16", "float32")
        )
        spread = np.sqrt((coarse.var(ddof=1) + fine.var(ddof=1)) / 2)
        error = np.sqrt(coarse.var(ddof=1) / len(coarse) + fine.var(ddof=1) / len(fine))
        reach = t.ppf(0.975, len(coarse) + len(fine) - 2) * error
        difference = coarse.mean() - fine.mean()
        rows.append(
            {
                "method": method,
                "metric": metric,
                "runs": f"{len(coarse)} + {len(fine)}",
                "bfloat16": coarse.mean(),
                "sd bfloat16": coarse.std(ddof=1),
                "float32": fine.mean(),
                "sd float32": fine.std(ddof=1),
                "difference / sd": difference / spread,
                "low": (difference - reach) / spread,
                "high": (difference + reach) / spread,
                "p": float(ks_2samp(coarse, fine)[1]),  # type: ignore[arg-type]
            }
        )
    table = pd.DataFrame(rows)
    return table.assign(corrected=holm(table["p"].tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=None)
    parser.add_argument("--csv", type=Path, default=None, help="also write the runs' scores here")
    options = parser.parse_args()
    if options.folder is None:
        print("a study's folder is needed: see the head of this file")
        return
    from hackle.store import results

    scores = results(options.folder)
    if options.csv is not None:
        columns = ["method", "precision", "seed", "steps", "representation", "metric", "score"]
        pd.DataFrame(compared(scores)[columns]).sort_values(columns[:-1]).to_csv(options.csv, index=False)
    print(comparison(scores).to_string(index=False, float_format=lambda value: f"{value:.4g}"))


if __name__ == "__main__":
    main()
