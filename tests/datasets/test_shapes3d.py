from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from published_formats import write_shapes3d

from hackle.datasets import shapes3d
from hackle.datasets.damage import DamagedError


def replace(path: Path, **arrays: np.ndarray) -> None:
    with h5py.File(path, "r+") as file:
        for name, array in arrays.items():
            del file[name]
            file[name] = array


def test_grid_names_kinds_and_values_come_from_the_labels(tmp_path: Path) -> None:
    write_shapes3d(tmp_path)
    grid = shapes3d.load(tmp_path).factors
    assert grid.complete
    assert grid.names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert grid.kinds == ("cyclic", "cyclic", "cyclic", "ordinal", "categorical", "ordinal")
    assert grid.factors[5].values == (-30.0, 0.0, 30.0)


def test_images_are_mapped_from_disk_not_held_in_memory(tmp_path: Path) -> None:
    write_shapes3d(tmp_path)
    images = shapes3d.load(tmp_path).images
    assert isinstance(images.base, np.memmap)
    assert not images.flags.writeable


@pytest.mark.parametrize(
    "arrays",
    [
        {"images": np.zeros((72, 64, 64, 1), np.uint8)},
        {"images": np.zeros((72, 64, 64, 3), np.float32)},
        {"images": np.zeros((71, 64, 64, 3), np.uint8)},
        {"labels": np.zeros((72, 5))},
        {"labels": np.zeros((72, 6))},
        {"images": np.uint8(3)},
    ],
    ids=["channels", "float", "count", "columns", "labels all equal", "scalar"],
)
def test_wrong_shapes_are_refused(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = write_shapes3d(tmp_path).folder / "3dshapes.h5"
    replace(path, **arrays)
    with pytest.raises(DamagedError, match=r"3dshapes\.h5"):
        shapes3d.load(tmp_path)


def test_labels_in_another_order_are_refused(tmp_path: Path) -> None:
    path = write_shapes3d(tmp_path).folder / "3dshapes.h5"
    with h5py.File(path) as file:
        labels = np.asarray(file["labels"])
    replace(path, labels=labels[::-1])
    with pytest.raises(DamagedError, match="in order"):
        shapes3d.load(tmp_path)


def test_missing_array_is_named(tmp_path: Path) -> None:
    path = write_shapes3d(tmp_path).folder / "3dshapes.h5"
    with h5py.File(path, "r+") as file:
        del file["labels"]
    with pytest.raises(DamagedError, match="`images` and `labels`"):
        shapes3d.load(tmp_path)
