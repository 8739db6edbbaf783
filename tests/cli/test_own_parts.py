"""A method, an architecture, a data set and a preset from a file of one's own, through the command line and back again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
import hackle.objectives
from hackle.core.method import is_method
from hackle.core.parts import KINDS, Parts, name_of
from hackle.core.sources import SourceChanged
from hackle.explorer.catalogue import Catalogue
from hackle.store import read
from hackle.train.model import Model

PARTS = '''
"""Parts of one's own."""

from dataclasses import dataclass, replace

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.core.types import Losses, Run
from hackle.datasets.arrays import ArrayDataset
from hackle.nets import MLP
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.studies import default_run


def loss(nets, step, run):
    found = evidence(nets, step, run)
    return Losses(found.reconstruction + found.kl + run.method.weight * found.means.square().mean(), found.terms)


@dataclass(frozen=True)
class QuietVAE(Autoencoder):
    """A VAE whose means are kept small."""

    name, title, symbol = "quiet-vae", "QuietVAE", "w"

    weight: float = 1.0
    """Weight of the squared means."""

    def phases(self, run):
        return (autoencoder_phase(loss, run),)


@dataclass(frozen=True)
class Quieter(QuietVAE):
    weight: float = 10.0


@dataclass(frozen=True)
class Unfinished(Autoencoder):
    weight: float = 1.0


@dataclass(frozen=True)
class Small(MLP):
    """Few units."""

    widths: tuple[int, ...] = (12,)


TINY = Small((5,))


def spread(codes, factors):
    return float(codes.std())


def dots():
    """A dot at each of 6 × 6 places."""
    grid = FactorGrid([Factor("x", 6), Factor("y", 6)])
    images = np.zeros((36, 16, 16, 1), np.uint8)
    for image, (x, y) in zip(images, grid.rows(np.arange(36)), strict=True):
        image[2 * y : 2 * y + 4, 2 * x : 2 * x + 4] = 255
    return ArrayDataset("dots", images, grid)


def settings(method, dataset, strength=None):
    return Run(QuietVAE(7.0), Small(), dataset, steps=4, batch_size=8, latents=2)


def quiet_and_quieter(seeds=1):
    base = settings("", f"{__file__}:dots")
    return [replace(base, method=QuietVAE(weight), seed=seed) for weight in (1.0, 5.0) for seed in range(seeds)]
'''


def done(*words: str, folder: Path) -> str:
    """What a process of its own says, which knows nothing of the file but what the words say."""
    answer = forked.hackle(*words, folder=folder, forks=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(PARTS)
    return tmp_path


def test_one_of_each_from_a_file_trains_and_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--architecture", "mine.py:Small", "--dataset", "mine.py:dots", "--steps", "4", "--batch-size", "8")
    said = done("train", "mine.py:QuietVAE", *words, "--weight", "3", "--latents", "2", "--out", "run", folder=folder)
    assert "hackle score run --trust" in said
    content = json.loads((folder / "run" / "run.json").read_text())
    assert content["record"]["method"] == {"type": "mine:QuietVAE", "weight": 3.0}
    assert content["record"]["architecture"] == {"type": "mine:Small", "widths": [12]}
    assert content["record"]["dataset"] == "mine.py:dots"
    assert content["sources"].keys() == {"mine:QuietVAE", "mine:Small", "mine.py:dots"}

    refused = forked.hackle("score", "run", "--metrics", "mig", folder=folder)
    assert refused.returncode == 1
    assert "--trust" in refused.stderr
    # Naming the file for its metric is naming what else it defines.
    assert "spread" in done("score", "run", "--metrics", "kl,mine.py:spread", "--fraction", "0.02", folder=folder)
    row = Catalogue(folder).contents.runs.iloc[0]
    assert (row["method"], row["architecture"], row["dataset"]) == ("QuietVAE", "Small", "mine.py:dots")
    assert row["strength"] == 3.0

    (folder / "mine.py").write_text(PARTS + "\n# Changed.\n")
    changed = forked.hackle("show", "run", "--trust", folder=folder)
    assert "traversals.gif" in changed.stdout
    # One line of ours, and not a warning of Python's with a place in the code and the code for programs.
    (told,) = [line for line in changed.stderr.splitlines() if "source of" in line]
    assert told.startswith(
        "hackle: the source of mine:QuietVAE, mine:Small, mine.py:dots has changed since run was trained"
    )
    assert told.endswith("may make another model of it")
    assert "Warning" not in changed.stderr
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.warns(SourceChanged, match=r"mine:QuietVAE, mine:Small, mine.py:dots has changed .*\[source-changed\]"):
        Model.load(folder / "run", trust=True)
    monkeypatch.delitem(sys.modules, "mine")


def test_help_shows_the_options_of_a_method_of_ones_own(folder: Path) -> None:
    said = done("train", "mine.py:QuietVAE", "--help", folder=folder)
    assert "A VAE whose means are kept small." in said
    assert "--weight FLOAT" in said
    assert "Weight of the squared means." in said


def test_a_preset_and_networks_with_settings_from_a_file(folder: Path) -> None:
    words = ("--preset", "mine.py:settings", "--dataset", "mine.py:dots", "--architecture", "mine.py:TINY")
    done("train", "beta-vae", *words, "--steps", "2", "--out", "run", folder=folder)
    record = json.loads((folder / "run" / "run.json").read_text())["record"]
    assert record["method"]["weight"] == 7.0
    assert record["architecture"] == {"type": "mine:Small", "widths": [5]}


def test_a_study_of_ones_own_parts_is_stored_and_reported(folder: Path) -> None:
    words = ("--out", "study", "--metrics", "mig", "--fraction", "0.02", "--workers", "1", "--keep", "all")
    done("study", "run", "mine.py:quiet_and_quieter", *words, folder=folder)
    runs = read(folder / "study").runs
    assert set(runs["status"]) == {"done"}
    assert set(runs["method"]) == {"quiet-vae"}
    assert sorted(runs["strength"]) == [1.0, 5.0]
    assert set(runs["architecture"]) == {"Small"}
    assert all("mine:QuietVAE" in json.loads(sources) for sources in runs["sources"])
    done("report", "study", "--out", "page.html", folder=folder)
    assert "quiet-vae" in (folder / "page.html").read_text()
    assert set(Catalogue(folder / "study").contents.runs["method"]) == {"quiet-vae"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("mine.py:Unfinished",),
            "mine.py:Unfinished is the class Unfinished; expected a method: a frozen dataclass with",
        ),
        (("mine.py:QuietVEA",), "mine.py has no 'QuietVEA'; did you mean QuietVAE"),
        (("nowhere.py:QuietVAE",), "there is no file nowhere.py"),
        (("vae", "--architecture", "mine.py:dots"), "is of type function; expected an architecture"),
        (
            ("vae", "--dataset", "mine.py:TINY"),
            "mine.py:TINY is of type Small; expected a function that returns a data set",
        ),
        (
            ("vae", "--dataset", "mine.py:loss"),
            "mine.py:loss failed: TypeError: loss() missing 3 required",
        ),
        (("vae", "--preset", "mine.py:TINY"), "expected a preset"),
        (("vae", "--architecture", "own"), "--architecture path.py:name"),
    ],
)
def test_what_is_no_such_part_is_refused(folder: Path, words: tuple[str, ...], message: str) -> None:
    answer = forked.hackle("train", *words, "--steps", "1", folder=folder)
    assert answer.returncode == 1
    assert message in " ".join(answer.stderr.split())


def test_a_new_file_in_the_room_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quiet.py").write_text(PARTS)
    monkeypatch.setattr(hackle.objectives, "__path__", [*hackle.objectives.__path__, str(tmp_path)])
    monkeypatch.setitem(KINDS, "method", KINDS["method"])
    found: Parts[Any] = Parts("method", ("hackle.objectives.*",), is_method, name_of=name_of)
    assert {"quiet-vae", "beta-vae", "Quieter"} <= found.keys()
    assert "Unfinished" not in found
    monkeypatch.delitem(sys.modules, "hackle.objectives.quiet")
