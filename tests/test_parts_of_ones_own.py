"""One file with a part of each kind goes through the command line and is found wherever built-in parts are.

A method, an architecture, a data set, a metric, a protocol, a study, a claim and a figure of one's own: trained, scored,
stored, judged, drawn and listed.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

import forked
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing
from hackle.train.model import Model
from hackle.train.record_files import ModelError, peek_record

PARTS = '''
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from hackle import Run
from hackle.claims import Claim, Region, Stratum
from hackle.claims.measures import value
from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.figures import Exhibit, Runs, panels
from hackle.figures.panels import swarm
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.core.types import Losses
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol


def my_loss(nets, step, run):
    found = evidence(nets, step, run)
    return Losses(found.reconstruction + run.method.warmth * found.kl, found.terms)


@dataclass(frozen=True)
class WarmVAE(Autoencoder):
    """A VAE with a weight called warmth."""

    warmth: float = 2.0

    def phases(self, run):
        return (autoencoder_phase(my_loss, run),)


class Flat(nn.Module):
    def __init__(self, inputs, outputs, shape=None):
        super().__init__()
        self.layer, self.shape = nn.Linear(inputs, outputs), shape

    def forward(self, values):
        out = self.layer(values.flatten(1))
        return out.unflatten(1, self.shape) if self.shape else out.chunk(2, dim=1)


@dataclass(frozen=True)
class Tiny:
    """One linear layer each way."""

    def encoder(self, shape, latents):
        return Flat(int(np.prod(shape)), 2 * latents)

    def decoder(self, shape, latents):
        return Flat(latents, int(np.prod(shape)), tuple(shape))


def bars():
    """Bars of four heights at four places."""
    grid = FactorGrid([Factor("height", 4), Factor("place", 4)])
    rows = grid.rows(np.arange(len(grid)))
    images = np.zeros((len(grid), 16, 16, 1), np.uint8)
    for image, (height, place) in zip(images, rows):
        image[: 4 * (height + 1), 4 * place : 4 * place + 3] = 255
    return ArrayDataset("bars", images, grid)


def spread(codes, factors):
    """How far codes vary."""
    return float(np.std(codes))


small = Protocol("small", PlanSizes(60, 30, 20, 10, 4, 20, 10, 4), bins=4, posterior_bins=20)


def base(steps=4):
    return Run(WarmVAE(), Tiny(), dataset=DATA, steps=steps, batch_size=8, latents=3)


def study(seeds=2, steps=4):
    return [replace(base(steps), seed=seed) for seed in range(seeds)]


varies = Claim(
    "codes-vary", "lab-notes", "Monday", "Codes vary.", "standard deviation of codes", Region(low=0.0), value("spread"),
    (Stratum("bars", ({"method": "WarmVAE", "dataset": DATA, "architecture": "Tiny", "latents": 3},)),),
    study="my_parts.py:study",
)
how_far = Exhibit(
    "lab-notes", "Figure 1", "How far codes vary", "The standard deviation of codes.",
    Runs(("spread",), {"dataset": DATA, "method": "WarmVAE", "architecture": "Tiny", "latents": 3}, protocol="small"),
    ((panels(swarm, "spread", "method"),),), claims=("lab-notes.codes-vary",),
)
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the file of parts lies, and everything that comes of it."""
    place = tmp_path_factory.mktemp("own")
    (place / "my_parts.py").write_text(PARTS.replace("DATA", '"my_parts.py:bars"'))
    hackle(place, "study", "run", "my_parts.py:study", "--out", "study", "--metrics", "mig,kl,my_parts.py:spread",
           "--protocols", "my_parts.py:small", "--device", "cpu", "--workers", "1", "--keep", "all")  # fmt: skip
    return place


def hackle(place: Path, *words: str, code: int = 0) -> str:
    """What a command prints, run where the file lies."""
    done = forked.hackle(*words, folder=place, HACKLE_DATA=str(place / "data"), COLUMNS="200")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_a_study_of_them_is_stored_with_the_metric(folder: Path) -> None:
    hackle(folder, "study", "export", "study", "--csv")
    scores = (folder / "study" / "csv" / "scores.csv").read_text()
    assert "WarmVAE" in scores
    assert "spread" in scores
    assert "small" in scores


def test_a_run_is_trained_and_scored_by_name(folder: Path) -> None:
    hackle(folder, "train", "my_parts.py:WarmVAE", "--architecture", "my_parts.py:Tiny", "--dataset", "my_parts.py:bars",
           "--warmth", "3", "--steps", "3", "--batch-size", "8", "--latents", "3", "--out", "run")  # fmt: skip
    said = hackle(
        folder, "score", "run", "--metrics", "mig,my_parts.py:spread", "--protocol", "my_parts.py:small", "--trust"
    )
    assert "spread" in said
    assert {row["metric"] for row in json.loads((folder / "run" / "scores.json").read_text())} == {"mig", "spread"}


def test_the_claim_is_judged_and_the_page_shows_it(folder: Path) -> None:
    assert "codes-vary" in hackle(folder, "claims", "study", "--claims", "my_parts.py", "--paper", "lab-notes")
    hackle(folder, "report", "study", "--claims", "my_parts.py", "--figures", "my_parts.py:how_far", "--no-pictures")
    page = (folder / "study" / "report.html").read_text()
    assert "Codes vary." in page
    assert "lab-notes" in page
    assert "How far codes vary" in page
    assert 'id="lab-notes-figure-1"' in page


def test_the_explorer_lists_the_runs_with_their_parts_and_scores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing a folder imports nothing, and a run of classes of one's own is opened only by those who trust it."""
    monkeypatch.chdir(folder)
    catalogue = Catalogue(folder / "study")
    assert "my_parts" not in sys.modules
    runs = catalogue.contents.runs
    assert set(zip(runs["method"], runs["architecture"], runs["dataset"], strict=True)) == {
        ("WarmVAE", "Tiny", "my_parts.py:bars")
    }
    scores = {(row["metric"], row["protocol"]) for row in catalogue.scores(runs["id"][0])}
    assert ("spread", "small") in scores
    listed = gzip.decompress(Listing(catalogue).answer()[1]).decode()
    assert "spread" in listed
    kept = sorted((folder / "study" / "runs").iterdir())
    run, _ = peek_record(kept[0])
    assert type(run.method).__name__ == "WarmVAE"
    with pytest.raises(ModelError, match="trust"):
        Model.load(kept[0])
