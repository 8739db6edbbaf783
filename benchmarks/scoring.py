"""All fast metrics of a fleet of models on dSprites, encoding included: the protocol of Locatello et al. 2019 at full size.

On CUDA 64 β-VAEs with β from 1 to 16 are trained briefly as one fleet, then scored on one plan: every image of the plan is
encoded once by each model on the device while processes on the other cores compute metrics. On a CPU: 2 models, a
twentieth of the points.

Run: python benchmarks/scoring.py [--codes FILE] (writes codes and factors of one model, for metrics_locatello.py)
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from hackle.core.types import Adam, Run
from hackle.datasets import load
from hackle.nets import Convolutional
from hackle.objectives import BetaVAE
from hackle.scoring.models import score_many
from hackle.scoring.protocol import PROTOCOLS
from hackle.train.fleet import Fleet
from hackle.train.model import Model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codes", type=Path, default=None)
    parser.add_argument("--models", type=int, default=64 if torch.cuda.is_available() else 2)
    parser.add_argument("--steps", type=int, default=4000 if torch.cuda.is_available() else 5)
    parser.add_argument("--root", default=None)
    parser.add_argument("--representations", nargs="+", default=["mean"], choices=["mean", "sampled"])
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
    fleet = Fleet(runs, dataset.images_on(device), len(dataset.factors), dataset.shape, device)
    for _ in range(options.steps):
        fleet.step()
    models = [Model(run, dataset.shape, fleet.weights(row)).to(device) for row, run in enumerate(runs)]
    trained = time.perf_counter() - started
    print(f"{len(models)} models trained for {options.steps} steps in {trained:.1f} s", flush=True)
    protocol = PROTOCOLS["locatello2019"] if cuda else PROTOCOLS["locatello2019"].smaller(0.05)
    started = time.perf_counter()
    tables = list(score_many(models, dataset, "all", protocol, representations=tuple(options.representations)))
    seconds = time.perf_counter() - started
    print(tables[0][["metric", "score", "ceiling", "seconds"]].to_string(index=False))
    if options.codes is not None:
        middle = models[len(models) // 2]
        rows = dataset.factors.draw(15_000, np.random.default_rng(0))
        np.savez_compressed(options.codes, codes=middle.encode(dataset.render(rows))[0], factors=rows)
    print(json.dumps({"benchmark": "scoring", "models": len(models), "seconds": seconds, "scores": len(tables[0])}))


if __name__ == "__main__":
    main()
