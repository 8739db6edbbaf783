from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from published_formats import picture, write_celeba

from hackle.datasets import celeba
from hackle.datasets.damage import DamagedError
from hackle.datasets.source import DataError


def test_attributes_are_factors_and_an_instance_tells_equal_rows_apart(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    grid = celeba.load(tmp_path).factors
    assert grid.names == ("Bald", "Male", "Young", "instance")
    assert grid.observed == (0, 1, 2)
    assert grid.rows(np.arange(3)).tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1]]


def test_the_central_148_pixels_are_shrunk_to_64(tmp_path: Path) -> None:
    """On a ramp, the first and last pixels tell where the crop starts and ends."""
    folder = write_celeba(tmp_path).folder
    y, x = np.mgrid[:218, :178]
    ramp = np.stack([x, y, 0 * x], axis=2).astype(np.uint8)
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
        for number in (1, 2, 3):
            archive.writestr(f"img_align_celeba/{number:06d}.jpg", picture(ramp, "JPEG"))
    shown = celeba.load(tmp_path).images[0].astype(float)
    centres = (np.arange(64) + 0.5) * 148 / 64 - 0.5
    np.testing.assert_allclose(shown[32, 4:-4, 0], 15 + centres[4:-4], atol=4)
    np.testing.assert_allclose(shown[4:-4, 32, 1], 35 + centres[4:-4], atol=4)


def test_a_folder_of_the_unpacked_images_serves(tmp_path: Path) -> None:
    written = write_celeba(tmp_path)
    packed = celeba.load(tmp_path).images
    with zipfile.ZipFile(written.folder / "img_align_celeba.zip") as archive:
        archive.extractall(written.folder)
    (written.folder / "img_align_celeba.zip").unlink()
    np.testing.assert_array_equal(celeba.load(tmp_path).images, packed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4\nBald Male Young\n000001.jpg 1 1 1\n", "announces 4 images"),
        ("1\nBald Male Young\n000001.jpg 1 1\n", "3 attributes"),
        ("1\nBald Male Young\n000001.jpg 1 1 0\n", "neither 1 nor -1"),
        ("1\nBald Male Male\n000001.jpg 1 1 1\n", "listed twice"),
        ("2\nBald\n000001.jpg 1\n000001.jpg 1\n", "listed twice"),
        ("1\nBald\n000001.jpg yes\n", "list of attributes"),
        ("0\nBald\n", "announces 0 images"),
    ],
)
def test_a_wrong_attribute_list_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (write_celeba(tmp_path).folder / "list_attr_celeba.txt").write_text(text)
    with pytest.raises(DamagedError, match=message):
        celeba.load(tmp_path)


def replace_image(folder: Path, data: bytes | None) -> None:
    with zipfile.ZipFile(folder / "img_align_celeba.zip") as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    if data is None:
        del members["img_align_celeba/000002.jpg"]
    else:
        members["img_align_celeba/000002.jpg"] = data
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "image 1 of 3 is missing"),
        (b"no picture", "aligned images"),
        (picture(np.zeros((100, 100, 3), np.uint8), "JPEG"), "148×148 crop"),
        (picture(np.zeros((218, 178, 3), np.uint8), "JPEG")[:300], "aligned images"),
    ],
    ids=["missing", "text", "small", "cut"],
)
def test_a_wrong_image_is_refused(data: bytes | None, message: str, tmp_path: Path) -> None:
    written = write_celeba(tmp_path)
    replace_image(written.folder, data)
    with pytest.raises(DataError, match=message):
        celeba.load(tmp_path)
    assert not list(written.folder.glob("prepar*"))


def test_a_zip_that_tries_to_escape_is_refused(tmp_path: Path) -> None:
    folder = write_celeba(tmp_path / "root").folder
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "a") as archive:
        archive.writestr("/etc/../../escaped.jpg", b"out")
    with pytest.raises(DamagedError, match="points outside"):
        celeba.load(tmp_path / "root")
    assert not list(tmp_path.rglob("escaped.jpg"))
