"""Training on a CPU: one model, eight stacked, and FactorVAE as `hackle demo` trains it, beside the plain PyTorch loop.

With `--before CHECKOUT` another state of hackle takes turns with this one, step by step, each in a process of its own, so that
both meet the same load of the machine; medians of all turns are shown. Wall seconds depend on what else the machine does;
processor seconds, summed over threads, much less, if there is one thread. The plain loop runs twice: in the process in which
fleets train, whose setting of the allocator (`hackle.core.allocator`) it shares, and in one of its own.

Run: OMP_NUM_THREADS=2 python benchmarks/cpu.py [--before CHECKOUT] [--rounds 5] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
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

STEPS = 32
"""Model-steps of a turn: four steps of eight models, of which the first finds the caches full of others' work."""
STACKED = 8
PLAIN = "plain loop"


def serve(fleets: bool) -> None:
    """Take a turn of what each line of the input names, and answer with wall and processor milliseconds of a model-step."""
    dataset = load("dsprites")
    images = dataset.images_on("cpu")

    def fleet(method: str, models: int) -> Callable[[int], object]:
        trained = Fleet(Case(method).runs(models, "float32"), images, dataset.factors, dataset.shape, "cpu")
        return lambda _: trained.step()

    work: dict[str, tuple[Callable[[int], object], int]] = {
        PLAIN: (PlainLoop(plain_run(STEPS, "float32"), dataset, "cpu").step, 1)
    }
    if fleets:
        work |= {
            "one model": (fleet("beta-vae", 1), 1),
            f"{STACKED} models": (fleet("beta-vae", STACKED), STACKED),
            "FactorVAE": (fleet("factor-vae", 1), 1),
        }
    for step, _ in work.values():
        step(0)
        step(1)
    print(json.dumps(list(work)), flush=True)
    for line in sys.stdin:
        step, models = work[line.strip()]
        wall, processor = time.perf_counter(), time.process_time()
        for number in range(STEPS // models):
            step(number)
        passed = time.perf_counter() - wall, time.process_time() - processor
        print(json.dumps([1000 * seconds / STEPS for seconds in passed]), flush=True)


def in_turn(checkouts: dict[str, Path], rounds: int) -> dict[str, dict[str, list[float]]]:
    """The medians of what processes of these checkouts do in turns, and of the plain loop in a process of its own."""
    started = {}
    for name, checkout in {**checkouts, f"{PLAIN} alone": checkouts["now"]}.items():
        command = [sys.executable, __file__, "--serve", *(["--plain"] if name not in checkouts else [])]
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        pipe = subprocess.PIPE
        started[name] = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, bufsize=1)
    known = {name: json.loads(answer(process)) for name, process in started.items()}
    found: dict[str, dict[str, list[list[float]]]] = {name: {key: [] for key in keys} for name, keys in known.items()}
    for number in range(rounds):
        for key in known["now"]:
            for name in list(started)[:: 1 if number % 2 else -1]:
                if key in known[name]:
                    print(key, file=started[name].stdin, flush=True)
                    found[name][key].append(json.loads(answer(started[name])))
    for process in started.values():
        process.communicate()
    return {
        name: {key: [statistics.median(each) for each in zip(*turns, strict=True)] for key, turns in of_one.items()}
        for name, of_one in found.items()
    }


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(not options.plain)
        return
    checkouts = {"now": Path(__file__).resolve().parent.parent}
    if options.before is not None:
        checkouts = {"before": options.before.resolve(), **checkouts}
    found = in_turn(checkouts, options.rounds)
    for name, times in found.items():
        for key, (wall, processor) in times.items():
            ratios = [plain / own for plain, own in zip(found["now"][PLAIN], times[key], strict=True)]
            words = f"{name:16} {key:12} {wall:7.1f} ms, processor {processor:7.1f} ms"
            print(words + f"; times as fast as the plain loop {ratios[0]:.2f}, by processor time {ratios[1]:.2f}")
    record = {"benchmark": "cpu", "milliseconds of a model-step, wall and processor": found}
    record |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    print(json.dumps(record))
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
