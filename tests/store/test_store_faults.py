"""What befalls files: power cuts, full disks, damaged pages, newer versions. No stored run may be lost or half there."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import forked
from hackle.core.records import record_hash
from hackle.store import FILE, SCHEMA, Store, StoreError, merging, read, repair
from hackle.store.schema import explained
from hackle.store.tables import Outcome
from made_up_outcomes import made_up, made_up_run


def filled(folder: Path, runs: int) -> None:
    with Store.create_or_open(folder) as store:
        for seed in range(runs):
            store.add(made_up(seed))


def large(seed: int) -> Outcome:
    """An outcome whose transaction spans many pages."""
    return made_up(seed, arrays={"codes": np.random.default_rng(seed).random((512, 64))})


def test_kill_9_in_the_middle_of_writing_leaves_whole_runs_alone(tmp_path: Path) -> None:
    """A child adds runs without end and says after each that it is stored; it is killed at moments spread over an add."""
    script = textwrap.dedent(
        """
        import sys
        from hackle.store import Store
        from store.test_store_faults import large
        with Store.create_or_open(sys.argv[1]) as store:
            seed = len(store.known())
            while True:
                store.add(large(seed))
                print(seed, flush=True)
                seed += 1
        """
    )
    study = tmp_path / "study"
    for attempt in range(3):
        out, error = tmp_path / f"out {attempt}", tmp_path / f"error {attempt}"
        child = forked.start(script, study, said=(out, error))
        while not out.exists() or out.read_text().count("\n") < 2 + attempt:
            assert child.is_alive(), error.read_text()
            time.sleep(0.0005)
        time.sleep(0.0007 * (attempt + 1))
        child.kill()
        child.join()
        said = int(out.read_text().split()[-1])
        with Store.open(study) as store:
            store.check()
            known = store.known()
            tables = store.tables()
        # What was said to be stored is; at most one more was stored before the child could say so.
        assert {record_hash(made_up_run(seed)) for seed in range(said + 1)} <= known.keys()
        assert len(known) in (said + 1, said + 2)
        assert set(tables.scores.groupby("run", observed=True).size()) == {8}
        assert len(tables.array("codes")) == len(known)


def test_a_crash_between_pages_is_rolled_back_by_the_next_reader(tmp_path: Path) -> None:
    """The state that a power cut leaves: pages of the store overwritten, the journal with their old contents beside it."""
    filled(tmp_path, 2)
    before = read(tmp_path)
    script = textwrap.dedent(
        """
        import os, sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE scores SET score = -1")
        connection.execute("UPDATE runs SET record = record || hex(randomblob(20000))")
        os._exit(9)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / FILE)], check=False)
    assert (tmp_path / f"{FILE}-journal").stat().st_size > 0
    with Store.open(tmp_path) as store:
        store.check()
        pd.testing.assert_frame_equal(store.tables().scores, before.scores)


def test_an_interrupted_creation_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    filled(tmp_path, 1)
    assert len(read(tmp_path).runs) == 1


def test_a_full_disk_leaves_what_was_stored_and_the_study_goes_on_later(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    with Store.create_or_open(tmp_path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match=r"full; nothing of this run was stored.*free some space"):
            store.add(large(3))
        store.check()
        assert len(store.known()) == 3
        store.connection.execute("PRAGMA max_page_count = 1000000")
        store.add(large(3))
        store.check()
        assert len(store.known()) == 4


def test_an_error_within_a_run_stores_nothing_of_it(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.connection.execute(
            "CREATE TEMP TRIGGER no_arrays BEFORE INSERT ON main.arrays BEGIN SELECT RAISE(ABORT, 'no arrays'); END"
        )
        with pytest.raises(StoreError, match="no arrays"):
            store.add(made_up(0))
        assert store.known() == {}
        counts = [
            store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("runs", "scores", "curves", "arrays", "measures", "reference_scores")
        ]
        assert counts == [0] * 6


def edit(folder: Path, *statements: str) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(np.random.default_rng(start).bytes(length))


def page_of(path: Path, table: str) -> int:
    """The number of the first page of a table's tree, counted from 1."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]


@pytest.mark.parametrize("table", ["runs", "scores", "curves", "arrays"])
def test_a_damaged_page_is_found_and_repair_keeps_what_is_whole(tmp_path: Path, table: str) -> None:
    filled(tmp_path, 40)
    whole = read(tmp_path)
    path = tmp_path / FILE
    overwrite(path, (page_of(path, table) - 1) * 8192 + 8, 100)
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match="hackle study repair"):
        store.check()
    kept, _, aside = repair(tmp_path)
    assert aside.is_file()
    with Store.create_or_open(tmp_path) as store:
        store.check()
        known = store.known()
        assert len(known) == kept
        for seed in range(40):
            if record_hash(made_up_run(seed)) not in known:
                store.add(made_up(seed))
    pd.testing.assert_frame_equal(read(tmp_path).scores, whole.scores)


def test_repair_keeps_every_run_but_those_on_the_damaged_page(tmp_path: Path) -> None:
    filled(tmp_path, 100)
    path = tmp_path / FILE
    with closing(sqlite3.connect(path)) as connection:
        # A leaf in the middle of the arrays: dbstat is not always compiled in, so the page is found by its content.
        blob = connection.execute("SELECT data FROM arrays WHERE name = 'codes' AND run = 50").fetchone()[0]
    at = path.read_bytes().find(blob[:64])
    overwrite(path, at - at % 8192 + 3000, 200)
    kept, lost, _ = repair(tmp_path)
    assert kept + lost == 100
    assert 80 < kept < 100
    with Store.open(tmp_path) as store:
        store.check()


def test_a_score_changed_behind_our_back_is_found(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    edit(tmp_path, "UPDATE scores SET score = score + 1e-12 WHERE run = 2 AND measure = 3")
    with Store.open(tmp_path) as store:
        store.check()
        with pytest.raises(StoreError, match=rf"{record_hash(made_up_run(1))} is not what was written.*repair"):
            store.check(thorough=True)
    assert not merging.is_whole(tmp_path)
    assert repair(tmp_path)[:2] == (2, 1)


def test_the_packed_copy_of_scores_can_be_damaged_or_dropped_and_is_made_anew(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    before = read(tmp_path).scores
    damage = (
        "UPDATE packed_scores SET data = zeroblob(length(data)) WHERE run = 3",
        "DELETE FROM packed_scores WHERE run = 2",
        "DROP TABLE packed_scores",
    )
    for statement in damage:
        edit(tmp_path, statement)
        with Store.open(tmp_path) as store:
            store.check(thorough=True)
        pd.testing.assert_frame_equal(read(tmp_path).scores, before)
        assert merging.is_whole(tmp_path)
    with Store.create_or_open(tmp_path) as store:
        count, bytes_of_one = store.connection.execute(
            "SELECT count(*), max(length(data)) FROM packed_scores"
        ).fetchone()
    assert (count, bytes_of_one) == (3, 8 * 48)
    edit(tmp_path, "UPDATE scores SET score = score + 1e-12 WHERE run = 2 AND measure = 3")
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match=record_hash(made_up_run(1))):
        store.check(thorough=True)


def test_a_file_without_its_header_is_set_aside(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    overwrite(tmp_path / FILE, 0, 100)
    with pytest.raises(StoreError, match=r"not a database.*hackle study repair"):
        Store.open(tmp_path)
    assert not merging.is_whole(tmp_path)
    kept, _, aside = repair(tmp_path)
    assert (kept, aside.is_file()) == (0, True)
    filled(tmp_path, 2)
    assert len(read(tmp_path).runs) == 2


def test_repair_sets_a_journal_that_cannot_be_rolled_back_aside_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 2)
    journal = tmp_path / f"{FILE}-journal"
    # The last that is read of the damaged file; a journal that appears any sooner SQLite itself would clear up.
    monkeypatch.setattr(merging, "_merge_references", lambda *_: journal.write_bytes(b"what was not rolled back"))
    kept, _, aside = repair(tmp_path)
    assert kept == 2
    assert not journal.exists()
    assert aside.with_name(f"{aside.name}-journal").read_bytes() == b"what was not rolled back"


def test_a_record_changed_behind_our_back_is_found(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    edit(tmp_path, "UPDATE runs SET record = replace(record, '64', '65') WHERE id = 1")
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match=record_hash(made_up_run(0))):
        store.check()


def test_a_damaged_array_is_found_when_it_is_read(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    edit(tmp_path, "UPDATE arrays SET data = substr(data, 1, length(data) - 3) WHERE name = 'codes' AND run = 1")
    with pytest.raises(StoreError, match=r"codes of a run.*hackle study repair"):
        read(tmp_path).array("codes")
    assert not merging.is_whole(tmp_path)
    assert repair(tmp_path)[:2] == (1, 1)
    assert merging.is_whole(tmp_path)


def test_an_older_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    edit(tmp_path, "DROP TABLE reference_scores")
    before = (tmp_path / FILE).read_bytes()
    for attempt in (Store.open, Store.create_or_open, read):
        with pytest.raises(StoreError, match="lacks the table reference_scores: it was written by an older hackle"):
            attempt(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_store_that_calls_references_ceilings_is_read_merged_and_extended(tmp_path: Path) -> None:
    filled(tmp_path / "old", 2)
    expected = read(tmp_path / "old").scores
    edit(
        tmp_path / "old",
        "DROP VIEW results",
        "ALTER TABLE reference_scores RENAME COLUMN reference TO ceiling",
        "ALTER TABLE reference_scores RENAME TO ceilings",
        "PRAGMA user_version = 2",
    )
    before = (tmp_path / "old" / FILE).read_bytes()
    pd.testing.assert_frame_equal(read(tmp_path / "old").scores, expected)
    merging.merge(tmp_path / "new", tmp_path / "old")
    pd.testing.assert_frame_equal(read(tmp_path / "new").scores, expected)
    assert (tmp_path / "old" / FILE).read_bytes() == before
    with Store.create_or_open(tmp_path / "old") as store:
        store.add(made_up(7))
        assert store.connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        assert store.connection.execute("SELECT count(reference) FROM results").fetchone()[0] > 0
    assert set(read(tmp_path / "old").scores["run"]) > set(expected["run"])


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    edit(tmp_path, f"PRAGMA user_version = {SCHEMA + 1}")
    before = (tmp_path / FILE).read_bytes()
    for opened in (Store.open, Store.create_or_open):
        with pytest.raises(StoreError, match=f"schema {SCHEMA + 1}.*newer.*install that version"):
            opened(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_other_files_are_refused(tmp_path: Path) -> None:
    edit(tmp_path, "CREATE TABLE mine (id)")
    for opened in (Store.open, Store.create_or_open):
        with pytest.raises(StoreError, match="not a store of hackle"):
            opened(tmp_path)
    (tmp_path / FILE).write_text("these are not the results you are looking for" * 100)
    for opened in (Store.open, Store.create_or_open):
        with pytest.raises(StoreError, match="not a database"):
            opened(tmp_path)


def test_a_store_that_is_being_written_says_so(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    with Store.create_or_open(tmp_path) as first, Store.create_or_open(tmp_path) as second:
        second.connection.execute("PRAGMA busy_timeout = 10")
        with first.transaction(), pytest.raises(StoreError, match="another process is writing"):
            second.add(made_up(5))


@pytest.mark.parametrize(
    ("before", "statement", "advice"),
    [
        ("PRAGMA max_page_count = 1", "INSERT INTO meta VALUES ('long', hex(randomblob(90000)))", "free some space"),
        ("PRAGMA query_only = 1", "DELETE FROM meta", "you may write in it"),
        ("SELECT 1", "BEGIN IMMEDIATE", "another process is writing it"),
        ("SELECT 1", "SELECT no_such_column FROM meta", "`hackle study status` tells whether the file is whole"),
    ],
    ids=["full", "readonly", "busy", "other"],
)
def test_advice_follows_from_the_code_of_an_error(tmp_path: Path, before: str, statement: str, advice: str) -> None:
    filled(tmp_path, 1)
    with (
        closing(sqlite3.connect(tmp_path / FILE, timeout=0)) as mine,
        closing(sqlite3.connect(tmp_path / FILE)) as other,
    ):
        mine.execute(before)
        other.execute("BEGIN IMMEDIATE" if statement == "BEGIN IMMEDIATE" else "SELECT 1")
        with pytest.raises(StoreError, match=advice), explained(tmp_path / FILE):
            mine.execute(statement)
