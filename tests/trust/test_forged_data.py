"""Data sets as someone who wishes you ill would send them, or have a record name them."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import changed
from PIL import Image

import hackle
from hackle.core.errors import HackleError
from hackle.datasets import without_size
from hackle.datasets.dsprites_variants import read_painting
from hackle.datasets.source import DataError

h5py = pytest.importorskip("h5py")
IMAGES = np.full((10, 8, 8, 1), 200, np.uint8)


def hdf5(path: Path, fill: Callable[[Any], object], images: bool = True) -> Path:
    with h5py.File(path, "w") as file:
        if images:
            file["images"] = IMAGES
        fill(file)
    return path


def test_factors_that_lie_in_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"what only the reader may see")

    def fill(file: Any) -> None:
        outside = [(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("factors", (10,), dtype="u1", external=outside)

    with pytest.raises(DataError, match="factors lie in other files"):
        hackle.load(hdf5(tmp_path / "data.h5", fill))


def test_virtual_factors_are_not_read(tmp_path: Path) -> None:
    hdf5(tmp_path / "secret.h5", lambda file: file.update(secret=np.arange(10)))

    def fill(file: Any) -> None:
        layout = h5py.VirtualLayout((10,), "i8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "secret", (10,))
        file.create_virtual_dataset("factors", layout)

    with pytest.raises(DataError, match="factors lie in other files"):
        hackle.load(hdf5(tmp_path / "data.h5", fill))


def huge(name: str, shape: tuple[int, ...], dtype: str, chunks: tuple[int, ...]) -> Callable[[Any], object]:
    """An array of zeros that takes no room in the file."""
    return lambda file: file.create_dataset(name, shape, dtype=dtype, chunks=chunks)


@pytest.mark.parametrize(
    ("fill", "images"),
    [
        (huge("images", (10**9, 64, 64, 3), "u1", (1, 64, 64, 3)), False),
        (huge("images", (10**9, 64, 64, 3), "f4", (1, 64, 64, 3)), False),
        (huge("images", (1, 10**6, 10**6, 1), "f4", (1, 64, 64, 1)), False),
        (huge("factors", (10**12,), "i8", (1000,)), True),
        (huge("factor_names", (10**12,), "S10", (1000,)), True),
    ],
    ids=["bytes", "floats", "one image", "factors", "names"],
)
def test_arrays_that_do_not_fit_into_memory_are_refused(
    tmp_path: Path, fill: Callable[[Any], object], images: bool
) -> None:
    with pytest.raises(DataError, match=r"in memory, of which .* free"):
        hackle.load(hdf5(tmp_path / "data.h5", fill, images))


@pytest.mark.parametrize(
    "fill",
    [
        lambda file: file.create_dataset("factors", (10,), dtype=h5py.vlen_dtype(np.int32)),
        lambda file: file.create_dataset("factors", (10,), dtype=h5py.ref_dtype),
        lambda file: file.create_dataset("factors", data=h5py.Empty("f")),
        lambda file: file.create_dataset("factors", (10, 10**6), dtype="i1", chunks=(10, 1000)),
    ],
    ids=["rows of any length", "references", "nothing", "a million columns"],
)
def test_odd_factors_are_refused(tmp_path: Path, fill: Callable[[Any], object]) -> None:
    with pytest.raises(DataError):
        hackle.load(hdf5(tmp_path / "data.h5", fill))


def test_images_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="images are empty"):
        hackle.load(hdf5(tmp_path / "data.h5", lambda file: file.create_dataset("images", data=h5py.Empty("f")), False))


def test_damaged_hdf5_files_are_refused_in_words(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        file.create_dataset("images", data=IMAGES, chunks=(5, 8, 8, 1), compression="gzip")
        file["factors"] = np.arange(10) % 4

    whole, draws = hdf5(tmp_path / "whole.h5", fill, False).read_bytes(), np.random.default_rng(0)
    for _ in range(500):
        text = bytearray(whole)
        for place in draws.integers(0, len(text), 4):
            text[place] = draws.integers(0, 256)
        (tmp_path / "cut.h5").write_bytes(bytes(text))
        try:
            hackle.load(tmp_path / "cut.h5")
        except HackleError:
            continue


@pytest.mark.parametrize("name", ["data.npz", "data.h5"])
def test_a_file_that_never_ends_is_not_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="is no file"):
        hackle.load(tmp_path / name)


def test_archives_that_unpack_to_more_than_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "data.npz", images=np.zeros((1000, 64, 64), np.uint8))
    monkeypatch.setattr("hackle.datasets.damage.available_memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"4 MB in memory, of which 1 MB are free"):
        hackle.load(tmp_path / "data.npz")


def test_a_forged_header_of_an_array_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("images.npy", b"\x93NUMPY\x02\x00" + (9000).to_bytes(4, "little") + b"(" * 9000)
    with pytest.raises(DataError, match="cannot be read"):
        hackle.load(tmp_path / "data.npz")


def test_pictures_of_too_many_pixels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (64, 64)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(DataError, match="cannot be read as an image"):
        hackle.load(tmp_path)


def test_pictures_that_do_not_fit_into_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        Image.new("L", (64, 64)).save(tmp_path / f"{number}.png")
    monkeypatch.setattr("hackle.datasets.damage.available_memory", lambda: 10**5)
    with pytest.raises(DataError, match="in memory, of which"):
        hackle.load(tmp_path)


def test_sizes_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", images=np.repeat(IMAGES, 10_000, axis=0))
    for sizes in ("+resize=9999", "+resize=64+pad=9999", "+pad=9999"):
        with pytest.raises(DataError, match="in memory, of which"):
            hackle.load(f"{tmp_path / 'data.npz'}{sizes}")


def test_a_name_of_many_sizes_is_read_at_once(tmp_path: Path) -> None:
    name = "x" + "+pad=1" * 150_000 + "!"
    began = time.process_time()
    assert without_size(name)[0] == name
    assert without_size(name[:-1])[0] == "x"

    def change(text: dict[str, Any]) -> None:
        text["record"]["dataset"] = name

    hackle.Model.load(changed(tmp_path / "theirs", change))
    assert time.process_time() - began < 5
    assert json.loads((tmp_path / "theirs" / "run.json").read_text())["record"]["dataset"] == name


def test_postscript_that_is_called_a_picture_starts_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow has Ghostscript draw it, where that is installed."""
    program = tmp_path / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    (tmp_path / "pictures").mkdir()
    head = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 16 16\n%%EndComments\n%%EOF\n"
    (tmp_path / "pictures" / "a.png").write_text(head)
    with pytest.raises(DataError, match="cannot be read as an image"):
        hackle.load(tmp_path / "pictures")
    assert not (tmp_path / "ran").exists()


def test_texts_that_many_rows_share_are_not_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 400

    def fill(file: Any) -> None:
        texts = file.create_dataset("factors", (count,), h5py.string_dtype(), chunks=(count,))
        texts[0] = "x" * 1_000_000
        # The rows of a file are places of texts in it: here always the same.
        texts.id.write_direct_chunk((0,), texts.id.read_direct_chunk((0,))[1][:16] * count)

    path = hdf5(tmp_path / "data.h5", fill)
    for module in ("damage", "hdf5"):
        monkeypatch.setattr(f"hackle.datasets.{module}.available_memory", lambda: 100_000_000)
    with pytest.raises(DataError, match=r"takes .* in memory"):
        hackle.load(path)


def test_one_long_text_does_not_widen_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array has room for the longest text in each row."""
    for row in range(50):
        Image.new("L", (8, 8), row).save(tmp_path / f"{row:02}.png")
    cells = ["x" * 100_000, *("yz"[row % 2] for row in range(49))]
    lines = ["image,shape", *(f"{row:02}.png,{cell}" for row, cell in enumerate(cells))]
    (tmp_path / "factors.csv").write_text("\n".join(lines))
    monkeypatch.setattr("hackle.datasets.damage.available_memory", lambda: 10_000_000)
    with pytest.raises(DataError, match=r"factors\.csv takes 20 MB in memory"):
        hackle.load(tmp_path)


def test_names_of_factors_are_printed_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = np.array(["\x1b]0;owned\x07", "\u202egnp.exe", "[bold]price in $, US$"])
    factors = np.stack([np.arange(10) % 2, np.arange(10) % 3, np.arange(10) % 5], axis=1)
    np.savez(tmp_path / "data.npz", images=IMAGES, factors=factors, factor_names=names)
    hackle.load(tmp_path / "data.npz")
    said = capsys.readouterr().err
    assert "]0;owned (" in said
    assert "gnp.exe (" in said
    assert "[bold]price in $, US$ (" in said
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def root_with(name: str, place: Path) -> Path:
    (place / name).mkdir(parents=True)
    return place


def test_pictures_of_published_sets_start_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow has Ghostscript draw PostScript, whatever it is called."""
    mark, root = tmp_path / "ghostscript has run", root_with("scream-dsprites", tmp_path / "data")
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    Image.new("RGB", (100, 100)).save(root / "scream-dsprites" / "scream.jpg", "EPS")
    with pytest.raises(DataError, match="cannot be read as a picture"):
        read_painting(root)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["images", "labels"])
@pytest.mark.parametrize("by", ["storage", "link"])
def test_arrays_of_published_sets_that_lie_in_other_files_are_not_read(tmp_path: Path, name: str, by: str) -> None:
    shapes = {"images": (2, 64, 64, 3), "labels": (2, 6)}
    secret = tmp_path / "secret.h5"
    hdf5(secret, lambda file: [file.create_dataset(one, shapes[one], dtype="u1") for one in shapes], images=False)
    path = root_with("shapes3d", tmp_path / "data") / "shapes3d" / "3dshapes.h5"

    def fill(file: Any) -> None:
        for one in shapes:
            outside = [(str(secret), 0, h5py.h5f.UNLIMITED)] if (one, by) == (name, "storage") else None
            if (one, by) == (name, "link"):
                file[one] = h5py.ExternalLink(str(secret), one)
            else:
                file.create_dataset(one, shapes[one], dtype="u1", external=outside)

    hdf5(path, fill, images=False)
    with pytest.raises(DataError, match="lie in other files" if by == "storage" else "expected the arrays"):
        hackle.load("shapes3d", tmp_path / "data")


def test_images_that_are_objects_are_not_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their bytes would be taken for addresses."""
    monkeypatch.setattr(np, "memmap", lambda *given: pytest.fail("it was mapped"))
    path = hdf5(
        tmp_path / "data.h5",
        lambda file: file.create_dataset("images", (4, 8, 8, 1), dtype=h5py.string_dtype()).write_direct(
            np.full((4, 8, 8, 1), "x", object)
        ),
        images=False,
    )
    with pytest.raises(DataError, match="images are not numbers"):
        hackle.load(path)
