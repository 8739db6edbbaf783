"""MNIST (LeCun, Cortes & Burges 1998): 70,000 grey images of handwritten digits, 28×28; or its 60,000 train images alone.

Four idx files, gzipped or unpacked: big-endian header (two zero bytes, type 8 for unsigned bytes, number of dimensions,
one 32-bit size per dimension), then the bytes. The 60,000 train images come first, then the 10,000 test images. The only
known factor is the digit; an unobserved instance number tells the images of one digit apart. `mnist-train` are the images
that Yang et al. 2020 name (section 5), from the first two files.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import Factor
from hackle.datasets.archives import read_file
from hackle.datasets.arrays import ArrayDataset, grid_of, with_instance
from hackle.datasets.damage import DamagedError
from hackle.datasets.fetch import present_files
from hackle.datasets.source import RemoteFile, Source

_ADDRESS = "https://storage.googleapis.com/cvdf-datasets/mnist/"


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    return RemoteFile(name, _ADDRESS + name, sha256, size)


_FILES = (
    _file("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    _file("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    _file("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    _file("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)


def load(root: Path, name: str = "mnist") -> ArrayDataset:
    """The images of the idx files in root/mnist: train, then test; or in root/mnist-train."""
    source = SOURCE if name == "mnist" else TRAIN
    paths = present_files(source, root)
    arrays = [read_idx(path) for path in paths]
    for path, images, labels in zip(paths[::2], arrays[::2], arrays[1::2], strict=True):
        if images.ndim != 3 or images.shape[1:] != (28, 28) or labels.shape != (len(images),):
            raise DamagedError(
                f"{path}: images {images.shape} and labels {labels.shape}; expected (n, 28, 28) and (n,)"
            )
    images = np.concatenate(arrays[::2])[..., None]
    digits = np.concatenate(arrays[1::2]).astype(np.int64)[:, None]
    if digits.max() > 9:
        raise DamagedError(f"{paths[1].parent}: a label is {digits.max()}; expected digits from 0 to 9")
    return ArrayDataset(source.name, images, grid_of(*with_instance([Factor("digit", 10, "categorical")], digits)))


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of unsigned bytes, gzipped or not."""
    data = read_file(path)
    if len(data) < 4 or data[:3] != b"\0\0\x08" or not 1 <= data[3] <= 8 or len(data) < 4 + 4 * data[3]:
        raise DamagedError(f"{path} starts with {data[:4].hex()}; expected an idx file of unsigned bytes (00 00 08 …)")
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    start = 4 + 4 * data[3]
    if len(data) - start != np.prod(shape, dtype=object) or 0 in shape:
        raise DamagedError(f"{path} has {len(data) - start:,} bytes of data; its header asks for shape {shape}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


SOURCE = Source(
    name="mnist",
    title="MNIST",
    summary="MNIST: handwritten digits",
    images="70,000 of 28×28×1",
    factors="digit 10",
    licence="CC BY-SA 3.0",
    load=load,
    files=_FILES,
)
TRAIN = replace(
    SOURCE,
    name="mnist-train",
    title="MNIST, train images",
    summary="MNIST: the train images alone",
    images="60,000 of 28×28×1",
    load=partial(load, name="mnist-train"),
    files=_FILES[:2],
    like="mnist",
)
