from __future__ import annotations

import errno
import os
import struct
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from hackle.datasets import load
from hackle.datasets.own import fingerprint
from hackle.datasets.source import DataError


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=shape, dtype=np.uint8)


def save(path: Path, **content: object) -> Path:
    np.savez(path / "mine.npz", **content)  # type: ignore[arg-type]
    return path / "mine.npz"


# NaN, infinity and empty texts are refused, see below; everything else must come back.
finite = {
    32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    64: st.floats(allow_nan=False, allow_infinity=False),
}
columns = st.one_of(
    st.sampled_from(["int8", "uint8", "int64", "uint64", "bool"]).map(lambda dtype: (dtype, None)),
    st.sampled_from([("float32", finite[32]), ("float64", finite[64]), ("U2", st.text("ab", min_size=1, max_size=2))]),
)


@st.composite
def contents(draw: st.DrawFn) -> dict[str, np.ndarray]:
    count = draw(st.integers(1, 8))
    channels = draw(st.sampled_from([(), (1,), (2,), (3,), (5,)]))
    shape = (count, draw(st.integers(1, 5)), draw(st.integers(1, 5)), *channels)
    content = {"images": draw(arrays(np.uint8, shape))}
    if draw(st.booleans()):
        dtype, elements = draw(columns)
        factors = draw(st.sampled_from([(count,), (count, 1), (count, 2), (count, 4), (count, 0)]))
        content["factors"] = draw(arrays(dtype, factors, elements=elements))
    return content


@settings(max_examples=100, deadline=None)
@given(contents(), st.booleans())
def test_any_npz_comes_back_image_by_image(content: dict[str, np.ndarray], compressed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.npz"
        (np.savez_compressed if compressed else np.savez)(path, **content)  # type: ignore[arg-type]
        dataset = load(path)
        images = content["images"] if content["images"].ndim == 4 else content["images"][..., None]
        index = np.arange(len(images))
        rows = dataset.factors.rows(index)
        np.testing.assert_array_equal(dataset.render(rows), images)
        np.testing.assert_array_equal(dataset.factors.index(rows), index)
        factors = content.get("factors", np.empty((len(images), 0)))
        table = factors[:, None] if factors.ndim == 1 else factors
        for column, factor in zip(range(table.shape[1]), dataset.factors.factors, strict=False):
            assert factor.size == len(np.unique(table[:, column]))
            if factor.values is not None:
                shown = np.array(factor.values)[rows[:, column]]
                np.testing.assert_array_equal(shown, table[:, column].astype(np.float64))


def test_names_kinds_and_values(tmp_path: Path) -> None:
    path = save(
        tmp_path,
        images=noise(4, 8, 8, 3),
        factors=np.array([[0.5, 10.0], [0.5, 20.0], [1.5, 10.0], [1.5, 20.0]]),
        factor_names=np.array(["weight", "angle"]),
        factor_kinds=np.array(["continuous", "cyclic"]),
    )
    dataset = load(path)
    assert dataset.name == "mine"
    grid = dataset.factors
    assert grid.complete
    assert grid.names == ("weight", "angle")
    assert grid.kinds == ("continuous", "cyclic")
    assert [factor.values for factor in grid.factors] == [(0.5, 1.5), (10.0, 20.0)]


@pytest.mark.parametrize(
    ("column", "kind"),
    [(np.array([3, 5]), "ordinal"), (np.array([0.1, 0.2]), "continuous"), (np.array(["a", "b"]), "categorical")],
)
def test_kinds_follow_from_the_numbers_unless_given(column: np.ndarray, kind: str, tmp_path: Path) -> None:
    assert load(save(tmp_path, images=noise(2, 4, 4), factors=column)).factors.kinds == (kind,)


def test_equal_rows_get_an_unobserved_instance(tmp_path: Path) -> None:
    grid = load(save(tmp_path, images=noise(3, 4, 4), factors=np.array([1, 0, 1]))).factors
    assert grid.names == ("factor_0", "instance")
    assert grid.observed == (0,)
    assert grid.rows(np.arange(3)).tolist() == [[1, 0], [0, 0], [1, 1]]


def test_without_factors_only_an_unobserved_instance_is_known(tmp_path: Path) -> None:
    grid = load(save(tmp_path, images=noise(5, 4, 4))).factors
    assert (grid.names, grid.sizes, grid.observed) == (("instance",), (5,), ())


def test_booleans_and_fractions_become_bytes(tmp_path: Path) -> None:
    flags = np.array([[[True, False]]])
    assert load(save(tmp_path, images=flags)).render([[0]]).ravel().tolist() == [255, 0]
    assert load(save(tmp_path, images=np.array([[[0.0, 0.5, 1.0]]]))).render([[0]]).ravel().tolist() == [0, 128, 255]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"pictures": noise(2, 4, 4)}, "expected an array called images"),
        ({"images": noise(2, 4, 4), "labels": np.zeros(2)}, "labels, which is not understood"),
        ({"images": noise(4, 4)}, r"expected \(n, height, width\)"),
        ({"images": noise(0, 4, 4)}, r"expected \(n, height, width\)"),
        ({"images": noise(2, 4, 4).astype(np.int32) + 100}, "expected uint8 from 0 to 255"),
        ({"images": np.full((1, 2, 2), 1.5)}, "from 1.5 to 1.5"),
        ({"images": np.full((1, 2, 2), np.nan)}, "expected uint8"),
        ({"images": noise(2, 4, 4), "factors": np.zeros((3, 1))}, r"expected \(2, f\)"),
        ({"images": noise(2, 4, 4), "factors": np.array([0.0, np.nan])}, "factor_0 has no value in row 1"),
        ({"images": noise(2, 4, 4), "factors": np.array([0.0, np.inf])}, "is inf in row 1; expected finite"),
        ({"images": noise(2, 4, 4), "factors": np.array(["", "a"])}, "factor_0 has no value in row 0"),
        ({"images": noise(2, 4, 4), "factors": np.array([1j, 2j])}, "expected whole numbers"),
        ({"images": noise(2, 4, 4), "factors": np.array([{}, {}], dtype=object)}, "never loaded"),
        (
            {"images": noise(2, 4, 4), "factors": np.arange(2), "factor_names": np.array(["a", "b"])},
            "one text for each of 1",
        ),
        ({"images": noise(2, 4, 4), "factors": np.arange(2), "factor_names": np.array([1])}, "one text for each"),
        ({"images": noise(2, 4, 4), "factors": np.arange(2), "factor_kinds": np.array(["round"])}, "kind 'round'"),
        ({"images": noise(2, 4, 4), "factors": np.zeros((2, 2)), "factor_names": np.array(["a", "a"])}, "must differ"),
    ],
)
def test_what_an_npz_lacks_is_said(content: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        load(save(tmp_path, **content))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not really a zip", b"\x93NUMPY"])
def test_another_kind_of_file_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"mine\.npz"):
        load(tmp_path / "mine.npz")


def test_an_npz_cut_short_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, images=noise(20, 8, 8))
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(DataError, match=r"mine\.npz"):
        load(path)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", noise(2, 2, 2))
    with pytest.raises(DataError, match=r"neither a folder of images nor an \.npz"):
        load(tmp_path / "mine.npy")


def write_pictures(folder: Path, mode: str = "RGB") -> np.ndarray:
    """Pictures named out of order, one in a folder of its own, and a file that is no picture."""
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    images = noise(3, 5, 7, *channels)
    (folder / "b").mkdir(parents=True)
    for image, name in zip(images, ["a.png", "b/x.PNG", "c.png"], strict=True):
        Image.fromarray(image).save(folder / name, "PNG")
    (folder / "notes.txt").write_text("not a picture")
    return images.reshape(3, 5, 7, -1)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_a_folder_gives_its_pictures_in_the_order_of_their_paths(mode: str, tmp_path: Path) -> None:
    images = write_pictures(tmp_path / "cats", mode)
    dataset = load(tmp_path / "cats")
    assert dataset.name == "cats"
    assert dataset.factors.observed == ()
    np.testing.assert_array_equal(dataset.render(dataset.factors.rows(np.arange(3))), images)


def test_pictures_of_two_sizes_are_refused(tmp_path: Path) -> None:
    write_pictures(tmp_path / "cats")
    Image.new("RGB", (9, 5)).save(tmp_path / "cats" / "c.png")
    with pytest.raises(DataError, match=r"c\.png is 5×9 with 3 channels, a\.png is 5×7 with 3 channels"):
        load(tmp_path / "cats")


@pytest.mark.parametrize("data", [b"", b"GIF89a broken", b"\x89PNG\r\n\x1a\n" + bytes(30)])
def test_a_broken_picture_is_named(data: bytes, tmp_path: Path) -> None:
    write_pictures(tmp_path / "cats")
    (tmp_path / "cats" / "b" / "x.PNG").write_bytes(data)
    with pytest.raises(DataError, match=r"x\.PNG cannot be read as an image"):
        load(tmp_path / "cats")


def test_a_picture_of_sixteen_bits_becomes_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    Image.fromarray(np.array([[0, 257, 32896], [65535, 128, 129]], np.uint16)).save(tmp_path / "deep" / "a.png")
    assert load(tmp_path / "deep").render([[0]]).ravel().tolist() == [0, 1, 128, 255, 0, 1]
    assert "deep: 16-bit pictures, divided by 257" in capsys.readouterr().err


def sixteen_bit_colours(path: Path, pixels: np.ndarray) -> None:
    """A PNG as Pillow cannot write it: (h, w, 3) of 16 bits."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 16, 2, 0, 0, 0)
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def test_what_becomes_of_sixteen_bits_in_colour_and_of_twelve_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("colours", "dark"):
        (tmp_path / name).mkdir()
    sixteen_bit_colours(tmp_path / "colours" / "a.png", np.array([[[0, 257, 65535]]]))
    assert load(tmp_path / "colours").render([[0]]).ravel().tolist() == [0, 1, 255]
    said = capsys.readouterr().err
    assert "colours: 16-bit colour pictures, of which the upper 8 bits are read" in said
    assert "black" not in said
    Image.fromarray(np.array([[0, 4095]], np.uint16)).save(tmp_path / "dark" / "a.png")
    load(tmp_path / "dark")
    assert "the brightest value being 16 of 255" in capsys.readouterr().err


def test_a_folder_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pictures would be missing without a word. Root may read every folder, so the system's answer is made up."""
    (tmp_path / "closed").mkdir()
    for path in (tmp_path / "0.png", tmp_path / "closed" / "1.png"):
        Image.new("L", (16, 16)).save(path)
    assert len(load(tmp_path).factors) == 2
    scan = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(DataError, match=r"closed cannot be read \(Permission denied\): change its permissions"):
        load(tmp_path)


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no images"):
        load(tmp_path)


def test_channels_before_height_and_width_are_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for channels in (1, 2, 3, 4):
        images = noise(2, channels, 8, 12)
        np.savez(tmp_path / "torch.npz", images=images)
        dataset = load(tmp_path / "torch.npz")
        np.testing.assert_array_equal(dataset.render([[0], [1]]), images.transpose(0, 2, 3, 1))
        assert "torch: channels come first and are moved last" in capsys.readouterr().err
    # A low strip of colour, and three rows of it, are images as any other.
    for shape in ((1, 64, 3), (3, 64, 4), (8, 8, 8)):
        np.savez(tmp_path / "strip.npz", images=np.zeros((2, *shape), np.uint8))
        assert load(tmp_path / "strip.npz").shape == shape


def test_a_fingerprint_tells_contents_apart_and_nothing_else(tmp_path: Path) -> None:
    images, factors = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8), np.array([0, 1])
    np.savez(tmp_path / "a.npz", images=images, factors=factors)
    first = fingerprint(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "b.npz", factors=factors, images=images)
    assert fingerprint(tmp_path / "b.npz") == first
    np.savez(tmp_path / "b.npz", images=images, factors=factors[::-1])
    assert fingerprint(tmp_path / "b.npz") != first
    for name, colour in (("one", 0), ("two", 0), ("other", 1)):
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4), colour).save(tmp_path / name / "0.png")
    one, two, other = (fingerprint(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two != other
    (tmp_path / "one" / "notes.txt").write_text("no picture")
    assert fingerprint(tmp_path / "one") == one
    Image.new("L", (4, 4)).save(tmp_path / "one" / "1.png")
    assert fingerprint(tmp_path / "one") != one


def picture_folder(folder: Path, table: str | None = None) -> Path:
    for name in ("a.png", "b.png", "deep/c.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise(4, 4)).save(folder / name)
    if table is not None:
        (folder / "factors.csv").write_text(table, encoding="utf-8-sig")
    return folder


def test_a_table_tells_the_factors_of_a_folder(tmp_path: Path) -> None:
    before = fingerprint(picture_folder(tmp_path))
    table = 'file,x,angle:cyclic,size,name\nb.png,10,0.5,1,"é, old"\ndeep/c.png,2,0,2,new\na.png,2,0.5,1,new\n'
    dataset = load(picture_folder(tmp_path, table))
    assert [(factor.name, factor.kind, factor.values) for factor in dataset.factors.factors] == [
        ("x", "ordinal", (2.0, 10.0)),
        ("angle", "cyclic", (0.0, 0.5)),
        ("size", "ordinal", (1.0, 2.0)),
        ("name", "categorical", None),
    ]
    assert dataset.factors.rows(np.arange(3)).tolist() == [[0, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    assert fingerprint(tmp_path) != before


def test_a_table_of_another_name_is_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = picture_folder(tmp_path)
    load(folder)
    assert "no factors" not in capsys.readouterr().err
    (folder / "labels.csv").write_text("file,x\na.png,1\n")
    load(folder)
    assert "labels.csv is not read, since a folder's table of factors is called factors.csv" in capsys.readouterr().err


def test_columns_that_number_the_images_are_no_factors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = "file,id,x,name\na.png,1003,1,one\nb.png,1001,2,two\ndeep/c.png,1002,2,three\n"
    dataset = load(picture_folder(tmp_path / "folder", table))
    assert dataset.factors.names == ("x", "instance")
    said = capsys.readouterr().err
    assert "column 'id', which numbers or names the images, left out" in said
    assert "column 'name'" in said
    told = load(picture_folder(tmp_path / "told", table.replace("id", "id:ordinal")))
    assert told.factors.names == ("id", "x")
    names = np.array(["id", "x"])
    whole = load(save(tmp_path, images=noise(3, 4, 4), factors=np.array([[3, 1], [1, 2], [2, 2]]), factor_names=names))
    assert whole.factors.names == ("x", "instance")
    alone = load(picture_folder(tmp_path / "alone", "file,id\na.png,3\nb.png,1\ndeep/c.png,2\n"))
    assert alone.factors.observed == ()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "factors.csv cannot be read as a table"),
        ("file\na.png\nb.png\ndeep/c.png\n", "has one column"),
        ("file;x\na.png;1\nb.png;2\ndeep/c.png;2\n", "has one column, .* separated by commas"),
        ("file,x,y\na.png,1,1,5\nb.png,2,2,5\ndeep/c.png,2,3,5\n", "3 names .* and 4 cells .*: 1.5, not 1,5"),
        ("a.png,1\nb.png,2\ndeep/c.png,2\n", "has no line of names; expected one above the first picture"),
        (",file,x\n0,a.png,1\n1,b.png,2\n2,deep/c.png,2\n", "such as a.png, in the first column"),
        ("file,x\na.png,1\nb.png,2\n", "has no row for deep/c.png"),
        ("file,x\na.png,1\nb.png,2\ndeep/c.png,3\nd.png,4\n", "picture that is not there: d.png"),
        ("file,x\na.png,1\na.png,1\nb.png,2\ndeep/c.png,3\n", "two rows for a.png"),
        ("file,x\na.png,1\nb.png,\ndeep/c.png,3\n", "empty cell in the row of b.png"),
        ("file,x\na.png,1\nb.png,nan\ndeep/c.png,3\n", "factor x has no value in row 1"),
        ("file,x:round\na.png,1\nb.png,2\ndeep/c.png,3\n", "factor x has kind 'round'"),
        ("file,x,x:cyclic\na.png,1,1\nb.png,2,1\ndeep/c.png,3,1\n", "factor names must differ"),
    ],
)
def test_what_a_table_lacks_is_said(table: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        load(picture_folder(tmp_path, table))


def test_texts_of_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    factors = np.array([["10", "a", "0.5"], ["9", "b", "1e-3"], ["2", "a", "7"]])
    rows = load(save(tmp_path, images=noise(3, 4, 4), factors=factors)).factors.rows(np.arange(3))
    assert rows.tolist() == [[2, 0, 1], [1, 1, 0], [0, 0, 2]]
