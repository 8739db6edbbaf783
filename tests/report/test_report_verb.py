"""`hackle report` on a stored study, with pictures of the runs whose weights were kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hackle
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.figures import FIGURES
from hackle.nets import Split
from hackle.objectives import VAE
from hackle.report import kept_pictures, with_pictures
from hackle.store import Store, read
from hackle.store.tables import Outcome
from hackle.studies.presets import preset
from hackle.train.model import Model
from train.test_fleet import small_run


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """VAEs on dSprites with both encoders, two seeds each, and one that failed."""
    row = {"metric": "mig", "representation": "mean", "better": "higher", "reference": 0.9, "protocol": "locatello2019"}
    row |= {"low": np.nan, "high": np.nan, "seed": 0, "seconds": 0.1, "note": ""}
    vanilla = preset("locatello2019", "vae", "dsprites")
    with Store.create_or_open(tmp_path / "study", study="split-encoder") as store:
        for seed in range(2):
            for mig, run in ((0.1, vanilla), (0.3, replace(vanilla, architecture=Split()))):
                arrays = {"mutual_information": np.eye(10, 5)}
                store.add(
                    Outcome(replace(run, seed=seed), "done", scores=[{**row, "score": mig + seed / 100}], arrays=arrays)
                )
        store.add(Outcome(replace(vanilla, seed=2), "failed", "step 7: kl is not finite"))
    return tmp_path / "study"


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(["report", *words])
    assert end.value.code == 1
    return " ".join(capsys.readouterr().err.split())


def test_a_page_and_files_of_a_study(study: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["report", str(study), "--figures-to", str(tmp_path / "figures"), "--no-pictures"])
    text = (study / "report.html").read_text(encoding="utf-8")
    assert 'id="split-encoder-figure-3"' in text
    assert "step 7: kl is not finite" in text
    assert f"hackle claims {study}" in text
    assert str(study / "report.html") in capsys.readouterr().out.replace("\n", "")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {f"split-encoder-figure-{number}.{kind}" for number in (2, 3, 5) for kind in ("pdf", "svg", "png")}


def test_what_is_there_is_not_overwritten(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "report.html").write_text("mine")
    assert "add --overwrite to replace it" in failure(capsys, str(study))
    assert (study / "report.html").read_text() == "mine"
    main(["report", str(study), "--overwrite", "--paper", "yang2020", "--no-pictures"])
    assert "split-encoder-figure" not in (study / "report.html").read_text(encoding="utf-8")


def test_mistakes_are_explained(study: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no paper 'kim'" in failure(capsys, str(study), "--paper", "kim")
    assert "holds no results" in failure(capsys, str(tmp_path))


def test_runs_with_kept_weights_are_pictured(study: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = replace(preset("locatello2019", "vae", "dsprites"), architecture=Split(), seed=1)
    Model(small_run(VAE()), squares.shape).save(study / "runs" / record_hash(run))
    monkeypatch.setattr(kept_pictures, "load", lambda name, root: squares)
    tables = with_pictures(read(study), study)
    pictures = tables.array("traversals")
    assert list(pictures) == [record_hash(run)]
    assert pictures[record_hash(run)].shape == (3, 11, 16, 16, 1)
    assert pictures[record_hash(run)].dtype == np.uint8
    assert tables.array("pair-maps")[record_hash(run)].shape == (3, 9, 9, 16, 16, 1)
    assert tables.array("samples")[record_hash(run)].shape == (8, 8, 16, 16, 1)
    assert tables.array("latents")[record_hash(run)].shape == (3, 4)
    chart = FIGURES["split-encoder-figure-5"](tables)
    shown = [panel for panel in chart.panels if panel.picture is not None]
    assert [panel.title for panel in shown] == ["VAE, split encoder"]
    (traversed,) = shown
    # Originals, reconstructions and three latents; tiles of 16 pixels with gaps of two.
    assert traversed.picture is not None
    assert traversed.picture.shape == (5 * 18 + 2, 11 * 18 + 2, 3)
    assert traversed.y.ticks[:2] == ("original", "decoded")
    assert sorted(name[:2] for name in traversed.y.ticks[2:]) == ["z0", "z1", "z2"]
    assert (traversed.x.ticks[0], traversed.x.ticks[-1]) == ("−2", "2")
    assert "VAE, convolutional encoder: no traversals" in " ".join(chart.missing)
    assert tables.array("mutual_information").keys() == read(study).array("mutual_information").keys()


def test_models_that_come_with_hackle_are_pictured() -> None:
    tables = with_pictures(read("hackle-2026"), "hackle-2026")
    run = hackle.load_model("beta-vae/dsprites").run
    assert tables.array("latents")[record_hash(run)].shape == (run.latents, 4)
    panels = {panel.title: panel for panel in FIGURES["kim2018-figure-6"](tables, judged={}).panels}
    (panel,) = [panel for title, panel in panels.items() if title.startswith("β-VAE β = 16, seed 0, FactorVAE score")]
    assert any(title.startswith("FactorVAE γ = 40, seed 2, FactorVAE score") for title in panels)
    assert panel.picture is not None
    assert panel.picture.shape == (12 * 66 + 2, 11 * 66 + 2, 3)


def test_a_data_set_that_is_not_here_leaves_the_pictures_out(
    study: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = preset("locatello2019", "vae", "dsprites")
    Model(small_run(VAE()), squares.shape).save(study / "runs" / record_hash(run))

    def absent(name: str, root: object) -> None:
        raise HackleError(f"{name} is not here")

    monkeypatch.setattr(kept_pictures, "load", absent)
    pictures = with_pictures(read(study), study).array("traversals")
    assert len(pictures) == 0
    with pytest.raises(KeyError):
        pictures[record_hash(run)]
