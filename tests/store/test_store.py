"""What goes into a store comes out of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hackle
from hackle.core.notes import note_codes
from hackle.core.records import record_hash, to_json
from hackle.store import FILE, Store, StoreError, merge, read
from hackle.store.blobs import CURVE_POINTS, pack
from hackle.store.tables import FACTOR_COLUMNS, RUN_COLUMNS, SCORE_COLUMNS, Outcome
from made_up_outcomes import made_up, made_up_run, made_up_scores


def test_a_run_comes_back_as_it_was_added(tmp_path: Path) -> None:
    outcome = made_up(3)
    with Store.create_or_open(tmp_path, study="mine") as store:
        store.add(outcome)
        store.check(thorough=True)
    tables = read(tmp_path)
    assert list(tables.scores.columns) == list(SCORE_COLUMNS)
    assert list(tables.runs.columns) == list(RUN_COLUMNS)
    (run,) = tables.runs.to_dict("records")
    assert run["run"] == record_hash(outcome.run)
    assert json.loads(run["record"]) == to_json(outcome.run)
    expected = {
        "study": "mine",
        "status": "done",
        "method": "beta-vae",
        "strength": 4.0,
        "architecture": "convolutional",
    }
    expected |= {"seed": 3, "dataset": "dsprites", "precision": "float32", "device": "cpu", "training_seconds": 12.5}
    assert {key: run[key] for key in expected} == expected
    assert run["version"].partition("+g")[0] == hackle.__version__
    added = pd.DataFrame(outcome.scores).rename(columns={"seed": "scoring_seed"})
    added = added.sort_values(["metric", "representation"], ignore_index=True)
    for column in added.columns:
        np.testing.assert_array_equal(tables.scores[column].to_numpy(), added[column].to_numpy())
    curve = tables.curve("kl")
    assert curve["step"].tolist() == list(range(100, 1100, 100))
    np.testing.assert_allclose(curve["value"], np.asarray(outcome.curves["kl"]), rtol=1e-6)
    for name, array in outcome.arrays.items():
        np.testing.assert_array_equal(tables.array(name)[record_hash(outcome.run)], array)
    assert tables.curve("nothing").empty
    assert tables.array("nothing") == {}


def test_hackle_results_is_the_frame_of_scores(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(made_up())
    found = hackle.results(tmp_path)
    pd.testing.assert_frame_equal(pd.DataFrame(found[list(SCORE_COLUMNS)]), read(tmp_path).scores)
    assert set(found) - set(SCORE_COLUMNS) == {"beta"}
    assert set(found["beta"]) == {4.0}


def test_the_view_for_people_with_a_shell_says_the_same(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        for seed in range(3):
            store.add(made_up(seed))
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        view = pd.read_sql_query("SELECT * FROM results", connection)
    assert list(view.columns) == list(SCORE_COLUMNS)
    keys = ["run", "metric", "representation"]
    frame = read(tmp_path).scores.astype(dict.fromkeys(keys, str))
    both = view.merge(frame, on=keys, suffixes=("", "_frame"))
    assert len(both) == len(view) == len(frame) == 24
    for column in ("score", "reference", "note"):
        np.testing.assert_array_equal(both[column].to_numpy(), both[f"{column}_frame"].to_numpy())


def test_the_table_does_not_depend_on_the_order_of_adding(tmp_path: Path) -> None:
    outcomes = [made_up(seed, method) for seed in range(3) for method in ("vae", "factor-vae")]
    for name, order in (("forward", outcomes), ("backward", outcomes[::-1])):
        with Store.create_or_open(tmp_path / name) as store:
            for outcome in order:
                store.add(outcome)
    forward, backward = read(tmp_path / "forward"), read(tmp_path / "backward")
    pd.testing.assert_frame_equal(forward.scores, backward.scores)
    pd.testing.assert_frame_equal(forward.runs.drop(columns="finished"), backward.runs.drop(columns="finished"))


def test_notes_of_older_stores_get_their_codes_when_they_are_read(tmp_path: Path) -> None:
    notes = {
        "I(z; x) is estimated at 9.1 nats, where a mixture of 9 points allows at most 2.20: …": "saturated",
        "2 of 3 machines are not done after 200 steps; allow more": "not-converged",
    }
    both = "\n".join(notes)
    scores = [{**row, "note": both} for row in made_up_scores()]
    # The same sentence with its code, as a newer hackle has stored it beside the old one.
    scores[0]["note"] = "\n".join(f"{note} [{code}]" for note, code in notes.items())
    with Store.create_or_open(tmp_path) as store:
        store.add(made_up(0, scores=scores))
    assert set(read(tmp_path).scores["note"]) == {scores[0]["note"]}
    assert note_codes(scores[0]["note"]) == tuple(notes.values())


def test_failed_runs_are_known_with_their_reason(tmp_path: Path) -> None:
    failed = Outcome(made_up_run(0), "failed", "diverged at step 7: kl not finite")
    with Store.create_or_open(tmp_path) as store:
        store.add(failed)
        store.add(made_up(1))
        assert store.known() == {record_hash(failed.run): "failed", record_hash(made_up_run(1)): "done"}
        assert set(store.runs().query("status == 'failed'")["reason"]) == {failed.reason}


def test_a_run_is_stored_once(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(made_up(0))
        with pytest.raises(StoreError, match=record_hash(made_up_run(0))):
            store.add(made_up(0))
        with pytest.raises(StoreError, match="already"):
            store.add(made_up(0), replace_failed=True)
        assert len(store.tables().scores) == 8


def test_a_stored_run_gains_scores_that_it_lacks_and_keeps_those_that_it_has(tmp_path: Path) -> None:
    few, many, other = made_up_scores(0, metrics=2), made_up_scores(1, metrics=4), made_up_scores(2, protocol="kim2018")
    with Store.create_or_open(tmp_path) as store:
        with pytest.raises(StoreError, match="does not hold run"):
            store.extend(made_up(0))
        store.add(made_up(0, scores=few))
        store.extend(made_up(0, scores=[*many, *other]))
        store.check(thorough=True)
    keys = ("metric", "representation", "protocol", "score")
    found = {tuple(row[key] for key in keys) for row in read(tmp_path).scores.to_dict("records")}
    assert found == {tuple(row[key] for key in keys) for row in (*few, *many[4:], *other)}


def test_what_was_said_about_weights_is_remembered(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        assert store.keep is None
        store.keep = "all"
    with Store.create_or_open(tmp_path) as store:
        assert store.keep == "all"
        store.keep = "none"
        assert store.keep == "none"


def test_a_failed_run_gives_way_to_its_retrial_on_request(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(
            Outcome(made_up_run(0), "failed", "out of memory", curves={"step": np.array([1]), "kl": np.array([2.0])})
        )
        with pytest.raises(StoreError, match="already"):
            store.add(made_up(0))
        store.add(made_up(0), replace_failed=True)
        assert list(store.known().values()) == ["done"]
        store.check()
        assert len(store.tables().curve("kl")) == 10


def test_runs_without_strength_and_scores_that_are_not_numbers_are_nan(tmp_path: Path) -> None:
    scores = made_up_scores()
    scores[0]["score"] = float("nan")
    scores[1]["score"] = float("inf")
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(made_up_run(0, "vae"), "done", scores=scores))
        store.check()
    tables = read(tmp_path)
    assert np.isnan(tables.runs[["strength", "training_seconds"]].to_numpy()).all()
    assert np.isnan(tables.scores["score"][0])
    assert np.isinf(tables.scores["score"][1])


def test_the_largest_seed_fits(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(made_up_run(2**63 - 1), "done"))
        assert store.runs()["seed"].tolist() == [2**63 - 1]


def test_two_protocols_and_seeds_of_one_metric_stand_side_by_side(tmp_path: Path) -> None:
    rows = [{**made_up_scores(metrics=1)[0], "protocol": name, "seed": seed} for name in ("a", "b") for seed in (0, 1)]
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(made_up_run(), "done", scores=rows))
        assert list(zip(*store.tables().scores[["protocol", "scoring_seed"]].to_numpy().T, strict=True)) == [
            ("a", 0),
            ("a", 1),
            ("b", 0),
            ("b", 1),
        ]
    with (
        Store.create_or_open(tmp_path / "twice") as store,
        pytest.raises(StoreError, match="two scores for metric_0, mean, a, 0"),
    ):
        store.add(Outcome(made_up_run(), "done", scores=[rows[0], rows[0]]))


def test_an_empty_store_has_empty_tables(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.check()
        assert store.known() == {}
        tables = store.tables()
    assert tables.scores.empty
    assert list(tables.scores.columns) == list(SCORE_COLUMNS)
    assert tables.curve("kl").empty


def test_readers_do_not_change_and_see_a_whole_state_while_one_writes(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as writer:
        writer.add(made_up(0))
        with Store.open(tmp_path) as reader:
            writer.add(made_up(1))
            assert len(reader.known()) == 2
            with pytest.raises(StoreError, match="readonly"):
                reader.add(made_up(2))
            assert len(writer.tables().scores) == 16


@pytest.mark.parametrize("length", [0, 1, CURVE_POINTS, CURVE_POINTS + 1, 7 * CURVE_POINTS + 3])
def test_long_curves_are_thinned_to_means_that_keep_the_average(tmp_path: Path, length: int) -> None:
    step, value = np.arange(1, length + 1), np.random.default_rng(0).random(length)
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(made_up_run(), "done", curves={"step": step, "kl": value}))
    found = read(tmp_path).curve("kl")
    assert len(found) <= CURVE_POINTS
    if length:
        assert found["step"].iloc[-1] == length
        weights = np.diff(found["step"], prepend=0)
        assert np.average(found["value"], weights=weights) == pytest.approx(value.mean(), rel=1e-6)


def test_terms_that_some_points_lack_keep_the_mean_of_the_others(tmp_path: Path) -> None:
    step = np.arange(1, 2 * CURVE_POINTS + 1)
    scored = np.where(step % 6 == 0, step / 6, np.nan)
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(made_up_run(), "done", curves={"step": step, "score_mig": scored}))
    found = read(tmp_path).curve("score_mig").set_index("step")["value"]
    assert len(found) == CURVE_POINTS
    assert found.dropna().index.tolist() == list(range(6, 2 * CURVE_POINTS + 1, 6))
    np.testing.assert_allclose(found.dropna(), found.dropna().index / 6, rtol=1e-6)


def test_curves_of_different_lengths_are_refused(tmp_path: Path) -> None:
    with (
        Store.create_or_open(tmp_path) as store,
        pytest.raises(ValueError, match="kl has 2 points and its steps 3"),
    ):
        store.add(Outcome(made_up_run(), "done", curves={"step": np.arange(3), "kl": np.ones(2)}))


@pytest.mark.parametrize("dtype", ["float32", "float64", ">f4", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0), (4, 3, 2)])
def test_arrays_of_any_kind_survive_packing(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
    found = pack("name", array).array
    assert found.shape == shape
    assert found.dtype == array.dtype.newbyteorder("<")
    np.testing.assert_array_equal(found, array)


def test_a_folder_without_results_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="hackle study run"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="hackle study run"):
        read(tmp_path / "nowhere")


def test_values_of_each_factor_are_stored_merged_and_read_by_metric(tmp_path: Path) -> None:
    rows = made_up_scores()
    values = {"shape": 0.24, "position x": 0.72, "scale": float("nan")}
    rows[0] = rows[0] | {"per_factor": values}
    with Store.create_or_open(tmp_path / "one") as store:
        store.add(replace(made_up(0), scores=rows))
        store.add(made_up(1))
    merge(tmp_path / "two", tmp_path / "one")
    for folder in ("one", "two"):
        found = read(tmp_path / folder).per_factor(rows[0]["metric"])
        assert list(found) == list(FACTOR_COLUMNS)
        assert dict(zip(found["factor"], found["score"], strict=True)) == {"shape": 0.24, "position x": 0.72}
        assert set(found["run"]) == {record_hash(made_up(0).run)}
        assert set(found["representation"]) == {rows[0]["representation"]}
    assert len(read(tmp_path / "two").per_factor()) == 2
    assert read(tmp_path / "two").per_factor("nothing").empty


def test_a_store_without_values_of_factors_is_read_and_extended(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.add(made_up(0))
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("DROP TABLE factor_scores")
    assert read(tmp_path).per_factor("mig").empty
    merge(tmp_path / "new", tmp_path)
    rows = made_up_scores()
    rows[0] = rows[0] | {"metric": "rmig", "per_factor": {"shape": 0.5}}
    with Store.create_or_open(tmp_path) as store:
        store.extend(replace(made_up(0), scores=rows))
    assert read(tmp_path).per_factor("rmig")["score"].tolist() == [0.5]
