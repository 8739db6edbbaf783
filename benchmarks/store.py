"""The results of 12,600 runs with 60 scores each: size of the file, and how long reading and resuming take.

Runs are those of Locatello et al. 2019; scores, curves (12 terms of 200 points) and codes (512 × 10) are made up. Written in
one process, each run in its own transaction, as a study does.

Run: python benchmarks/store.py [--runs 12600] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.papers.locatello2019.study import locatello2019
from hackle.store import FILE, Store, read
from hackle.store.tables import Outcome

SCORES, TERMS, POINTS = 60, 12, 200


def outcome(run: Run, number: int) -> Outcome:
    """A run's results as a study would have them."""
    rng = np.random.default_rng(number)
    nan = float("nan")
    scores = [
        {
            "metric": f"metric_{metric // 2}",
            "representation": ("mean", "sampled")[metric % 2],
            "score": float(rng.random()),
            "reference": 0.9,
            "low": nan,
            "high": nan,
            "better": "higher",
            "protocol": "locatello2019",
            "seed": 0,
            "seconds": float(rng.random()),
            "note": "",
        }
        for metric in range(SCORES)
    ]
    curves = {"step": np.arange(1, POINTS + 1) * 1500}
    curves |= {f"term_{term}": rng.random(POINTS) for term in range(TERMS)}
    arrays = {
        "codes": rng.normal(size=(512, 10)).astype(np.float32),
        "informativeness": rng.random(10),
        "mutual_information": rng.random((10, 5)),
    }
    return Outcome(run, "done", scores=scores, curves=curves, arrays=arrays, device="cpu", training_seconds=1.0)


def timed(label: str, action: Callable[[], Any], results: dict[str, Any]) -> Any:
    started, busy = time.perf_counter(), time.process_time()
    found = action()
    results[label] = round(time.perf_counter() - started, 3)
    results[f"{label}, of a core"] = round(time.process_time() - busy, 3)
    print(f"{label:40} {results[label]:8.3f} ({results[f'{label}, of a core']:.3f} of a core)", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12_600)
    parser.add_argument("--folder", type=Path, default=None, help="keep the store there, and use the one that is there")
    options = parser.parse_args()
    results: dict[str, Any] = {"runs": options.runs, "scores per run": SCORES}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        runs = locatello2019()[: options.runs]
        if not (folder / FILE).is_file():
            made = [outcome(run, number) for number, run in enumerate(runs[:200])]
            with Store.create_or_open(folder, "locatello2019") as store:
                timed("seconds to add 200 runs", lambda: [store.add(one) for one in made], results)
                for number, run in enumerate(runs[200:], 200):
                    store.add(outcome(run, number))
        results["megabytes"] = round((folder / FILE).stat().st_size / 1e6)
        print(f"{'megabytes':40} {results['megabytes']:8}")

        def resume() -> int:
            with Store.create_or_open(folder, "locatello2019") as store:
                store.check()
                known = store.known()
            return sum(record_hash(run) not in known for run in runs)

        assert timed("seconds to check and resume when done", resume, results) == 0
        tables = timed("seconds to read the tables", lambda: read(folder), results)
        assert len(tables.scores) == options.runs * SCORES
        timed(
            "seconds for means by group and metric",
            lambda: tables.scores.groupby(["dataset", "method", "strength", "metric"], observed=True)["score"].mean(),
            results,
        )
        timed(
            "seconds for a pivot of runs × metrics",
            lambda: tables.scores[tables.scores["representation"] == "mean"].pivot(
                index="run", columns="metric", values="score"
            ),
            results,
        )
        timed("seconds for one term's curves", lambda: tables.curve("term_3"), results)
        timed("seconds for every run's codes", lambda: tables.array("codes"), results)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
