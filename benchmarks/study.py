"""Studies: killed again and again, beside bare training, and on two Ray workers.

    kills     200 tiny runs on two workers, undisturbed and with the driver killed (-9) at 20 random moments: are the tables
              the same, row for row?
    overhead  a study without metrics in one process: how much of its processor time is not spent in steps of fleets but in
              scheduling, storing, checkpoints, curves and files?
    workers   the same fleets trained bare by two processes and by a study of two workers, in turn: how much longer does
              the study take from start to end, its workers' start included?
    ray       a study bound by the processor on one Ray worker and on two.

Run: python benchmarks/study.py [kills] [overhead] [workers] [ray]
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hackle.core.files import lock_holder
from hackle.core.types import Adam, Run
from hackle.datasets import load
from hackle.engine import run_study
from hackle.nets import Convolutional
from hackle.objectives import VAE, BetaVAE
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol
from hackle.store import read
from hackle.train import cut
from hackle.train.fleet import Fleet
from hackle.train.grouping import group

TINY = Protocol("tiny", PlanSizes(200, 100, 100, 50, 8, 100, 50, 8), bins=8, posterior_bins=40)
METRICS = "mig,factor_vae,sap,modularity,kl,gaussian_tc,reconstruction"
KILLS = 20


def write_data(folder: Path) -> Path:
    """White squares on black: place and side are the factors."""
    rows = np.stack(np.meshgrid(np.arange(4), np.arange(4), np.arange(2), indexing="ij"), axis=-1).reshape(-1, 3)
    images = np.zeros((len(rows), 16, 16, 1), np.uint8)
    for image, (x, y, side) in zip(images, rows, strict=True):
        image[1 + 3 * y : 4 + 3 * y + 2 * side, 1 + 3 * x : 4 + 3 * x + 2 * side] = 255
    np.savez(folder / "squares.npz", images=images, factors=rows)
    return folder / "squares.npz"


def tiny_runs(data: Path | str, seeds: int, steps: int, batch: int = 8) -> list[Run]:
    methods = [BetaVAE(beta) for beta in (1.0, 4.0, 16.0)] + [VAE()]
    network, adam = Convolutional(hidden=16, channels=(8, 8)), Adam(learning_rate=1e-3)
    return [
        Run(method, network, str(data), seed, steps, batch, latents=4, optimiser=adam)
        for method in methods
        for seed in range(seeds)
    ]


def child(data: str, out: str) -> None:
    """The study that is killed."""
    run_study(
        tiny_runs(data, 50, 100),
        out,
        protocols=[TINY],
        metrics=METRICS,
        keep="none",
        device="cpu",
        workers=2,
        checkpoint_seconds=0.2,
        progress=False,
    )


def start(data: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "child", str(data), str(out)])


def kills(folder: Path) -> dict[str, Any]:
    data = write_data(folder)
    begun = time.monotonic()
    if start(data, folder / "whole").wait():
        raise SystemExit("the undisturbed study failed")
    whole = time.monotonic() - begun
    rng, moments, begun = random.Random(0), [], time.monotonic()
    while len(moments) < KILLS:
        process = start(data, folder / "killed")
        while process.poll() is None and f"process {process.pid} " not in lock_holder(folder / "killed"):
            time.sleep(0.01)
        # From the first moment that a driver holds the folder, over the start of its workers, to well into its work.
        time.sleep(rng.uniform(0.0, whole / 8))
        if process.poll() == 0:
            break  # It finished before so many kills: the count below says how many there were.
        if process.poll() is None:
            process.kill()
            moments.append(len(read(folder / "killed").runs) if (folder / "killed" / "results.sqlite").exists() else 0)
            print(f"kill {len(moments)} of {KILLS}: {moments[-1]} of 200 runs stored", file=sys.stderr, flush=True)
        process.wait()
    if start(data, folder / "killed").wait():
        raise SystemExit("the study could not be finished")
    left, right = read(folder / "whole"), read(folder / "killed")
    times = ["training_seconds", "scoring_seconds", "finished"]
    pd.testing.assert_frame_equal(
        left.scores.drop(columns="seconds"), right.scores.drop(columns="seconds"), check_exact=True
    )
    pd.testing.assert_frame_equal(left.runs.drop(columns=times), right.runs.drop(columns=times), check_exact=True)
    codes = left.array("codes"), right.array("codes")
    same = codes[0].keys() == codes[1].keys() and all(np.array_equal(codes[0][run], codes[1][run]) for run in codes[0])
    return {
        "runs": len(right.runs),
        "rows of scores": len(right.scores),
        "kills": len(moments),
        "runs stored at each kill": moments,
        "tables equal": True,
        "codes equal": same,
        "undisturbed seconds": whole,
        "killed seconds": time.monotonic() - begun,
    }


def overhead(folder: Path) -> dict[str, Any]:
    runs = tiny_runs(write_data(folder), 4, 1000)
    original, spent = Fleet.step, 0.0

    def step(self: Fleet) -> None:
        nonlocal spent
        begun = time.process_time()
        original(self)
        spent += time.process_time() - begun

    Fleet.step = step
    begun = time.process_time()
    options: dict[str, Any] = {"workers": 0, "device": "cpu", "fleet_size": 8, "progress": False}
    run_study(runs, folder / "study", metrics=(), keep="none", checkpoint_seconds=10.0, **options)
    whole = time.process_time() - begun
    Fleet.step = original
    return {
        "runs": len(runs),
        "seconds in steps": spent,
        "seconds of the study": whole,
        "overhead": whole / spent - 1,
        "seconds per run beside steps": (whole - spent) / len(runs),
    }


def bare(data: str, runs: list[Run]) -> None:
    """Train a fleet and do nothing else."""
    torch.set_num_threads(1)
    dataset = load(data)
    fleet = Fleet(runs, dataset.images_on("cpu"), dataset.factors, dataset.shape, "cpu")
    for _ in range(runs[0].steps):
        fleet.step()


def beside_bare_training(folder: Path) -> dict[str, Any]:
    data = write_data(folder)
    runs = tiny_runs(data, 16, 600)
    seconds: dict[str, list[float]] = {"bare": [], "study": []}
    for turn in range(3):
        begun = time.monotonic()
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            list(pool.map(bare, repeat(str(data)), [fleet for part in group(runs) for fleet in cut(part, 8)]))
        seconds["bare"].append(time.monotonic() - begun)
        options: dict[str, Any] = {"workers": 2, "device": "cpu", "fleet_size": 8, "progress": False}
        begun = time.monotonic()
        run_study(runs, folder / f"study{turn}", metrics=(), keep="none", **options)
        seconds["study"].append(time.monotonic() - begun)
        print(f"turn {turn + 1} of 3: {seconds}", file=sys.stderr, flush=True)
    return {**seconds, "overhead": min(seconds["study"]) / min(seconds["bare"]) - 1}


def on_ray(folder: Path) -> dict[str, Any]:
    import ray

    data = write_data(folder)
    runs = tiny_runs(data, 16, 200)
    found: dict[str, Any] = {}
    for workers in (1, 2):
        ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
        # Started and warm before the clock runs: each worker has imported what it needs.
        run_study(
            runs[:1] + runs[-1:], folder / f"warm{workers}", metrics=(), engine="ray", fleet_size=8, progress=False
        )
        begun = time.monotonic()
        run_study(runs, folder / f"ray{workers}", metrics=(), keep="none", engine="ray", fleet_size=8, progress=False)
        found[f"seconds with {workers}"] = time.monotonic() - begun
        ray.shutdown()
    return {**found, "times faster": found["seconds with 1"] / found["seconds with 2"]}


def main() -> None:
    parts = {"kills": kills, "overhead": overhead, "workers": beside_bare_training, "ray": on_ray}
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:4])
        return
    for name in sys.argv[1:] or parts:
        folder = Path(tempfile.mkdtemp())
        try:
            found = parts[name](folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps({"benchmark": f"study {name}", **found}), flush=True)


if __name__ == "__main__":
    main()
