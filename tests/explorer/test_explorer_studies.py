"""A study's folder: stored results, kept weights, runs still training, failed runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from explorer_fixtures import columns_of

from hackle.core.records import record_hash
from hackle.explorer import create_app
from hackle.explorer.catalogue import Catalogue, CatalogueError
from hackle.store import Store
from hackle.train.model import Model
from made_up_outcomes import made_up


@pytest.fixture
def study(tmp_path: Path, served: Path) -> Path:
    kept = Model.load(served / "beta")
    with Store.create_or_open(tmp_path / "study", "trial") as store:
        store.add(made_up(0, "beta-vae"))
        # A folder that is left of a run whose weights were not kept.
        (tmp_path / "study" / "runs" / record_hash(made_up(0, "beta-vae").run)).mkdir(parents=True)
        store.add(made_up(1, "factor-vae", status="failed", reason="kl was not finite at step 3", scores=[]))
        store.add(replace(made_up(2), run=kept.run))
    shutil.copytree(served / "beta", tmp_path / "study" / "runs" / record_hash(kept.run))
    shutil.copytree(served / "training", tmp_path / "study" / "runs" / "0123456789abcdef")
    return tmp_path / "study"


def listed(client: httpx.Client) -> dict[str, dict[str, Any]]:
    columns = columns_of(client.get("/api/runs").json())
    names = list(columns)
    return {row[names.index("id")]: dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)}


def test_a_study_lists_what_is_stored_and_what_still_trains(study: Path, served: Path, visit: Any) -> None:
    client = visit(create_app(study))
    rows = listed(client)
    assert sorted(row["status"] for row in rows.values()) == ["done", "failed", "scores only", "training"]
    kept = next(row for row in rows.values() if row["status"] == "done")
    assert kept["id"] == record_hash(Model.load(served / "beta").run)
    assert kept["metric_0"] == pytest.approx(made_up(2).scores[0]["score"], abs=1e-4)
    assert client.post(f"/api/runs/{kept['id']}/decode", json={"z": [[0, 0, 0]]}).status_code == 200


def test_runs_without_weights_keep_scores_curves_and_record(study: Path, visit: Any) -> None:
    client = visit(create_app(study))
    rows = listed(client)
    bare = next(row["id"] for row in rows.values() if row["status"] == "scores only")
    run = client.get(f"/api/runs/{bare}").json()
    assert run["record"]["method"]["type"] == "BetaVAE"
    assert len(run["scores"]) == 8
    curves = client.get(f"/api/runs/{bare}/curves").json()["curves"]
    assert curves["step"] == list(range(100, 1100, 100))
    assert curves["kl"] == pytest.approx(made_up(0).curves["kl"], rel=1e-6)
    refused = client.get(f"/api/runs/{bare}/model")
    assert refused.status_code == 409
    assert "were not kept" in refused.json()["detail"]
    failed = next(row["id"] for row in rows.values() if row["status"] == "failed")
    assert "kl was not finite" in client.get(f"/api/runs/{failed}/model").json()["detail"]


def test_a_run_beside_the_stored_ones_keeps_the_scores_of_its_folder(study: Path, served: Path) -> None:
    shutil.copytree(served / "plain", study / "runs" / "extra")
    catalogue = Catalogue(study)
    extra = next(run for run, folder in catalogue.contents.folders.items() if folder.name == "extra")
    assert {row["metric"]: row["score"] for row in catalogue.scores(extra)} == {"mig": 0.75, "kl": 3.5}
    stored = record_hash(Model.load(served / "beta").run)
    assert len(catalogue.scores(stored)) == len(made_up(2).scores)


def test_the_list_follows_the_store(study: Path, visit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackle.explorer.catalogue.PATIENCE", -1.0)
    client = visit(create_app(study))
    before = client.get("/api/runs").headers["etag"]
    with Store.create_or_open(study) as store:
        store.add(made_up(9))
    assert client.get("/api/runs").headers["etag"] != before
    assert len(listed(client)) == 5


def test_one_run_and_a_demo_folder_are_understood(served: Path, tmp_path: Path) -> None:
    shutil.copytree(served / "beta", tmp_path / "demo" / "run")
    shutil.move(tmp_path / "demo" / "run" / "scores.json", tmp_path / "demo" / "scores.json")
    catalogue = Catalogue(tmp_path / "demo")
    (identifier,) = catalogue.contents.folders
    assert [row["metric"] for row in catalogue.scores(identifier)] == ["mig", "kl"]
    alone = Catalogue(tmp_path / "demo" / "run")
    assert list(alone.contents.runs["name"]) == ["run"]
    # Scores in a folder above the served one are outside of it.
    (identifier,) = alone.contents.folders
    assert alone.scores(identifier) == []


def test_folders_with_nothing_to_explore_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="holds no run"):
        Catalogue(tmp_path)
    with pytest.raises(CatalogueError, match="there is no folder"):
        Catalogue(tmp_path / "nowhere")
