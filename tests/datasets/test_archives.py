from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from published_formats import write_tar

from hackle.datasets import archives
from hackle.datasets.archives import locate, members, read_file
from hackle.datasets.damage import DamagedError

FILES = {"top/b.txt": b"bee", "top/a.txt": b"ay", "top/deep/c.png": b"sea"}


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def write_folder(path: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)


@pytest.mark.parametrize(
    ("name", "write"), [("a.tar", write_tar), ("a.zip", write_zip), ("a", write_folder)], ids=["tar", "zip", "folder"]
)
def test_members_are_the_files_whose_name_fits(name: str, write, tmp_path: Path) -> None:
    write(tmp_path / name, FILES)
    found = {member: read() for member, read in members(tmp_path / name, r"\.txt$")}
    assert found == {"top/b.txt": b"bee", "top/a.txt": b"ay"}


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/out", "C:\\out", "..\\out", "\\out"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_names_that_point_outside_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{kind}"
    (write_tar if kind == "tar" else write_zip)(path, {name: b"x"})
    with pytest.raises(DamagedError, match="points outside"):
        list(members(path, "nothing wanted"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("innocent")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(DamagedError, match="link or a device"):
        list(members(path, "."))


def test_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("innocent")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DamagedError, match="link or a device"):
        list(members(path, "."))


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_a_member_too_large_for_memory_is_refused(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_LARGEST_MEMBER", 2)
    write(tmp_path / "archive", FILES)
    with pytest.raises(DamagedError, match="claims 3 bytes"):
        list(members(tmp_path / "archive", "."))


def test_a_broken_header_inside_a_tar_is_no_end(tmp_path: Path) -> None:
    """tarfile stops without a word there; the members behind it would be lost."""
    path = tmp_path / "a.tar"
    write_tar(path, FILES)
    data = bytearray(path.read_bytes())
    data[1024:1536] = b"!" * 512
    path.write_bytes(data)
    with pytest.raises(DamagedError, match="end mark"):
        list(members(path, "."))


def test_a_changed_byte_in_a_zip_member_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    write_zip(path, FILES)
    path.write_bytes(path.read_bytes().replace(b"bee", b"see", 1))
    with pytest.raises(DamagedError, match="CRC"):
        [read() for _, read in members(path, ".")]


def test_a_tar_cut_inside_a_member_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("long")
        info.size = 5000
        archive.addfile(info, io.BytesIO(bytes(5000)))
    path.write_bytes(buffer.getvalue()[:3000])
    with pytest.raises(DamagedError, match=r"a\.tar"):
        [read() for _, read in members(path, ".")]


def test_locate_prefers_the_packed_file(tmp_path: Path) -> None:
    assert locate(tmp_path, "x.tar.gz") is None
    (tmp_path / "x").mkdir()
    assert locate(tmp_path, "x.tar.gz") == tmp_path / "x"
    (tmp_path / "x.tar.gz").write_bytes(b"")
    assert locate(tmp_path, "x.tar.gz") == tmp_path / "x.tar.gz"


def test_a_gzip_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_LARGEST_MEMBER", 1_000)
    for size in (1_000, 1_001):
        (tmp_path / f"{size}.gz").write_bytes(gzip.compress(bytes(size)))
    assert read_file(tmp_path / "1000.gz") == bytes(1_000)
    with pytest.raises(DamagedError, match="unpacks to more than"):
        read_file(tmp_path / "1001.gz")
