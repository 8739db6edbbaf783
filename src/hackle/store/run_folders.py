"""The scores of runs trained and scored one by one, in the same table as a study's results."""

from __future__ import annotations

import shlex
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from hackle.core.errors import HackleError
from hackle.core.field_checks import expected_value
from hackle.core.records import record_hash
from hackle.core.untrusted import file_inside, is_inside, is_text, read_json
from hackle.store import parquet
from hackle.store.results import Store, read
from hackle.store.schema import FILE, StoreError, connect, create_tables
from hackle.store.tables import Outcome, with_record_fields
from hackle.train.record_files import RECORD, peek_record

SCORES = "scores.json"


def results(folder: str | Path) -> pd.DataFrame:
    """The scores in a folder: a row per run, representation, metric and protocol, with columns that identify the run.

    Give a study's folder or its `results.sqlite`, the folder of a run, or of several runs, scored by `hackle score`, or the
    name of results that come with hackle, such as "hackle-2026".
    """
    path = Path(folder)
    runs = _runs(path) if path.is_dir() and not (path / FILE).is_file() else []
    if scored := [run for run in runs if (run / SCORES).is_file()]:
        return _table(path, scored)
    if runs and not parquet.is_there(path):
        raise StoreError(
            f"{path} holds {len(runs):,} run{'s' * (len(runs) != 1)} and no scores; `hackle score {shlex.quote(str(runs[0]))}` "
            "computes them and keeps them in its folder, which hackle.score in Python does not"
        )
    return with_record_fields(read(folder))


def _runs(folder: Path) -> list[Path]:
    """The folder itself and its subfolders, where they hold a run; not links to folders elsewhere."""
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and is_inside(folder, path))
    return [path for path in (folder, *inside) if (path / RECORD).is_file()]


def _table(folder: Path, runs: list[Path]) -> pd.DataFrame:
    """The table, built by way of a store in memory. Unreadable runs are left out with a warning."""
    places: dict[str, Path] = {}
    problems: list[HackleError] = []
    with closing(connect(Path(":memory:"))) as connection:
        create_tables(connection, "")
        store = Store(folder, connection, "")
        for path in runs:
            try:
                # The record is only read as data: nothing that it names is imported, nor read elsewhere.
                run, _ = peek_record(path)
                outcome = Outcome(run, "done", scores=read_scores(path), sources={})
            except HackleError as error:
                problems.append(error)
                continue
            if (same := places.setdefault(record_hash(outcome.run), path)) != path:
                raise StoreError(f"{same} and {path} hold the same run; move one of them away")
            store.add(outcome)
        if not places:
            raise problems[0]
        for problem in problems:
            warnings.warn(f"left out: {problem}", stacklevel=3)
        return with_record_fields(store.tables())


def read_scores(folder: Path) -> list[dict[str, Any]]:
    """The rows that `hackle score` wrote for a run; none if it has not been scored."""
    try:
        path = file_inside(folder, SCORES)
        rows = [] if path is None else read_json(path)
        if not isinstance(rows, list):
            raise ValueError(f"it holds a {type(rows).__name__}; expected a list of rows")
        rows = [_renamed(row) for row in rows]
        seen: set[tuple[Any, ...]] = set()
        for number, row in enumerate(rows):
            if wrong := _wrong(row):
                raise ValueError(f"row {number}: {wrong}")
            if (measure := tuple(row[name] for name in _MEASURE)) in seen:
                raise ValueError(f"row {number}: a second score for {measure!s:.80}; expected one")
            seen.add(measure)
    except ValueError as error:
        raise StoreError(
            f"{folder / SCORES} is no table of scores ({error}); make it anew with "
            f"`hackle score {shlex.quote(str(folder))} --overwrite`"
        ) from error
    return rows


_KINDS: dict[str, type] = {
    **dict.fromkeys(("metric", "representation", "better", "protocol"), str),
    "seed": int,
    **dict.fromkeys(("score", "reference", "low", "high", "seconds"), float),
    "note": str,
}
_MEASURE = ("metric", "representation", "protocol", "seed")
"""What tells the scores of a run apart."""
_MAY_LACK = ("score", "reference", "low", "high", "seconds", "note")


def _renamed(row: Any) -> Any:
    """The row with `ceiling`, as older versions called it, renamed to `reference`."""
    if not isinstance(row, dict) or "ceiling" not in row:
        return row
    return {"reference" if name == "ceiling" else name: value for name, value in row.items()}


def _wrong(row: Any) -> str:
    """What is wrong with a row of scores; empty if it is valid. Scores may be NaN."""
    if not isinstance(row, dict):
        return f"it is {row!r:.60}; expected an object"
    for name, kind in _KINDS.items():
        value = row.get(name)
        if (value is None and name in _MAY_LACK) or (kind is float and type(value) is float):
            continue
        if (expected := expected_value(kind, value)) or (kind is str and not is_text(value)):
            return f"{name} is {value!a:.60}; expected {expected or 'text in Unicode'}"
    factors = row.get("per_factor") or {}
    if not isinstance(factors, dict) or not all(map(is_text, factors)):
        return f"per_factor is {factors!a:.60}; expected an object"
    numbers = (value for value in factors.values() if value is not None and type(value) is not float)
    odd = [value for value in numbers if expected_value(float, value)]
    return f"per_factor has {odd[0]!a:.60}; expected numbers" if odd else ""
