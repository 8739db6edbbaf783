"""What holds for every data set that is read from published files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from published_formats import WRITERS

from hackle.core.factors import FactorError
from hackle.core.randomness import Stream
from hackle.core.types import Dataset
from hackle.datasets import DATASETS
from hackle.datasets.source import DataError

HTML = b"<!DOCTYPE html><html><body>Quota exceeded</body></html>" * 40


def files_of(name: str) -> list[str]:
    return [file.name for file in DATASETS[name].files]


ALL_FILES = [(name, file) for name in WRITERS for file in files_of(name)]


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(("prepared-", "preparing-"))]


@pytest.mark.parametrize("name", WRITERS)
def test_every_row_shows_the_image_that_was_written(name: str, tmp_path: Path) -> None:
    written = WRITERS[name](tmp_path)
    dataset = written.load(tmp_path)
    assert isinstance(dataset, Dataset)
    assert dataset.name == name
    assert dataset.factors.sizes == written.sizes
    assert dataset.shape == written.images.shape[1:]
    rows = dataset.factors.rows(np.arange(dataset.factors.size))
    np.testing.assert_array_equal(dataset.render(rows), written.images)


@pytest.mark.parametrize("name", WRITERS)
def test_loading_again_gives_the_same_images_to_a_device(name: str, tmp_path: Path) -> None:
    written = WRITERS[name](tmp_path)
    written.load(tmp_path)
    dataset = written.load(tmp_path)
    index = torch.tensor([[0, 2, 1], [1, 1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images = dataset.images_on("cpu")(index, Stream.of([0, 1]))
        images += 0  # writable, though the memory map is not
    assert images.dtype == torch.uint8
    np.testing.assert_array_equal(images.numpy(), written.images[index.numpy()])


@pytest.mark.parametrize("name", WRITERS)
def test_a_wrong_factor_row_is_refused(name: str, tmp_path: Path) -> None:
    dataset = WRITERS[name](tmp_path).load(tmp_path)
    rows = dataset.factors.rows([0])
    rows[0, 0] = dataset.factors.sizes[0]
    with pytest.raises(FactorError, match=dataset.factors.names[0]):
        dataset.render(rows)


@pytest.mark.parametrize(
    "content", [b"", b"\0", HTML, bytes(range(256)) * 20], ids=["empty", "a byte", "html", "noise"]
)
@pytest.mark.parametrize(("name", "file"), ALL_FILES)
def test_another_kind_of_file_is_refused(name: str, file: str, content: bytes, tmp_path: Path) -> None:
    written = WRITERS[name](tmp_path)
    (written.folder / file).write_bytes(content)
    with pytest.raises(DataError, match=name):
        written.load(tmp_path)
    assert not leftovers(written.folder)


@pytest.mark.parametrize("part", [0.3, 0.9])
@pytest.mark.parametrize(("name", "file"), ALL_FILES)
def test_a_file_cut_short_is_refused(name: str, file: str, part: float, tmp_path: Path) -> None:
    written = WRITERS[name](tmp_path)
    path = written.folder / file
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data.rstrip(b"\0")))])
    with pytest.raises(DataError, match=name):
        written.load(tmp_path)
    assert not leftovers(written.folder)


@pytest.mark.parametrize("name", WRITERS)
def test_a_missing_file_is_named_with_the_way_to_get_it(name: str, tmp_path: Path) -> None:
    written = WRITERS[name](tmp_path)
    (written.folder / files_of(name)[0]).unlink()
    with pytest.raises(DataError) as caught:
        written.load(tmp_path)
    message = str(caught.value)
    assert files_of(name)[0] in message
    assert str(written.folder) in message
    fetchable = all(file.address for file in DATASETS[name].files)
    assert (f"hackle data fetch {name}" in message) == fetchable
    if name in ("celeba", "faces3d"):
        assert "https://" in message
