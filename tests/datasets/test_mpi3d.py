from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from published_formats import MPI3D_FACTORS, write_mpi3d

from hackle.datasets import mpi3d
from hackle.datasets.damage import DamagedError


def test_published_factors_span_the_published_count() -> None:
    assert [source.name for source in mpi3d.SOURCES] == ["mpi3d-toy", "mpi3d-realistic", "mpi3d-real"]
    factors = mpi3d._FACTORS
    assert np.prod([factor.size for factor in factors]) == 1_036_800
    described = ", ".join(f"{factor.name} {factor.size}" for factor in factors)
    assert {source.factors for source in mpi3d.SOURCES} == {described}


def test_a_stored_array_is_mapped_in_place(tmp_path: Path) -> None:
    written = write_mpi3d(tmp_path, compressed=False)
    dataset = written.load(tmp_path)
    assert isinstance(dataset.images.base, np.memmap)
    assert [path.name for path in written.folder.iterdir()] == ["mpi3d_toy.npz"]
    np.testing.assert_array_equal(dataset.images, written.images)


def test_a_compressed_array_is_written_out_once(tmp_path: Path) -> None:
    written = write_mpi3d(tmp_path)
    assert isinstance(written.load(tmp_path).images.base, np.memmap)
    (prepared,) = written.folder.glob("prepared-*")
    before = (prepared / "images.npy").stat().st_mtime_ns
    written.load(tmp_path)
    assert (prepared / "images.npy").stat().st_mtime_ns == before


@pytest.mark.parametrize("shape", [(6, 64, 64), (6, 64, 64, 1), (5, 64, 64, 3), (6, 32, 32, 3)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    folder = write_mpi3d(tmp_path).folder
    np.savez(folder / "mpi3d_toy.npz", images=np.zeros(shape, np.uint8))
    with pytest.raises(DamagedError, match=r"expected uint8 \(6, 64, 64, 3\)"):
        mpi3d.load(tmp_path, "toy", MPI3D_FACTORS)


def test_the_published_size_is_asked_for(tmp_path: Path) -> None:
    write_mpi3d(tmp_path)
    with pytest.raises(DamagedError, match="1036800"):
        mpi3d.load(tmp_path, "toy")
