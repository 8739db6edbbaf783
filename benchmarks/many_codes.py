"""Seconds and memory of scores of many codes: sparse ones as a sparse autoencoder gives them, and dense ones in a mapped file.

- sparse: 100,000 rows of 64, 1,024 and 16,384 codes, of which 64 a row are not zero (16 of 64 codes). Five factors of 3, 6, 8,
  10 and 10 values; a code for each value of each factor, the other codes at random.
- dense: 4,000 rows of 64, 1,024 and 16,384 codes, an .npy file that is mapped: Gaussian noise, the first five with a factor
  each. What a score costs per code shows whether it is linear. Informativeness has means and logvars in a file each.
- wide: SAP and informativeness of 10,000 rows of 16,384 dense codes, 655 MB in their file, 1.3 GB in float64.
- goal: MIG, modularity and SAP one after another, and DCI by L1 machines, of the 100,000 × 16,384 sparse codes, each in a
  process, with all the cores that OMP_NUM_THREADS allows: wall time is what counts, on a machine that does nothing else.
- ten: 10,000 rows of ten dense codes, as models have. With --before FOLDER, the `src` of an older checkout, the same there, in
  turns, the least of three each: scores of few codes must not get slower.

Every score has a process of its own, whose largest resident memory is noted (ru_maxrss, with that of Python and the imports,
about 0.4 GB). Wall time depends on what else the machine does, so its load is noted beside it; processor time, summed over
threads, depends on it much less. Lines are added to --out as they are measured; those that are there are not measured again.

Run: OMP_NUM_THREADS=1 python -m benchmarks.many_codes [sparse dense wide ten] [--only mig,sap] [--before FOLDER] [--out FILE]
     OMP_NUM_THREADS=2 python -m benchmarks.many_codes goal
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (3, 6, 8, 10, 10)
PARTS = {
    "ten": (10,),
    "sparse": (64, 1_024, 16_384),
    "dense": (64, 1_024, 16_384),
    "wide": (16_384,),
    "goal": (16_384,),
}
ROWS = {"sparse": 100_000, "dense": 4_000, "wide": 10_000, "goal": 100_000, "ten": 10_000}
A_ROW = 64
SCORES = ("mig", "modularity", "sap", "mcc", "informativeness", "three", "dci-lasso", "dci")
MEASURED = {
    "sparse": {"mig", "modularity", "sap", "mcc", "dci-lasso", "dci"},
    "wide": {"sap", "informativeness"},
    "goal": {"three", "dci"},
}
"""Where these are not all scores: posteriors are not sparse."""
TURNS = 3


def codes_and_factors(part: str, codes: int, folder: Path) -> tuple[Any, np.ndarray]:
    """The codes of one measurement and their factors; the same for the same arguments."""
    from scipy import sparse

    rng, rows = np.random.default_rng(codes), ROWS[part]
    factors = np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1)
    if part in ("sparse", "goal"):
        known = np.cumsum((0, *SIZES[:-1])) + factors
        a_row = min(A_ROW, codes // 4)
        others = rng.integers(sum(SIZES), codes, size=(rows, a_row - len(SIZES)))
        columns, values = np.hstack([known, others]), rng.gamma(2.0, 0.5, size=(rows, a_row)).astype(np.float32)
        ends = np.arange(0, rows * a_row + 1, a_row)
        matrix = sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(rows, codes))
        matrix.sum_duplicates()
        return matrix, factors
    path = folder / f"{part}-{codes}.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (rows, codes))
    for start in range(0, rows, 500):
        mapped[start : start + 500] = rng.standard_normal((min(500, rows - start), codes), dtype=np.float32)
    mapped[:, : len(SIZES)] += factors
    mapped.flush()
    return np.load(path, mmap_mode=None if part == "ten" else "r"), factors


def functions() -> dict[str, Callable[..., Any]]:
    from hackle import metrics

    def informativeness(codes: Any, factors: np.ndarray, kinds: str) -> float:
        """The mean over codes of posteriors whose means and logvars are both these codes."""
        return float(np.mean(metrics.informativeness(codes, codes, bounds=(-4.0, 60.0))))

    def three(codes: Any, factors: np.ndarray, kinds: str) -> list[float]:
        return [
            score(codes, factors, kinds=kinds)
            for score in (metrics.mig_score, metrics.modularity_score, metrics.sap_score)
        ]

    return {
        "informativeness": informativeness,
        "three": three,
        "mig": metrics.mig_score,
        "modularity": metrics.modularity_score,
        "sap": metrics.sap_score,
        "mcc": metrics.mcc_score,
        "dci-lasso": partial(metrics.dci_scores, predictor="lasso"),
        "dci": metrics.dci_scores,
    }


def measure(part: str, codes: int, score: str) -> None:
    """One measurement in this process, printed as JSON."""
    compute = functions()[score]
    with tempfile.TemporaryDirectory() as folder:
        given, factors = codes_and_factors(part, codes, Path(folder))
        compute(given[:200], factors[:200], kinds="ordinal")  # imports and thread pools
        repeats = 5 if part == "ten" else 1
        started = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            found = compute(given, factors, kinds="ordinal")
        wall, processor = time.perf_counter() - started[0], time.process_time() - started[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row = {"part": part, "rows": ROWS[part], "codes": codes, "score": score, "wall_s": wall / repeats}
    row |= {"processor_s": processor / repeats, "peak_gib": memory, "found": np.atleast_1d(found).tolist()}
    print(json.dumps(row))


def in_a_process(part: str, codes: int, score: str, source: Path | None = None) -> dict[str, Any]:
    words = [sys.executable, "-m", "benchmarks.many_codes", "--measure", part, str(codes), score]
    environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", default=["ten", "sparse", "dense", "wide"], help=f"some of {', '.join(PARTS)}"
    )
    parser.add_argument("--only", help=f"some of {', '.join(SCORES)}, separated by commas")
    parser.add_argument("--before", type=Path, help="the src folder of an older checkout, for ten codes")
    parser.add_argument("--out", type=Path, help="where to keep the lines that are printed")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        part, codes, score = given.measure
        measure(part, int(codes), score)
        return
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out and given.out.exists() else []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)
        if given.out:
            given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")

    if not lines:
        threads = os.environ.get("OMP_NUM_THREADS", "all")
        say(f"benchmarks/many_codes.py, {os.cpu_count()} cores, {threads} threads, Python {platform.python_version()}")
    for part in given.parts:
        for codes in PARTS[part]:
            for score in given.only.split(",") if given.only else SCORES:
                name = f"{part:<7} {ROWS[part]:>7,} × {codes:>6,}  {score:<15}"
                wanted = score in MEASURED.get(part, set(SCORES) - {"three"})
                if not wanted or any(line.startswith(name) for line in lines):
                    continue
                say(name + described(part, codes, score, given.before))


def described(part: str, codes: int, score: str, before: Path | None) -> str:
    """One measurement in words; of ten codes with that of an older checkout, in turns."""
    turns = range(TURNS if part == "ten" else 1)
    pairs = [(in_a_process(part, codes, score), before and in_a_process(part, codes, score, before)) for _ in turns]
    row = min((new for new, _ in pairs), key=lambda one: one["processor_s"])
    line = f"{row['processor_s']:8.2f} s processor  {1000 * row['processor_s'] / codes:7.2f} ms a code "
    line += f"{row['wall_s']:8.2f} s wall (load {os.getloadavg()[0]:.1f})  {row['peak_gib']:5.2f} GiB  "
    line += ", ".join(f"{value:.6f}" for value in row["found"])
    if part == "ten" and before:
        old = min((old for _, old in pairs if old), key=lambda one: one["processor_s"])
        line = f"{1000 * row['processor_s']:8.1f} ms processor, before {1000 * old['processor_s']:8.1f} ms  "
        line += ", ".join(f"{value:.6f}" for value in row["found"]) + "  before: "
        line += ", ".join(f"{value:.6f}" for value in old["found"])
    return line


if __name__ == "__main__":
    main()
