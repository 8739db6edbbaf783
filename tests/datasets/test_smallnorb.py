from __future__ import annotations

import gzip
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from published_formats import NORB_ROWS, NORB_STEMS, folder_of, noise, norb_matrix, write_norb_half, write_smallnorb

from hackle.core.factors import Factor
from hackle.datasets import smallnorb
from hackle.datasets.damage import DamagedError


def test_factors_and_rows(tmp_path: Path) -> None:
    write_smallnorb(tmp_path)
    grid = smallnorb.load(tmp_path).factors
    assert grid.names == ("category", "elevation", "azimuth", "lighting", "instance")
    assert grid.kinds[2] == "cyclic"
    assert grid.observed == (0, 1, 2, 3)
    np.testing.assert_array_equal(grid.rows(np.arange(4)), NORB_ROWS)


def test_all_combinations_make_a_complete_grid_whatever_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (2, 1, 3, 1, 2)
    names = ("category", "elevation", "azimuth", "lighting", "instance")
    monkeypatch.setattr(smallnorb, "_FACTORS", tuple(map(Factor, names, sizes)))
    rows = np.array(list(product(*map(range, sizes))))
    order = np.random.default_rng(1).permutation(len(rows))
    folder = folder_of(tmp_path, "smallnorb")
    greys = np.arange(len(rows), dtype=np.uint8) * 20
    for stem, half in zip(NORB_STEMS, np.split(order, 2), strict=True):
        write_norb_half(folder, stem, rows[half], np.broadcast_to(greys[half][:, None, None], (6, 96, 96)))
    dataset = smallnorb.load(tmp_path)
    assert dataset.factors.complete
    np.testing.assert_array_equal(dataset.images[:, 0, 0, 0], greys)


def test_first_camera_shrunk_by_lanczos_filter(tmp_path: Path) -> None:
    folder = write_smallnorb(tmp_path).folder
    images = noise(2, 96, 96)
    write_norb_half(folder, NORB_STEMS[0], NORB_ROWS[:2], images)
    shown = smallnorb.load(tmp_path).render(NORB_ROWS[1:2])[0, ..., 0]
    np.testing.assert_array_equal(
        shown, np.asarray(Image.fromarray(images[1]).resize((64, 64), Image.Resampling.LANCZOS))
    )


def test_unpacked_files_serve(tmp_path: Path) -> None:
    written = write_smallnorb(tmp_path)
    for path in list(written.folder.glob("*.gz")):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    np.testing.assert_array_equal(smallnorb.load(tmp_path).images, written.images)


def overwrite(root: Path, kind: str, data: bytes) -> None:
    (root / "smallnorb" / f"{NORB_STEMS[0]}-{kind}.mat.gz").write_bytes(gzip.compress(data))


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("dat", b"\x1e\x3d\x4c\x55" + bytes(40), "magic number"),
        ("dat", norb_matrix(np.zeros((2, 1, 96, 96), np.uint8)), r"expected uint8 \(2, 2, 96, 96\)"),
        ("dat", norb_matrix(np.zeros((2, 2, 96, 96), np.uint8))[:-1], "asks for"),
        ("cat", norb_matrix(np.zeros(3, np.int32)), r"expected uint8 \(3, 2, 96, 96\)"),
        ("cat", norb_matrix(np.array([5, 0], np.int32)), "category = 5"),
        ("info", norb_matrix(np.zeros((2, 5), np.int32)), r"expected \(2, 4\)"),
        ("info", norb_matrix(np.array([[0, 0, 1, 0], [1, 0, 2, 0]], np.int32)), "odd azimuth"),
        ("info", norb_matrix(np.array([[0, 0, 2, 0], [0, 9, 2, 0]], np.int32)), "elevation = 9"),
    ],
)
def test_wrong_matrices_are_refused(kind: str, data: bytes, message: str, tmp_path: Path) -> None:
    write_smallnorb(tmp_path)
    overwrite(tmp_path, kind, data)
    with pytest.raises(DamagedError, match=message):
        smallnorb.load(tmp_path)


def test_an_image_listed_twice_is_refused(tmp_path: Path) -> None:
    folder = write_smallnorb(tmp_path).folder
    write_norb_half(folder, NORB_STEMS[0], NORB_ROWS[[2, 2]], noise(2, 96, 96))
    with pytest.raises(DamagedError, match="times"):
        smallnorb.load(tmp_path)
