"""Merging, exporting and repairing stores."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from hackle.core.files import replacing
from hackle.store import parquet
from hackle.store.blobs import thin_array, thin_curves
from hackle.store.entries import Entry, insert, insert_details, read_entry, without
from hackle.store.results import Store, place_of_store
from hackle.store.schema import (
    DAMAGE,
    FILE,
    StoreError,
    connect,
    create_tables,
    explained,
    reference_table,
    refuse_foreign_journal,
    refuse_programs,
    transaction,
    undamaged,
)
from hackle.store.tables import for_spreadsheets, with_record_fields

_REFERENCE_TOLERANCE = 1e-6
_RESOLVED = {"explicitness": 2e-4}
"""Metrics that are fitted by another solver since stores were first written, and how far it moves their scores at most:
explicitness was fitted to scikit-learn's tolerance, and now to the minimum itself. A target keeps the reference that it has."""
_ROUNDING = 1e-9
"""Scores that differ by less, relative or absolute, are the same computed by another version or on another machine."""


class Merged(NamedTuple):
    """How many runs were added, how many were in both, and how many of these got scores that they did not have."""

    added: int
    shared: int
    scored: int


def merge(folder: str | Path, other: str | Path, *, replace_failed: bool = False) -> Merged:
    """Add the runs of another folder's store to a folder's own, in one transaction; the other is only read.

    A run in both stores must agree in its status and, up to rounding, in every score that both have; it keeps its own and
    gains what only the other has. If one does not agree, an error names it and nothing is changed. Timings, devices and
    versions may differ. replace_failed: a run that failed in one of them, and is done in the other, counts as done.
    """
    if Path(folder).resolve() == Path(other).resolve():
        raise StoreError(f"{folder} cannot be merged with itself; name two folders")
    with Store.open(other) as source, Store.create_or_open(folder) as target:
        target.check()
        return _add_all(target, source, replace_failed=replace_failed)


def _add_all(
    target: Store,
    source: Store,
    thin: bool = False,
    tell: Callable[[], None] = lambda: None,
    replace_failed: bool = False,
) -> Merged:
    """Add a store's runs to another, in one transaction. thin: less of their curves and codes. tell: called for each run."""
    added = shared = scored = 0
    source.check()
    with undamaged(source.path), target.transaction() as connection:
        _merge_references(source.connection, connection)
        stored = dict(connection.execute("SELECT run, id FROM runs"))
        for number, run in source.connection.execute("SELECT id, run FROM runs ORDER BY id").fetchall():
            entry = read_entry(source.connection, number)
            if thin:
                arrays = [thin_array(blob) for blob in entry.arrays]
                entry = replace(entry, curves=thin_curves(entry.curves), arrays=arrays)
            if run not in stored:
                insert(connection, entry)
                added += 1
            else:
                own = read_entry(connection, stored[run])
                shared += 1
                if replace_failed and own.run["status"] != entry.run["status"]:
                    if own.run["status"] == "failed":
                        connection.execute("DELETE FROM runs WHERE id = ?", (stored[run],))
                        insert(connection, entry)
                        scored += bool(entry.scores)
                else:
                    _refuse_conflict(own, entry, target.folder, source.folder)
                    more = without(entry, own)
                    insert_details(connection, stored[run], more)
                    scored += bool(more.scores)
            tell()
    return Merged(added, shared, scored)


def _refuse_conflict(own: Entry, entry: Entry, folder: Path, other: Path) -> None:
    name = f"run {own.run['run']} ({own.run['method']} on {own.run['dataset']}, seed {own.run['seed']})"
    if own.run["status"] != entry.run["status"]:
        raise StoreError(
            f"{name} is {own.run['status']} in {folder} and {entry.run['status']} in {other}; nothing was merged. "
            "--replace-failed (replace_failed=True) takes it as done"
        )
    for key in own.scores.keys() & entry.scores.keys():
        if not _same(own.scores[key].score, entry.scores[key].score):
            raise StoreError(
                f"{name} has {key[0]} ({key[1]}, {key[2]}) {own.scores[key].score} in {folder} and "
                f"{entry.scores[key].score} in {other}; nothing was merged. Keep one of the two, or read them apart"
            )


def _same(score: float | None, other: float | None) -> bool:
    if score is None or other is None:
        return score is other
    return math.isclose(score, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _merge_references(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    known = {tuple(key): reference for *key, reference in target.execute(f"SELECT * FROM {reference_table(target)}")}
    for *key, reference in source.execute(f"SELECT * FROM {reference_table(source)}").fetchall():
        own = known.get(tuple(key))
        dataset, protocol, seed, metric = key
        tolerance = _RESOLVED.get(metric, _REFERENCE_TOLERANCE)
        if own is None:
            target.execute("INSERT INTO reference_scores VALUES (?, ?, ?, ?, ?)", (*key, reference))
        elif not math.isclose(own, reference, rel_tol=tolerance, abs_tol=tolerance):
            raise StoreError(
                f"perfect codes of {dataset} score {own} and {reference} in {metric} ({protocol}, seed {seed}): the two "
                "stores were scored on different data or by different versions; nothing was merged"
            )


def export(
    folder: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    file_format: Literal["parquet", "csv"] = "parquet",
    thin: bool = False,
    overwrite: bool = False,
    replace_failed: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[Path]:
    """Write the tables scores, runs, curves (run, term, step, value), factors (`FACTOR_COLUMNS`) and, as Parquet, arrays as
    files into a folder.

    CSV has every digit, an empty cell where there is no number, and no types; Parquet is smaller and faster to read, and
    `read` opens the folder like a study's own. The same results give the same bytes.

    folder: a study's, or several, whose runs are put together as `merge` does; the first says what a run keeps that two hold.
    thin: at most 50 points of each curve, and the codes of the first 512 images in float16. replace_failed: as in `merge`.
    tell: called with the number of runs that were read and of all.
    """
    if file_format not in ("parquet", "csv"):
        raise StoreError(f"no format {file_format!r}; there are parquet and csv")
    out = Path(out)
    folders = [folder] if isinstance(folder, str | Path) else list(folder)
    paths = [out / f"{name}.{file_format}" for name in parquet.TABLES if file_format == "parquet" or name != "arrays"]
    for path in paths:
        if path.exists() and not overwrite:
            raise StoreError(f"{path} is there already; add --overwrite to replace it, or choose another folder")
    whole = Store.open(folders[0]) if len(folders) == 1 and not thin else _together(folders, thin, replace_failed, tell)
    with whole as store, ExitStack() as written:
        tables, terms = store.tables(), store.curve_terms()
        scores = with_record_fields(tables)
        out.mkdir(parents=True, exist_ok=True)
        # Term by term: the curves of thousands of runs together would not fit in memory.
        curves = (pd.DataFrame(store.curve(term).assign(term=term), columns=list(parquet.CURVE)) for term in terms)
        frames: dict[str, Iterable[pd.DataFrame]] = {
            "scores": [scores],
            "runs": [tables.runs],
            "curves": itertools.chain([parquet.NO_CURVES], curves),
            "factors": [store.per_factor()],
            "arrays": [] if file_format == "csv" else [_array_frame(store)],
        }
        write = _write_csv if file_format == "csv" else parquet.write
        for path in paths:
            write(written.enter_context(replacing(path)), frames[path.stem])
    return paths


def _write_csv(path: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write frames of the same columns, one after another."""
    for number, frame in enumerate(frames):
        for_spreadsheets(frame).to_csv(path, index=False, header=not number, mode="a" if number else "w")


def _together(
    folders: Sequence[str | Path], thin: bool, replace_failed: bool, tell: Callable[[int, int], None]
) -> Store:
    """A store in memory with the runs of several folders."""
    connection = connect(Path(":memory:"))
    create_tables(connection, "")
    target = Store(Path(folders[0]), connection, "")
    done = itertools.count(1)
    with ExitStack() as opened:
        sources = [opened.enter_context(Store.open(folder)) for folder in folders]
        total = sum(len(source.known()) for source in sources)
        for source in sources:
            _add_all(target, source, thin, lambda: tell(next(done), total), replace_failed)
    return target


def _array_frame(store: Store) -> pd.DataFrame:
    """The stored arrays, a row each, as bytes."""
    rows = store.connection.execute(
        "SELECT runs.run, name, dtype, shape, data FROM arrays JOIN runs ON runs.id = arrays.run ORDER BY name, runs.run"
    )
    return pd.DataFrame(rows.fetchall(), columns=list(parquet.ARRAY), dtype=object)


def is_whole(folder: str | Path) -> bool:
    """Whether a folder's store is intact: its pages, records and scores, and each curve and array."""
    try:
        with Store.open(folder) as store:
            store.check(thorough=True)
            for (number,) in store.connection.execute("SELECT id FROM runs").fetchall():
                _read_whole(store.connection, number)
    except DAMAGE:
        return False
    return True


def repair(folder: str | Path) -> tuple[int, int, Path]:
    """Set a damaged store aside and replace it with a new one that has every intact run.

    The others are trained again when the study is restarted. Returns how many runs were kept, how many runs still
    listed were lost, and where the damaged file is now. It does not check for damage: call `is_whole` first.
    """
    folder = Path(folder)
    path, fresh = place_of_store(folder), folder / f"{FILE}.repairing"
    if not path.is_file():
        raise StoreError(f"{folder} holds no results: there is no {FILE} in it")
    aside = next(name for n in range(1, 1000) if not (name := folder / f"{FILE}.damaged-{n}").exists())
    fresh.unlink(missing_ok=True)
    kept = lost = 0
    # The pragmas of `connect` need a readable file, so the damaged one is opened without them.
    refuse_foreign_journal(path)
    with closing(sqlite3.connect(path)) as damaged, closing(connect(fresh)) as new, explained(fresh):
        with suppress(sqlite3.Error):
            refuse_programs(damaged, path)
        create_tables(new, "")
        with transaction(new):
            for number in _numbers(damaged):
                try:
                    entry = _read_whole(damaged, number)
                except DAMAGE:
                    lost += 1
                    continue
                insert(new, entry)
                kept += 1
            with suppress(*DAMAGE):
                _merge_references(damaged, new)
    # A journal left by the damaged file would be rolled back into the new one.
    journal = folder / f"{FILE}-journal"
    if journal.exists():
        os.replace(journal, aside.with_name(f"{aside.name}-journal"))
    os.replace(path, aside)
    os.replace(fresh, path)
    return kept, lost, aside


def _read_whole(connection: sqlite3.Connection, number: int) -> Entry:
    """A run with all that belongs to it; raises one of `DAMAGE` if something is not what was written."""
    entry = read_entry(connection, number)
    for blob in (*entry.curves, *entry.arrays):
        _ = blob.array
    return entry


def _numbers(damaged: sqlite3.Connection) -> list[int]:
    """The numbers of the runs that a damaged file still lists, from whichever of its B-trees can be read."""
    numbers: set[int] = set()
    for source in ("runs NOT INDEXED", "runs INDEXED BY sqlite_autoindex_runs_1", "scores", "curves", "arrays"):
        column = "id" if source.startswith("runs") else "run"
        # A damaged page ends the scan; what came before it counts, and the other trees list the rest.
        with suppress(*DAMAGE):
            for (number,) in damaged.execute(f"SELECT {column} FROM {source}"):
                numbers.add(number)
    return sorted(numbers)
