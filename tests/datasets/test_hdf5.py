from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from hackle.datasets import load
from hackle.datasets.own import fingerprint
from hackle.datasets.source import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (1500, 8, 8, 3), dtype=np.uint8)


def write(path: Path, images: np.ndarray = IMAGES, chunks: bool = False, **rest: Any) -> Path:
    with h5py.File(path, "w") as file:
        how = {"chunks": (7, *images.shape[1:]), "compression": "gzip"} if chunks else {}
        file.create_dataset("images", data=images, **how)
        for name, value in rest.items():
            file[name] = value
    return path


@pytest.mark.parametrize("chunks", [False, True])
def test_images_and_factors_come_back(chunks: bool, tmp_path: Path) -> None:
    factors = np.array([[number % 3, number / 10] for number in range(1500)])
    path = write(tmp_path / "mine.h5", chunks=chunks, factors=factors, factor_names=["shape", "x"])
    dataset = load(path)
    np.testing.assert_array_equal(dataset.images, IMAGES)  # type: ignore[attr-defined]
    assert dataset.name == "mine"
    assert dataset.factors.names == ("shape", "x")
    rows = dataset.factors.rows(np.arange(1500))
    assert np.array(dataset.factors.factors[0].values)[rows[:, 0]].tolist() == factors[:, 0].tolist()


def test_other_numbers_are_converted_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackle.datasets.pixels._CHUNK_BYTES", 100_000)
    path = write(tmp_path / "mine.hdf5", (IMAGES / 255).transpose(0, 3, 1, 2).astype(np.float32), chunks=True)
    np.testing.assert_array_equal(load(path).images, IMAGES)  # type: ignore[attr-defined]


def test_labels_in_the_form_of_3d_shapes_have_its_factors(tmp_path: Path) -> None:
    sizes = (10, 10, 10, 8, 4, 15)
    labels = np.array([[step % size for size in sizes] for step in range(30)], dtype=np.float64)
    path = write(tmp_path / "part.h5", np.zeros((30, 64, 64, 3), np.uint8), labels=labels)
    names = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert load(path).factors.names[:6] == names
    other = write(tmp_path / "other.h5", np.zeros((30, 64, 64, 3), np.uint8), labels=np.arange(30))
    assert load(other).factors.names == ("factor_0",)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"pictures": [1]}, "pictures, which is not understood"),
        ({"factors": np.zeros((2, 1))}, r"expected \(1500, f\)"),
        ({"factors": np.zeros(1500), "labels": np.zeros(1500)}, "both factors and labels"),
        ({"factors": h5py.ExternalLink("elsewhere.h5", "factors")}, r"mine\.h5"),
    ],
)
def test_what_a_file_lacks_is_said(rest: dict[str, Any], message: str, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere.h5", factors=np.zeros(3))
    path = write(tmp_path / "mine.h5", **rest)
    if isinstance(rest.get("factors"), h5py.ExternalLink):
        # What lies in other files is not read.
        assert load(path).factors.names == ("instance",)
        return
    with pytest.raises(DataError, match=message):
        load(path)


def test_another_file_is_refused_and_changes_are_seen(tmp_path: Path) -> None:
    (tmp_path / "mine.h5").write_bytes(b"not HDF5")
    with pytest.raises(DataError, match=r"mine\.h5 cannot be read as an HDF5 file"):
        load(tmp_path / "mine.h5")
    before = fingerprint(write(tmp_path / "mine.h5"))
    assert fingerprint(write(tmp_path / "mine.h5", IMAGES[::-1])) != before
