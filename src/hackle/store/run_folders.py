"""The scores of runs that were trained and scored one by one, as the table that a study's results are."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pandas as pd

from hackle.core.records import record_hash
from hackle.store.results import Store, read
from hackle.store.schema import FILE, StoreError, connect, create_tables
from hackle.store.tables import Outcome
from hackle.train.model import RECORD, read_record

SCORES = "scores.json"


def results(folder: str | Path) -> pd.DataFrame:
    """The scores in a folder, a row per run, representation, metric and protocol.

    The folder, or `results.sqlite` in it, is a study's; or it is a run's, or one of runs, that `hackle score` has scored.
    """
    path = Path(folder)
    if path.is_dir() and not (path / FILE).is_file() and (found := _scored(path)):
        return _table(path, found)
    return read(folder).scores


def _scored(folder: Path) -> list[Path]:
    """The folder itself and those in it, as far as they hold a run and its scores."""
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path for path in (folder, *inside) if (path / RECORD).is_file() and (path / SCORES).is_file()]


def _table(folder: Path, runs: list[Path]) -> pd.DataFrame:
    """Through a store in memory, so that it is the same table."""
    places: dict[str, Path] = {}
    with closing(connect(Path(":memory:"))) as connection:
        create_tables(connection, "")
        store = Store(folder, connection, "")
        for path in runs:
            run, _ = read_record(path)
            if (same := places.setdefault(record_hash(run), path)) != path:
                raise StoreError(f"{same} and {path} hold the same run; move one of them away")
            try:
                rows = json.loads((path / SCORES).read_text(encoding="utf-8"))
                store.add(Outcome(run, "done", scores=rows))
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(
                    f"{path / SCORES} is no table of scores ({error}); make it anew with `hackle score {path} --overwrite`"
                ) from error
        return store.tables().scores
