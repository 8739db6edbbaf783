"""What a folder holds: one run, a folder of runs, or a study; its runs with their scores and curves.

A client names a run by an identifier and never by a path. Folders are found by walking the served one, and a folder that
resolves to a place outside it, through a link for instance, is not served.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hackle.core.method import strength_of
from hackle.core.parts import name_of
from hackle.core.records import to_json
from hackle.core.types import HackleError
from hackle.store import FILE, Store, StoreError, read
from hackle.store.entries import read_entry
from hackle.train.curves import FILE as CURVES
from hackle.train.curves import read_curves
from hackle.train.model import RECORD, WEIGHTS, ModelError, peek_record

SCORES, RUNS = "scores.json", "runs"
DEPTH = 3
"""How many folders below the served one a run may lie."""
MOST_BYTES = 64 * 2**20
"""The largest table of scores or curves that is read."""
PATIENCE = 0.5
"""Seconds for which the folder is taken to be as it was when last looked at."""
COLUMNS = (
    *("id", "name", "dataset", "method", "strength", "architecture", "correlation"),
    *("seed", "steps", "latents", "status"),
)
_OF_SCORE = ("run", "metric", "representation", "score", "ceiling", "better", "protocol")


class CatalogueError(HackleError):
    """A folder with nothing to explore, or a run that is not there."""


@dataclass(frozen=True)
class Contents:
    """The runs, a row each with `COLUMNS`, the folder of those that have one, and every score of every run."""

    runs: Any
    folders: dict[str, Path]
    scores: Any
    problems: dict[str, str]


def _identifier(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _folders(root: Path, top: Path | None = None, depth: int = DEPTH) -> Iterator[Path]:
    """Every run folder under the root that does not lead out of it."""
    top = root if top is None else top
    if not top.resolve().is_relative_to(root):
        return
    if (top / RECORD).is_file():
        yield top
        return
    if depth:
        try:
            with os.scandir(top) as found:
                below = sorted(entry.name for entry in found if entry.is_dir() and not entry.name.startswith("."))
        except FileNotFoundError:
            if top == root:
                raise
            return  # removed while the folder was being walked
        for name in below:
            yield from _folders(root, top / name, depth - 1)


def _within(root: Path, path: Path) -> bool:
    """Whether a file is there, lies under the root and is not too large to read."""
    return path.is_file() and path.resolve().is_relative_to(root) and path.stat().st_size <= MOST_BYTES


def _scores_of(root: Path, folder: Path) -> list[dict[str, Any]]:
    """The rows that `hackle score` or the demo left beside a run."""
    for path in (folder / SCORES, folder.parent / SCORES):
        if _within(root, path):
            try:
                rows = json.loads(path.read_text())
                return [dict(row) for row in rows if {"metric", "score"} <= dict(row).keys()]
            except (ValueError, TypeError):
                return []
    return []


def _state(folder: Path) -> str:
    return "done" if (folder / WEIGHTS).is_file() else "training"


def _row_of_folder(root: Path, folder: Path, identifier: str) -> dict[str, Any]:
    run, _ = peek_record(folder)
    return {
        "id": identifier,
        "name": folder.relative_to(root).as_posix() if folder != root else folder.name,
        "dataset": run.dataset,
        "method": name_of(run.method),
        "strength": strength_of(run.method),
        "architecture": name_of(run.architecture),
        "correlation": run.correlation,
        "seed": run.seed,
        "steps": run.steps,
        "latents": run.latents,
        "status": _state(folder),
    }


def _contents_of_folders(root: Path, known: Collection[str] = ()) -> Contents:
    """The run folders under a root, but for those whose names are known already."""
    rows, folders, scores, problems = [], {}, [], {}
    for folder in _folders(root):
        if folder.name in known:
            continue
        identifier = _identifier(str(folder.relative_to(root)))
        try:
            rows.append(_row_of_folder(root, folder, identifier))
        except ModelError as error:
            rows.append(dict.fromkeys(COLUMNS) | {"id": identifier, "name": folder.name, "status": "unreadable"})
            problems[identifier] = str(error)
        folders[identifier] = folder
        scores += [{**row, "run": identifier} for row in _scores_of(root, folder)]
    table = pd.DataFrame(scores, columns=pd.Index(_OF_SCORE)) if scores else pd.DataFrame(columns=pd.Index(_OF_SCORE))
    return Contents(pd.DataFrame(rows, columns=pd.Index(COLUMNS)), folders, table, problems)


def _contents_of_study(root: Path) -> Contents:
    """A study's stored runs, and the folders of those that are still training."""
    tables: Any = read(root)
    names = [str(name) for name in tables.runs["run"]]
    kept = {name: root / RUNS / name for name in names}
    kept = {
        name: path for name, path in kept.items() if (path / WEIGHTS).is_file() and path.resolve().is_relative_to(root)
    }
    runs = tables.runs.rename(columns={"run": "id"}).assign(name=names)[list(COLUMNS)]
    status = [
        "failed" if status == "failed" else "done" if name in kept else "scores only"
        for name, status in zip(names, tables.runs["status"], strict=True)
    ]
    runs = runs.assign(status=status)
    problems = {
        name: str(reason)
        for name, status, reason in zip(names, tables.runs["status"], tables.runs["reason"], strict=True)
        if status == "failed"
    }
    others = _contents_of_folders(root, set(names))
    every = pd.concat([runs, others.runs], ignore_index=True) if len(others.runs) else runs
    return Contents(every, kept | others.folders, tables.scores, problems | others.problems)


class Catalogue:
    """The served folder, read again when it has changed."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser().resolve()
        if not self.root.is_dir():
            raise CatalogueError(f"there is no folder {root}; give a run's folder, a folder of runs or a study's")
        self.is_study = (self.root / FILE).is_file()
        self.stamp, self._checked, self._lock = "", -math.inf, threading.Lock()
        self.contents = Contents(pd.DataFrame(), {}, pd.DataFrame(), {})
        self.refresh()
        if not len(self.contents.runs):
            raise CatalogueError(
                f"{root} holds no run: neither {RECORD} nor {FILE} is in it or below. "
                "`hackle train … --out DIR` makes a run, `hackle study run` a study"
            )

    def refresh(self) -> str:
        """Read the folder again if it has changed; the stamp says which state was read."""
        with self._lock:
            if time.monotonic() - self._checked > PATIENCE:
                try:
                    stamp = self._stamp()
                except OSError as error:
                    raise CatalogueError(
                        f"{self.root} cannot be read any more ({error.strerror}); put it back, or serve another folder"
                    ) from error
                if stamp != self.stamp:
                    self.contents = _contents_of_study(self.root) if self.is_study else _contents_of_folders(self.root)
                    self.stamp = stamp
                self._checked = time.monotonic()
            return self.stamp

    def _stamp(self) -> str:
        """What changes when a run is added, finished or scored."""
        if self.is_study:
            places = [self.root / FILE, self.root / f"{FILE}-wal", self.root / RUNS]
        else:
            folders = list(_folders(self.root))
            names = (RECORD, WEIGHTS, SCORES)
            places = [folder / name for folder in folders for name in names] + [self.root / SCORES]
        seen = [(str(path), stat.st_mtime_ns, stat.st_size) for path in places if (stat := _stat(path)) is not None]
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def folder(self, identifier: str) -> Path | None:
        """The run's folder, None where only its results are kept; an error where there is no such run."""
        found = self.contents.folders.get(identifier)
        if found is not None and found.is_dir():
            return found
        if found is not None or not (self.contents.runs["id"] == identifier).any():
            self.refresh()
            if not (self.contents.runs["id"] == identifier).any():
                raise CatalogueError(f"no run {identifier!r} is served here")
        return self.contents.folders.get(identifier)

    def row(self, identifier: str) -> dict[str, Any]:
        """What is known of a run without opening it."""
        folder = self.folder(identifier)
        found = self.contents.runs[self.contents.runs["id"] == identifier].iloc[0].to_dict()
        if folder is not None and found["status"] in ("training", "done"):
            found["status"] = _state(folder)
        return {name: _plain(value) for name, value in found.items()}

    def scores(self, identifier: str) -> list[dict[str, Any]]:
        """The run's scores, a row per metric, representation and protocol."""
        self.folder(identifier)
        table = self.contents.scores
        if not len(table):
            return []
        own = table[table["run"] == identifier]
        kept = [name for name in _OF_SCORE[1:] if name in own]
        return [{name: _plain(value) for name, value in row.items()} for row in own[kept].to_dict("records")]

    def record(self, identifier: str) -> dict[str, Any]:
        """The run's record as JSON."""
        folder = self.folder(identifier)
        if folder is not None and identifier not in self.contents.problems:
            return to_json(peek_record(folder)[0])
        if self.is_study and folder is None:
            with Store.open(self.root) as store:
                found = store.connection.execute("SELECT record FROM runs WHERE run = ?", (identifier,)).fetchone()
            return json.loads(found[0]) if found is not None else {}
        return {}

    def curves(self, identifier: str, after: int = -1) -> dict[str, list[Any]]:
        """Every logged term with its steps, those after a step alone."""
        folder = self.folder(identifier)
        found = _read_curves(self.root, folder / CURVES) if folder is not None else {}
        if not found and self.is_study:
            found = _stored_curves(self.root, identifier)
        keep = [position for position, step in enumerate(found.get("step", [])) if step > after]
        return {name: [values[position] for position in keep] for name, values in found.items()}


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _plain(value: Any) -> Any:
    """A cell as JSON knows it: NaN is nothing."""
    if value is None or value is pd.NA:
        return None
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_curves(root: Path, path: Path) -> dict[str, list[Any]]:
    """The table that training appends to."""
    if not _within(root, path):
        return {}
    try:
        columns = read_curves(path.parent)
    except ValueError:
        return {}
    return {name: [_plain(value) for value in values.tolist()] for name, values in columns.items()}


def _stored_curves(root: Path, identifier: str) -> dict[str, list[Any]]:
    """The curves that a study keeps of a run."""
    try:
        with Store.open(root) as store:
            number = store.connection.execute("SELECT id FROM runs WHERE run = ?", (identifier,)).fetchone()
            blobs = read_entry(store.connection, number[0]).curves if number is not None else []
        found = {blob.name: blob.array.tolist() for blob in blobs}
    except (StoreError, ValueError):
        return {}
    return {name: [_plain(value) for value in values] for name, values in found.items()} if "step" in found else {}
