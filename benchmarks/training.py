"""One model's training step against the plain PyTorch loop that peers run, side by side in one process.

The plain loop has the same networks, initial weights, batches and noise: NCHW float32 convolutions, `torch.optim.Adam`, and
batches that come from host memory. Losses of both are compared step by step. On CUDA also the reference training that a VAE
must pass: 50,000 steps on dSprites end below 40 nats per image with positions captured by latents.

Run: python benchmarks/training.py [--steps 50000]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from hackle.bench import compare
from hackle.core.types import Dataset, Run
from hackle.datasets import load
from hackle.information.discrete import bin_codes, discrete_mutual_information
from hackle.nets import Convolutional
from hackle.objectives import VAE
from hackle.train import fit


def reference_training(dataset: Dataset, steps: int) -> dict[str, float]:
    """A plain VAE: its last reconstruction error, and how well its latents tell each factor.

    A plain VAE may turn positions into any mixture of latents, so beside the best single latent's share of a factor's
    entropy stands the R² of predicting the factor from the five nearest of 20,000 other codes.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        model = fit(
            Run(VAE(), Convolutional(), steps=steps), out=folder, dataset=dataset, log_every=1000, progress=False
        )
        seconds = time.perf_counter() - started
        header, *_, last = (Path(folder) / "curves.csv").read_text().splitlines()
    curves = dict(zip(header.split(","), map(float, last.split(",")), strict=True))
    rows = dataset.factors.draw(25_000, np.random.default_rng(0))
    means, _ = model.encode(dataset.render(rows))
    information = discrete_mutual_information(bin_codes(means, 20), rows).max(axis=0)
    shares = information / np.log(np.array(dataset.factors.sizes))
    neighbours = KNeighborsRegressor(5).fit(means[:20_000], rows[:20_000])
    told = np.asarray(r2_score(rows[20_000:], neighbours.predict(means[20_000:]), multioutput="raw_values"))
    return {
        "steps": steps,
        "steps per second": steps / seconds,
        "reconstruction": curves["reconstruction"],
        "kl": curves["kl"],
        **dict(zip((f"best latent's share of {name}" for name in dataset.factors.names), shares.tolist(), strict=True)),
        **dict(zip((f"R² of {name} from latents" for name in dataset.factors.names), told.tolist(), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000, help="of the reference training, on CUDA alone")
    parser.add_argument("--root", default=None, help="where data sets lie")
    options = parser.parse_args()
    dataset = load("dsprites", options.root)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found: dict[str, Any] = {"device": device, "step": compare(dataset, device, 500 if device == "cuda" else 10)}
    if device == "cuda":
        found["reference"] = reference_training(dataset, options.steps)
    for part, values in found.items():
        if isinstance(values, dict):
            print(part)
            for name, value in values.items():
                print(f"  {name:32s} {value:12.5g}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
