from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from published_formats import chair_members, folder_of, write_chairs3d, write_tar

from hackle.datasets import chairs3d
from hackle.datasets.damage import DamagedError


def test_grid_is_complete_with_sorted_names_and_angles(tmp_path: Path) -> None:
    write_chairs3d(tmp_path)
    grid = chairs3d.load(tmp_path).factors
    assert grid.complete
    assert grid.names == ("chair", "elevation", "azimuth")
    assert grid.kinds == ("categorical", "ordinal", "cyclic")


def test_an_unpacked_archive_serves(tmp_path: Path) -> None:
    written = write_chairs3d(tmp_path)
    with tarfile.open(written.folder / "rendered_chairs.tar") as archive:
        archive.extractall(written.folder, filter="data")
    (written.folder / "rendered_chairs.tar").unlink()
    np.testing.assert_array_equal(chairs3d.load(tmp_path).images, written.images)


def test_an_archive_cut_between_two_members_is_refused(tmp_path: Path) -> None:
    path = write_chairs3d(tmp_path).folder / "rendered_chairs.tar"
    with tarfile.open(path) as archive:
        seventh = archive.getmembers()[7]  # the first member is no picture: one whole chair comes before this one
    path.write_bytes(path.read_bytes()[: seventh.offset])
    with pytest.raises(DamagedError, match="end mark"):
        chairs3d.load(tmp_path)


@pytest.mark.parametrize("change", ["missing", "twice", "none"])
def test_a_wrong_set_of_views_is_refused(change: str, tmp_path: Path) -> None:
    members = dict(chair_members())
    views = [name for name in members if name.endswith(".png")]
    if change == "missing":
        del members[views[3]]
    elif change == "twice":
        members[views[0].replace("image_000", "image_031")] = members[views[0]]
    else:
        members = {"rendered_chairs/all_chair_names.mat": b""}
    write_tar(folder_of(tmp_path, "chairs3d") / "rendered_chairs.tar", members)
    message = {"missing": "11 of 12 views", "twice": "a view twice", "none": "holds no CHAIR"}[change]
    with pytest.raises(DamagedError, match=message):
        chairs3d.load(tmp_path)


def test_a_broken_picture_is_refused(tmp_path: Path) -> None:
    members = dict(chair_members())
    name = next(name for name in members if name.endswith(".png"))
    members[name] = members[name][:100] + b"!" * 50 + members[name][150:]
    folder = folder_of(tmp_path, "chairs3d")
    write_tar(folder / "rendered_chairs.tar", members)
    with pytest.raises(DamagedError, match="rendered chairs"):
        chairs3d.load(tmp_path)
    assert not list(folder.glob("prepar*"))
