"""A folder that someone sent runs no command and imports no module, whatever reads it."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import Visitor, calling, commanding, good_folder, importing, small

import hackle
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.report.kept_pictures import with_pictures
from hackle.store import Store, read
from hackle.train.model import Model
from made_up_outcomes import made_up, made_up_scores

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from hackle.explorer import create_app

Make = Callable[[Path], Path]


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that is there once a folder's code has run."""
    return tmp_path / "code has run"


@pytest.fixture(params=["command", "module", "data set"])
def hostile(request: Any, tmp_path: Path, mark: Path, monkeypatch: Any) -> Iterator[Make]:
    monkeypatch.syspath_prepend(tmp_path / "modules")
    if request.param == "command":
        yield lambda folder: commanding(folder, mark)
    elif request.param == "module":
        yield lambda folder: importing(folder, mark, tmp_path / "modules")
    else:
        yield lambda folder: calling(folder, mark, tmp_path / "modules")
    sys.modules.pop("hostile_module", None)
    sys.modules.pop("hostile_data", None)


def run_main(words: str) -> None:
    with pytest.raises(SystemExit):
        main(words.split())


@pytest.mark.parametrize(
    "words",
    [
        "show {}",
        "score {}",
        "train --resume --out {}",
        "train beta-vae --resume --out {}",
        "explore {}/nowhere",
    ],
)
def test_the_command_line_runs_nothing(hostile: Make, mark: Path, tmp_path: Path, words: str) -> None:
    run_main(words.format(hostile(tmp_path / "run")))
    assert not mark.exists()


def test_python_runs_nothing(hostile: Make, mark: Path, tmp_path: Path) -> None:
    folder = hostile(tmp_path / "run")
    for reader in (
        lambda: Model.load(folder),
        lambda: hackle.show(folder),
        lambda: hackle.score(folder, "rooms3d"),
        lambda: hackle.fit(small(), out=folder, resume=True, progress=False),
    ):
        with pytest.raises(HackleError):
            reader()
        assert not mark.exists()


def test_tables_of_results_run_nothing(hostile: Make, mark: Path, tmp_path: Path) -> None:
    hostile(tmp_path / "runs" / "bad")
    good_folder(tmp_path / "runs" / "good", seed=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "left out")
        assert 1 in hackle.results(tmp_path / "runs")["seed"].unique()
    assert not mark.exists()


def test_the_explorer_runs_nothing(hostile: Make, mark: Path, tmp_path: Path) -> None:
    hostile(tmp_path / "runs" / "run")
    client = Visitor(create_app(tmp_path / "runs"))
    (identifier,) = client.identifiers()
    assert client.get(f"/api/runs/{identifier}").status_code == 200
    for place in ("model", "thumbnail.png", "captured", "importance"):
        assert client.get(f"/api/runs/{identifier}/{place}").status_code == 409
    assert client("POST", f"/api/runs/{identifier}/decode", json={"z": [[0, 0]]}).status_code == 409
    assert client.get(f"/api/runs/{identifier}/curves").status_code == 200
    assert not mark.exists()


def test_a_studys_folder_runs_nothing(hostile: Make, mark: Path, tmp_path: Path, capsys: Any) -> None:
    run = small(dataset=str(tmp_path / "data.npz"))
    np.savez(tmp_path / "data.npz", images=np.zeros((8, 16, 16), np.uint8), factors=np.arange(8))
    with Store.create_or_open(tmp_path / "study", "trial") as store:
        store.add(replace(made_up(0), run=run))
    folder = tmp_path / "study" / "runs" / record_hash(run)
    hostile(folder)
    shutil.copytree(folder, tmp_path / "study" / "runs" / "0123456789abcdef")
    main(["study", "status", str(tmp_path / "study")])
    assert "1 done" in capsys.readouterr().out
    main(["report", str(tmp_path / "study")])
    with pytest.warns(UserWarning, match="there are no pictures of the run"):
        assert list(with_pictures(read(tmp_path / "study"), tmp_path / "study").array("traversals")) == []
    client = Visitor(create_app(tmp_path / "study"))
    assert client.get("/api/runs").json()["count"] == 2
    assert client.get(f"/api/runs/{record_hash(run)}/thumbnail.png").status_code == 409
    assert not mark.exists()


def test_a_stored_protocols_name_is_not_imported(mark: Path, tmp_path: Path, monkeypatch: Any) -> None:
    study = tmp_path / "study"
    with Store.create_or_open(study, "trial") as store:
        for seed, name in enumerate(("quick@hostile.py:x@3", "quick@hostile:x@3")):
            store.add(made_up(seed, scores=made_up_scores(protocol=name)))
    (study / "quick@hostile.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.chdir(study)
    monkeypatch.syspath_prepend(study)
    main(["report", "."])
    assert not mark.exists()


def test_a_stored_protocol_of_an_odd_number_is_reported(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path, "trial") as store:
        for seed, odd in enumerate(("\u00b2", "9" * 5_000, "x", "")):
            store.add(made_up(seed, scores=made_up_scores(protocol=f"quick@{odd}")))
    main(["report", str(tmp_path)])
