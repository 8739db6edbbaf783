"""Seconds for MCC, IRS, DCI-ES and InfoMEC of 10,000 rows of ten codes with the five factors of dSprites.

The codes are those of benchmarks/metrics_locatello.py: clean position, scale and shape that share latents, an orientation
that turns on a circle, four collapsed latents. DCI-ES is tested on 5,000 further rows, as protocols do. Wall time depends on
what else the machine does; processor time, summed over threads, much less.

Run: OMP_NUM_THREADS=1 python -m benchmarks.later_metrics [--out FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.metrics_locatello import TEST, TRAIN, points
from hackle.metrics import dci_es_scores, infomec_scores, irs_score, mcc_score

KINDS = ("categorical", "ordinal", "cyclic", "ordinal", "ordinal")
LIMIT = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to keep the lines that are printed")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    (codes, factors), test = points(TRAIN, rng), points(TEST, rng)
    named: dict[str, Any] = {"kinds": KINDS}
    scores: dict[str, Callable[[], Any]] = {
        "mcc, Pearson and Spearman": lambda: [
            mcc_score(codes, factors[:, 1:], correlation=one, kinds=KINDS[1:]) for one in ("pearson", "spearman")
        ],
        "irs, of values and of ranks": lambda: [
            irs_score(codes, factors, ranked=one, **named) for one in (False, True)
        ],
        "dci_es, five scores": lambda: dci_es_scores(codes, factors, test=test, **named),
        "infomec, three scores": lambda: infomec_scores(codes, factors, **named),
    }
    mcc_score(codes[:100], factors[:100], kinds="ordinal")  # imports and thread pools
    lines, wall, processor = [f"{TRAIN:,} × {codes.shape[1]} codes, {factors.shape[1]} factors"], 0.0, 0.0
    for name, score in scores.items():
        started = time.perf_counter(), time.process_time()
        found = score()
        spent = time.perf_counter() - started[0], time.process_time() - started[1]
        wall, processor = wall + spent[0], processor + spent[1]
        shown = ", ".join(f"{value:.3f}" for value in found)
        lines.append(f"{name:<28} {spent[0]:6.2f} s wall {spent[1]:6.2f} s processor   {shown}")
    verdict = "within" if wall <= LIMIT else "above"
    lines.append(f"{'together':<28} {wall:6.2f} s wall {processor:6.2f} s processor   {verdict} {LIMIT:g} s")
    print("\n".join(lines))
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
