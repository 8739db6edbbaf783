"""Runs that were trained and scored one by one make the table that a study of them would."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import hackle
from hackle.store import Store, StoreError
from hackle.train.record_files import write_record
from made_up_outcomes import made_up


def scored(folder: Path, seed: int) -> None:
    outcome = made_up(seed)
    folder.mkdir(parents=True)
    write_record(folder, outcome.run, (64, 64, 1))
    pd.DataFrame(outcome.scores).to_json(folder / "scores.json", orient="records")


def test_a_folder_of_runs_reads_as_a_study_does(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path / "study") as store:
        for seed in range(3):
            scored(tmp_path / "runs" / f"run{seed}", seed)
            store.add(made_up(seed))
    (tmp_path / "runs" / "unscored").mkdir()
    pd.testing.assert_frame_equal(hackle.results(tmp_path / "runs"), hackle.results(tmp_path / "study"))
    one = hackle.results(tmp_path / "runs" / "run1")
    assert one["seed"].unique().tolist() == [1]
    assert len(one) == 8


def test_a_table_that_calls_references_ceilings_reads_as_before(tmp_path: Path) -> None:
    scored(tmp_path / "run", 0)
    expected = hackle.results(tmp_path / "run")
    table = tmp_path / "run" / "scores.json"
    table.write_text(table.read_text().replace('"reference":', '"ceiling":'))
    assert '"ceiling":' in table.read_text()
    pd.testing.assert_frame_equal(hackle.results(tmp_path / "run"), expected)


def test_a_factor_without_a_score_leaves_the_others(tmp_path: Path) -> None:
    scored(tmp_path / "run", 0)
    expected = hackle.results(tmp_path / "run")
    table = tmp_path / "run" / "scores.json"
    rows = json.loads(table.read_text())
    # pandas writes NaN as null, also within a cell.
    table.write_text(json.dumps([{**row, "per_factor": {"hue": None, "size": 0.5}} for row in rows]))
    pd.testing.assert_frame_equal(hackle.results(tmp_path / "run"), expected)


def test_what_cannot_be_one_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"):
        hackle.results(tmp_path)
    scored(tmp_path / "a", 0)
    scored(tmp_path / "b", 0)
    with pytest.raises(StoreError, match="hold the same run; move one of them away"):
        hackle.results(tmp_path)
    (tmp_path / "b" / "scores.json").unlink()
    assert len(hackle.results(tmp_path)) == 8
    with pytest.raises(
        StoreError, match=r"b holds 1 run and no scores; `hackle score .*b` computes them and keeps them"
    ):
        hackle.results(tmp_path / "b")
    for wrong in ("{", json.dumps([{"metric": "mig"}])):
        (tmp_path / "a" / "scores.json").write_text(wrong)
        with pytest.raises(StoreError, match=r"is no table of scores .*hackle score .* --overwrite"):
            hackle.results(tmp_path)
    (tmp_path / "a" / "scores.json").unlink()
    with pytest.raises(StoreError, match="holds 2 runs and no scores"):
        hackle.results(tmp_path)
