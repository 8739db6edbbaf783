"""Hours that the 12,600 models of Locatello et al. 2019 take on one CUDA device, from rates of each group and data set.

A data set that is not here is replaced by noise of its size, which takes the device as long to draw and to learn from.

Run on CUDA: python benchmarks/hours.py [--models 300] [--seconds 1] [--csv FILE]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from hackle.bench import measure
from hackle.core.factors import Factor, FactorGrid
from hackle.core.parts import name_of
from hackle.core.types import Dataset
from hackle.datasets import DataError, load
from hackle.datasets.arrays import ArrayDataset
from hackle.papers.locatello2019.settings import DATASETS
from hackle.papers.locatello2019.study import locatello2019
from hackle.train.grouping import group
from hackle.train.size import spread

SIZES = {
    "smallnorb": (48_600, 1),
    "cars3d": (17_568, 3),
    "shapes3d": (480_000, 3),
}


def noise(name: str) -> Dataset:
    """As many images of random bytes; blocks of 8,192 repeat."""
    count, channels = SIZES[name]
    block = np.random.default_rng(0).integers(0, 256, (8192, 64, 64, channels), dtype=np.uint8)
    images = np.empty((count, 64, 64, channels), dtype=np.uint8)
    for start in range(0, count, len(block)):
        images[start : start + len(block)] = block[: count - start]
    return ArrayDataset(name, images, FactorGrid([Factor("image", count)]))


def found(name: str, root: Path | None) -> tuple[Dataset, str]:
    try:
        return load(name, root), ""
    except DataError:
        return noise(name), "noise of its size"


def hours(rates: pd.DataFrame) -> pd.DataFrame:
    """Hours for all runs of each row: runs × steps / rate."""
    return rates.assign(hours=rates["runs"] * rates["steps"] / rates["model-steps/s"] / 3600)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=300, help="stacked models")
    parser.add_argument("--seconds", type=float, default=1.0, help="of training timed for each")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--methods", default=None)
    parser.add_argument("--root", type=Path, default=None)
    parser.add_argument("--csv", type=Path, default=None)
    options = parser.parse_args()
    methods = None if options.methods is None else options.methods.split(",")
    rows = []
    for name in options.datasets.split(","):
        dataset, stand_in = found(name, options.root)
        for runs in group(locatello2019(datasets=[name], methods=methods, precision="bfloat16")):
            started = time.perf_counter()
            rate = measure(spread(runs, options.models), dataset, "cuda", options.seconds)
            row = {
                "dataset": name,
                "method": " ".join(dict.fromkeys(name_of(run.method) for run in runs)),
                "runs": len(runs),
                "steps": runs[0].steps,
                "stacked": min(options.models, len(runs)),
                "model-steps/s": round(rate.per_second),
                "images": stand_in,
            }
            rows.append(row)
            print(*row.values(), f"({time.perf_counter() - started:.1f} s)", flush=True)
            if options.csv is not None:
                hours(pd.DataFrame(rows)).to_csv(options.csv, index=False)
        del dataset
        torch.cuda.empty_cache()
    table = hours(pd.DataFrame(rows))
    print(table.to_string(index=False))
    print(f"{table['runs'].sum():,} models: {table['hours'].sum():.1f} hours")


if __name__ == "__main__":
    main()
