"""Whether a local file is the published one, by its size and known checksum.

If no checksum is known, the SHA-256 of the file when it was first fetched is stored beside it as NAME.sha256, in the
format of the sha256sum program, so that later damage is detected.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from hackle.datasets.archives import locate
from hackle.datasets.source import Checksum, RemoteFile

State = Literal["missing", "verified", "unverified", "damaged"]


@dataclass(frozen=True)
class FileState:
    """The state of the local copy of one published file."""

    path: Path
    state: State
    detail: str


def file_state(file: RemoteFile, folder: Path) -> FileState:
    """Whether the file is in the folder and matches what was published or, without a checksum, what was first fetched."""
    path = folder / file.name
    if not path.exists():
        return _absent(path)
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return FileState(path, "damaged", f"damaged: {size:,} bytes, {file.size:,} expected")
    expected = file.checksum or _recorded(path)
    if expected is None:
        return FileState(path, "unverified", "present; no published checksum")
    actual = checksum_of(path, expected.algorithm)
    if actual != expected:
        return FileState(path, "damaged", f"damaged: {actual}, {expected.digest} expected")
    if file.checksum is None:
        return FileState(path, "verified", "unchanged since it was fetched (SHA-256); no published checksum")
    return FileState(path, "verified", f"verified by {expected.algorithm}")


def checksum_of(path: Path, algorithm: Literal["SHA-256", "MD5"]) -> Checksum:
    """The checksum of a file."""
    start = partial(hashlib.new, algorithm.replace("-", "").lower(), usedforsecurity=False)
    with path.open("rb") as file:
        return Checksum(algorithm, hashlib.file_digest(file, start).hexdigest())


def record(path: Path, checksum: Checksum) -> None:
    """Stores the checksum that the file at `path` had when it was fetched."""
    _record_path(path).write_text(f"{checksum.digest}  {path.name}\n")


def _recorded(path: Path) -> Checksum | None:
    words = _record_path(path).read_text().split() if _record_path(path).is_file() else []
    return Checksum("SHA-256", words[0]) if words else None


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _absent(path: Path) -> FileState:
    unpacked, part = locate(path.parent, path.name), path.with_name(f"{path.name}.part")
    if unpacked is not None:
        return FileState(unpacked, "unverified", f"unpacked; only {path.name} itself could be verified")
    if part.exists():
        return FileState(
            path, "missing", f"missing; {part.stat().st_size:,} bytes of it received, fetch goes on from there"
        )
    return FileState(path, "missing", "missing")
