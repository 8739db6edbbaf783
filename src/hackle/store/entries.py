"""One run's rows as a store holds them. Training, merging and repairing all write through this module."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hackle.core.commit import full_version
from hackle.core.design import design_of
from hackle.core.records import record_hash, to_json
from hackle.core.sources import source_hashes
from hackle.store.blobs import Blob, pack, pack_curves
from hackle.store.records import field_columns
from hackle.store.schema import StoreError, columns_of_runs, has_table
from hackle.store.tables import STORED_COLUMNS, Outcome

Measure = tuple[str, str, str, int]
"""Metric, representation, protocol and scoring seed: what identifies a score of a run."""
SCORE_DTYPE = np.dtype(
    [("run", "i4"), ("measure", "i4"), *((name, "f8") for name in ("score", "low", "high", "seconds", "note"))]
)


@dataclass(frozen=True)
class Score:
    """One score of a run."""

    better: str
    score: float | None
    low: float | None
    high: float | None
    seconds: float | None
    note: str
    factors: Mapping[str, float] = field(default_factory=dict)
    """Its value for each factor, where the metric has them."""


@dataclass(frozen=True)
class Entry:
    """Everything that is stored of one run, except references, which belong to data sets."""

    run: dict[str, Any]
    scores: dict[Measure, Score]
    curves: list[Blob]
    arrays: list[Blob]


def _finite(value: Any) -> float | None:
    """A number as SQLite stores it: NaN becomes NULL."""
    return None if value is None or math.isnan(value) else float(value)


def entry_of(outcome: Outcome, study: str) -> Entry:
    """The rows to store of a run that has just ended."""
    run = outcome.run
    design = design_of(run)
    hashes = source_hashes(run) if outcome.sources is None else outcome.sources
    row = {
        **design,
        "strength": _finite(design["strength"]),
        "run": record_hash(run),
        "study": study,
        "status": outcome.status,
        "reason": outcome.reason,
        "record": json.dumps(to_json(run), sort_keys=True, separators=(",", ":")),
        "sources": json.dumps(hashes, sort_keys=True) if hashes else "",
        "version": full_version(),
        "device": outcome.device,
        "training_seconds": _finite(outcome.training_seconds),
        "scoring_seconds": _finite(outcome.scoring_seconds),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    scores: dict[Measure, Score] = {}
    for score in outcome.scores:
        key = (score["metric"], score["representation"], score["protocol"], int(score["seed"]))
        if key in scores:
            raise StoreError(f"run {row['run']} has two scores for {', '.join(map(str, key))}; expected one")
        value, low, high, seconds = (_finite(score.get(name)) for name in ("score", "low", "high", "seconds"))
        per_factor = (score.get("per_factor") or {}).items()
        factors = {name: float(one) for name, one in per_factor if one is not None and math.isfinite(one)}
        scores[key] = Score(score["better"], value, low, high, seconds, score.get("note") or "", factors)
    arrays = [pack(name, np.asarray(array)) for name, array in outcome.arrays.items()]
    return Entry(row, scores, pack_curves(outcome.curves), arrays)


def references_of(outcome: Outcome) -> set[tuple[str, str, int, str, float]]:
    """Data set, protocol, seed and metric, each with the score of perfect codes."""
    return {
        (outcome.run.dataset, score["protocol"], int(score["seed"]), score["metric"], float(score["reference"]))
        for score in outcome.scores
        if _finite(score.get("reference")) is not None
    }


def score_array(connection: sqlite3.Connection, run: int | None = None) -> NDArray[Any]:
    """The rows of `scores` for one run or all, ordered by run and measure."""
    where, values = ("WHERE run = ?", (run,)) if run is not None else ("", ())
    cursor = connection.execute(
        f"SELECT run, measure, score, low, high, seconds, note FROM scores {where} ORDER BY run, measure", values
    )
    return np.fromiter(cursor, SCORE_DTYPE)


def cached_score_array(connection: sqlite3.Connection) -> NDArray[Any]:
    """The same rows for all runs, read from their packed copies where these are intact, which is ten times as fast."""
    packed = _packed(connection)
    if not packed:
        return score_array(connection)
    runs = [number for (number,) in connection.execute("SELECT id FROM runs ORDER BY id")]
    parts = (packed[run] if run in packed else score_array(connection, run).tobytes() for run in runs)
    return np.frombuffer(b"".join(parts), SCORE_DTYPE)


def _packed(connection: sqlite3.Connection, run: int | None = None) -> dict[int, bytes]:
    """The packed copies that exist and are intact, of one run or all."""
    if not has_table(connection, "packed_scores"):
        return {}
    where, values = ("WHERE run = ?", (run,)) if run is not None else ("", ())
    rows = connection.execute(f"SELECT run, data, checksum FROM packed_scores {where}", values)
    return {number: data for number, data, written in rows if zlib.crc32(data) == written}


def pack_scores(connection: sqlite3.Connection, run: int) -> None:
    """Write the packed copy of a run's scores, replacing an older one."""
    data = score_array(connection, run).tobytes()
    connection.execute("INSERT OR REPLACE INTO packed_scores VALUES (?, ?, ?)", (run, data, zlib.crc32(data)))


def pack_missing_scores(connection: sqlite3.Connection) -> None:
    """Write the packed copies that are missing."""
    lacking = connection.execute("SELECT id FROM runs WHERE id NOT IN (SELECT run FROM packed_scores)")
    for (run,) in lacking.fetchall():
        pack_scores(connection, run)


def changed_runs(connection: sqlite3.Connection) -> list[int]:
    """The numbers of the runs whose rows of scores differ from their packed copies."""
    rows, packed = score_array(connection), _packed(connection)
    starts, ends = (np.searchsorted(rows["run"], list(packed), side) for side in ("left", "right"))
    return [
        run
        for (run, data), start, end in zip(packed.items(), starts, ends, strict=True)
        if rows[start:end].tobytes() != data
    ]


def is_record_of(record: str, run: str) -> bool:
    """Whether the hash is that of this record's text."""
    return hashlib.sha256(record.encode()).hexdigest()[:16] == run


def insert(connection: sqlite3.Connection, entry: Entry) -> None:
    """Write the rows of a run that is not stored yet, within the caller's transaction."""
    names = [name for name in columns_of_runs(connection) if name in entry.run]
    run = connection.execute(
        f"INSERT INTO runs ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [entry.run[name] for name in names],
    ).lastrowid
    assert run is not None
    insert_details(connection, run, entry)


def insert_details(connection: sqlite3.Connection, run: int, entry: Entry) -> None:
    """Write the scores, curves and arrays of the run with this number, and the packed copy of its scores."""
    for (metric, representation, protocol, seed), score in entry.scores.items():
        measure = _number(
            connection,
            "measures",
            {"metric": metric, "representation": representation, "protocol": protocol, "scoring_seed": seed},
            {"better": score.better},
        )
        note = _number(connection, "notes", {"note": score.note}) if score.note else None
        connection.execute(
            "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?)",
            (run, measure, score.score, score.low, score.high, score.seconds, note),
        )
        connection.executemany(
            "INSERT INTO factor_scores VALUES (?, ?, ?, ?)",
            [(run, measure, factor, value) for factor, value in score.factors.items()],
        )
    for table, blobs in (("curves", entry.curves), ("arrays", entry.arrays)):
        connection.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?)",
            [(blob.name, run, blob.dtype, blob.shape, blob.data, blob.checksum) for blob in blobs],
        )
    pack_scores(connection, run)


def stored_columns(connection: sqlite3.Connection) -> dict[str, str]:
    """The SQL for each of `STORED_COLUMNS` in this file, by name: files of older versions have no column `sources`."""
    present = columns_of_runs(connection)
    return {name: name if name in present else f"'' AS {name}" for name in STORED_COLUMNS}


def _number(
    connection: sqlite3.Connection, table: str, key: dict[str, Any], others: dict[str, Any] | None = None
) -> int:
    """The id of a row in a table of names, which is inserted if it is new."""
    where = " AND ".join(f"{name} = ?" for name in key)
    known = connection.execute(f"SELECT id FROM {table} WHERE {where}", list(key.values())).fetchone()
    if known is not None:
        return known[0]
    row = {**key, **(others or {})}
    cursor = connection.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values())
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def read_entry(connection: sqlite3.Connection, run: int) -> Entry:
    """The rows of the run with this number; raises `StoreError` if they are not what was written."""
    names = stored_columns(connection)
    values = connection.execute(f"SELECT {', '.join(names.values())} FROM runs WHERE id = ?", (run,)).fetchone()
    if values is None:
        raise StoreError(f"parts of run number {run} are missing")
    row = dict(zip(names, values, strict=True))
    packed = _packed(connection, run).get(run)
    rows = score_array(connection, run).tobytes()
    if not is_record_of(row["record"], row["run"]) or (packed is not None and packed != rows):
        raise StoreError(f"run {row['run']} is not what was written")
    # The tables of older versions have columns for these fields.
    row |= {name: column[0] for name, column in field_columns([row["record"]]).items()}
    factors: dict[int, dict[str, float]] = {}
    if has_table(connection, "factor_scores"):
        factor_scores = connection.execute("SELECT measure, factor, score FROM factor_scores WHERE run = ?", (run,))
        for measure, factor, value in factor_scores:
            factors.setdefault(measure, {})[factor] = float(value)
    scores = {
        tuple(key): Score(*rest, factors.get(measure, {}))
        for measure, *key, better, score, low, high, seconds, note in connection.execute(
            "SELECT measure, metric, representation, protocol, scoring_seed, better, score, low, high, seconds, "
            "coalesce(note_text.note, '') FROM scores JOIN measures ON measures.id = scores.measure "
            "LEFT JOIN notes AS note_text ON note_text.id = scores.note WHERE run = ? ORDER BY measure",
            (run,),
        )
        for rest in [(better, score, low, high, seconds, note)]
    }
    blobs = {
        table: [
            Blob(*blob)
            for blob in connection.execute(
                f"SELECT name, dtype, shape, data, checksum FROM {table} WHERE run = ?", (run,)
            )
        ]
        for table in ("curves", "arrays")
    }
    return Entry(row, scores, **blobs)  # type: ignore[arg-type]


def without(entry: Entry, other: Entry) -> Entry:
    """The part of an entry that another entry of the same run does not have."""
    return replace(
        entry,
        scores={key: score for key, score in entry.scores.items() if key not in other.scores},
        curves=[blob for blob in entry.curves if blob.name not in {known.name for known in other.curves}],
        arrays=[blob for blob in entry.arrays if blob.name not in {known.name for known in other.arrays}],
    )
