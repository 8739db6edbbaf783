"""Random training batches of 64 as tensors on the CPU, beside those of the disent library, in one process.

disent's XYObject is a procedural set, so neither side reads a disk. Needs `pip install disent==0.8.0` beside hackle.

Run: python -m benchmarks loader_against_disent
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from hackle.core.randomness import Stream
from hackle.datasets import load

BATCH, WORKERS = 64, 2


def images_per_second(draw: Callable[[], object], seconds: float = 0.6) -> float:
    for _ in range(20):
        draw()
    rates = []
    for _ in range(5):
        started, batches = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            draw()
            batches += 1
        rates.append(BATCH * batches / (time.perf_counter() - started))
    return statistics.median(rates)


def main() -> None:
    if find_spec("disent") is None:
        print("disent is not installed; `pip install disent==0.8.0` to compare")
        return
    theirs: Any = import_module("disent.dataset.data").XYObjectData()
    rng = np.random.default_rng(0)
    loader = iter(DataLoader(theirs, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True))
    dsprites = load("dsprites")
    images = dsprites.images_on("cpu")
    step = iter(range(10**9))

    def ours() -> object:
        stream = Stream.of([0], step=next(step), purpose="batch")
        return images(stream.integers("index", (BATCH,), len(dsprites.factors)), stream)

    found = {
        "hackle, dSprites": images_per_second(ours),
        f"disent, XYObject, DataLoader with {WORKERS} workers": images_per_second(lambda: next(loader)),
        "disent, XYObject, items stacked in process": images_per_second(
            lambda: torch.from_numpy(np.stack([theirs[index] for index in rng.integers(len(theirs), size=BATCH)]))
        ),
    }
    for name, rate in found.items():
        print(f"{name:48s} {rate:12,.0f} images/s")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
