"""A study of seconds that every test of the engine shares, and what it means that two studies gave the same."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.types import Adam, Phase, Run
from hackle.engine import Summary, run_study
from hackle.nets import MLP
from hackle.objectives import VAE, BetaVAE
from hackle.objectives.vae import Autoencoder
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol
from hackle.store import read
from hackle.store.tables import Tables
from train.test_fleet import small_run

TINY = Protocol("tiny", PlanSizes(200, 100, 50, 50, 8, 50, 50, 8), bins=8, posterior_bins=40)
TIMES = ["training_seconds", "scoring_seconds", "finished"]


def write_squares(folder: Path) -> Path:
    """White squares on black as a file, so that every process can load them."""
    rows = np.stack(np.meshgrid(np.arange(4), np.arange(4), np.arange(2), indexing="ij"), axis=-1).reshape(-1, 3)
    images = np.zeros((len(rows), 16, 16, 1), np.uint8)
    for image, (x, y, side) in zip(images, rows, strict=True):
        image[1 + 3 * y : 4 + 3 * y + 2 * side, 1 + 3 * x : 4 + 3 * x + 2 * side] = 255
    np.savez(folder / "squares.npz", images=images, factors=rows)
    return folder / "squares.npz"


def some_runs(data: Path | str, seeds: int = 3, steps: int = 12) -> list[Run]:
    """Two kinds: β-VAEs of two strengths, and VAEs."""
    more = {"architecture": MLP((8,)), "dataset": str(data), "steps": steps}
    return [small_run(method, seed, **more) for method in (BetaVAE(1.0), BetaVAE(4.0), VAE()) for seed in range(seeds)]


def study(runs: list[Run], out: Path, **options: Any) -> Summary:
    """The study in this process, unless workers are asked for."""
    given = {"workers": 0, "fleet_size": 2, "device": "cpu", "metrics": "mig,kl", "progress": False, **options}
    return run_study(runs, out, protocols=[TINY], **given)


def assert_same(first: Path | Tables, second: Path | Tables) -> None:
    """The same rows in all tables, but for what a clock said."""
    left, right = (read(found) if isinstance(found, Path) else found for found in (first, second))
    pd.testing.assert_frame_equal(left.scores.drop(columns="seconds"), right.scores.drop(columns="seconds"))
    pd.testing.assert_frame_equal(left.runs.drop(columns=TIMES), right.runs.drop(columns=TIMES))
    order = ["run", "step"]
    for term in ("kl", "reconstruction", "kl_per_latent_2"):
        one, two = (
            found.curve(term).astype({"run": str}).sort_values(order).reset_index(drop=True) for found in (left, right)
        )
        assert len(one)
        pd.testing.assert_frame_equal(one, two)
    for name in ("codes", "informativeness", "mutual_information"):
        one, two = left.array(name), right.array(name)
        assert one.keys() == two.keys() != set()
        assert all(np.array_equal(one[run], two[run]) for run in one)


def diverging(data: Path | str) -> Run:
    """A run whose first step throws it out of the finite numbers."""
    return small_run(VAE(), 99, dataset=str(data), steps=12, optimiser=Adam(learning_rate=1e30))


@dataclass(frozen=True)
class Unlucky(Autoencoder):
    """A VAE whose worker meets with an accident so many times, each noted in a folder, before it trains as it should."""

    notes: str
    accident: str
    times: int = 1

    def networks(self, run: Run, shape: tuple[int, int, int]) -> Any:
        notes = Path(self.notes)
        count = len(list(notes.glob("*")))
        if count < self.times:
            (notes / str(count)).touch()
            ACCIDENTS[self.accident]()
        return super().networks(run, shape)

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return VAE().phases(run)


def _hang() -> None:
    import time

    time.sleep(3600)


def _die() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def _fail() -> None:
    raise RuntimeError("a cosmic ray")


ACCIDENTS = {"hang": _hang, "die": _die, "fail": _fail}


def main() -> None:
    """For tests that kill the driver: the study of a data file into a folder."""
    data, out, workers = sys.argv[1:4]
    options = {"checkpoint_seconds": 0.0} if workers == "1" else {}
    study(some_runs(data), Path(out), workers=int(workers), **options)


if __name__ == "__main__":
    main()
