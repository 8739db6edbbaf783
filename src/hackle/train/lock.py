"""One process per folder in which is trained: a lock that the system releases when its holder dies, and that says who it is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hackle.core.locks import locked
from hackle.core.types import HackleError
from hackle.train.errors import TrainingError

FILE = "lock"


@contextmanager
def held(folder: Path, refusal: type[HackleError] = TrainingError) -> Iterator[None]:
    """Keeps others out of a folder, which is made if it is not there; `refusal` is raised where another process is in it."""

    def busy(who: str) -> None:
        raise refusal(
            f"{folder} is in use by {holder(folder) or who}; wait until it has finished, end it, or choose another folder"
        )

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
    if not os.access(folder, os.W_OK):
        # Nothing can be trained here, and what lies here may be read by many.
        yield
        return
    with locked(folder / FILE, busy):
        yield


def holder(folder: Path) -> str:
    """Who holds the lock of a folder, or held it when killed, in words; "" where nobody is written there."""
    path = folder / FILE
    try:
        since = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        return f"{who} since {since}" if (who := path.read_text()) else ""
    except OSError:
        return ""
