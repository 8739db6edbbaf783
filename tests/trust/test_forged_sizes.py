"""Small folders that would take any amount of memory or time."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import SCORES, SHAPE, Visitor, good_folder, small

import hackle
from hackle.cli.main import main
from hackle.figures import words
from hackle.nets import MLP, Adversarial
from hackle.objectives import FactorVAE, InfoWGANGP
from hackle.report import run_page
from hackle.report.run_page import curves_figure
from hackle.train.model import Model
from hackle.train.record_files import ModelError, write_record

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from hackle.explorer import create_app
from hackle.explorer.listing import MOST_SCORES


def test_weights_that_do_not_fit_into_memory_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = sum(value.numel() for value in Model.load(good_folder(tmp_path / "run")).weights().values())
    monkeypatch.setattr("hackle.train.model.available_memory", lambda: 8 * numbers)
    Model.load(tmp_path / "run")
    monkeypatch.setattr("hackle.train.model.available_memory", lambda: 8 * numbers - 1)
    monkeypatch.setattr("hackle.train.model.load_tensors", None)
    with pytest.raises(ModelError, match=r"its weights take .* of memory, and .* are free"):
        Model.load(tmp_path / "run")


def test_a_model_whose_layers_do_not_fit_into_memory_is_no_error_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(*_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 13107200000 bytes")

    visitor = Visitor(create_app(good_folder(tmp_path / "run")))
    monkeypatch.setattr(Model, "encode", encode)
    answer = visitor.get(f"/api/runs/{visitor.identifiers()[0]}/model")
    assert answer.status_code == 409
    assert "more memory for a single image" in answer.json()["detail"]


def test_the_list_has_a_bounded_number_of_scores(tmp_path: Path) -> None:
    many = [{**SCORES[0], "metric": f"m{number}"} for number in range(MOST_SCORES + 50)]
    (good_folder(tmp_path / "bad") / "scores.json").write_text(json.dumps(many + SCORES))
    two = [{**SCORES[0], "metric": "m430"}, {**SCORES[0], "metric": "kl"}]
    (good_folder(tmp_path / "good", seed=1) / "scores.json").write_text(json.dumps(two))
    columns = Visitor(create_app(tmp_path)).get("/api/runs").json()["columns"]
    shown = [column["key"] for column in columns if column["kind"] == "score"]
    assert len(shown) == MOST_SCORES
    assert shown[:2] == [name for name in words.COMPARED if name in ("mig", "kl")]
    assert "m430" in shown, "scores that several runs have come before those of one"


def test_a_table_of_results_reads_no_code_that_a_record_names(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    good_folder(tmp_path / "runs" / "bad", dataset=f"{source}:data")
    good_folder(tmp_path / "runs" / "good", seed=1)
    source.touch()
    os.truncate(source, 2**43)  # of zeros, which take no place on the disk
    assert sorted(hackle.results(tmp_path / "runs")["seed"]) == [0, 1]


def test_curves_of_any_number_of_terms_are_drawn_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "MOST_TERMS", 2)
    names = [f"term{number}" for number in range(7)]
    rows = np.ones((2, 8), int).astype(str).tolist()
    table = "\n".join(",".join(row) for row in [["step", *names], *rows])
    (tmp_path / "curves.csv").write_text(f"{table}\n")
    figure = curves_figure(tmp_path)
    assert figure is not None
    assert [panel.get_title() for panel in figure.axes] == names[:2]
    for none in ("step\n1\n", "step,kl_0\n1,2\n"):
        (tmp_path / "curves.csv").write_text(none)
        assert curves_figure(tmp_path) is None


def resume(folder: Path) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--resume", "--out", str(folder)])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"latents": 10**9}, "the networks of this run take .* of memory to train"),
        ({"architecture": MLP((2**24, 2**24))}, "the networks of this run take .* of memory to train"),
    ],
    ids=["latents", "widths"],
)
def test_networks_that_do_not_fit_are_not_built_to_resume_a_run(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path, small(**changes), (64, 64, 3))
    resume(tmp_path)
    assert re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "checkpoint.safetensors").exists()


def test_a_step_has_a_bounded_number_of_updates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = small(method=InfoWGANGP(), architecture=Adversarial())
    write_record(tmp_path, run, (64, 64, 3))
    text = json.loads((tmp_path / "run.json").read_text())
    text["record"]["method"]["critic_updates"] = 10**9
    (tmp_path / "run.json").write_text(json.dumps(text))
    resume(tmp_path)
    assert "expected 1 to 1,000" in capsys.readouterr().err


def test_networks_that_weights_leave_out_must_fit_into_memory(tmp_path: Path) -> None:
    """They are built with the others."""
    folder = Model(small(method=FactorVAE(2.0)), SHAPE).save(tmp_path / "run", compact=True)
    Model.load(folder)
    text = json.loads((folder / "run.json").read_text())
    text["record"]["method"]["discriminator_width"] = 2**24
    (folder / "run.json").write_text(json.dumps(text))
    with pytest.raises(ModelError, match=r"its weights take .* of memory, and .* are free"):
        Model.load(folder)
