from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hackle.core.factors import Factor, FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Dataset
from hackle.datasets import arrays as module
from hackle.datasets.arrays import ArrayDataset, grid_of, number_instances, with_instance
from hackle.datasets.source import DataError

STREAM = Stream.of([0])


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=shape, dtype=np.uint8)


def grid(count: int) -> FactorGrid:
    return FactorGrid([Factor("x", count)])


def test_it_is_a_dataset() -> None:
    dataset = ArrayDataset("d", noise(5, 3, 4, 2), grid(5))
    assert isinstance(dataset, Dataset)
    assert dataset.shape == (3, 4, 2)


def test_render_and_images_give_the_rows_asked_for() -> None:
    images = noise(7, 3, 4, 2)
    dataset = ArrayDataset("d", images, grid(7))
    np.testing.assert_array_equal(dataset.render([[6], [0], [6]]), images[[6, 0, 6]])
    assert dataset.render(np.empty((0, 1), np.int64)).shape == (0, 3, 4, 2)
    index = torch.tensor([[1, 2, 3], [3, 3, 0]])
    np.testing.assert_array_equal(dataset.images_on("cpu")(index, STREAM).numpy(), images[index.numpy()])


def test_a_read_only_memory_map_gives_writable_tensors_without_a_warning(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", noise(4, 2, 2, 1))
    images = np.load(tmp_path / "images.npy", mmap_mode="r")
    tensor = ArrayDataset("d", images, grid(4)).images_on("cpu")(torch.tensor([[3]]), STREAM)
    tensor.zero_()
    assert images[3].any()


@pytest.mark.parametrize("images", [noise(4, 2, 2), noise(4, 2, 2, 1).astype(np.int16), noise(4, 0, 2, 1)])
def test_other_arrays_are_refused(images: np.ndarray) -> None:
    with pytest.raises(DataError, match="expected uint8 of shape"):
        ArrayDataset("d", images, grid(4))


def test_rows_and_images_must_be_as_many() -> None:
    with pytest.raises(DataError, match="4 images but 5 factor rows"):
        ArrayDataset("d", noise(4, 2, 2, 1), grid(5))


def test_images_on_a_device_are_shared_while_someone_holds_them() -> None:
    dataset = ArrayDataset("d", noise(4, 2, 2, 1), grid(4))
    held = dataset.images_on("cpu")
    assert dataset.images_on(torch.device("cpu")) is held
    del held
    gc.collect()
    assert not len(dataset._placed)


rows_of_few_values = arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(0, 3)), elements=st.integers(-2, 2))


@given(rows_of_few_values)
def test_instances_count_equal_rows_before(rows: np.ndarray) -> None:
    expected = [sum((earlier == row).all() for earlier in rows[:place]) for place, row in enumerate(rows)]
    assert number_instances(rows).tolist() == expected


def test_instance_factor_makes_rows_differ_and_takes_a_free_name() -> None:
    factors = [Factor("instance", 2), Factor("instance_2", 2)]
    rows = np.array([[1, 0], [1, 0], [0, 0]])
    more, longer = with_instance(factors, rows)
    assert more[2] == Factor("instance_3", 2, "categorical", observed=False)
    assert longer.tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 0]]


def test_grid_is_complete_only_in_order() -> None:
    factors = [Factor("a", 2), Factor("b", 2)]
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert grid_of(factors, rows).complete
    swapped = grid_of(factors, rows[[1, 0, 2, 3]])
    assert not swapped.complete
    assert swapped.index([[0, 0]]).tolist() == [1]
    assert grid_of(factors, rows[:3]).size == 3


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(64, 64, 3), (28, 28, 1), (5, 7, 1), (3, 2, 1), (2, 2, 1)])
@pytest.mark.parametrize("share", [0.5, 0.0], ids=["resident", "gathered"])
def test_cuda_gives_the_same_bytes(shape: tuple[int, ...], share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DEVICE_SHARE", share)
    monkeypatch.setattr(module, "_UPLOAD_BYTES", 100)
    images = noise(37, *shape)
    placed = ArrayDataset("d", images, grid(37)).images_on("cuda")
    assert type(placed).__name__ == ("_Resident" if share else "_Gathered")
    index = torch.randint(37, (3, 5), device="cuda")
    shown = placed(index, STREAM)
    assert shown.device.type == "cuda"
    np.testing.assert_array_equal(shown.cpu().numpy(), images[index.cpu().numpy()])
