from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from published_formats import car_mat, folder_of, noise, write_cars3d, write_tar
from scipy.io import savemat

from hackle.datasets import cars3d
from hackle.datasets.damage import DamagedError


def write_member(root: Path, data: bytes) -> None:
    write_tar(folder_of(root, "cars3d") / "nips2015-analogy-data.tar.gz", {"data/cars/car_001_mesh.mat": data}, "w:gz")


def mat(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    savemat(buffer, arrays)
    return buffer.getvalue()


def test_factors_are_those_of_locatello_et_al(tmp_path: Path) -> None:
    write_cars3d(tmp_path)
    grid = cars3d.load(tmp_path).factors
    assert grid.complete
    assert grid.names == ("elevation", "azimuth", "object")
    assert grid.kinds == ("ordinal", "cyclic", "categorical")


def test_views_are_shrunk_by_lanczos_filter(tmp_path: Path) -> None:
    image = noise(128, 128, 3, 24, 4)
    write_member(tmp_path, mat(im=image))
    shown = cars3d.load(tmp_path).render([[3, 17, 0]])[0]
    expected = Image.fromarray(np.ascontiguousarray(image[..., 17, 3])).resize((64, 64), Image.Resampling.LANCZOS)
    np.testing.assert_array_equal(shown, np.asarray(expected))


def test_an_unpacked_archive_serves(tmp_path: Path) -> None:
    written = write_cars3d(tmp_path / "packed")
    folder = tmp_path / "unpacked" / "cars3d" / "nips2015-analogy-data"
    with tarfile.open(written.folder / "nips2015-analogy-data.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    np.testing.assert_array_equal(cars3d.load(tmp_path / "unpacked").images, written.images)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (mat(im=np.zeros((128, 128, 3, 24, 3), np.uint8)), r"expected uint8 \(128, 128, 3, 24, 4\)"),
        (mat(im=np.zeros((2, 2), np.uint8)), r"expected uint8"),
        (mat(other=np.zeros(2)), "im"),
        (b"not a MATLAB file at all, but text" * 10, "car_001_mesh"),
        (car_mat(0)[:-200], "car_001_mesh"),
    ],
    ids=["shape", "dimensions", "no im", "text", "cut"],
)
def test_a_wrong_mat_file_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    write_member(tmp_path, data)
    with pytest.raises(DamagedError, match=message):
        cars3d.load(tmp_path)


def test_an_archive_without_cars_is_refused(tmp_path: Path) -> None:
    write_tar(folder_of(tmp_path, "cars3d") / "nips2015-analogy-data.tar.gz", {"data/shapes48.mat": b"x"}, "w:gz")
    with pytest.raises(DamagedError, match=r"data/cars/\*\.mat"):
        cars3d.load(tmp_path)


def test_an_archive_that_tries_to_escape_is_refused(tmp_path: Path) -> None:
    members = {"data/cars/car_001_mesh.mat": car_mat(0), "../../escaped.txt": b"out"}
    write_tar(folder_of(tmp_path / "root", "cars3d") / "nips2015-analogy-data.tar.gz", members, "w:gz")
    with pytest.raises(DamagedError, match="points outside"):
        cars3d.load(tmp_path / "root")
    assert not list(tmp_path.rglob("escaped.txt"))
