"""Model-steps per second of stacked training, beside the plain loop of one model in the same process.

One model-step is one step of one model: batch 64, dSprites 64×64×1 unless said otherwise, every phase of the method, data
drawn on the device. Memory is the peak per stacked model.

Run on CUDA: python benchmarks/fleet.py [--methods ada-gvae,slow-vae --models 64 300] [--tilings FILE] [--profile]
Equal parts of five methods in one stack: python benchmarks/fleet.py --methods mixed --models 8 24 300
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from hackle.bench import CASES, Case, compare, measure
from hackle.core.types import Dataset, Run
from hackle.datasets import load
from hackle.nets import Convolutional
from hackle.objectives import OBJECTIVES
from hackle.train.fleet import Fleet

STACKS = [(case, 64) for case in CASES] + [
    (case, 300) for case in CASES if not case.split and case.method != "infowgan-gp"
]


def profile(dataset: Dataset) -> None:
    runs = [Run(OBJECTIVES["beta-vae"](), Convolutional(), seed=seed, precision="bfloat16") for seed in range(64)]
    fleet = Fleet(runs, dataset.images_on("cuda"), dataset.factors, dataset.shape, "cuda")
    for _ in range(2):
        fleet.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        fleet._take_step()
        torch.cuda.synchronize()
    print(found.key_averages().table(sort_by="cuda_time_total", row_limit=40, max_name_column_width=70))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tilings", type=Path, default=None, help="what tune_kernels.py wrote")
    parser.add_argument("--methods", default="", help="names separated by commas; all cases if not given")
    parser.add_argument("--models", type=int, nargs="+", default=[64, 300], help="how many are stacked, with --methods")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--root", default=None)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("the fleet's figures are taken on CUDA; there is none here")
        return
    if options.tilings is not None:
        from hackle.kernels import triton_convolution as kernels

        for key, tiling in json.loads(options.tilings.read_text()).items():
            operator, c, o = key.split(",")
            kernels.TILINGS[operator, int(c), int(o)] = kernels.Tiling(*tiling)
    datasets = {name: load(name, options.root) for name in ("dsprites", "rooms3d")}
    if options.profile:
        profile(datasets["dsprites"])
    found: dict[str, Any] = {"plain loop": compare(datasets["dsprites"], "cuda", 300)}
    print(
        f"plain loop {found['plain loop']['plain']:.0f} steps/s, hackle alone {found['plain loop']['hackle']:.0f}",
        flush=True,
    )
    named = [Case(method) for method in options.methods.split(",") if method]
    for case, models in [(case, models) for models in options.models for case in named] or STACKS:
        title = f"{case}, {models} models"
        try:
            rate = measure(case.runs(models, options.precision), datasets[case.dataset], "cuda", options.seconds)
            found[title] = {
                "model-steps/s": round(rate.per_second),
                "MiB per model": round(rate.bytes_per_model / 2**20, 1),
                "failed": rate.failed,
            }
        except Exception as error:
            found[title] = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(title, found[title], flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
