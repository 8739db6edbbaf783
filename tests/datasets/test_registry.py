"""What holds for every data set by name, and how names and paths are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from published_formats import WRITERS, write_mnist

from hackle.core.types import Dataset
from hackle.datasets import DATASETS, find, load
from hackle.datasets.damage import DamagedError
from hackle.datasets.source import DataError, Source

NAMES = [
    *("dsprites", "color-dsprites", "noisy-dsprites", "rooms3d"),
    *("cars3d", "celeba", "chairs3d", "scream-dsprites", "faces3d", "mnist", "mnist-train"),
    *("mpi3d-toy", "mpi3d-realistic", "mpi3d-real", "shapes3d", "smallnorb"),
]


def test_the_names() -> None:
    assert list(DATASETS) == NAMES


@pytest.mark.parametrize("source", DATASETS.values(), ids=NAMES)
def test_every_source_says_what_it_is(source: Source) -> None:
    assert find(source.name) is source
    assert all([source.title, source.summary, source.images, source.factors, source.licence])
    for file in source.files:
        assert Path(file.name).name == file.name
        for digest, length in ((file.sha256, 64), (file.md5, 32)):
            assert digest is None or (len(digest) == length and set(digest) <= set("0123456789abcdef"))
        assert file.size is None or file.size > 0
        assert file.address.startswith(("https://", "http://")) or not file.address


def test_every_set_read_from_files_is_tested_with_files_of_its_format() -> None:
    read_here = {name for name in NAMES if "dsprites" not in name and name != "rooms3d"}
    assert set(WRITERS) == read_here - {"mpi3d-realistic", "mpi3d-real"}


@pytest.mark.parametrize("name", ["mnist", "mnist-train", "cars3d"])
def test_load_by_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = WRITERS[name](tmp_path)
    assert isinstance(load(name, tmp_path), Dataset)
    monkeypatch.setenv("HACKLE_DATA", str(tmp_path))
    dataset = load(name)
    np.testing.assert_array_equal(dataset.render(dataset.factors.rows([1])), written.images[[1]])


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("dsprite", "dsprites"),
        ("Shapes3D", "shapes3d"),
        ("3dshapes", "shapes3d"),
        ("mpi3d", "mpi3d-toy"),
        ("norb", "smallnorb"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name: str, suggestion: str) -> None:
    with pytest.raises(DataError, match=f"no data set '{name}': did you mean .*{suggestion}"):
        load(name)
    with pytest.raises(DataError, match=suggestion):
        find(name)


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(DataError, match=r"there are dsprites, .*faces3d"):
        load("qqqqq")


@pytest.mark.parametrize("path", ["nowhere.npz", "no/such/folder"])
def test_a_path_that_is_not_there_is_no_misspelt_name(path: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or folder"):
        load(tmp_path / path)


def test_a_name_goes_before_a_folder_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mnist").mkdir()
    with pytest.raises(DataError, match="hackle data fetch mnist"):
        load("mnist", tmp_path / "root")
    with pytest.raises(DataError, match="holds no images"):
        load("./mnist", tmp_path / "root")


def test_a_damaged_file_says_how_to_check_and_replace_it(tmp_path: Path) -> None:
    folder = write_mnist(tmp_path).folder
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"broken")
    with pytest.raises(DamagedError, match=r"`hackle data check mnist`.*`hackle data fetch mnist --force`"):
        load("mnist", tmp_path)
