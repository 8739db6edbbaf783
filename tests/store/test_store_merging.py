"""Stores put together and taken out."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hackle
from hackle.core.records import record_hash
from hackle.store import FILE, Store, StoreError, export, merge, read, results
from hackle.store.tables import Outcome
from made_up_outcomes import made_up, made_up_run, made_up_scores


def store_of(folder: Path, *outcomes: Outcome) -> Path:
    with Store.create_or_open(folder) as store:
        for outcome in outcomes:
            store.add(outcome)
    return folder


def content(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a store holds, but for the moment at which each run was added."""
    tables = read(folder)
    runs = tables.runs.drop(columns="finished")
    return tables.scores, runs


def assert_same(first: Path, second: Path) -> None:
    for one, other in zip(content(first), content(second), strict=True):
        pd.testing.assert_frame_equal(one, other)


SEEDS = st.sets(st.integers(0, 4), max_size=4)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SEEDS, SEEDS, SEEDS)
def test_merging_is_the_union_whatever_the_order(a: set[int], b: set[int], c: set[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)

        def fresh(label: str, seeds: set[int]) -> Path:
            return store_of(root / label, *(made_up(seed) for seed in sorted(seeds)))

        whole = fresh("whole", a | b | c)
        first, second, third = fresh("a", a), fresh("b", b), fresh("c", c)
        assert merge(first, second) == (len(b - a), len(a & b), 0)
        merge(first, third)
        assert_same(first, whole)
        other = fresh("c again", c)
        merge(second, fresh("a again", a))
        merge(other, second)
        assert_same(other, whole)
        assert merge(first, third) == (0, len(c), 0)
        assert_same(first, whole)
        assert_same(third, fresh("c as it was", c))


def test_a_run_scored_in_two_ways_gets_both(tmp_path: Path) -> None:
    rows = made_up_scores(0)
    first = store_of(tmp_path / "first", Outcome(made_up_run(0), "done", scores=rows))
    more = [{**row, "protocol": "kim2018"} for row in rows]
    arrays = dict(made_up(0).arrays)
    second = store_of(tmp_path / "second", Outcome(made_up_run(0), "done", scores=[*rows, *more], arrays=arrays))
    assert merge(first, second) == (0, 1, 1)
    assert len(read(first).scores) == 2 * len(rows)
    assert read(first).array("codes").keys() == {record_hash(made_up_run(0))}
    with Store.open(first) as store:
        store.check()


def test_a_conflicting_score_is_refused_with_its_run_and_nothing_changes(tmp_path: Path) -> None:
    rows = made_up_scores(1)
    rows[2] = {**rows[2], "score": rows[2]["score"] + 0.5}
    first = store_of(tmp_path / "first", made_up(1))
    second = store_of(tmp_path / "second", made_up(0), Outcome(made_up_run(1), "done", scores=rows))
    before = content(first)
    with pytest.raises(StoreError, match=f"{record_hash(made_up_run(1))}.*seed 1.*metric_1.*nothing was merged"):
        merge(first, second)
    for one, other in zip(content(first), before, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_scores_that_differ_by_rounding_agree_and_the_folder_keeps_its_own(tmp_path: Path) -> None:
    rows = made_up_scores(1)
    rows[2] = {**rows[2], "score": rows[2]["score"] * (1 + 1e-15) + 1e-15}
    first = store_of(tmp_path / "first", made_up(1))
    before = read(first).scores
    assert merge(first, store_of(tmp_path / "second", Outcome(made_up_run(1), "done", scores=rows))) == (0, 1, 0)
    pd.testing.assert_frame_equal(read(first).scores, before)


def test_a_run_that_failed_in_one_store_alone_is_a_conflict(tmp_path: Path) -> None:
    first = store_of(tmp_path / "first", made_up(1))
    second = store_of(tmp_path / "second", Outcome(made_up_run(1), "failed", "diverged"))
    with pytest.raises(StoreError, match=r"is done in .* and failed in .*; nothing was merged. --replace-failed"):
        merge(first, second)


def test_a_run_that_failed_and_was_trained_again_counts_as_done_if_asked(tmp_path: Path) -> None:
    failed = Outcome(made_up_run(1), "failed", "diverged", curves=made_up(1).curves)
    whole = store_of(tmp_path / "whole", made_up(0), made_up(1))
    first = store_of(tmp_path / "first", failed, made_up(0))
    second = store_of(tmp_path / "second", made_up(1))
    export([first, second], tmp_path / "tables", replace_failed=True)
    assert merge(first, second, replace_failed=True) == (0, 1, 1)
    # Whichever way round.
    other = store_of(tmp_path / "other", made_up(1), made_up(0))
    assert merge(other, store_of(tmp_path / "failed", failed), replace_failed=True) == (0, 1, 0)
    for folder in (first, other, tmp_path / "tables"):
        assert_same(folder, whole)
        with Store.open(folder) as store:
            store.check(thorough=True)


def test_references_of_different_data_are_a_conflict(tmp_path: Path) -> None:
    rows = [{**row, "reference": 0.8} for row in made_up_scores(1)]
    first = store_of(tmp_path / "first", made_up(0))
    second = store_of(tmp_path / "second", Outcome(made_up_run(1), "done", scores=rows))
    with pytest.raises(StoreError, match=r"perfect codes of dsprites score 0.9 and 0.8 in metric_1"):
        merge(first, second)
    assert len(read(first).runs) == 1


@pytest.mark.parametrize(
    ("metric", "apart", "agree"),
    [("explicitness", 1e-4, True), ("explicitness", 1e-3, False), ("mig", 1e-4, False), ("mig", 1e-8, True)],
)
def test_references_may_differ_by_what_another_solver_moves_them(
    tmp_path: Path, metric: str, apart: float, agree: bool
) -> None:
    """Explicitness is fitted by another solver since stores were first written, other metrics are not."""

    def scored(seed: int, reference: float) -> Outcome:
        rows = [{**row, "metric": metric, "reference": reference} for row in made_up_scores(seed, metrics=1)]
        return Outcome(made_up_run(seed), "done", scores=rows)

    first = store_of(tmp_path / "first", scored(0, 0.9))
    second = store_of(tmp_path / "second", scored(1, 0.9 + apart))
    if agree:
        assert merge(first, second) == (1, 0, 0)
        assert set(read(first).scores["reference"]) == {0.9}
    else:
        with pytest.raises(
            StoreError, match=f"perfect codes of dsprites score 0.9 and .* in {metric} .*nothing was merged"
        ):
            merge(first, second)
        assert set(read(first).scores["run"]) == {record_hash(made_up_run(0))}


def test_a_folder_is_not_merged_with_itself_or_with_nothing(tmp_path: Path) -> None:
    folder = store_of(tmp_path / "one", made_up(0))
    with pytest.raises(StoreError, match="itself"):
        merge(folder, tmp_path / "one" / ".." / "one")
    with pytest.raises(StoreError, match="holds no results"):
        merge(folder, tmp_path / "nothing")


def test_parquet_holds_what_the_store_holds(tmp_path: Path) -> None:
    folder = store_of(tmp_path / "study", *(made_up(seed) for seed in range(3)))
    paths = export(folder, tmp_path / "out")
    scores, runs, curves, factors, arrays = (pd.read_parquet(path) for path in paths)
    tables = read(folder)
    results = hackle.results(folder)
    pd.testing.assert_frame_equal(scores.astype(results.dtypes), results)
    pd.testing.assert_frame_equal(runs.astype(tables.runs.dtypes), tables.runs)
    pd.testing.assert_frame_equal(factors.astype(tables.per_factor().dtypes), tables.per_factor())
    assert set(curves["term"]) == {"kl", "reconstruction"}
    assert set(arrays["run"]) == set(runs["run"])
    assert curves.query("term == 'kl'")["value"].to_list() == tables.curve("kl")["value"].to_list()
    with pytest.raises(StoreError, match=r"scores.parquet is there already"):
        export(folder, tmp_path / "out")
    export(folder, tmp_path / "out", overwrite=True)


def test_csv_has_every_digit_and_can_be_read_back(tmp_path: Path) -> None:
    scores = [row | {"score": 1 / 3, "note": 'a "quoted", long\nnote'} for row in made_up_scores()]
    folder = store_of(tmp_path / "study", replace(made_up(0), scores=scores), made_up(1))
    paths = export(folder, tmp_path / "out", file_format="csv")
    assert [path.name for path in paths] == ["scores.csv", "runs.csv", "curves.csv", "factors.csv"]
    frames = [pd.read_csv(path) for path in paths]
    tables = read(folder)
    for frame, table in zip(frames, (hackle.results(folder), tables.runs), strict=False):
        assert list(frame) == list(table)
        for name in table:
            if pd.api.types.is_float_dtype(table[name]):
                np.testing.assert_array_equal(frame[name], table[name])
    assert set(frames[0]["note"].dropna()) == set(tables.scores["note"]) - {""}
    kl = frames[2].query("term == 'kl'")
    assert kl["value"].to_list() == tables.curve("kl")["value"].to_list()
    assert kl["run"].to_list() == tables.curve("kl")["run"].to_list()
    with pytest.raises(StoreError, match="no format 'xlsx'; there are parquet and csv"):
        export(folder, tmp_path / "out", file_format="xlsx")  # type: ignore[arg-type]


def test_the_file_itself_names_the_results(tmp_path: Path) -> None:
    folder = store_of(tmp_path / "study", made_up(0))
    pd.testing.assert_frame_equal(results(folder / FILE), results(folder))
    assert len(read(str(folder / FILE)).curve("kl")) == len(read(folder).curve("kl")) > 0
    with pytest.raises(StoreError, match="holds no results"):
        results(tmp_path / "other" / FILE)
