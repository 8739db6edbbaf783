"""Seconds for every score of Do & Tran 2020 on 10,000 points, 100 bins, 10 latents and the five factors of dSprites.

The codes are those of a good encoder: five codes with a factor each, five collapsed. Wall time depends on what else the
machine does; processor time, summed over threads, much less.

Run: OMP_NUM_THREADS=2 python benchmarks/metrics_do2020.py
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from hackle.information import SaturatedEstimateWarning, factor_information
from hackle.metrics.informativeness import informativeness
from hackle.metrics.jemmig import jemmig_from_information
from hackle.metrics.misjed import misjed
from hackle.metrics.rmig import rmig_from_information
from hackle.metrics.separability import separable_information

POINTS, LATENTS, BINS = 10_000, 10, 100
SIZES = (3, 6, 40, 32, 32)


def posteriors() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, logvars and factors: standardised factors with noise of 0.08, then codes that repeat the prior."""
    rng = np.random.default_rng(0)
    factors = rng.integers(SIZES, size=(POINTS, len(SIZES)))
    informative = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    collapsed = 0.01 * rng.normal(size=(POINTS, LATENTS - len(SIZES)))
    logvars = np.repeat([-5.0, -0.01], [len(SIZES), LATENTS - len(SIZES)])
    return np.hstack([informative, collapsed]), np.tile(logvars, (POINTS, 1)), factors


def interpretability(means: np.ndarray, logvars: np.ndarray, factors: np.ndarray) -> tuple[float, float]:
    found = factor_information(means, logvars, factors, bins=BINS)
    return rmig_from_information(found), jemmig_from_information(found)


def separability(means: np.ndarray, logvars: np.ndarray, device: str | None) -> tuple[float, ...]:
    found = separable_information(means, logvars, bins=BINS, device=device)
    return found.sepin(3), found.wsepin(), found.indin(3), found.windin()


def main() -> None:
    means, logvars, factors = posteriors()
    device = "cuda" if torch.cuda.is_available() else None
    work: dict[str, Callable[[], object]] = {
        "informativeness": lambda: informativeness(means, logvars, bins=BINS),
        "MISJED": lambda: misjed(means, logvars, bins=BINS),
        "SEPIN@3, WSEPIN, INDIN@3, WINDIN": lambda: separability(means, logvars, None),
        "RMIG, JEMMIG": lambda: interpretability(means, logvars, factors),
    }
    if device is not None:
        separability(means[:100], logvars[:100], device)
        work["the same SEPIN … WINDIN on the GPU"] = lambda: separability(means, logvars, device)
    table = Table("score", "wall s", "processor s")
    seconds: dict[str, list[float]] = {}
    for name, compute in work.items():
        wall, processor = time.perf_counter(), time.process_time()
        compute()
        seconds[name] = [time.perf_counter() - wall, time.process_time() - processor]
        table.add_row(name, *(f"{value:.2f}" for value in seconds[name]))
    on_cpu = [sum(times[column] for name, times in seconds.items() if "GPU" not in name) for column in range(2)]
    table.add_row("all on the CPU", *(f"{value:.2f}" for value in on_cpu))
    Console().print(table)
    record = {"benchmark": "metrics_do2020", "threads": torch.get_num_threads(), "all": on_cpu, "seconds": seconds}
    print(json.dumps(record))


if __name__ == "__main__":
    warnings.simplefilter("ignore", SaturatedEstimateWarning)
    main()
