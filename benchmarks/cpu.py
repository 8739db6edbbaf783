"""Training on a CPU: one model, eight stacked, and FactorVAE as `hackle demo` trains it, beside the plain PyTorch loop.

With `--before CHECKOUT` another state of hackle takes turns with this one, each in processes of its own, so that both meet
the same load of the machine. Wall seconds depend on what else it does; processor seconds, summed over threads, much less.

Run: OMP_NUM_THREADS=2 python benchmarks/cpu.py [--before CHECKOUT] [--rounds 3] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from hackle.bench.fleet import Case
from hackle.bench.plain import PlainLoop, plain_run
from hackle.datasets import load
from hackle.train.fleet import Fleet

STEPS = 24
STACKED = 8


def measured() -> dict[str, list[float]]:
    """Wall and processor milliseconds of a model-step, for each thing that trains."""
    dataset = load("dsprites")
    images = dataset.images_on("cpu")

    def fleet(method: str, models: int) -> Callable[[int], object]:
        trained = Fleet(Case(method).runs(models, "float32"), images, dataset.factors, dataset.shape, "cpu")
        return lambda _: trained.step()

    plain = PlainLoop(plain_run(STEPS, "float32"), dataset, "cpu")
    work = {
        "plain loop": (plain.step, 1),
        "one model": (fleet("beta-vae", 1), 1),
        f"{STACKED} models": (fleet("beta-vae", STACKED), STACKED),
        "FactorVAE": (fleet("factor-vae", 1), 1),
    }
    found = {}
    for name, (step, models) in work.items():
        step(0)
        wall, processor = time.perf_counter(), time.process_time()
        for number in range(STEPS // models):
            step(number)
        passed = time.perf_counter() - wall, time.process_time() - processor
        found[name] = [1000 * seconds / STEPS for seconds in passed]
    return found


def in_turn(checkouts: dict[str, Path], rounds: int) -> dict[str, dict[str, list[float]]]:
    """The least of rounds in which the checkouts take turns: the one that the machine disturbed least."""
    found: dict[str, list[dict[str, list[float]]]] = {name: [] for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
            command = [sys.executable, __file__, "--once"]
            told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            found[name].append(json.loads(told.splitlines()[-1]))
    return {
        name: {key: [min(one[key][i] for one in each) for i in (0, 1)] for key in each[0]}
        for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measured()))
        return
    checkouts = {"now": Path(__file__).resolve().parent.parent}
    if options.before is not None:
        checkouts = {"before": options.before.resolve(), **checkouts}
    found = in_turn(checkouts, options.rounds)
    for name, times in found.items():
        for key, (wall, processor) in times.items():
            ratios = [plain / own for plain, own in zip(times["plain loop"], times[key], strict=True)]
            words = f"{name:8} {key:12} {wall:7.1f} ms, processor {processor:7.1f} ms"
            print(words + f"; times as fast as the plain loop {ratios[0]:.2f}, by processor time {ratios[1]:.2f}")
    record = {"benchmark": "cpu", "milliseconds of a model-step, wall and processor": found}
    record |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    print(json.dumps(record))
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
