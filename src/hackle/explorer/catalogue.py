"""What a folder holds: one run, a folder of runs, or a study; its runs with their scores and curves.

A client names a run by an identifier, never by a path. Run folders are found by walking the served folder; one that
resolves to a place outside it, for instance through a link, is not served.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from hackle.core.design import DESIGN, design_of
from hackle.core.errors import HackleError
from hackle.core.records import to_json
from hackle.core.untrusted import is_inside
from hackle.shipped import TRAINED, place_of_results
from hackle.store import FILE, Store, StoreError, parquet, read
from hackle.store.entries import read_entry
from hackle.store.run_folders import SCORES, read_scores
from hackle.train.curves import FILE as CURVES
from hackle.train.curves import read_curves
from hackle.train.model import WEIGHTS
from hackle.train.record_files import RECORD, peek_record

RUNS = "runs"
DEPTH = 3
"""How many levels below the served folder a run may be."""
PATIENCE = 0.5
"""Seconds for which the folder is assumed unchanged since it was last read."""
COLUMNS = ("id", "name", *DESIGN, "status")
_OF_SCORE = ("run", "metric", "representation", "score", "chance", "reference", "better", "protocol")


class CatalogueError(HackleError):
    """A folder with nothing to explore, or a run that does not exist."""


@dataclass(frozen=True)
class Contents:
    """The runs, a row each with `COLUMNS`, the folder of those that have one, and every score of every run."""

    runs: Any
    folders: dict[str, Path]
    scores: Any
    problems: dict[str, str]


def without_places(text: str, root: Path) -> str:
    """A message for visitors, without paths on this machine or addresses in its memory."""
    text = text.replace(f"{root}{os.sep}", "").replace(str(root), root.name)
    text = re.sub(r"(?<![\w/:.])/(?:[^\s/'\"`;,()]+/)*([^\s/'\"`;,()]+)", r"\1", text)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def identifier_of(name: str) -> str:
    """Sixteen hexadecimal digits for a path."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def _in_words(name: str) -> str:
    """A folder's name as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _folders(root: Path) -> Iterator[tuple[Path, str]]:
    """Every run folder under the root that does not lead out of it, with the reason if it cannot be read."""
    seen: set[str] = set()

    def below(top: Path, depth: int) -> Iterator[tuple[Path, str]]:
        real = os.path.realpath(top)
        if real in seen or not is_inside(root, top):
            return
        seen.add(real)
        try:
            if (top / RECORD).is_file():
                yield top, ""
                return
            with os.scandir(top) as entries:
                inside = sorted((entry.is_symlink(), entry.name) for entry in entries if _may_hold_runs(entry))
        except FileNotFoundError:
            if top == root:
                raise
            return  # removed while the folder was being walked
        except OSError as error:
            if top == root:
                raise
            yield top, f"this folder cannot be looked into: {error.strerror}"
            return
        for _, name in inside if depth else ():
            yield from below(top / name, depth - 1)

    yield from below(root, DEPTH)


def _may_hold_runs(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and not entry.name.startswith(".")
    except OSError:
        # A loop of links, for instance: opening it reports the error.
        return True


def _scores_of(root: Path, folder: Path) -> list[dict[str, Any]]:
    """The rows that `hackle score` wrote into a run's folder. Earlier demos wrote them into the folder above `run`."""
    rows = read_scores(folder)
    of_demo = not rows and folder.name == "run" and folder != root
    return rows or (read_scores(folder.parent) if of_demo else [])


def _state(folder: Path) -> str:
    return "done" if (folder / WEIGHTS).is_file() else "training"


def _row_of_folder(root: Path, folder: Path, identifier: str) -> dict[str, Any]:
    run, _ = peek_record(folder)
    return {
        "id": identifier,
        "name": _in_words(folder.relative_to(root).as_posix() if folder != root else folder.name),
        **design_of(run),
        "status": _state(folder),
    }


def _contents_of_folders(root: Path, known: Collection[str] = ()) -> Contents:
    """The run folders under a root, except those with known names."""
    rows, folders, scores, problems = [], {}, [], {}
    for folder, problem in _folders(root):
        if folder.name in known:
            continue
        identifier = identifier_of(str(folder.relative_to(root)))
        try:
            if problem:
                raise CatalogueError(problem)
            rows.append(_row_of_folder(root, folder, identifier))
        except HackleError as error:
            name = _in_words(folder.name)
            rows.append(dict.fromkeys(COLUMNS) | {"id": identifier, "name": name, "status": "unreadable"})
            problems[identifier] = without_places(str(error), root)
        folders[identifier] = folder
        try:
            scores += [{**row, "run": identifier} for row in _scores_of(root, folder)]
        except HackleError as error:
            problems.setdefault(identifier, without_places(str(error), root))
    table = pd.DataFrame(scores, columns=pd.Index(_OF_SCORE)) if scores else pd.DataFrame(columns=pd.Index(_OF_SCORE))
    return Contents(pd.DataFrame(rows, columns=pd.Index(COLUMNS)), folders, table, problems)


def _contents_of_study(root: Path) -> Contents:
    """A study's stored runs, and the folders of those that are still training."""
    tables: Any = read(root)
    names = [str(name) for name in tables.runs["run"]]
    kept = {name: root / RUNS / name for name in names}
    kept = {name: path for name, path in kept.items() if (path / WEIGHTS).is_file() and is_inside(root, path)}
    failed = tables.runs["status"] == "failed"
    problems = {str(name): str(reason) for name, reason in tables.runs.loc[failed, ["run", "reason"]].to_numpy()}
    status = ["failed" if name in problems else "done" if name in kept else "scores only" for name in names]
    runs = tables.runs.rename(columns={"run": "id"}).assign(name=names, status=status)[list(COLUMNS)]
    others = _contents_of_folders(root, set(names))
    every = pd.concat([runs, others.runs], ignore_index=True) if len(others.runs) else runs
    scores = pd.concat([tables.scores, others.scores], ignore_index=True) if len(others.scores) else tables.scores
    return Contents(every, kept | others.folders, scores, problems | others.problems)


def _unreadable(root: Path, error: HackleError) -> Contents:
    """A row for a folder of which nothing can be shown but the reason."""
    identifier = identifier_of("")
    row = dict.fromkeys(COLUMNS) | {"id": identifier, "name": _in_words(root.name), "status": "unreadable"}
    problems = {identifier: without_places(str(error), root)}
    return Contents(
        pd.DataFrame([row], columns=pd.Index(COLUMNS)),
        {identifier: root},
        pd.DataFrame(columns=pd.Index(_OF_SCORE)),
        problems,
    )


def root_of(directory: str | Path) -> Path:
    """The folder that is served for a path, or for the name of results that come with hackle."""
    # Not by `resolve`, which fails on links in a circle.
    return Path(os.path.realpath(place_of_results(Path(directory).expanduser())))


class Served(ABC):
    """Runs by identifier: those of one folder (`Catalogue`), or of several (`hackle.explorer.gathered`)."""

    title: str
    contents: Contents

    @abstractmethod
    def refresh(self) -> str:
        """Read again what has changed; the stamp says which state was read."""

    @abstractmethod
    def _stored(self, identifier: str) -> tuple[Path, str] | None:
        """The folder of the study that stores a run, and the run's hash there; None if it is in no store."""

    @abstractmethod
    def for_visitors(self, text: str) -> str:
        """A message without paths on this machine."""

    def folder(self, identifier: str) -> Path | None:
        """The run's folder, None if only its results are kept; raises an error if there is no such run."""
        folder = self.contents.folders.get(identifier)
        if folder is not None and folder.is_dir():
            return folder
        if folder is not None or not (self.contents.runs["id"] == identifier).any():
            self.refresh()
            if not (self.contents.runs["id"] == identifier).any():
                raise CatalogueError(f"no run {identifier!r} is served here")
        return self.contents.folders.get(identifier)

    def row(self, identifier: str) -> dict[str, Any]:
        """What is known of a run without opening it."""
        folder = self.folder(identifier)
        row = self.contents.runs[self.contents.runs["id"] == identifier].iloc[0].to_dict()
        if folder is not None and row["status"] in ("training", "done"):
            row["status"] = _state(folder)
        return {name: _plain(value) for name, value in row.items()}

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
        if folder is not None and self.row(identifier)["status"] != "unreadable":
            return to_json(peek_record(folder)[0])
        if folder is None and (stored := self._stored(identifier)) is not None:
            with Store.open(stored[0]) as store:
                fetched = store.connection.execute("SELECT record FROM runs WHERE run = ?", stored[1:]).fetchone()
            return json.loads(fetched[0]) if fetched is not None else {}
        return {}

    def written(self, identifier: str) -> float | None:
        """When the last point of the run's curves was written, in seconds; None if no file holds them."""
        folder = self.folder(identifier)
        status = None if folder is None else _stat(folder / CURVES)
        return None if status is None else status.st_mtime

    def curves(self, identifier: str, after: int = -1) -> dict[str, list[Any]]:
        """Every logged term with its steps, only those after a given step."""
        folder = self.folder(identifier)
        curves = _plain_curves(read_curves(folder)) if folder is not None else {}
        if not curves and (stored := self._stored(identifier)) is not None:
            curves = _stored_curves(*stored)
        keep = [position for position, step in enumerate(curves.get("step", [])) if step > after]
        return {name: [values[position] for position in keep] for name, values in curves.items()}


class Catalogue(Served):
    """One folder, read again when it has changed. among: others are served with it, so that one that cannot be read is a row
    with the reason instead of an error."""

    def __init__(self, root: str | Path, *, among: bool = False) -> None:
        self.root, self._among = root_of(root), among
        if not self.root.is_dir():
            raise CatalogueError(f"there is no folder {root}; give a run's folder, a folder of runs or a study's")
        self.is_study = (self.root / FILE).is_file() or parquet.is_there(self.root)
        self.title = "models that come with hackle" if self.root == TRAINED.resolve() else self.root.name
        self.stamp, self._checked, self._lock = "", -math.inf, threading.Lock()
        self.contents = Contents(pd.DataFrame(), {}, pd.DataFrame(), {})
        self.refresh()
        if not len(self.contents.runs):
            raise CatalogueError(
                f"{root} holds no run: neither {RECORD} nor {FILE} is in it or below. "
                "`hackle train … --out DIR` makes a run, `hackle study run` a study"
            )

    def refresh(self) -> str:
        with self._lock:
            if time.monotonic() - self._checked > PATIENCE:
                try:
                    self._read()
                except HackleError as error:
                    if not self._among:
                        raise
                    self.stamp, self.contents = identifier_of(str(error)), _unreadable(self.root, error)
                self._checked = time.monotonic()
            return self.stamp

    def _read(self) -> None:
        """Read the folder if it has changed."""
        try:
            stamp = self._stamp()
        except OSError as error:
            raise CatalogueError(
                f"{self.root} cannot be read any more ({error.strerror}); put it back, or serve another folder"
            ) from error
        if stamp != self.stamp:
            self.contents = _contents_of_study(self.root) if self.is_study else _contents_of_folders(self.root)
            self.stamp = stamp

    def _stamp(self) -> str:
        """A hash that changes when a run is added, finished or scored."""
        if self.is_study:
            places = [self.root / FILE, self.root / f"{FILE}-wal", self.root / RUNS, *parquet.files(self.root)]
        else:
            folders = [folder for folder, _ in _folders(self.root)]
            names = (RECORD, WEIGHTS, SCORES)
            places = [folder / name for folder in folders for name in names] + [self.root / SCORES]
        seen = [(str(path), stat.st_mtime_ns, stat.st_size) for path in places if (stat := _stat(path)) is not None]
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def _stored(self, identifier: str) -> tuple[Path, str] | None:
        return (self.root, identifier) if self.is_study else None

    def for_visitors(self, text: str) -> str:
        return without_places(text, self.root)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it: NaN becomes null."""
    if value is None or value is pd.NA:
        return None
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_curves(curves: Mapping[str, NDArray[Any]]) -> dict[str, list[Any]]:
    """Curves as JSON can hold them, each float32 with the nine digits that reproduce it; empty if there are no
    steps."""
    if "step" not in curves:
        return {}
    terms = {name: values.tolist() for name, values in curves.items() if name != "step"}
    plain = {name: [_plain(float(f"{value:.9g}")) for value in values] for name, values in terms.items()}
    return {"step": curves["step"].tolist(), **plain}


def _stored_curves(root: Path, identifier: str) -> dict[str, list[Any]]:
    """The curves that a study keeps of a run."""
    try:
        with Store.open(root) as store:
            number = store.connection.execute("SELECT id FROM runs WHERE run = ?", (identifier,)).fetchone()
            blobs = read_entry(store.connection, number[0]).curves if number is not None else []
        return _plain_curves({blob.name: blob.array for blob in blobs})
    except (StoreError, ValueError):
        return {}
