"""Cars3D (Reed et al. 2015, "Deep Visual Analogy-Making"): 17,568 images of 183 cars, resized to 64×64×3.

The archive nips2015-analogy-data.tar.gz holds data/cars/NAME.mat, one MATLAB file per car, whose `im` is uint8 of shape
(128, 128, 3, 24, 4): height, width, channel, azimuth, elevation. Factors are elevation, azimuth, object in that order, as
in Locatello et al. 2019. Their code numbers the cars in the order in which the file system lists them, which differs
between machines; here the number of a car is the place of its name among the sorted names.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.archives import members
from hackle.datasets.arrays import ArrayDataset, grid_of
from hackle.datasets.damage import DamagedError, reading
from hackle.datasets.decoding import resized
from hackle.datasets.fetch import present_files
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_SIZE = 64
_FORM = (128, 128, 3, 24, 4)

# Neither size nor SHA-256 is published; the MD5 is as recorded by others.
_FILE = RemoteFile(
    "nips2015-analogy-data.tar.gz",
    "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
    md5="4e866a7919c1beedf53964e6f7a23686",
)


def load(root: Path) -> ArrayDataset:
    """The cars of the archive in root/cars3d, or of a folder there of the archive's name, holding what it unpacks to."""
    (path,) = present_files(SOURCE, root)
    images, rows = prepare([path], lambda: _build(path))
    return ArrayDataset("cars3d", images, grid_of(_factors(int(rows[:, 2].max()) + 1), rows))


def _factors(cars: int) -> list[Factor]:
    azimuths = tuple(15.0 * step for step in range(24))
    return [
        Factor("elevation", 4, "ordinal"),
        Factor("azimuth", 24, "cyclic", values=azimuths),
        Factor("object", cars, "categorical"),
    ]


def _build(path: Path) -> Build:
    cars = {Path(name).stem: _read_car(path, name, read()) for name, read in members(path, r"(^|/)cars/[^/]+\.mat$")}
    if not cars:
        raise DamagedError(f"{path} holds no data/cars/*.mat; expected one file per car")
    stacked = np.stack([cars[name] for name in sorted(cars)], axis=2)
    images = stacked.reshape(-1, _SIZE, _SIZE, 3)
    every = FactorGrid(_factors(len(cars))).rows(np.arange(len(images)))
    return Build((len(images), _SIZE, _SIZE, 3), every, [(range(len(images)), images)])


def _read_car(path: Path, name: str, data: bytes) -> NDArray[np.uint8]:
    """One car's pictures (elevation, azimuth, height, width, channel)."""
    try:
        with reading(path, f"an archive whose member {name} is a MATLAB file"):
            image = loadmat(io.BytesIO(data), variable_names=["im"])["im"]
    except (MatReadError, TypeError) as error:
        raise DamagedError(f"{path}: {name} is not a MATLAB file of version 5 ({error})") from error
    if image.shape != _FORM or image.dtype != np.uint8:
        raise DamagedError(f"{path}: `im` of {name} is {image.dtype} {image.shape}; expected uint8 {_FORM}")
    views = image.transpose(4, 3, 0, 1, 2)
    return np.stack([[resized(Image.fromarray(view), _SIZE) for view in ring] for ring in np.ascontiguousarray(views)])


SOURCE = Source(
    name="cars3d",
    title="Cars3D",
    summary="Cars3D: 183 car models seen from 96 sides",
    images="17,568 of 64×64×3",
    factors="elevation 4, azimuth 24, object 183",
    licence="not stated by its authors",
    load=load,
    files=(_FILE,),
    # Also objects in three dimensions, seen from all sides, in colour.
    stand_in="rooms3d",
)
