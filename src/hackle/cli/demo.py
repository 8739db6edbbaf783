"""`hackle demo`: training to report in minutes on two CPU cores, with nothing to download.

A FactorVAE with the usual networks on regenerated dSprites, on a small budget: few steps at a high learning rate, a
narrow discriminator, and a twentieth of the scoring protocol's points. It learns position and scale, but not the
disentanglement that a long training gives: the page shows that on the trained FactorVAE that comes with hackle.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from hackle.cli.words import Root, print_scores
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.types import Adam, Run
from hackle.datasets import load
from hackle.nets import Convolutional
from hackle.objectives import FactorVAE
from hackle.pictures import show
from hackle.report import write_run_page
from hackle.scoring.models import score
from hackle.scoring.protocol import PROTOCOLS
from hackle.train import fit
from hackle.train.model import Model
from hackle.train.record_files import RECORD, read_record

PROTOCOL = PROTOCOLS["locatello2019"].smaller(0.05)
TRAINED = "factor-vae/dsprites"
"""The model beside the demo's own."""


def demo_run(steps: int) -> Run:
    """The demo's record."""
    method = FactorVAE(
        gamma=10.0,
        discriminator_layers=3,
        discriminator_width=256,
        discriminator_optimiser=Adam(learning_rate=1e-3, beta1=0.5, beta2=0.9),
    )
    return Run(method, Convolutional(hidden=128), steps=steps, optimiser=Adam(learning_rate=1e-3))


def run_demo(
    out: Path, *, root: Path | None = None, steps: int = 1000, overwrite: bool = False
) -> tuple[pd.DataFrame, Path]:
    """Train, score, draw and write the page; an interrupted demo resumes where it stopped. Returns scores and page."""
    folder, run = out / "run", demo_run(steps)
    if overwrite and (folder / RECORD).exists():
        shutil.rmtree(folder)
    elif (folder / RECORD).exists() and record_hash(read_record(folder)[0]) != record_hash(run):
        raise HackleError(
            f"{out} holds a demo with other settings; add --overwrite to start anew, or choose another --out"
        )
    dataset = load(run.dataset, root)
    model = fit(run, out=folder, root=root, resume=True, log_every=50, keep_state=False)
    assert isinstance(model, Model)
    scores = score(model, dataset, protocol=PROTOCOL, progress=True)
    scores.to_json(folder / "scores.json", orient="records", indent=2)
    show(model, dataset, out / "pictures", overwrite=True)
    return scores, write_run_page(model, dataset, scores, out / "index.html", folder=folder, beside=TRAINED)


def demo_command(out: Path = Path("demo"), root: Root = None, steps: int = 1000, overwrite: bool = False) -> None:
    """Train a small FactorVAE on dSprites, score it with every metric that fits, and write pictures and a page.

    Args:
        out: The folder for the run, pictures and page.
        steps: Number of updates.
        overwrite: Start again if the folder holds an earlier demo.
    """
    scores, page = run_demo(out, root=root, steps=steps, overwrite=overwrite)
    print_scores(scores)
    print(f"\nopen {page.resolve()} in a browser")
    print(f"what a trained FactorVAE does: hackle explore {TRAINED}")
