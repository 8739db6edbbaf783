"""The page of 12,600 runs with 60 scores each: how long `hackle report` takes, and how large its page is.

Runs are those of Locatello et al. 2019; scores, curves (4 terms of 200 points) and arrays are made up and stored as a study
would. The time is that of the command itself, in a process of its own: reading, judging every claim, drawing every figure.

Run: python benchmarks/report.py [--runs 12600] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hackle.core.types import Run
from hackle.papers.locatello2019.study import locatello2019
from hackle.store import FILE, Store
from hackle.store.tables import Outcome

CODES = (
    *("beta_vae", "factor_vae", "mig", "sap", "dci_disentanglement", "dci_completeness", "dci_informativeness"),
    *("modularity", "explicitness", "gaussian_tc", "efficiency_logistic_cv", "efficiency_gbt"),
    *(f"downstream_{kind}_{size}" for kind in ("logistic_cv", "gbt") for size in (10, 100, 1000, 10000)),
)
POSTERIOR = (
    *("informativeness_mean", "total_information", "sepin@3", "wsepin", "indin@3", "windin", "rmig", "jemmig"),
    *(
        "posterior_modularity",
        "posterior_mig",
        "misjed",
        "monte_carlo_tc",
        "kl",
        "active_units",
        "reconstruction",
        "elbo",
    ),
    *("iwae", "batch_tc", "sampled_rmig", "sampled_jemmig"),
)
TERMS = ("reconstruction", "kl", "total_correlation", "discriminator_accuracy")
POINTS = 200


def outcome(run: Run, number: int) -> Outcome:
    """A run's results as a study would have them."""
    rng = np.random.default_rng(number)
    nan = float("nan")
    names = [(metric, kind) for metric in CODES for kind in ("mean", "sampled")] + [
        (metric, "posterior") for metric in POSTERIOR
    ]
    level = rng.random()
    scores = [
        {
            "metric": metric,
            "representation": kind,
            "score": float(np.clip(level + rng.normal(0, 0.1), 0, 1)),
            "reference": 0.9,
            "low": nan,
            "high": nan,
            "better": "higher",
            "protocol": "locatello2019",
            "seed": 0,
            "seconds": 0.1,
            "note": "",
        }
        for metric, kind in names
    ]
    curves = {"step": np.arange(1, POINTS + 1) * 1500}
    curves |= {term: rng.random(POINTS) for term in TERMS}
    arrays = {
        "codes": rng.normal(size=(512, 10)).astype(np.float32),
        "informativeness": rng.random(10),
        "mutual_information": rng.random((10, 5)),
    }
    return Outcome(run, "done", scores=scores, curves=curves, arrays=arrays, device="cpu", training_seconds=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12_600)
    parser.add_argument("--folder", type=Path, default=None, help="keep the store there, and use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / FILE).is_file():
            with Store.create_or_open(folder, "locatello2019") as store:
                for number, run in enumerate(locatello2019()[: options.runs]):
                    store.add(outcome(run, number))
        page = Path(temporary) / "report.html"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        load = os.getloadavg()[0]
        started = time.perf_counter()
        verb = "from hackle.cli.main import main; main()"
        command = [sys.executable, "-c", verb, "report", str(folder), "--out", str(page)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = {
            "benchmark": "report",
            "runs": options.runs,
            "scores": options.runs * (2 * len(CODES) + len(POSTERIOR)),
            "seconds": round(seconds, 1),
            "seconds of all cores": round(used.ru_utime + used.ru_stime, 1),
            "megabytes": round(page.stat().st_size / 1e6, 1),
            "peak gigabytes": round(used.ru_maxrss / 1e6, 2),
            "cores": os.cpu_count(),
            "load before": round(load, 1),
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
