"""Your own data: a folder of images, optionally with a table of factors, or an .npz or HDF5 file of images and factors.

A folder may hold `factors.csv`: a row for each image, its path in the folder first, then its factors. A file holds `images`
(n, h, w), (n, h, w, c) or (n, c, h, w), and may hold `factors` (n,) or (n, f), `factor_names` (f,) and `factor_kinds` (f,).
Flat index i is image i. See docs/datasets/own.md.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.core.columns import told_in_heads
from hackle.core.factors import FactorGrid
from hackle.core.progress import progress
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.csv_table import read_csv
from hackle.datasets.damage import as_texts, check_room, reading
from hackle.datasets.decoding import FORMATS
from hackle.datasets.hdf5 import ENDINGS, check_names, read_hdf5
from hackle.datasets.labels import guessed_kinds, labelled_grid, own_grid, unlabelled
from hackle.datasets.npz import Npz
from hackle.datasets.pixels import (
    AS_THEY_ARE,
    ONE_SIZE,
    Reading,
    alpha_words,
    as_bytes,
    fit_images,
    say,
    size_text,
    size_words,
)
from hackle.datasets.source import DataError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm"}
_MODES = {"1": "L", "L": "L", "RGB": "RGB", "RGBA": "RGBA", "P": "RGB", "LA": "RGBA", "PA": "RGBA"}
_TABLE = "factors.csv"
_TWELVE_BITS = 16
"""The white of 12-bit images, 4095, divided by 257."""
_DARK = (
    "all but black, the brightest value being {} of 255: if white is less than 65535 in them, read them as arrays and say so, "
    "hackle.from_arrays(…, value_range=(0, 4095))"
)
_KNOWN = ("images", "factors", "factor_names", "factor_kinds")


def load(path: Path, how: Reading = AS_THEY_ARE) -> ArrayDataset:
    """The data set in an .npz or HDF5 file or a folder of images."""
    if path.is_dir():
        dataset = load_folder(path, how)
    elif not path.is_file():
        raise DataError(f"{path} is no file; expected an .npz or HDF5 file or a folder of images")
    elif path.suffix == ".npz" or path.suffix in ENDINGS:
        images, said, rest = (read_npz if path.suffix == ".npz" else read_hdf5)(path, how)
        grid, left_out = _file_grid(path, len(images), rest)
        dataset = ArrayDataset(path.stem, images, grid, [*said, *left_out])
    else:
        raise DataError(
            f"{path} is neither a folder of images nor an .npz or HDF5 file ({', '.join(ENDINGS)}); expected one of these: "
            "numpy.savez(path, images=array) makes one of an array"
        )
    say(dataset.name, [*dataset.said, *guessed_kinds(dataset.factors)])
    return dataset


def fingerprint(path: Path) -> str:
    """Sixteen hexadecimal digits that identify the contents of a user's data set.

    The directory of an .npz file has the checksums of its arrays, so little of it is read however large it is. An HDF5
    file has none and is read in full.
    """
    if path.is_dir():
        table = [path / _TABLE] if (path / _TABLE).is_file() else []
        parts = [(str(file.relative_to(path)), zlib.crc32(file.read_bytes())) for file in (*_pictures(path), *table)]
    elif path.suffix in ENDINGS:
        parts = [_file_checksum(path)]
    else:
        with reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
            parts = sorted((info.filename, info.CRC, info.file_size) for info in archive.infolist())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _file_checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(2**24):
            value = zlib.crc32(block, value)
    return value


def _pictures(folder: Path) -> list[Path]:
    """The pictures in a folder and below it. A folder that may not be read is refused: its pictures would be missing."""

    def refuse(error: OSError) -> None:
        raise DataError(
            f"{error.filename} cannot be read ({error.strerror}): change its permissions, or take it away"
        ) from error

    paths = (Path(place, name) for place, _, names in os.walk(folder, onerror=refuse) for name in names)
    return sorted(path for path in paths if path.suffix.lower() in _ENDINGS and path.is_file())


def load_folder(folder: Path, how: Reading = AS_THEY_ARE) -> ArrayDataset:
    """Every image under the folder, in the order of their sorted paths, with the factors of its table."""
    paths = _pictures(folder)
    if not paths:
        raise DataError(f"{folder} holds no images; expected files ending in {', '.join(sorted(_ENDINGS))}")
    images, sizes, deep = np.empty((0, 0, 0, 0), np.uint8), {}, {}
    for number, path in enumerate(progress(paths, f"reading {folder.name}")):
        picture, words = _read_picture(path)
        deep |= dict.fromkeys(words)
        image = fit_images(str(path), picture[None], how)[0] if how.changes_size else picture
        if not number:
            check_room(folder, len(paths) * image.size)
            images = np.empty((len(paths), *image.shape), np.uint8)
        if image.shape != images.shape[1:]:
            first = next(iter(sizes))
            raise DataError(f"{path} is {size_text(picture.shape)}, {paths[0].name} is {size_text(first)}; {ONE_SIZE}")
        sizes[picture.shape] = None
        images[number] = image
    if deep and images.max() <= _TWELVE_BITS:
        deep[_DARK.format(images.max())] = None
    said = [*deep, *alpha_words(images.shape[-1]), *size_words(sizes, images.shape[1:3], how)]
    table = folder / _TABLE
    grid = unlabelled(len(images))
    if table.is_file():
        grid, left_out = own_grid(
            str(table), *_read_table(table, [path.relative_to(folder).as_posix() for path in paths])
        )
        said += left_out
    elif other := sorted(folder.glob("*.csv")):
        said.append(f"no factors: {other[0].name} is not read, since a folder's table of factors is called {_TABLE}")
    return ArrayDataset(folder.resolve().name, images, grid, said)


def _read_table(path: Path, pictures: Sequence[str]) -> tuple[list[str], list[str], list[NDArray]]:
    """Names, kinds and columns of the factors in a table, in the order of the pictures."""
    import pandas as pd

    table = read_csv(path, dtype=str, keep_default_na=False)
    table = table.set_index(table.columns[0])
    if table.shape[1] == 0:
        raise DataError(f"{path} has one column; expected the pictures' paths, then a column for each factor")
    if table.index.name in pictures:
        raise DataError(f"{path} has no line of names; expected one above the first picture, such as file,colour,size")
    for wrong, what in (
        (table.index[table.index.duplicated()], "has two rows for"),
        (table.index.difference(list(pictures)), "has a row for a picture that is not there:"),
        (pd.Index(list(pictures)).difference(table.index), "has no row for"),
        (table.index[(table == "").any(axis=1)], "has an empty cell in the row of"),
    ):
        if len(wrong):
            raise DataError(
                f"{path} {what} {wrong[0]}; expected one whole row for each picture, with its path in the folder, such as "
                f"{pictures[0]}, in the first column"
            )
    rows = table.loc[list(pictures)]
    columns = [as_texts(path, rows[column].to_numpy(object)) for column in table.columns]
    return *told_in_heads(table.columns), columns


def read_npz(path: Path, how: Reading) -> tuple[NDArray[np.uint8], tuple[str, ...], dict[str, NDArray]]:
    """The images of a file as bytes, memory-mapped if stored so and uncompressed, what was done to them, and its other arrays
    by name."""
    archive = Npz(path)
    check_names(path, archive.names, archive.names, _KNOWN)
    images, said = as_bytes(str(path), archive.read("images"), how)
    return images, said, {name: archive.read(name) for name in archive.names if name != "images"}


def _file_grid(path: Path, count: int, arrays: Mapping[str, NDArray]) -> tuple[FactorGrid, list[str]]:
    """The grid of the factors in a file, from its arrays by name, and notes on columns that are left out."""
    if "factors" not in arrays:
        return unlabelled(count), []
    table = arrays["factors"]
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or len(table) != count:
        raise DataError(f"{path}: factors have shape {table.shape}; expected ({count}, f), one row per image")
    if table.shape[1] == 0:
        return unlabelled(count), []
    names = _texts(path, arrays, "factor_names", [f"factor_{column}" for column in range(table.shape[1])])
    kinds = _texts(path, arrays, "factor_kinds", [""] * table.shape[1])
    if "factor_names" not in arrays:
        return labelled_grid(str(path), names, kinds, table.T), []
    return own_grid(str(path), names, kinds, table.T)


def _read_picture(path: Path) -> tuple[NDArray[np.uint8], list[str]]:
    """A picture (h, w, c), and notes on how 16 bits became 8. Of 16-bit colours Pillow gives only the upper 8 bits."""
    with reading(path, "an image"), Image.open(path, formats=FORMATS) as image:
        deep = ";16" in str(image.tile)
        if image.mode.startswith("I;16"):
            array = np.rint(np.asarray(image) / 257).astype(np.uint8)
            said = ["16-bit pictures, divided by 257"]
        elif (mode := _MODES.get(image.mode)) is None:
            raise ValueError(f"its pixels are {image.mode}; expected grey of 8 or 16 bits, RGB or RGBA")
        else:
            array = np.asarray(image.convert(mode), dtype=np.uint8)
            said = ["16-bit colour pictures, of which the upper 8 bits are read"] if deep else []
    return array[..., None] if array.ndim == 2 else array, said


def _texts(path: Path, arrays: Mapping[str, NDArray], name: str, default: list[str]) -> list[str]:
    if name not in arrays:
        return default
    texts = arrays[name]
    if texts.dtype.kind != "U" or texts.shape != (len(default),):
        raise DataError(
            f"{path}: {name} is {texts.dtype} {texts.shape}; expected one text for each of {len(default)} factors"
        )
    return [str(text) for text in texts]
