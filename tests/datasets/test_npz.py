from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from hackle.datasets.npz import Npz
from hackle.datasets.source import DataError

ARRAYS = {
    "images": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "values": np.array([0.5, -1.0]),
    "names": np.array(["a", "längst"]),
    "scalar": np.array(3),
    "none": np.zeros((0, 4)),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_array_comes_back(save, tmp_path: Path) -> None:
    save(tmp_path / "a.npz", **ARRAYS)
    archive = Npz(tmp_path / "a.npz")
    assert set(archive.names) == set(ARRAYS)
    for name, array in ARRAYS.items():
        read = archive.read(name)
        np.testing.assert_array_equal(read, array)
        assert read.dtype == array.dtype


def test_stored_arrays_are_mapped_and_compressed_ones_are_not(tmp_path: Path) -> None:
    np.savez(tmp_path / "stored.npz", **ARRAYS)
    np.savez_compressed(tmp_path / "packed.npz", **ARRAYS)
    assert isinstance(Npz(tmp_path / "stored.npz").read("images").base, np.memmap)
    assert Npz(tmp_path / "packed.npz").member("images").offset is None


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros(1))
    with pytest.raises(DataError, match="no array 'labels'; it holds images"):
        Npz(tmp_path / "a.npz").read("labels")


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match="never loaded"):
        Npz(tmp_path / "a.npz").read("images")


def write_member(path: Path, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", data)
    return path


def npy(array: np.ndarray, path: Path) -> bytes:
    np.save(path, array)
    return path.read_bytes()


@pytest.mark.parametrize("change", ["short", "long", "magic", "version"])
def test_a_member_that_is_not_what_its_header_says_is_refused(change: str, tmp_path: Path) -> None:
    data = npy(np.arange(10), tmp_path / "a.npy")
    changed = {
        "short": data[:-1],
        "long": data + b"\0",
        "magic": b"\x93NUMPX" + data[6:],
        "version": data[:6] + b"\x09" + data[7:],
    }
    path = write_member(tmp_path / "a.npz", changed[change])
    with pytest.raises(DataError, match=r"a\.npz"):
        Npz(path).read("images")


def test_changed_bytes_of_a_compressed_member_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8))
    data = bytearray(path.read_bytes())
    data[2000] ^= 255
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.npz"):
        Npz(path).read("images")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"no zip")
    with pytest.raises(DataError, match=r"an \.npz file"):
        Npz(tmp_path / "a.npz")
