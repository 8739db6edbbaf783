"""Reading and writing the results of a study.

with Store.create_or_open("study") as store:
    store.add(outcome)                        # one transaction: the whole run or nothing of it
tables = hackle.store.read("study")           # what claims, figures and reports see
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.notes import raised
from hackle.core.untrusted import UntrustedError, place_inside
from hackle.shipped import names_of_results, place_of_results
from hackle.store import parquet
from hackle.store.blobs import Blob, usable
from hackle.store.entries import (
    cached_score_array,
    changed_runs,
    entry_of,
    insert,
    insert_details,
    is_record_of,
    pack_missing_scores,
    read_entry,
    references_of,
    stored_columns,
    without,
)
from hackle.store.frames import score_frame
from hackle.store.records import field_columns
from hackle.store.schema import (
    FILE,
    StoreError,
    check_version,
    complete_tables,
    connect,
    create_tables,
    damage_advice,
    explained,
    has_table,
    reference_table,
    transaction,
    undamaged,
)
from hackle.store.tables import FACTOR_COLUMNS, RUN_COLUMNS, Outcome, Tables, named_sources

_WORDS = ("run", "study", "status", "dataset", "method", "architecture", "sources", "version", "device")


class Store:
    """The results of one study: the file `results.sqlite` in its folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, study: str, file: str = FILE) -> None:
        self.folder, self.path, self.study = folder, folder / file, study
        self.connection = connection

    @classmethod
    def create_or_open(cls, folder: str | Path, study: str = "") -> Store:
        """Open the store of a folder for writing, creating it if needed. `study` is stored with the runs added."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder {folder}: {error}; choose another") from error
        path = place_of_store(folder)
        if not path.is_file() and parquet.is_there(folder):
            raise StoreError(f"{folder} holds results as Parquet, to which nothing is added; choose another folder")
        with undamaged(path), ExitStack() as failing:
            connection = failing.enter_context(closing(connect(path)))
            create_tables(connection, study)
            check_version(connection, path)
            failing.pop_all()
        store = cls(folder, connection, study)
        with store.transaction():
            complete_tables(connection)
            pack_missing_scores(connection)
        return store

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open the store of a folder, or the file itself, for reading, which never changes what it holds.

        A folder of Parquet tables, and results that come with hackle by their name, are opened as a store in memory.
        """
        folder = place_of_results(folder)
        if folder.name == FILE and folder.is_file():
            folder = folder.parent
        path = place_of_store(folder)
        if not path.is_file():
            if parquet.is_there(folder):
                return cls(folder, parquet.open_in_memory(folder), "", f"{parquet.TABLES[0]}.parquet")
            raise StoreError(
                f"{folder} holds no results: there is no {FILE} in it. `hackle study run` makes them, and with hackle come "
                f"{', '.join(names_of_results())}"
            )
        with undamaged(path), ExitStack() as failing:
            # Not opened read-only: the first reader after a crash must roll back the unfinished transaction.
            connection = failing.enter_context(closing(connect(path)))
            connection.execute("PRAGMA query_only = ON")
            check_version(connection, path)
            failing.pop_all()
        return cls(folder, connection, "")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything written within is stored, or nothing is."""
        with explained(self.path), transaction(self.connection):
            yield self.connection

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """What is stored now, regardless of what is added meanwhile."""
        with undamaged(self.path):
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.rollback()

    def known(self) -> dict[str, str]:
        """The runs that are stored, by hash: "done" or "failed"."""
        with undamaged(self.path):
            return dict(self.connection.execute("SELECT run, status FROM runs"))

    def add(self, outcome: Outcome, *, replace_failed: bool = False) -> None:
        """Store a run with its scores, references, curves and arrays: all of it, durably, or nothing.

        A run that is already stored is refused; with `replace_failed`, a run stored as failed is replaced.
        References belong to data set, protocol, seed and metric: the first one stored stands.
        """
        entry = entry_of(outcome, self.study)
        with self.transaction() as connection:
            name = entry.run["run"]
            stored = connection.execute("SELECT id, status FROM runs WHERE run = ?", (name,)).fetchone()
            if stored is not None and not (replace_failed and stored[1] == "failed"):
                raise StoreError(
                    f"{self.path} holds run {name} already ({stored[1]}); a run is stored once. Ask `known()` first"
                )
            if stored is not None:
                connection.execute("DELETE FROM runs WHERE id = ?", (stored[0],))
            insert(connection, entry)
            _insert_references(connection, outcome)

    def extend(self, outcome: Outcome) -> None:
        """Add the missing scores and arrays to a run that is stored as done; what it has stays as it is, except scores
        whose computation raised an error, which are replaced."""
        entry = entry_of(outcome, self.study)
        with self.transaction() as connection:
            stored = connection.execute(
                "SELECT id FROM runs WHERE run = ? AND status = 'done'", (entry.run["run"],)
            ).fetchone()
            if stored is None:
                raise StoreError(f"{self.path} does not hold run {entry.run['run']} as done; add it first")
            known = read_entry(connection, stored[0])
            again = [
                key for key, score in known.scores.items() if key in entry.scores and raised(score.score, score.note)
            ]
            connection.executemany(
                "DELETE FROM scores WHERE run = ? AND measure = (SELECT id FROM measures WHERE metric = ? AND "
                "representation = ? AND protocol = ? AND scoring_seed = ?)",
                [(stored[0], *key) for key in again],
            )
            kept = {key: score for key, score in known.scores.items() if key not in again}
            insert_details(connection, stored[0], without(entry, replace(known, scores=kept)))
            _insert_references(connection, outcome)

    @property
    def keep(self) -> str | None:
        """Which runs' weights the study keeps, as last chosen."""
        with undamaged(self.path):
            row = self.connection.execute("SELECT value FROM meta WHERE key = 'keep'").fetchone()
        return None if row is None else row[0]

    @keep.setter
    def keep(self, choice: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('keep', ?)", (choice,))

    def runs(self) -> pd.DataFrame:
        """The runs that are stored, `RUN_COLUMNS`."""
        with self._snapshot() as connection:
            return pd.DataFrame(self._run_frame(connection)[list(RUN_COLUMNS)])

    def tables(self) -> Tables:
        """Everything that is stored. Rows are ordered by what they describe, not by when they were added."""
        with self._snapshot() as connection:
            runs = self._run_frame(connection)
            rows = cached_score_array(connection)
            measures, notes = (_frame(f"SELECT * FROM {name}", connection) for name in ("measures", "notes"))
            references = _frame(f"SELECT * FROM {reference_table(connection)}", connection)
            scores = score_frame(rows, runs, measures, notes, references)
        return Tables(
            scores=scores,
            runs=pd.DataFrame(runs[list(RUN_COLUMNS)]),
            # Claims and figures read the same few one after another.
            curve=lru_cache(maxsize=3)(partial(_read_again, self.folder, Store.curve)),
            array=lru_cache(maxsize=3)(partial(_read_again, self.folder, Store.arrays, "arrays")),
            per_factor=lru_cache(maxsize=3)(partial(_read_again, self.folder, Store.per_factor)),
        )

    def arrays(self, table: str, name: str) -> dict[str, NDArray[Any]]:
        """One array, or with the table "curves" one curve, of every run that has it, by hash."""
        with undamaged(self.path):
            cursor = self.connection.execute(
                f"SELECT runs.run, name, dtype, shape, data, checksum FROM {table} JOIN runs ON runs.id = {table}.run "
                "WHERE name = ? ORDER BY runs.id",
                (name,),
            )
            by_run = ((run, Blob(*blob).array) for run, *blob in cursor)
            return {run: array for run, array in by_run if table == "curves" or usable(name, array)}

    def curve(self, term: str) -> pd.DataFrame:
        """One term's curve of every run that has it: run, step, value."""
        values = self.arrays("curves", term)
        steps: Mapping[str, NDArray[Any]] = self.arrays("curves", "step") if values else {}
        names = pd.Categorical(list(values))
        none = [np.empty(0)]
        with undamaged(self.path):
            lengths = [len(value) for value in values.values()]
            return pd.DataFrame(
                {
                    "run": names.take(np.repeat(np.arange(len(names)), lengths)),
                    "step": np.concatenate([steps[run] for run in values] or none).astype(np.int64),
                    "value": np.concatenate(list(values.values()) or none).astype(np.float64),
                }
            )

    def per_factor(self, metric: str = "") -> pd.DataFrame:
        """What one metric, or each that is stored, gives for each factor, of every run that has it: `FACTOR_COLUMNS`."""
        with undamaged(self.path):
            if not has_table(self.connection, "factor_scores"):
                return pd.DataFrame(columns=list(FACTOR_COLUMNS))
            frame = _frame(
                "SELECT runs.run, metric, representation, protocol, scoring_seed, factor, factor_scores.score "
                "FROM factor_scores JOIN runs ON runs.id = factor_scores.run JOIN measures ON measures.id = measure "
                "WHERE metric = ? OR ? = '' "
                "ORDER BY runs.id, metric, representation, protocol, scoring_seed, factor",
                self.connection,
                (metric, metric),
            )
            words = dict.fromkeys(("run", "metric", "representation", "protocol", "factor"), "category")
            return frame.astype({"score": "float64", "scoring_seed": "int64"} | words)

    def curve_terms(self) -> list[str]:
        """All terms for which some run has a curve."""
        with undamaged(self.path):
            terms = self.connection.execute("SELECT DISTINCT name FROM curves WHERE name != 'step' ORDER BY name")
            return [name for (name,) in terms]

    def check(self, *, thorough: bool = False) -> None:
        """Raise `StoreError` if the file is damaged: a page, record or score that is not what was written.

        thorough: also compare each row of scores with its packed copy; it takes seconds.
        """
        with self._snapshot() as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise StoreError(f"{self.path}: {verdict}; {damage_advice(self.path)}")
            rows = connection.execute("SELECT id, run, record FROM runs").fetchall()
            wrong = [run for _, run, record in rows if not is_record_of(record, run)]
            if thorough and not wrong:
                names = {number: run for number, run, _ in rows}
                wrong = [names.get(number, "unknown") for number in changed_runs(connection)]
        if wrong:
            raise StoreError(f"{self.path}: run {wrong[0]} is not what was written; {damage_advice(self.path)}")

    def _run_frame(self, connection: sqlite3.Connection) -> pd.DataFrame:
        """The table of runs, in an order that does not depend on when each was added."""
        names = ", ".join(stored_columns(connection).values())
        runs = _frame(f"SELECT id, {names} FROM runs", connection)
        for text in runs["sources"].unique():
            named_sources(text)
        runs = runs.assign(**field_columns(runs["record"]))
        kinds = dict.fromkeys(("strength", "training_seconds", "scoring_seconds"), "float64")
        runs = runs.astype(kinds).sort_values(["dataset", "method", "strength", "seed", "run"], ignore_index=True)
        return runs.astype(dict.fromkeys(_WORDS, "category"))


def place_of_store(folder: Path) -> Path:
    """The store's file in a folder; a link must not lead elsewhere."""
    try:
        return place_inside(folder, FILE)
    except UntrustedError as error:
        raise StoreError(
            f"{folder / FILE} is a link that leaves its folder, or no file; put the file itself in its place"
        ) from error


def _frame(query: str, connection: sqlite3.Connection, values: Sequence[str] = ()) -> pd.DataFrame:
    """The result of a query. SQLite lets any column hold bytes, but none of those read here should."""
    frame = pd.read_sql_query(query, connection, params=list(values))
    for name, column in frame.items():
        if column.dtype.kind == "O" and any(isinstance(value, bytes) for value in column):
            raise ValueError(f"bytes in the column {name}")
    return frame


def _insert_references(connection: sqlite3.Connection, outcome: Outcome) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO reference_scores VALUES (?, ?, ?, ?, ?)", sorted(references_of(outcome))
    )


def _read_again(folder: Path, what: Callable[..., Any], *names: str) -> Any:
    """What a method of the folder's store gives: tables outlive the store that they came from."""
    with Store.open(folder) as store:
        return what(store, *names)


def read(folder: str | Path) -> Tables:
    """The results in a study's folder, given by the folder, by its `results.sqlite`, or by the name of results that come with
    hackle."""
    with Store.open(folder) as store:
        return store.tables()
