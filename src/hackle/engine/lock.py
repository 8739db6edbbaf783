"""One driver per study folder: a lock that the system releases when its holder dies, and that says who holds it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from hackle.types import HackleError

FILE = "lock"


class EngineError(HackleError):
    """A study that cannot start or go on."""


class FolderLock:
    """Held from `with` to its end, or to the death of the process, whatever kills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: TextIO | None = None

    def __enter__(self) -> FolderLock:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / FILE).open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise EngineError(
                f"{self.folder} is in use by {holder(self.folder) or 'another process'}; wait until it has finished, "
                "end it, or choose another folder"
            ) from error
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}))
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def holder(folder: Path) -> str:
    """Who holds, or last held, the lock of a study folder, in words; "" where nobody is written there."""
    try:
        known = json.loads((folder / FILE).read_text())
        return f"process {known['pid']} on {known['host']} since {known['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
