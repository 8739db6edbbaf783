"""What data regimes cost: model-steps per second of a stack of β-VAEs on the dSprites grid, under each of them, on CUDA.

    python benchmarks/regimes.py [models]

The images are noise of dSprites' size, so that nothing has to be downloaded or drawn first.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import torch

from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.datasets.dsprites import FACTORS
from hackle.objectives import AdaGVAE, BetaVAE
from hackle.studies import default_run
from hackle.train.fleet import Fleet

SHAPE = (64, 64, 1)
REGIMES: dict[str, dict[str, Any]] = {
    "none": {},
    "correlated": {"drawing": Drawing("x~y", 0.2)},
    "left out": {"drawing": Drawing(left_out="random")},
    "labels": {"labels": Labels(1000)},
    "pairs": {"pairs": Pairs("resample", 1), "method": AdaGVAE()},
    "pairs, laplace": {"pairs": Pairs("laplace"), "method": AdaGVAE()},
    "pairs, correlated": {"pairs": Pairs("resample"), "drawing": Drawing("x~y", 0.2), "method": AdaGVAE()},
    "pairs that differ, correlated": {"pairs": Pairs("differ"), "drawing": Drawing("x~*", 0.2), "method": AdaGVAE()},
}


def main(models: int) -> None:
    pixels = torch.randint(0, 2, (len(FACTORS), *SHAPE), dtype=torch.uint8, device="cuda") * 255
    run = replace(default_run("beta-vae", "dsprites"), method=BetaVAE(4.0), precision="bfloat16")
    for name, fields in REGIMES.items():
        runs = [replace(run, seed=seed, **fields) for seed in range(models)]
        started = time.perf_counter()
        fleet = Fleet(runs, lambda index, stream: pixels[index], FACTORS, SHAPE, "cuda")
        for _ in range(6):
            fleet.step()
        torch.cuda.synchronize()
        built = time.perf_counter() - started
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < 4:
            for _ in range(5):
                fleet.step()
            steps += 5
            torch.cuda.synchronize()
        rate = steps * models / (time.perf_counter() - started)
        print(f"{name:32} {rate:9,.0f} model-steps/s, begun in {built:.1f} s", flush=True)
        del fleet
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
