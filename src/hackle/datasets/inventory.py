"""Which data sets exist, which are here and whether they are intact: behind `hackle data list`, `fetch` and `check`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hackle.core.files import human_size
from hackle.datasets import DATASETS, find
from hackle.datasets.archives import locate
from hackle.datasets.fetch import data_root, fetch_file, how_to_get
from hackle.datasets.source import DataError, Source
from hackle.datasets.verify import FileState, State, file_state

# A set is as bad as its worst file.
_WORST_FIRST: tuple[State, ...] = ("damaged", "missing", "unverified", "verified")


@dataclass(frozen=True)
class Entry:
    """One line of the list of data sets; `download` is the size of the files to fetch, if any."""

    name: str
    images: str
    factors: str
    licence: str
    download: str
    here: str


@dataclass(frozen=True)
class Verdict:
    """The result of a check: the state of each file, and of the set, which is that of its worst file."""

    name: str
    state: State
    files: tuple[FileState, ...]

    def __str__(self) -> str:
        if not self.files:
            return f"{self.name}: made by hackle, no files to check"
        details = {file.detail for file in self.files}
        if len(details) == 1 and self.state in ("verified", "missing"):
            return f"{self.name}: {details.pop()}"
        return "\n  ".join([f"{self.name}: {self.state}", *(f"{file.path}: {file.detail}" for file in self.files)])


def entries(root: Path | str | None = None) -> list[Entry]:
    """Every published data set, and whether its files are here. Only file names are read."""
    return [_entry(known, data_root(root)) for known in DATASETS.values()]


def fetch(name: str, root: Path | str | None = None, *, force: bool = False) -> list[Path]:
    """Fetches the missing files of a data set and returns the paths of all; `force` fetches all again."""
    known = find(name)
    if not all(file.address for file in known.files):
        raise DataError(f"{name} has no public address. {how_to_get(known)} ({data_root(root) / name})")
    try:
        return [fetch_file(file, data_root(root) / name, force=force) for file in known.files]
    except DataError as error:
        if not known.steps:
            raise
        raise DataError(f"{error}. By hand: {known.steps}; put the files in {data_root(root) / name}") from error


def check(name: str | None = None, root: Path | str | None = None) -> list[Verdict]:
    """Compares the files of one data set, or of all, with what was published."""
    wanted = DATASETS.values() if name is None else [find(name)]
    return [_verdict(known, data_root(root)) for known in wanted]


def _entry(known: Source, root: Path) -> Entry:
    sizes = [file.size for file in known.files]
    if not sizes or known.optional:
        size = "–"
    elif not all(file.address for file in known.files):
        size = "by hand"
    else:
        size = "size unknown" if None in sizes else human_size(sum(size for size in sizes if size is not None))
    present = [locate(root / known.name, file.name) is not None for file in known.files]
    if not present or (known.optional and not any(present)):
        here = "made by hackle"
    else:
        here = "yes" if all(present) else ("in part" if any(present) else "no")
    return Entry(known.name, known.images, known.factors, known.licence, size, here)


def _verdict(known: Source, root: Path) -> Verdict:
    files = tuple(file_state(file, root / known.name) for file in known.files)
    if known.optional:
        files = tuple(file for file in files if file.state != "missing")
    worst = min((_WORST_FIRST.index(file.state) for file in files), default=-1)
    return Verdict(known.name, _WORST_FIRST[worst], files)
