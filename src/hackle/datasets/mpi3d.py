"""MPI3D (Gondal et al. 2019): a robot arm that carries an object, as a toy rendering, a realistic one, and filmed.

Each file is an .npz whose `images` is uint8 of shape (1036800, 64, 64, 3), in the order of the factors, last fastest.
It has no labels. An uncompressed array is memory-mapped in place; a compressed one (12.7 GB when unpacked) is written
out once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError
from hackle.datasets.fetch import present_files
from hackle.datasets.npz import Npz
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_ADDRESS = "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/"
_FACTORS = (
    Factor("color", 6, "categorical", words=("white", "green", "red", "blue", "brown", "olive")),
    Factor("shape", 6, "categorical", words=("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere")),
    Factor("size", 2, "ordinal", words=("small", "large")),
    Factor("camera_height", 3, "ordinal", words=("top", "center", "bottom")),
    Factor("background", 3, "categorical", words=("purple", "sea green", "salmon")),
    Factor("horizontal", 40, "ordinal"),
    Factor("vertical", 40, "ordinal"),
)
_CHUNK = 1024


def load(root: Path, variant: str, factors: tuple[Factor, ...] = _FACTORS) -> ArrayDataset:
    """The images of root/mpi3d-VARIANT/mpi3d_VARIANT.npz."""
    grid = FactorGrid(factors)
    (path,) = present_files(next(source for source in SOURCES if source.name == f"mpi3d-{variant}"), root)
    archive = Npz(path)
    member = archive.member("images")
    if member.shape != (grid.size, 64, 64, 3) or member.dtype != np.uint8 or member.fortran:
        raise DamagedError(f"{path}: images are {member.dtype} {member.shape}; expected uint8 {(grid.size, 64, 64, 3)}")
    if member.offset is not None:
        images = archive.read("images")
    else:
        rows = grid.rows(np.arange(grid.size))
        images, _ = prepare([path], lambda: Build((grid.size, 64, 64, 3), rows, _parts(archive)))
    return ArrayDataset(f"mpi3d-{variant}", images, grid)


def _parts(archive: Npz):
    with archive.stream("images") as (file, member):
        for start in range(0, member.shape[0], _CHUNK):
            count = min(_CHUNK, member.shape[0] - start)
            data = np.frombuffer(file.read(count * 64 * 64 * 3), np.uint8)
            yield range(start, start + count), data.reshape(count, 64, 64, 3)


def _source(variant: str, what: str, md5: str) -> Source:
    # Neither size nor SHA-256 is published; the MD5 is as recorded by others.
    name = f"mpi3d_{variant}.npz"
    return Source(
        name=f"mpi3d-{variant}",
        title=f"MPI3D-{variant}",
        summary=f"MPI3D: a robot arm with an object, {what}",
        images="1,036,800 of 64×64×3",
        factors="color 6, shape 6, size 2, camera_height 3, background 3, horizontal 40, vertical 40",
        licence="CC BY 4.0",
        load=partial(load, variant=variant),
        files=(RemoteFile(name, _ADDRESS + name, md5=md5),),
        # Also objects in three dimensions, seen from all sides, in colour.
        stand_in="rooms3d",
    )


SOURCES = (
    _source("toy", "simply rendered", "55889cb7c7dfc655d6e0277beee88868"),
    _source("realistic", "realistically rendered", "59a6225b88b635365f70c91b3e52f70f"),
    _source("real", "filmed", "0f33f609918fb5c97996692f91129802"),
)
