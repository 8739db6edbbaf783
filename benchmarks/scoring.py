"""All fast metrics of a fleet of models on dSprites, encoding included: the protocol of Locatello et al. 2019 at full size.

On CUDA 64 β-VAEs with β from 1 to 16 are trained briefly as one fleet, then scored on one plan by a process per core, as the
workers of a study do it, each with one thread: every image of the plan is encoded once by each model. On a CPU: 2 models, a
twentieth of the points. The seconds count from the start of the processes to the last score; beside them stand those of one
model, and those of each metric, which come several to a row of scores.

Run: python benchmarks/scoring.py [--out FILE] [--codes FILE] (writes codes and factors of one model, for metrics_locatello.py)
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from hackle.core.types import Adam, Run
from hackle.datasets import load
from hackle.engine.tasks import ScoreRun, Settings
from hackle.nets import Convolutional
from hackle.objectives import BetaVAE
from hackle.scoring.protocol import PROTOCOLS
from hackle.train.checkpoints import as_bytes
from hackle.train.fleet import Fleet
from hackle.train.model import Model


def _ignore(_: object) -> None:
    """Nobody waits for signs of life."""


def _one_thread() -> None:
    """As in a study's workers: with a thread per core in each of them, NumPy's products would wait for each other."""
    torch.set_num_threads(1)
    threadpool_limits(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codes", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None, help="a file for the figures, as JSON")
    parser.add_argument("--models", type=int, default=64 if torch.cuda.is_available() else 2)
    parser.add_argument("--steps", type=int, default=4000 if torch.cuda.is_available() else 5)
    parser.add_argument("--root", default=None)
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    device, precision = ("cuda", "bfloat16") if cuda else ("cpu", "float32")
    dataset = load("dsprites", options.root)
    runs = [
        Run(
            BetaVAE(float(beta)),
            Convolutional(),
            seed=seed,
            steps=options.steps,
            precision=precision,
            optimiser=Adam(learning_rate=5e-4),
        )
        for seed, beta in enumerate(np.geomspace(1, 16, options.models))
    ]
    started = time.perf_counter()
    fleet = Fleet(runs, dataset.images_on(device), dataset.factors, dataset.shape, device)
    for _ in range(options.steps):
        fleet.step()
    models = [Model(run, dataset.shape, fleet.weights(row)).to(device) for row, run in enumerate(runs)]
    trained = time.perf_counter() - started
    print(f"{len(models)} models trained for {options.steps} steps in {trained:.1f} s", flush=True)
    protocol = PROTOCOLS["locatello2019"] if cuda else PROTOCOLS["locatello2019"].smaller(0.05)
    started = time.perf_counter()
    settings = Settings(options.root, device, (protocol,), ("all",), checkpoints="")
    jobs = [
        partial(ScoreRun(model.run, dataset.shape, as_bytes(model.weights(), {})).perform, settings, _ignore)
        for model in models
    ]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _one_thread) as pool:
        scored = [done.result() for done in [pool.submit(job) for job in jobs]]
    seconds = time.perf_counter() - started
    tables = [pd.DataFrame(each.rows) for each in scored]
    print(tables[0][["metric", "representation", "score", "seconds"]].to_string(index=False))
    took: dict[str, list[float]] = {}
    for row in (row for one in scored for row in one.rows):
        took.setdefault(f"{row['metric']} {row['representation']}", []).append(row["seconds"])
    record = {
        "benchmark": "scoring",
        "models": len(models),
        "seconds": seconds,
        "seconds of one model": float(np.median([one.seconds for one in scored])),
        "seconds of one metric": {
            name: median for name, each in took.items() if (median := float(np.median(each))) > 0.1
        },
        "scores": len(tables[0]),
        "processes": os.cpu_count(),
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        "torch": torch.__version__,
    }
    if options.codes is not None:
        middle = models[len(models) // 2]
        rows = dataset.factors.draw(15_000, np.random.default_rng(0))
        np.savez_compressed(options.codes, codes=middle.encode(dataset.render(rows))[0], factors=rows)
    print(json.dumps(record))
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
