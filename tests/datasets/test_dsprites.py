"""dSprites regenerated: against the published images' hashes, known areas and counts, and through damage and full disks."""

import errno
import hashlib
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from hackle.core.factors import Factor, FactorError, FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Dataset
from hackle.datasets import dsprites
from hackle.datasets.bits import gather, pack, unpack
from hackle.datasets.source import DataError
from hackle.datasets.sprite_raster import rasterise, sheet

REAL = json.loads((Path(__file__).parent / "dsprites_real_370.json").read_text())["images"]


@pytest.fixture(scope="module")
def words():
    return dsprites.regenerate()


def cut(monkeypatch, *sizes):
    """dSprites with fewer values to each factor, so that files of the whole set are small."""
    grid = FactorGrid([Factor(name, size) for name, size in zip(dsprites.FACTORS.names, sizes, strict=True)])
    monkeypatch.setattr(dsprites, "FACTORS", grid)
    return grid


@pytest.fixture
def small(monkeypatch):
    return cut(monkeypatch, 1, 1, 2, 32, 32)


@pytest.fixture
def tiny(monkeypatch):
    return cut(monkeypatch, 2, 3, 2, 4, 5)


def pixels(rows):
    """Zeros and ones, (n, 64, 64)."""
    return unpack(torch.from_numpy(rasterise(np.array(rows))))[..., 0].numpy() // 255


def write_archive(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    # The published archive also holds a pickle; a loader that would open it would fail on this one.
    np.savez_compressed(path, metadata=np.array({"never": "opened"}, dtype=object), **arrays)


def published(factors, seed=0):
    """Arrays of the published form with random images."""
    images = np.random.default_rng(seed).integers(0, 2, (factors.size, 64, 64), dtype=np.uint8)
    rows = factors.rows(np.arange(factors.size))
    return {"imgs": images, "latents_classes": np.pad(rows, ((0, 0), (1, 0)))}


def test_every_published_image_at_hand_comes_out_without_a_wrong_pixel():
    assert len(REAL) == 370
    images = pixels([row for row, _ in REAL])
    digests = [hashlib.sha256(image.tobytes()).hexdigest() for image in images]
    assert digests == [digest for _, digest in REAL]


def test_whole_set_has_the_known_number_of_white_pixels(words):
    assert words.shape == (737_280, 64)
    assert int(np.bitwise_count(words).sum(dtype=np.int64)) == 128_328_864


def test_whole_set_is_in_the_order_of_the_grid(words):
    index = np.random.default_rng(0).integers(len(words), size=50)
    assert np.array_equal(words[index], rasterise(dsprites.FACTORS.rows(index)))


@pytest.mark.slow
def test_whole_set_has_the_known_number_of_distinct_images(words):
    assert len(np.unique(np.ascontiguousarray(words).view("V512"))) == 715_706


@pytest.mark.parametrize(
    ("shape", "area", "width", "height"), [(0, 400, 20, 20), (1, 288, 26, 14), (2, 222, 20, 17)], ids=str
)
def test_area_and_extent_at_full_scale(shape, area, width, height):
    (image,) = pixels([[shape, 5, 0, 0, 0]])
    assert image.sum() == area
    assert np.count_nonzero(image.any(axis=0)) == width
    assert np.count_nonzero(image.any(axis=1)) == height


def test_square_covers_the_pixels_whose_centres_it_holds():
    # Centre 16, half side 9.6: from 6.4 to 25.6, which holds the centres 6.5 … 25.5 in both directions.
    (image,) = pixels([[0, 5, 0, 0, 0]])
    expected = np.zeros((64, 64))
    expected[6:26, 6:26] = 1
    assert np.array_equal(image, expected)


@pytest.mark.parametrize("row", [[0, 2, 7, 3, 29], [1, 0, 11, 17, 5], [2, 5, 33, 30, 1]], ids=str)
def test_fill_agrees_with_a_winding_count_at_every_pixel(row):
    """An independent slow fill: the even-odd rule at each pixel centre, on the outline of the module's description."""
    shape, scale, orientation, x, y = row
    vertices = (4, 100, 150)[shape]
    t = 2 * np.pi * np.arange(vertices) / vertices
    if shape == 0:
        bx, by = np.sign(np.cos(t + np.pi / 4)), np.sign(np.sin(t + np.pi / 4))
    elif shape == 1:
        bx, by = 1.33 * np.cos(t), np.sin(t) / 1.33
    else:
        bx = np.sin(t) ** 3
        by = -((13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 14.5 + 0.15)
    k, a = 9.6 * np.linspace(0.5, 1, 6)[scale], np.linspace(0, 2 * np.pi, 40)[orientation]
    centre = 16 + 32 * np.linspace(0, 1, 32)[[x, y]]
    px = np.round(256 * (centre[0] + k * (bx * np.cos(a) + by * np.sin(a)))) / 256
    py = np.round(256 * (centre[1] + k * (-bx * np.sin(a) + by * np.cos(a)))) / 256
    column, line = np.meshgrid(np.arange(64) + 0.5, np.arange(64) + 0.5)
    inside = np.zeros((64, 64), dtype=bool)
    for i in range(vertices):
        j = (i + 1) % vertices
        spans = (np.minimum(py[i], py[j]) < line) & (line <= np.maximum(py[i], py[j]))
        if py[i] != py[j]:
            crossing = px[i] + (line - py[i]) * (px[j] - px[i]) / (py[j] - py[i])
            inside ^= spans & (crossing <= column)
    assert np.array_equal(pixels([row])[0], inside)


def test_first_and_last_orientation_are_the_same_image():
    for shape in range(3):
        assert np.array_equal(sheet(shape, 4, 0), sheet(shape, 4, 39))


def test_no_sprite_touches_the_outermost_pixels(words):
    ever = unpack(torch.from_numpy(np.bitwise_or.reduce(words, axis=0)[None]))[0, :, :, 0].numpy()
    rows, columns = np.nonzero(ever)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (2, 61, 2, 61)


def test_x_moves_right_and_y_moves_down():
    start, right, down = (pixels([[0, 0, 0, x, y]])[0] for x, y in ((0, 0), (31, 0), (0, 31)))
    assert np.array_equal(right, np.roll(start, 32, axis=1))
    assert np.array_equal(down, np.roll(start, 32, axis=0))


def test_packing_and_unpacking_are_inverse():
    images = np.random.default_rng(1).integers(0, 2, (7, 64, 64), dtype=np.uint8)
    words = torch.from_numpy(pack(images))
    assert np.array_equal(unpack(words)[..., 0].numpy(), images * 255)
    assert np.array_equal(unpack(words, channels=3).numpy(), np.repeat(images[..., None], 3, axis=-1) * 255)
    index = torch.tensor([[3, 0], [6, 6]])
    assert np.array_equal(unpack(gather(words, index))[..., 0].numpy(), images[index] * 255)


def test_data_set_follows_the_contract_and_renders_without_drawing_the_whole_set(tmp_path):
    data = dsprites.load(tmp_path)
    assert isinstance(data, Dataset)
    assert data.factors.sizes == (3, 6, 40, 32, 32)
    assert data.factors.kinds == ("categorical", "ordinal", "cyclic", "ordinal", "ordinal")
    rows = [row for row, _ in REAL[:5]]
    images = data.render(rows)
    assert images.shape == (5, 64, 64, 1)
    assert images.dtype == np.uint8
    assert np.array_equal(images[..., 0], pixels(rows) * 255)
    assert not list(tmp_path.iterdir())


def test_rendering_refuses_rows_outside_the_grid(tmp_path):
    with pytest.raises(FactorError, match="orientation goes from 0 to 39"):
        dsprites.load(tmp_path).render([[0, 0, 40, 0, 0]])


def test_rendering_no_rows_gives_no_images(tmp_path):
    assert dsprites.load(tmp_path).render(np.zeros((0, 5), dtype=np.int64)).shape == (0, 64, 64, 1)


def test_batches_are_the_rendered_images(tmp_path, small):
    data = dsprites.load(tmp_path)
    index = torch.from_numpy(np.random.default_rng(2).integers(small.size, size=(3, 4)))
    before = data.render(small.rows(index.flatten().numpy()))
    batch = data.images_on("cpu")(index, Stream.of([0, 1, 2]))
    assert batch.shape == (3, 4, 64, 64, 1)
    assert batch.dtype == torch.uint8
    assert np.array_equal(batch.flatten(0, 1).numpy(), before)
    assert np.array_equal(data.render(small.rows(index.flatten().numpy())), before)


def test_kept_file_is_used_the_next_time(tmp_path, small, monkeypatch):
    first = dsprites.load(tmp_path).store.whole
    assert [path.name for path in (tmp_path / "dsprites").iterdir()] == [dsprites.REGENERATED]
    monkeypatch.setattr(dsprites, "regenerate", lambda: pytest.fail("drawn a second time"))
    assert torch.equal(dsprites.load(tmp_path).store.whole, first)


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "checksum"])
def test_damaged_file_is_noticed_and_made_again(tmp_path, small, damage):
    expected = dsprites.load(tmp_path).store.whole.clone()
    path = tmp_path / "dsprites" / dsprites.REGENERATED
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        content = content[:-100]
    elif damage == "empty":
        content = bytearray()
    else:
        content[-1 if damage == "checksum" else 12345] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        assert torch.equal(dsprites.load(tmp_path).store.whole, expected)
    assert torch.equal(dsprites.load(tmp_path).store.whole, expected)


def test_full_disk_leaves_nothing_behind_and_the_set_in_memory(tmp_path, small, monkeypatch):
    class FullDisk:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, content):
            self.file.write(bytes(content)[:1000])
            raise OSError(errno.ENOSPC, "No space left on device")

    open_file = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *arguments: FullDisk(open_file(self, *arguments)))
    with pytest.warns(UserWarning, match="No space left on device.*stays in memory"):
        kept = dsprites.load(tmp_path).store.whole
    assert np.array_equal(kept.numpy(), dsprites.regenerate())
    assert not list((tmp_path / "dsprites").iterdir())


def test_full_disk_keeps_what_was_there(tmp_path, small, monkeypatch):
    path = tmp_path / "dsprites" / dsprites.REGENERATED
    path.parent.mkdir()
    path.write_bytes(b"something else")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space left"), pytest.warns(UserWarning, match="damaged"):
        assert len(dsprites.load(tmp_path).store.whole) == small.size
    assert path.read_bytes() == b"something else"
    assert list(path.parent.iterdir()) == [path]


def test_folder_that_cannot_be_written_leaves_the_set_in_memory(tmp_path, small):
    # A file where the folder should be stops every user, root too, as a read-only folder stops the others.
    (tmp_path / "dsprites").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"cannot keep dSprites in .*choose a data folder"):
        assert len(dsprites.load(tmp_path).store.whole) == small.size


def test_official_archive_is_preferred_and_kept_packed(tmp_path, tiny, monkeypatch):
    arrays = published(tiny)
    write_archive(tmp_path / "dsprites" / dsprites.OFFICIAL, **arrays)
    data = dsprites.load(tmp_path)
    rows = tiny.rows(np.array([0, 5, tiny.size - 1]))
    assert np.array_equal(data.render(rows)[..., 0], arrays["imgs"][[0, 5, -1]] * 255)
    monkeypatch.setattr(dsprites, "read_official", lambda path: pytest.fail("read a second time"))
    assert np.array_equal(dsprites.load(tmp_path).render(rows)[..., 0], arrays["imgs"][[0, 5, -1]] * 255)


def test_another_official_archive_is_not_mistaken_for_the_first(tmp_path, tiny):
    path = tmp_path / "dsprites" / dsprites.OFFICIAL
    for seed in range(2):
        arrays = published(tiny, seed)
        write_archive(path, **arrays)
        assert np.array_equal(dsprites.load(tmp_path).store.whole.numpy(), pack(arrays["imgs"]))


def wrong_shape(arrays):
    arrays["imgs"] = arrays["imgs"][:, :32]


def wrong_count(arrays):
    arrays["imgs"] = arrays["imgs"][1:]


def wrong_type(arrays):
    arrays["imgs"] = arrays["imgs"].astype(np.float32)


def wrong_pixels(arrays):
    arrays["imgs"] = arrays["imgs"] * 255


def wrong_order(arrays):
    arrays["latents_classes"] = arrays["latents_classes"][::-1]


def no_factors(arrays):
    del arrays["latents_classes"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (wrong_shape, r"imgs is uint8 of shape \(240, 32, 64\); expected uint8 of shape \(240, 64, 64\)"),
        (wrong_count, "imgs is uint8 of shape"),
        (wrong_type, "imgs is float32"),
        (wrong_pixels, "pixels of 255; expected zeros and ones"),
        (wrong_order, "last one fastest"),
        (no_factors, "latents_classes"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_archive_of_another_form_is_refused_with_advice(tmp_path, tiny, spoil, message):
    arrays = published(tiny)
    spoil(arrays)
    write_archive(tmp_path / "dsprites" / dsprites.OFFICIAL, **arrays)
    with pytest.raises(DataError, match=message) as caught:
        _ = dsprites.load(tmp_path).store.whole
    assert "Fetch the archive again" in str(caught.value)
    assert not list((tmp_path / "dsprites").glob("*.bits"))


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99], ids=str)
def test_truncated_archive_is_refused(tmp_path, tiny, keep):
    path = tmp_path / "dsprites" / dsprites.OFFICIAL
    write_archive(path, **published(tiny))
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(DataError, match=r"damaged.*Fetch the archive again"):
        dsprites.load(tmp_path)


def test_archive_with_a_flipped_byte_is_refused(tmp_path, tiny):
    path = tmp_path / "dsprites" / dsprites.OFFICIAL
    write_archive(path, **published(tiny))
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("imgs.npy")
    content = bytearray(path.read_bytes())
    content[info.header_offset + info.compress_size // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match="Fetch the archive again"):
        _ = dsprites.load(tmp_path).store.whole


@pytest.mark.slow
def test_archive_of_the_full_published_form_is_read(tmp_path, words):
    """The regenerated set written as the official archive is, and read back from it."""
    path = tmp_path / "dsprites" / dsprites.OFFICIAL
    path.parent.mkdir()
    factors = dsprites.FACTORS
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("latents_classes.npy", "w") as file:
            np.lib.format.write_array(file, np.pad(factors.rows(np.arange(factors.size)), ((0, 0), (1, 0))))
        with archive.open("imgs.npy", "w", force_zip64=True) as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": (factors.size, 64, 64)}
            np.lib.format.write_array_header_1_0(file, header)
            for part in torch.from_numpy(words).split(4096):
                file.write((unpack(part) // 255).numpy().data)
    store = dsprites.load(tmp_path).store
    assert not store.regenerated
    assert np.array_equal(store.whole.numpy(), words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(dsprites.load(tmp_path).store.whole.numpy(), words)
