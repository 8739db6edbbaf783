"""The file that holds a study's results: its tables, how it is opened, and what its errors mean.

One SQLite file, written by one process at a time. The rollback journal is used rather than a write-ahead log, so that
between runs the file is complete by itself, can be copied, and can be on a network drive. With `synchronous = FULL` a
stored run survives a power cut; storing takes milliseconds and training minutes, so durability costs nothing here.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from hackle.core.design import DEFAULTS, REGIMES
from hackle.core.errors import HackleError

FILE = "results.sqlite"
"""The store's name in a study's folder."""
SCHEMA = 3
"""Version of the tables below, in the file's `user_version`. In version 1 the run's fields shown to users were columns
of `runs`; up to version 2 `reference_scores` was called `ceilings`. Such files are read and extended like any other."""
APPLICATION = 0x48434B4C
"""The file's `application_id`, which marks it as a store of hackle ("HCKL")."""

_CONDITION = "CHECK (status IN ('done', 'failed'))"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL UNIQUE,
    study TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    reason TEXT NOT NULL,
    dataset TEXT NOT NULL,
    method TEXT NOT NULL,
    strength REAL,
    architecture TEXT NOT NULL,
    record TEXT NOT NULL,
    sources TEXT NOT NULL DEFAULT '',
    version TEXT NOT NULL,
    device TEXT NOT NULL,
    training_seconds REAL,
    scoring_seconds REAL,
    finished TEXT NOT NULL
);
CREATE TABLE measures (
    id INTEGER PRIMARY KEY,
    metric TEXT NOT NULL,
    representation TEXT NOT NULL,
    better TEXT NOT NULL,
    protocol TEXT NOT NULL,
    scoring_seed INTEGER NOT NULL,
    UNIQUE (metric, representation, protocol, scoring_seed)
);
CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT NOT NULL UNIQUE);
CREATE TABLE scores (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    measure INTEGER NOT NULL REFERENCES measures,
    score REAL,
    low REAL,
    high REAL,
    seconds REAL,
    note INTEGER REFERENCES notes,
    PRIMARY KEY (run, measure)
) WITHOUT ROWID;
CREATE TABLE reference_scores (
    dataset TEXT NOT NULL,
    protocol TEXT NOT NULL,
    scoring_seed INTEGER NOT NULL,
    metric TEXT NOT NULL,
    reference REAL NOT NULL,
    PRIMARY KEY (dataset, protocol, scoring_seed, metric)
) WITHOUT ROWID;
"""
_OF_ARRAYS = """
CREATE TABLE {0} (
    name TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,
    data BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (name, run)
) WITHOUT ROWID;
CREATE INDEX {0}_of_run ON {0} (run);
"""
_TABLES += _OF_ARRAYS.format("curves") + _OF_ARRAYS.format("arrays")
_CACHE = """
CREATE TABLE IF NOT EXISTS packed_scores (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    data BLOB NOT NULL,
    checksum INTEGER NOT NULL
)
"""
"""A copy of each run's rows of `scores` as bytes, from which 12,600 runs × 60 scores are read in 0.07 s instead of 0.66 s. It
may be dropped: readers then use the rows themselves, and the next writer rebuilds it."""

_FACTORS = """
CREATE TABLE IF NOT EXISTS factor_scores (
    run INTEGER NOT NULL,
    measure INTEGER NOT NULL,
    factor TEXT NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (run, measure, factor),
    FOREIGN KEY (run, measure) REFERENCES scores ON DELETE CASCADE
) WITHOUT ROWID
"""
"""The values of scores for each factor, where a metric has them. Stores of hackle 0.2 lack the table; it is added when such a
store is next written to."""


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)


def _in_words(name: str) -> str:
    """A regime as `regime_in_words` puts it, in SQL: the fields that differ from its defaults."""
    parts = []
    for each in fields(REGIMES[name]):
        value = f"json_extract(r.record, '$.{name}.{each.name}')"
        text = f"printf('%g', {value})" if isinstance(each.default, float) else value
        parts.append(f"iif({value} <> {_literal(each.default)}, ', {each.name.replace('_', ' ')} ' || {text}, '')")
    return f"ltrim({' || '.join(parts)}, ', ')"


_FIELDS = ", ".join(
    f"{_in_words(name)} AS {name}"
    if name in REGIMES
    else f"coalesce(json_extract(r.record, '$.{name}'), {_literal(default)}) AS {name}"
    for name, default in DEFAULTS.items()
)
_VIEW = f"""
CREATE VIEW results AS
    SELECT r.run, r.dataset, r.method, r.strength, r.architecture, {_FIELDS},
        m.metric, m.representation, s.score, c.reference, s.low, s.high, m.better,
        m.protocol, m.scoring_seed, s.seconds, coalesce(n.note, '') AS note
    FROM scores s JOIN runs r ON r.id = s.run JOIN measures m ON m.id = s.measure LEFT JOIN notes n ON n.id = s.note
        LEFT JOIN reference_scores c ON c.dataset = r.dataset AND c.protocol = m.protocol
            AND c.scoring_seed = m.scoring_seed AND c.metric = m.metric
"""


class StoreError(HackleError):
    """Results that cannot be read or written."""


_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ADVICE = {
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        "another process is writing it: wait until it has finished, or end it",
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        "nothing of this run was stored, and what was stored before is whole: free some space and start the study again, "
        "it goes on where it stopped",
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
        "check that the folder exists and that you may write in it",
    ),
}
"""What to do, by the code of SQLite's error."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences that say what to do."""
    try:
        yield
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        # Extended codes say more in their higher bits. pandas wraps the error of its query; not every one has a code.
        code = getattr(error if isinstance(error, sqlite3.Error) else error.__cause__, "sqlite_errorcode", 0) & 0xFF
        damaged = code in _DAMAGED or path.suffix == ".parquet"
        usual = damage_advice(path) if damaged else "`hackle study status` tells whether the file is whole"
        raise StoreError(f"{path}: {error}; {_ADVICE.get(code, usual)}") from error


DAMAGE = (
    *(sqlite3.Error, pd.errors.DatabaseError, StoreError),
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError),
)
"""The errors that reading a damaged file can raise: its columns may hold anything."""


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """`explained`, for reading only: any other error means that the file is not what was written."""
    try:
        with explained(path):
            yield
    except HackleError:
        raise
    except DAMAGE as error:
        reason = str(error).partition("\n")[0][:200]
        raise StoreError(f"{path} holds what hackle does not write ({reason}); {damage_advice(path)}") from error


def damage_advice(path: Path) -> str:
    """What to do about a damaged file."""
    folder = shlex.quote(str(path.parent))
    if path.suffix == ".parquet":
        return f"get the folder again from where it came, or write it again: `hackle study export DIR --out {folder}`"
    return (
        f"the file is damaged. `hackle study repair {folder}` sets it aside and keeps every run that is whole; "
        "then start the study again, which trains the others anew"
    )


def refuse_foreign_journal(path: Path) -> None:
    """Refuse a store beside a journal that is no file, such as a pipe, at which SQLite would wait for ever, or that names
    another journal, as those of transactions over several files do.

    hackle writes none. SQLite would roll it back and then delete the file that it names, whichever that is.
    """
    beside = [Path(f"{os.path.realpath(path)}-{kind}") for kind in ("journal", "wal", "shm")]
    for journal in beside:
        if os.path.lexists(journal) and not stat.S_ISREG(journal.lstat().st_mode):
            raise StoreError(f"{journal} is no file, which SQLite would read with the store; the store is not read")
    journal = beside[0]
    if not journal.exists() or journal.stat().st_size < len(_JOURNAL):
        return
    with journal.open("rb") as file:
        file.seek(-len(_JOURNAL), os.SEEK_END)
        if file.read() == _JOURNAL:
            raise StoreError(f"{journal} names another journal, which hackle does not write; the store is not read")


_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""The bytes that begin a journal, and that end one that names another: https://www.sqlite.org/fileformat.html#the_rollback_journal"""


def connect(path: Path) -> sqlite3.Connection:
    """A connection without implicit transactions."""
    refuse_foreign_journal(path)
    connection = sqlite3.connect(path, timeout=60.0, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything written within is stored, or nothing is."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def create_tables(connection: sqlite3.Connection, study: str) -> None:
    """Create a new file's tables in one transaction; a file that has tables is left alone."""
    connection.execute("PRAGMA page_size = 8192")
    with transaction(connection):
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in filter(str.strip, _TABLES.split(";\n")):
                connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('study', ?)", (study,))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            complete_tables(connection)


def complete_tables(connection: sqlite3.Connection) -> None:
    """Add what is derived from the tables and what older versions did not have, within the caller's transaction."""
    connection.execute(_CACHE)
    connection.execute(_FACTORS)
    if "sources" not in columns_of_runs(connection):
        connection.execute("ALTER TABLE runs ADD COLUMN sources TEXT NOT NULL DEFAULT ''")
    if reference_table(connection) == "ceilings":
        connection.execute("DROP VIEW IF EXISTS results")
        connection.execute("ALTER TABLE ceilings RENAME COLUMN ceiling TO reference")
        connection.execute("ALTER TABLE ceilings RENAME TO reference_scores")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    view = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'results'").fetchone()
    if view is None or view[0] != _VIEW.strip():
        connection.execute("DROP VIEW IF EXISTS results")
        connection.execute(_VIEW)


def columns_of_runs(connection: sqlite3.Connection) -> list[str]:
    """The columns that the table of runs has in this file."""
    return [name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")]


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether this file has a table that older versions did not."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone())


def reference_table(connection: sqlite3.Connection) -> str:
    """The name that this file has for the table of perfect codes' scores (data set, protocol, seed, metric, score)."""
    return "ceilings" if has_table(connection, "ceilings") else "reference_scores"


def refuse_programs(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file in which SQLite would compute something as it is read or written: triggers, views, virtual tables (which
    have no page of their own), columns and indices of expressions, and conditions."""
    programs = "type = 'trigger' OR (type = 'view' AND name != 'results') OR (type = 'table' AND rootpage = 0)"
    program = connection.execute(f"SELECT type, name FROM sqlite_master WHERE {programs}").fetchone()
    tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    for name, sql in tables if program is None else ():
        if re.search(r"\bcheck\b", sql.replace(_CONDITION, ""), re.IGNORECASE):
            program = "condition of the table", name
        if connection.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden != 0", (name,)).fetchone():
            program = "computed column of the table", name
        if connection.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE dflt_value LIKE '%(%'", (name,)).fetchone():
            program = "computed default in the table", name
        indices = "pragma_index_list(?) AS i, pragma_index_xinfo(i.name) AS x WHERE i.partial OR x.cid = -2"
        if connection.execute(f"SELECT 1 FROM {indices}", (name,)).fetchone():
            program = "computed index of the table", name
    if program is not None:
        raise StoreError(f"{path} has the {' '.join(program)}, which hackle does not make; it is not read")


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a store, or that a newer or a much older version of hackle wrote."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise StoreError(f"{path} is not a store of hackle; choose another folder, or move the file away")
    if version > SCHEMA:
        raise StoreError(
            f"{path} has schema {version}, and this hackle knows schemas up to {SCHEMA}: it was written by a newer "
            "hackle. Nothing was changed; install that version, or choose another folder"
        )
    refuse_programs(connection, path)
    present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    expected = re.findall(r"CREATE TABLE (\w+)", _TABLES.replace("reference_scores", reference_table(connection)))
    if lacking := [name for name in expected if name not in present]:
        raise StoreError(
            f"{path} lacks the table {lacking[0]}: it was written by an older hackle, whose stores this one does not read. "
            "Nothing was changed; read it with the version that wrote it, or choose another folder and train anew"
        )
