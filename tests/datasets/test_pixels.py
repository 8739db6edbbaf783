from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hackle.datasets import load
from hackle.datasets.pixels import Reading, as_bytes
from hackle.datasets.source import DataError

STEPS = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (STEPS, ""),
        (STEPS.astype(np.int64), "int64 from 0 to 255, taken as bytes"),
        (STEPS.astype(np.float32), "float32 from 0 to 255, taken as bytes"),
        (STEPS.astype(np.uint16) * 257, "uint16 from 0 to 65535, taken as numbers in [0, 65535] and mapped on bytes"),
        (STEPS / 255, "float64 from 0 to 1, taken as numbers in [0, 1] and mapped on bytes"),
        ((STEPS / 255).astype(np.float16), "float16 from 0 to 1, taken as numbers in [0, 1] and mapped on bytes"),
        (STEPS / 127.5 - 1, "float64 from -1 to 1, taken as numbers in [-1, 1] and mapped on bytes"),
    ],
)
def test_every_range_gives_the_same_bytes_and_is_said(images: np.ndarray, words: str) -> None:
    bytes_, said = as_bytes("steps", images)
    np.testing.assert_array_equal(bytes_, STEPS)
    assert "; ".join(said) == words


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.float32])
def test_black_and_white_of_any_dtype_are_0_and_255(dtype: type) -> None:
    bytes_, said = as_bytes("flags", np.array([[[0, 1], [1, 0]]], dtype))
    assert bytes_.ravel().tolist() == [0, 255, 255, 0]
    assert len(said) == 1


def test_bytes_of_0_and_1_stay_and_are_remarked_upon() -> None:
    bytes_, said = as_bytes("flags", np.array([[[0, 1]]], np.uint8))
    assert bytes_.max() == 1
    assert "give booleans" in said[0]


@pytest.mark.parametrize(
    "images",
    [
        np.array([[[-0.2, 1.0]]]),  # [0, 1] that overshot, or [−1, 1]
        np.array([[[-3.0, 2.0]]]),  # standardised
        np.array([[[0.0, 1.5]]]),
        np.array([[[0, 7]]], np.int64),  # classes
        np.array([[[0, 4095]]], np.uint16),  # twelve bits, or sixteen in the dark
        np.array([[[0, 300]]], np.int32),
        np.array([[[0.0, np.inf]]]),
        np.array([[[1j, 0]]]),
    ],
)
def test_a_range_that_could_be_another_is_refused_with_what_to_do(images: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"expected uint8 from 0 to 255.*value_range"):
        as_bytes("mine", images)


def test_a_range_that_is_told_is_taken() -> None:
    deep = np.array([[[0, 4095, 2048]]], np.uint16)
    bytes_, said = as_bytes("mine", deep, Reading(value_range=(0.0, 4095.0)))
    assert bytes_.ravel().tolist() == [0, 255, 128]
    assert said == ("uint16 with black at 0 and white at 4095, as told",)
    with pytest.raises(DataError, match="from 0 to 4095, outside value_range"):
        as_bytes("mine", deep, Reading(value_range=(0.0, 1023.0)))


def test_channels_are_where_they_are_told_or_must_be() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 9, 8), dtype=np.uint8)
    moved = images.transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(as_bytes("mine", images)[0], moved)
    np.testing.assert_array_equal(as_bytes("mine", moved)[0], moved)
    assert as_bytes("mine", images, Reading(channels="last"))[0].shape == (2, 3, 9, 8)
    tiny = images[:, :, :3, :3]
    assert np.array_equal(as_bytes("mine", tiny)[0], tiny)
    assert np.array_equal(as_bytes("mine", tiny, in_doubt="first")[0], tiny.transpose(0, 2, 3, 1))


def test_images_of_several_sizes_come_to_one() -> None:
    """A grey image stays grey however it is scaled; padding puts the image in the middle of black."""
    images = [np.full((10, 20), 100, np.uint8), np.full((30, 30), 200, np.uint8)]
    with pytest.raises(
        DataError, match=r"10×20 with 1 channel, another 30×30.*resize=64 or pad=64 \(--resize 64, --pad 64\)"
    ):
        as_bytes("mine", images)
    resized, said = as_bytes("mine", images, Reading(resize=16))
    assert resized.shape == (2, 16, 16, 1)
    assert set(np.unique(resized)) == {100, 200}
    assert said == ("resized from 2 sizes to 16×16 pixels",)
    padded, said = as_bytes("mine", images, Reading(pad=32))
    assert padded[0, 11:21, 6:26].min() == 100
    assert padded.sum() == 200 * 100 + 900 * 200
    assert said == ("padded with black from 2 sizes to 32×32 pixels",)
    both, _ = as_bytes("mine", images, Reading(resize=16, pad=16))
    assert both[0, 4:12].min() == 100
    assert not both[0, :4].any()
    assert not both[0, 12:].any()
    with pytest.raises(DataError, match=r"30×30 do not fit into 24×24 pixels.*--resize 24"):
        as_bytes("mine", images, Reading(pad=24))


def test_a_folder_and_an_npz_are_resized_on_request_by_argument_or_name(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    for number, size in enumerate([(20, 10), (15, 15)]):
        Image.new("RGBA", size, (0, 80, 0, 255)).save(tmp_path / "cats" / f"{number}.png")
    with pytest.raises(DataError, match="--resize 64"):
        load(tmp_path / "cats")
    for dataset in (load(tmp_path / "cats", resize=16), load(f"{tmp_path}/cats+resize=16")):
        assert dataset.shape == (16, 16, 4)
        assert dataset.said == (  # type: ignore[attr-defined]
            "the fourth channel, alpha, is kept",
            "resized from 2 sizes to 16×16 pixels",
        )
    np.savez(tmp_path / "wide.npz", images=np.full((3, 6, 9), 50, np.uint8))
    dataset = load(tmp_path / "wide.npz", pad=16)
    assert dataset.shape == (16, 16, 1)
    assert dataset.render([[0]]).sum() == 6 * 9 * 50
    with pytest.raises(DataError, match="resize is 0"):
        load(tmp_path / "wide.npz", resize=0)
    with pytest.raises(DataError, match="dsprites draws its images"):
        load("dsprites", resize=32)
