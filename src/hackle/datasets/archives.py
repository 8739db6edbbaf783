"""Reading members of tar and zip archives, or of the folder an archive was unpacked to.

Nothing is ever unpacked to disk: members are read one at a time, so a malicious name can do no harm. An archive with an
absolute name, a `..`, a link or a device is refused all the same, because none of the published ones has any.
"""

from __future__ import annotations

import gzip
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from hackle.datasets.damage import DamagedError, reading

# Far larger than any member of a published archive; keeps a forged one from filling the memory.
_LARGEST_MEMBER = 512 * 2**20
_ENDINGS = (".tar.gz", ".tgz", ".tar", ".zip", ".gz")

Read = Callable[[], bytes]


def locate(folder: Path, name: str) -> Path | None:
    """The file of that name in the folder, or what it unpacks to: the same name without its ending.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "train-labels").write_bytes(b"")
    >>> locate(folder, "train-labels.gz").name, locate(folder, "t10k-labels.gz")
    ('train-labels', None)
    """
    unpacked = next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)
    return next((folder / choice for choice in (name, unpacked) if (folder / choice).exists()), None)


def read_file(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzipped."""
    with reading(path, "a gzip file" if path.suffix == ".gz" else "a file"):
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            data = file.read(_LARGEST_MEMBER + 1)
    if len(data) > _LARGEST_MEMBER:
        raise DamagedError(f"{path} is not as published: it unpacks to more than {_LARGEST_MEMBER:,} bytes")
    return data


def members(path: Path, wanted: str) -> Iterator[tuple[str, Read]]:
    """(name, read) of every file in an archive or folder whose name contains the pattern, in the archive's order.

    `read` must be called before the next member is asked for.
    """
    pattern = re.compile(wanted)
    if path.is_dir():
        listing = _folder_members(path)
    elif zipfile.is_zipfile(path):
        listing = _zip_members(path)
    else:
        listing = _tar_members(path)
    for name, size, read in listing:
        if pattern.search(name):
            if size > _LARGEST_MEMBER:
                raise DamagedError(f"{path} is not as published: its member {name} claims {size:,} bytes")
            yield name, read


def _folder_members(path: Path) -> Iterator[tuple[str, int, Read]]:
    for file in sorted(path.rglob("*")):
        if file.is_file():
            yield file.relative_to(path).as_posix(), file.stat().st_size, file.read_bytes


def _zip_members(path: Path) -> Iterator[tuple[str, int, Read]]:
    def read(info: zipfile.ZipInfo) -> bytes:
        with reading(path, "a zip archive"):
            return archive.read(info)

    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            _refuse_escape(path, info.filename, plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
            if not info.is_dir():
                yield info.filename, info.file_size, lambda info=info: read(info)


def _tar_members(path: Path) -> Iterator[tuple[str, int, Read]]:
    def read(member: tarfile.TarInfo) -> bytes:
        with reading(path, "a tar archive"):
            file = archive.extractfile(member)
            data = b"" if file is None else file.read()
            if len(data) != member.size:
                raise EOFError(f"{member.name} ends after {len(data):,} of {member.size:,} bytes")
            return data

    with reading(path, "a tar archive"):
        archive = tarfile.open(path)  # noqa: SIM115 (closed below)
    with archive:
        while True:
            with reading(path, "a tar archive"):
                member = archive.next()
            if member is None:
                _require_end_mark(path, archive)
                return
            _refuse_escape(path, member.name, plain=member.isreg() or member.isdir())
            if member.isreg():
                yield member.name, member.size, lambda member=member: read(member)


def _require_end_mark(path: Path, archive: tarfile.TarFile) -> None:
    """A tar ends with a block of zeros; tarfile accepts any other end too, such as truncation between two members."""
    with reading(path, "a tar archive"):
        assert archive.fileobj is not None
        archive.fileobj.seek(archive.offset)
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise EOFError("it has no end mark")


def _refuse_escape(path: Path, name: str, *, plain: bool) -> None:
    outside = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or ".." in re.split(r"[/\\]", name)
    if outside or name.startswith("\\"):
        raise DamagedError(f"{path} is not as published: its member {name!r} points outside the archive's folder")
    if not plain:
        raise DamagedError(f"{path} is not as published: its member {name!r} is a link or a device")
