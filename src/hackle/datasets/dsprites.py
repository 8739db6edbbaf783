"""dSprites (Matthey et al. 2017): 737,280 white sprites of 64×64 pixels, one for each combination of five factors.

Nothing needs to be downloaded. The images are drawn from their geometry (`sprite_raster`) in a few seconds and stored
as bits in the data folder. All 370 published images that could be collected are reproduced without a wrong pixel. The
whole set has 128,328,864 white pixels, whereas the mean published for the official archive implies 128,328,862: it is
"dSprites, regenerated", near-exact but not proven equal bit for bit. If the official archive is in the data folder,
its images are used instead.

Factors are those of the archive in its order, last fastest, without the colour, which is always white.
"""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.factors import Factor, FactorGrid
from hackle.core.progress import progress
from hackle.core.types import Images
from hackle.datasets.bits import SIDE, BitImages, gather, pack
from hackle.datasets.damage import DamagedError, reading
from hackle.datasets.kept import kept
from hackle.datasets.npz import Npz
from hackle.datasets.source import DataError, RemoteFile, Source, render_index
from hackle.datasets.sprite_raster import ORIENTATIONS, POSITIONS, SCALES, rasterise, sheet

FACTORS = FactorGrid(
    [
        Factor("shape", 3, "categorical", words=("square", "ellipse", "heart")),
        Factor("scale", 6, "ordinal", values=tuple(SCALES.tolist())),
        # The archive's 40 angles include both 0 and 2π, so the first and the last show the same image.
        Factor("orientation", 40, "cyclic", values=tuple(ORIENTATIONS.tolist())),
        Factor("x", 32, "ordinal", values=tuple(POSITIONS.tolist())),
        Factor("y", 32, "ordinal", values=tuple(POSITIONS.tolist())),
    ]
)
OFFICIAL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
REGENERATED = "regenerated-v1.bits"


def regenerate() -> NDArray[np.int64]:
    """The words (737280, 64) of every image, drawn from the geometry."""
    words = np.empty((*FACTORS.sizes, SIDE), np.int64)
    for polygon in progress(list(np.ndindex(*FACTORS.sizes[:3])), "drawing dsprites"):
        words[polygon] = sheet(*polygon)
    return words.reshape(-1, SIDE)


@contextmanager
def _advising() -> Iterator[None]:
    """Adds advice to errors about the official archive."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{error}. Fetch the archive again (`hackle data fetch dsprites --force`), or remove it: dSprites is then "
            "regenerated without a download"
        ) from error


def check_official(path: Path) -> str:
    """The checksum of the archive's images, which names them; an error unless its arrays have the published headers."""
    with _advising():
        archive = Npz(path)
        expected = {"imgs": (np.uint8, SIDE, SIDE), "latents_classes": (np.int64, 6)}
        for name, (kind, *shape) in expected.items():
            member = archive.member(name)
            if (member.dtype, member.shape, member.fortran) != (kind, (FACTORS.size, *shape), False):
                raise DamagedError(
                    f"{path} is not the official dSprites archive: its {name} is {member.dtype} of shape {member.shape}; "
                    f"expected {np.dtype(kind)} of shape {(FACTORS.size, *shape)}"
                )
        with reading(path, "an .npz file"), zipfile.ZipFile(path) as opened:
            return f"{opened.getinfo('imgs.npy').CRC:08x}"


def read_official(path: Path) -> NDArray[np.int64]:
    """The words (737280, 64) of the official archive, after checking the order of its factor rows."""
    with _advising():
        archive = Npz(path)
        classes = archive.read("latents_classes")
        if classes[:, 0].any() or not np.array_equal(classes[:, 1:], FACTORS.rows(np.arange(FACTORS.size))):
            raise DamagedError(f"{path} does not run through all combinations of factors with the last one fastest")
        words, step = np.empty((FACTORS.size, SIDE), np.int64), 1024
        with archive.stream("imgs") as (stream, _):
            for start in progress(range(0, len(words), step), "reading dsprites"):
                images = np.frombuffer(stream.read(step * SIDE * SIDE), np.uint8).reshape(-1, SIDE, SIDE)
                if images.max() > 1:
                    raise DamagedError(f"{path} has pixels of {images.max()}; expected zeros and ones")
                words[start : start + step] = pack(images)
    return words


class SpriteStore:
    """The sprites' words: from the official archive if it is in the folder, otherwise regenerated."""

    def __init__(self, folder: Path) -> None:
        archive = folder / OFFICIAL
        self.regenerated = not archive.exists()
        if self.regenerated:
            self._path = folder / REGENERATED
            self._make = regenerate
        else:
            self._path = folder / f"official-{check_official(archive)}.bits"
            self._make = functools.partial(read_official, archive)

    @functools.cached_property
    def whole(self) -> Tensor:
        """Every image, (737280, 64), on the CPU."""
        return torch.from_numpy(kept(self._path, "dSprites", self._make, (FACTORS.size, SIDE), "<i8"))

    @functools.cache  # noqa: B019 - a store lives as long as its data set, and its words are the point of keeping it
    def on(self, device: torch.device) -> Tensor:
        """Every image on a device, copied there once."""
        return self.whole.to(device)

    def of(self, rows: ArrayLike) -> Tensor:
        """The images of some factor rows, (n, 64): drawn on demand unless the whole set is in memory."""
        if self.regenerated and "whole" not in vars(self):
            return torch.from_numpy(rasterise(FACTORS.check(rows)))
        return gather(self.whole, torch.from_numpy(FACTORS.index(rows)))


class Sprites:
    """dSprites or a variant of it: `images` turns the words into the images from which batches are drawn."""

    def __init__(self, name: str, channels: int, store: SpriteStore, images: Callable[[Tensor], Images]) -> None:
        self.name = name
        self.factors = FACTORS
        self.shape = (SIDE, SIDE, channels)
        self.store = store
        self._images = images

    def render(self, rows: ArrayLike, *, seed: int = 0) -> NDArray[np.uint8]:
        words = self.store.of(rows)
        return render_index(self._images(words), torch.arange(len(words)), seed)

    def images_on(self, device: torch.device | str) -> Images:
        return self._images(self.store.on(torch.device(device)))


def load(root: Path) -> Sprites:
    """dSprites, regenerated or from the official archive in the folder `dsprites` of the data folder.

    >>> import tempfile
    >>> sprites = load(Path(tempfile.gettempdir()) / "nothing-there")
    >>> image = sprites.render([[0, 5, 0, 0, 0]])
    >>> image.shape, int((image == 255).sum())
    ((1, 64, 64, 1), 400)
    """
    return Sprites("dsprites", 1, SpriteStore(root / "dsprites"), BitImages)


SOURCE = Source(
    name="dsprites",
    title="dSprites",
    summary="White squares, ellipses and hearts on black; regenerated, nothing to download",
    images="737,280 of 64×64×1",
    factors="shape 3, scale 6, orientation 40, x 32, y 32",
    licence="Apache-2.0",
    load=load,
    files=(
        RemoteFile(
            name=OFFICIAL,
            address=f"https://github.com/deepmind/dsprites-dataset/raw/master/{OFFICIAL}",
            md5="7da33b31b13a06f4b04a70402ce90c2e",
        ),
    ),
    optional=True,
)
