"""SmallNORB (LeCun, Huang & Bottou 2004): 48,600 grey images of 50 toys, resized from 96×96 to 64×64.

Train and test together make the complete grid: the train files hold instances 4, 6, 7, 8 and 9 of each category, the test
files 0, 1, 2, 3 and 5. Each has -dat (n, 2, 96, 96) uint8, two cameras of which the first is used, -cat (n,) int32, and
-info (n, 4) int32: instance, elevation, azimuth (even numbers 0 … 34, tens of degrees) and lighting. As in Locatello et
al. 2019 the instance is not a factor to be learnt: it is unobserved, and here the last of the grid.

Matrix format: little-endian int32 magic number, number of dimensions d, then max(3, d) sizes, then the numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.core.factors import Factor, FactorError, FactorGrid, Rows
from hackle.datasets.archives import read_file
from hackle.datasets.arrays import ArrayDataset, grid_of
from hackle.datasets.damage import DamagedError
from hackle.datasets.decoding import resized
from hackle.datasets.fetch import present_files
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_ADDRESS = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
_TRAIN, _TEST = "smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing"
_MAGIC = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
_SIZE = 64
_FACTORS = (
    Factor("category", 5, "categorical", words=("animal", "human", "airplane", "truck", "car")),
    Factor("elevation", 9, "ordinal", values=tuple(30.0 + 5 * step for step in range(9))),
    Factor("azimuth", 18, "cyclic", values=tuple(20.0 * step for step in range(18))),
    Factor("lighting", 6, "categorical"),
    Factor("instance", 10, "categorical", observed=False),
)


def _file(stem: str, kind: str, size: int, sha256: str) -> RemoteFile:
    name = f"{stem}-{kind}.mat.gz"
    return RemoteFile(name, _ADDRESS + name, sha256, size)


# Sizes and SHA-256 as recorded by TensorFlow Datasets.
_FILES = (
    _file(_TRAIN, "dat", 131_896_188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    _file(_TRAIN, "cat", 348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    _file(_TRAIN, "info", 71_052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    _file(_TEST, "dat", 130_799_817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    _file(_TEST, "cat", 347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    _file(_TEST, "info", 10_428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
)


def load(root: Path) -> ArrayDataset:
    """The six files in root/smallnorb, gzipped or unpacked, as one data set of the first camera's images."""
    paths = present_files(SOURCE, root)
    images, rows = prepare(paths, lambda: _build(paths))
    return ArrayDataset("smallnorb", images, grid_of(_FACTORS, rows))


def _build(paths: list[Path]) -> Build:
    halves = [_read_half(*paths[:3]), _read_half(*paths[3:])]
    rows = np.concatenate([half[0] for half in halves])
    complete = FactorGrid(_FACTORS)
    try:
        present = FactorGrid(_FACTORS, present=rows)
    except FactorError as error:
        raise DamagedError(f"the -cat and -info files in {paths[0].parent} do not fit together: {error}") from error
    # Where combinations are missing, images stay in the order of the files.
    positions = complete.index(rows) if present.size == complete.size else np.arange(present.size)
    ordered = np.empty_like(rows)
    ordered[positions] = rows

    def parts():
        pictures = (image for half in halves for image in half[1])
        for position, image in zip(positions.tolist(), pictures, strict=True):
            yield [position], resized(Image.fromarray(image), _SIZE)[None, ..., None]

    return Build((len(rows), _SIZE, _SIZE, 1), ordered, parts())


def _read_half(dat: Path, cat: Path, info: Path) -> tuple[Rows, NDArray[np.uint8]]:
    images, category, facts = read_matrix(dat), read_matrix(cat), read_matrix(info)
    count = len(category)
    if images.shape != (count, 2, 96, 96) or images.dtype != np.uint8:
        raise DamagedError(f"{dat} is {images.dtype} {images.shape}; expected uint8 {(count, 2, 96, 96)}")
    if category.shape != (count,) or facts.shape != (count, 4):
        raise DamagedError(
            f"{info} has shape {facts.shape} and {cat.name} {category.shape}; expected {(count, 4)}, {(count,)}"
        )
    instance, elevation, azimuth, lighting = facts.astype(np.int64).T
    if (azimuth % 2).any():
        raise DamagedError(f"{info} has an odd azimuth; expected even numbers from 0 to 34")
    return np.stack([category.astype(np.int64), elevation, azimuth // 2, lighting, instance], axis=1), images[:, 0]


def read_matrix(path: Path) -> NDArray:
    """A matrix in NORB's binary format, gzipped or not."""
    data = read_file(path)
    words = np.frombuffer(data[:8], "<i4") if len(data) >= 8 else np.zeros(2, "<i4")
    dtype, dimensions = _MAGIC.get(int(words[0])), int(words[1])
    if dtype is None or not 1 <= dimensions <= 8:
        raise DamagedError(
            f"{path} starts with {data[:8].hex()}; expected the magic number of a NORB byte or integer matrix"
        )
    start = 8 + 4 * max(3, dimensions)
    shape = tuple(int(size) for size in np.frombuffer(data[8 : 8 + 4 * dimensions].ljust(4 * dimensions, b"\0"), "<i4"))
    expected = start + dtype.itemsize * int(np.prod(shape, dtype=object))
    if min(shape) < 1 or len(data) != expected:
        raise DamagedError(f"{path} has {len(data):,} bytes; its header of shape {shape} asks for {expected:,}")
    return np.frombuffer(data, dtype, offset=start).reshape(shape)


SOURCE = Source(
    name="smallnorb",
    title="SmallNORB",
    summary="SmallNORB: photographs of 50 toys",
    images="48,600 of 64×64×1",
    factors="category 5, elevation 9, azimuth 18, lighting 6",
    licence="for research; may not be sold",
    load=load,
    files=_FILES,
    # Also five factors, of which category and pose matter most; grey, and harder than dSprites.
    stand_in="noisy-dsprites",
)
