"""Fetching published files: resumable, verified, and put in place atomically.

A file is downloaded as NAME.part in its folder, resumed after a broken connection, and renamed only when its size and
checksum are as published. NAME.lock keeps a second process from writing to the same part.
"""

from __future__ import annotations

import errno
import http.client
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from hackle import __version__
from hackle.core.files import locked
from hackle.core.terminal import Terminal
from hackle.core.untrusted import place_inside
from hackle.datasets.archives import locate
from hackle.datasets.damage import check_disk, writing
from hackle.datasets.source import Checksum, DataError, RemoteFile, Source
from hackle.datasets.verify import checksum_of, file_state, record

_CHUNK = 2**20
_PATIENCE_SECONDS = 60.0
_RETRIED_CODES = {408, 425, 429, 500, 502, 503, 504}
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def data_root(root: Path | str | None = None) -> Path:
    """The data folder: the argument, else $HACKLE_DATA, else hackle in the user's cache folder."""
    if root is not None:
        return Path(root).expanduser()
    if chosen := os.environ.get("HACKLE_DATA"):
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "hackle"


def present_files(source: Source, root: Path) -> list[Path]:
    """The path of each of a source's files, packed or unpacked, or an error that says how to get what is missing."""
    folder = root / source.name
    places = [locate(folder, file.name) for file in source.files]
    paths = [path for path in places if path is not None]
    if len(paths) == len(places):
        return paths
    missing = ", ".join(file.name for file, path in zip(source.files, places, strict=True) if path is None)
    raise DataError(f"{source.name} is not here: expected {missing} in {folder}. {how_to_get(source)}")


def how_to_get(source: Source) -> str:
    """How to get a source's files."""
    fetched = f"fetch it with `hackle data fetch {source.name}`" if all(file.address for file in source.files) else ""
    by_hand = f"{source.steps}; put the files in that folder" if source.steps else ""
    return f"To get it, {', or by hand: '.join(way for way in (fetched, by_hand) if way)}"


def fetch_file(file: RemoteFile, folder: Path, *, force: bool = False, attempts: int = 5, pause: float = 1.0) -> Path:
    """The file in the folder, fetched if it is not there yet.

    An existing file is kept unless `force` is given: returned if it is as published, refused if it is damaged.
    `attempts` limits consecutive failures without a byte received; `pause` is the seconds before the second attempt,
    doubled each time.
    """
    target = folder / file.name
    if target.exists() and not force:
        return _kept(file, target)
    if not file.address:
        raise DataError(f"{file.name} has no public address and cannot be fetched")

    def busy(holder: str) -> None:
        raise DataError(f"{target} is being fetched by {holder}: let it finish, or end it, and start again")

    with writing(target):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f"{file.name}.lock"), busy):
            if target.exists() and not force:  # another process fetched it since
                return _kept(file, target)
            part, *_ = (place_inside(folder, f"{file.name}.{ending}") for ending in ("part", "part.tag", "sha256"))
            _receive(file, part, attempts, pause)
            checksum = _verify_part(file, part)
            if file.checksum is None:
                record(target, checksum)
            os.replace(part, target)
            _tag_path(part).unlink(missing_ok=True)
    return target


def _kept(file: RemoteFile, target: Path) -> Path:
    here = file_state(file, target.parent)
    if here.state == "damaged":
        raise DataError(f"{target} is there but {here.detail}: move it away, or replace it with --force")
    return target


def _tag_path(part: Path) -> Path:
    """The file with the server's tag of the version that a part belongs to, so that two versions are never mixed."""
    return part.with_name(f"{part.name}.tag")


def _verify_part(file: RemoteFile, part: Path) -> Checksum:
    size = part.stat().st_size
    checksum = checksum_of(part, file.checksum.algorithm if file.checksum else "SHA-256")
    if file.checksum in (None, checksum) and file.size in (None, size):
        return checksum
    part.unlink()
    _tag_path(part).unlink(missing_ok=True)
    raise DataError(
        f"{file.address} did not give the published {file.name}: {size:,} bytes with {checksum} came, "
        f"{file.checksum or f'{file.size:,} bytes'} expected. What came was deleted and nothing put in place; if that "
        "happens again, the file has changed or an error page is sent in its place"
    )


def _receive(file: RemoteFile, part: Path, attempts: int, pause: float) -> None:
    """Downloads the part until it is complete, resuming after interruptions."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    failures = 0
    console = Terminal(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(file.name, total=file.size)
        while True:
            before = part.stat().st_size if part.exists() else 0
            try:
                if _receive_once(file, part, progress, task):
                    return
                reason = "the connection was cut"
            except urllib.error.HTTPError as error:
                if error.code not in _RETRIED_CODES:
                    raise DataError(
                        f"{file.address} answers {error.code} {error.reason}; {file.name} was not fetched"
                    ) from error
                reason = f"the server answers {error.code} {error.reason}"
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
                    raise
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            received = part.stat().st_size if part.exists() else 0
            failures = 1 if received > before else failures + 1
            if failures >= attempts:
                kept = f"{received:,} bytes are kept in {part}; run the same command again to go on from there"
                by_hand = f"Nothing came; a copy fetched on another machine belongs at {part.with_suffix('')}"
                raise DataError(
                    f"{file.name} could not be fetched from {file.address}: {reason}. {kept if received else by_hand}"
                )
            time.sleep(pause * 2 ** (failures - 1))


def _receive_once(file: RemoteFile, part: Path, progress: Progress, task) -> bool:
    """One request; returns whether the part is complete after it."""
    have = part.stat().st_size if part.exists() else 0
    tag = _tag_path(part).read_text() if have and _tag_path(part).exists() else ""
    if file.size is not None and have == file.size:
        return True
    headers = {"User-Agent": f"hackle/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if tag:
            headers["If-Range"] = tag
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(file.address, headers=headers), timeout=_PATIENCE_SECONDS
        )
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        # The part is already as long as the server's file, or longer; then it is not part of this file.
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return True
        part.unlink()
        return False
    with response:
        resumed = response.status == 206
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            return False
        start = have if resumed else 0
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        _check_offer(file, part, total, start)
        validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        _tag_path(part).write_text("" if validator.startswith("W/") else validator)
        progress.update(task, total=total or file.size, completed=start)
        with part.open("r+b" if resumed else "wb") as out:
            out.seek(start)
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                progress.advance(task, len(chunk))
                if file.size is not None and out.tell() > file.size:
                    break  # it is not the published file, and may have no end
            out.flush()
            os.fsync(out.fileno())
            end = out.tell()
    return total is None or end == total


def _check_offer(file: RemoteFile, part: Path, total: int | None, start: int) -> None:
    """Refuses, before a byte is written, a file of another size or one that does not fit on the disk."""
    if total is not None and file.size is not None and total != file.size:
        raise DataError(
            f"{file.address} offers {total:,} bytes, the published {file.name} has {file.size:,}: the file has changed or an "
            "error page was sent in its place; nothing was fetched"
        )
    check_disk(file.name, part.parent, (total or file.size or 0) - start)
