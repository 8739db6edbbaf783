"""Scores of 100,000 × 16,384 sparse codes, 64 a row not zero, on the CPU and on a GPU: seconds, memory, how far they differ.

MIG, modularity and SAP of five factors on both; DCI's L1-penalised SVMs on both for one factor of two values, which is one
machine, and of all five factors, 37 machines, on the GPU alone as far as the time allows.

Run: PYTHONPATH=src python -m benchmarks.codes_device [--seconds 55] [--out FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.many_codes import codes_and_factors
from hackle import metrics

CODES = 16_384
SCORES: dict[str, Callable[..., Any]] = {
    "mig": metrics.mig_score,
    "modularity": metrics.modularity_score,
    "sap": metrics.sap_score,
    "dci, one machine": metrics.dci_scores,
}


def measured(compute: Callable[..., Any], codes: Any, factors: np.ndarray, device: str) -> tuple[np.ndarray, float]:
    """The scores, and the seconds that they took."""
    started = time.perf_counter()
    found = np.atleast_1d(compute(codes, factors, kinds="ordinal", device=device))
    if device == "cuda":
        torch.cuda.synchronize()
    return found, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=55.0, help="how long all of it may take")
    parser.add_argument("--out", type=Path, help="where to keep the lines that are printed")
    given, begun, lines = parser.parse_args(), time.perf_counter(), list[str]()

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        if given.out:
            given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")

    gpu = torch.cuda.is_available()
    what = torch.cuda.get_device_name() if gpu else "no GPU"
    threads = f"{torch.get_num_threads()} threads of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    say(f"benchmarks/codes_device.py, {what}, {threads}, torch {torch.__version__}, Python {platform.python_version()}")
    codes, factors = codes_and_factors("sparse", CODES, Path())
    devices = ("cuda", "cpu") if gpu else ("cpu",)
    for device in devices:
        for compute in SCORES.values():  # contexts, libraries and thread pools
            compute(codes[:2000, :200], factors[:2000, :2], kinds="ordinal", device=device)
    one = 0.0
    for name, compute in SCORES.items():
        known = (factors[:, :1] == 0).astype(np.int64) if name.startswith("dci") else factors
        found = {device: measured(compute, codes, known, device) for device in devices}
        line = f"{name:<17}" + "".join(f"{device} {seconds:7.2f} s  " for device, (_, seconds) in found.items())
        values, one = found["cpu"][0], found[devices[0]][1]
        if gpu:
            line += f"{found['cpu'][1] / one:5.1f} times as fast  {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB  "
            line += f"largest difference {np.abs(found['cuda'][0] - values).max():.1e}  "
        say(line + ", ".join(f"{value:.8f}" for value in values))
    left = given.seconds - (time.perf_counter() - begun)
    # A machine of one value of a factor of several has fewer rows, and takes less than that of two.
    for count in (5, 4, 3, 2, 1) if gpu else ():
        machines = sum((3, 6, 8, 10, 10)[:count])
        if machines * one < left:
            found, seconds = measured(metrics.dci_scores, codes, factors[:, :count], "cuda")
            say(f"dci, {count} factors, {machines} machines: cuda {seconds:.2f} s  " + ", ".join(map(str, found)))
            break
    say(f"all of it {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
