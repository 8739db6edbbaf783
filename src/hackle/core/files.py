"""Files: written whole or not at all, locked for one process at a time, and their sizes in words."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hackle.core.errors import HackleError

LOCK = "lock"
"""The lock file in a folder, which names the process that works there."""
# Errors of file systems that cannot lock, such as Lustre mounted without locks.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def replacing(path: Path, ending: str = "partial") -> Iterator[Path]:
    """A path beside this one to write to. When the block ends without an error, that file replaces this one atomically,
    so that a reader sees either the old file or the new one; otherwise the old one stays and what was written is
    deleted.

    ending: of the file's name while it is written; must be unique where several processes may write at the same time.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replacing(path) as partial:
    ...     _ = partial.write_text("a,b")
    >>> path.read_text(), [file.name for file in path.parent.iterdir()]
    ('a,b', ['table.csv'])
    """
    partial = path.with_name(f"{path.name}.{ending}")
    # A file already there was left by a killed process, or is a link through which another file would be overwritten.
    partial.unlink(missing_ok=True)
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, busy: Callable[[str], None]) -> Iterator[bool]:
    """Holds the lock file during the block and removes it afterwards. The system releases it when its holder ends,
    however it ends.

    While another process holds it, `busy` is told which: it raises to stop, or returns to wait. The block receives
    False where the system or the disk cannot lock: it runs all the same, perhaps at the same time as another process.
    """
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    alone = _acquired(lock, path, busy)
    try:
        if alone:
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        yield alone
    finally:
        if alone:
            path.unlink(missing_ok=True)
            lock.release()


def _acquired(lock: FileLock, path: Path, busy: Callable[[str], None]) -> bool:
    """Whether the file could be locked, after waiting for another process if there is one."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        busy(_who(path) or "another process")
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise
        path.unlink(missing_ok=True)
        return False
    return True


def _who(path: Path) -> str:
    """What the holder of a lock has written into it; "" where it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


@contextmanager
def locked_folder(folder: Path, refusal: type[HackleError]) -> Iterator[None]:
    """Keeps other processes out of a folder, creating it if needed; raises `refusal` if another process is using it."""

    def busy(who: str) -> None:
        raise refusal(
            f"{folder} is in use by {lock_holder(folder) or who}; wait until it has finished, end it, or choose another folder"
        )

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
    if not os.access(folder, os.W_OK):
        # The folder is read-only: nothing can be written here, and many may read it.
        yield
        return
    with locked(folder / LOCK, busy):
        yield


def lock_holder(folder: Path) -> str:
    """Who holds the lock of a folder, or held it when killed, in words; "" where nothing is written there."""
    path = folder / LOCK
    if not (who := _who(path)):
        return ""
    try:
        since = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except FileNotFoundError:
        return ""
    return f"{who} since {since}"


def remedy(error: Exception) -> str:
    """What to do where a file could not be written.

    >>> remedy(OSError(errno.ENOSPC, "full")), remedy(PermissionError(errno.EACCES, "denied"))
    ('free some space', 'see that the folder can be written')
    """
    # Writers of other languages put the number into the text.
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or f"os error {errno.ENOSPC}" in str(error)
    return "free some space" if full else "see that the folder can be written"


def human_size(size: int) -> str:
    """
    >>> human_size(348), human_size(71_052), human_size(267_573_662), human_size(1_443_490_838)
    ('348 bytes', '71 kB', '268 MB', '1.4 GB')
    """
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
