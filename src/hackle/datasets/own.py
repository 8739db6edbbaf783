"""People's own data: a folder of images, perhaps with a table of factors, or an .npz of images and factors.

A folder may hold `factors.csv`: a row for each image, its path in the folder first, then its factors. An .npz holds `images`
(n, h, w) or (n, h, w, c), and may hold `factors` (n,) or (n, f), `factor_names` (f,) and `factor_kinds` (f,). Flat index i is
image i. See docs/datasets/own.md.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import reading
from hackle.datasets.labels import labelled_grid
from hackle.datasets.npz import Npz
from hackle.datasets.progress import progress
from hackle.datasets.source import DataError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm"}
_MODES = {"1": "L", "L": "L", "RGB": "RGB", "RGBA": "RGBA", "P": "RGB", "LA": "RGBA", "PA": "RGBA"}
_CHANNELS = (1, 3, 4)
"""Grey, colour, colour with transparency."""
_SIDE = 8
"""Images that are as high as others have channels, and have at least so many channels, have their axes in another order."""
_TABLE = "factors.csv"
_KNOWN = ("images", "factors", "factor_names", "factor_kinds")


def load(path: Path) -> ArrayDataset:
    """The data set in an .npz file or a folder of images."""
    if path.is_dir():
        return load_folder(path)
    if path.suffix != ".npz":
        raise DataError(f"{path} is neither a folder of images nor an .npz file; expected one of the two")
    return load_npz(path)


def fingerprint(path: Path) -> str:
    """Sixteen hexadecimal digits that tell the contents of two data sets of one's own apart.

    An .npz file has the checksums of its arrays in its directory, so that however large it is, little of it is read.
    """
    if path.is_dir():
        table = [path / _TABLE] if (path / _TABLE).is_file() else []
        parts = [(str(file.relative_to(path)), zlib.crc32(file.read_bytes())) for file in (*_pictures(path), *table)]
    else:
        with reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
            parts = sorted((info.filename, info.CRC, info.file_size) for info in archive.infolist())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file())


def load_folder(folder: Path) -> ArrayDataset:
    """Every image under the folder, in the order of their sorted paths, all of one size, with the factors of its table."""
    paths = _pictures(folder)
    if not paths:
        raise DataError(f"{folder} holds no images; expected files ending in {', '.join(sorted(_ENDINGS))}")
    first = _read_picture(paths[0])
    images = np.empty((len(paths), *first.shape), dtype=np.uint8)
    for number, path in enumerate(progress(paths, f"reading {folder.name}")):
        image = _read_picture(path)
        if image.shape != first.shape:
            raise DataError(
                f"{path} is {_size(image)}, {paths[0].name} is {_size(first)}; expected images of one size and one number of "
                "channels: resize or convert them first"
            )
        images[number] = image
    table = folder / _TABLE
    if not table.is_file():
        return ArrayDataset(folder.resolve().name, images, _unlabelled(len(images)))
    grid = labelled_grid(str(table), *_read_table(table, [path.relative_to(folder).as_posix() for path in paths]))
    return ArrayDataset(folder.resolve().name, images, grid)


def _read_table(path: Path, pictures: Sequence[str]) -> tuple[list[str], list[str], list[NDArray]]:
    """Names, kinds and columns of the factors in a table, in the order of the pictures."""
    import pandas as pd

    with reading(path, "a table with commas in UTF-8"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=0)
    if table.shape[1] == 0:
        raise DataError(f"{path} has one column; expected the pictures' paths, then a column for each factor")
    for wrong, what in (
        (table.index[table.index.duplicated()], "has two rows for"),
        (table.index.difference(list(pictures)), "has a row for a picture that is not there:"),
        (pd.Index(list(pictures)).difference(table.index), "has no row for"),
        (table.index[(table == "").any(axis=1)], "has an empty cell in the row of"),
    ):
        if len(wrong):
            raise DataError(
                f"{path} {what} {wrong[0]}; expected one whole row for each picture, by its path in the folder"
            )
    heads = [str(head).partition(":") for head in table.columns]
    columns = [np.array(table.loc[list(pictures), column], dtype=str) for column in table.columns]
    return [head[0].strip() for head in heads], [head[2].strip() for head in heads], columns


def load_npz(path: Path) -> ArrayDataset:
    """The images and factors of an .npz file; stored uncompressed, uint8 images are mapped and not read."""
    archive = Npz(path)
    if "images" not in archive.names:
        raise DataError(f"{path} holds {', '.join(archive.names) or 'nothing'}; expected an array called images")
    if unknown := sorted(set(archive.names) - set(_KNOWN)):
        raise DataError(f"{path} holds {', '.join(unknown)}, which is not understood; known are {', '.join(_KNOWN)}")
    images = _as_images(path, archive.read("images"))
    if "factors" not in archive.names:
        return ArrayDataset(path.stem, images, _unlabelled(len(images)))
    table = archive.read("factors")
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or len(table) != len(images):
        raise DataError(f"{path}: factors have shape {table.shape}; expected ({len(images)}, f), one row per image")
    if table.shape[1] == 0:
        return ArrayDataset(path.stem, images, _unlabelled(len(images)))
    names = _texts(path, archive, "factor_names", [f"factor_{column}" for column in range(table.shape[1])])
    kinds = _texts(path, archive, "factor_kinds", [""] * table.shape[1])
    return ArrayDataset(path.stem, images, labelled_grid(str(path), names, kinds, table.T))


def _unlabelled(count: int) -> FactorGrid:
    return FactorGrid([Factor("instance", count, "categorical", observed=False)])


def _read_picture(path: Path) -> NDArray[np.uint8]:
    with reading(path, "an image"), Image.open(path) as image:
        mode = _MODES.get(image.mode)
        if mode is None:
            raise ValueError(f"its pixels are {image.mode}; expected 8-bit grey, RGB or RGBA")
        array = np.asarray(image.convert(mode), dtype=np.uint8)
    return array[..., None] if array.ndim == 2 else array


def _size(image: NDArray[np.uint8]) -> str:
    height, width, channels = image.shape
    return f"{height}×{width} with {channels} channel{'s' * (channels > 1)}"


def _as_images(path: Path, images: NDArray) -> NDArray[np.uint8]:
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or 0 in images.shape:
        raise DataError(
            f"{path}: images have shape {images.shape}; expected (n, height, width) or (n, height, width, channels)"
        )
    if images.shape[1] in _CHANNELS and min(images.shape[2:]) >= _SIDE:
        raise DataError(
            f"{path}: images have shape {images.shape}, which looks like (n, channels, height, width); expected (n, height, "
            "width, channels): save images.transpose(0, 2, 3, 1)"
        )
    if images.dtype == np.uint8:
        return images
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * 255
    if np.issubdtype(images.dtype, np.floating) and images.min() >= 0 and images.max() <= 1:
        return np.round(images * 255).astype(np.uint8)
    raise DataError(
        f"{path}: images are {images.dtype} from {images.min()} to {images.max()}; expected uint8 from 0 to 255, booleans, or "
        "floating-point numbers from 0 to 1"
    )


def _texts(path: Path, archive: Npz, name: str, default: list[str]) -> list[str]:
    if name not in archive.names:
        return default
    texts = archive.read(name)
    if texts.dtype.kind != "U" or texts.shape != (len(default),):
        raise DataError(
            f"{path}: {name} is {texts.dtype} {texts.shape}; expected one text for each of {len(default)} factors"
        )
    return [str(text) for text in texts]
