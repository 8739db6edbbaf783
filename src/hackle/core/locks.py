"""One process at a time: a lock file that the system itself lets go of when its holder ends, however it ends."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# What file systems that cannot lock answer, such as Lustre where it is mounted without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path, busy: Callable[[str], None]) -> Iterator[bool]:
    """Holds the lock file during the block and removes it afterwards.

    While another process holds it, `busy` is told which: it raises to stop, or returns to wait. The block is given False
    where the system or the disk cannot lock: it runs all the same, maybe beside another.
    """
    while fcntl is not None:
        with path.open("a+") as file:
            if not _lock(file, busy):
                path.unlink(missing_ok=True)
                break
            # If the last holder removed the file while this process waited, a lock on it keeps nobody out: once more.
            if _is_at(path, file):
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}")
                file.flush()
                try:
                    yield True
                finally:
                    path.unlink(missing_ok=True)
                return
    yield False


def _lock(file: IO[str], busy: Callable[[str], None]) -> bool:
    """Whether the file could be locked, after waiting for another process if there is one."""
    assert fcntl is not None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        busy(file.read() or "another process")
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _is_at(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
