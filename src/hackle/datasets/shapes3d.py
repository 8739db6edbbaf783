"""3D Shapes (Burgess & Kim 2018), the data set of Kim & Mnih 2018, section 5: 480,000 images of 64×64×3.

The file 3dshapes.h5 holds `images` (n, 64, 64, 3) uint8 and `labels` (n, 6) float64, every combination of the six
factors once, the last factor fastest. The grid is read from the labels. The images are stored in compressed chunks,
slow to read in random order, so the first load writes them as a 5.9 GB array that is then memory-mapped.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from hackle.core.factors import Kind
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError, reading
from hackle.datasets.fetch import present_files
from hackle.datasets.hdf5 import own_arrays
from hackle.datasets.labels import labelled_grid
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

FACTORS: tuple[tuple[str, Kind], ...] = (
    ("floor_hue", "cyclic"),
    ("wall_hue", "cyclic"),
    ("object_hue", "cyclic"),
    ("scale", "ordinal"),
    ("shape", "categorical"),
    ("orientation", "ordinal"),
)
_CHUNK = 1024

# Size and SHA-256 as recorded by TensorFlow Datasets.
_FILE = RemoteFile(
    "3dshapes.h5",
    "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
    "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    267_573_662,
)


def load(root: Path) -> ArrayDataset:
    """The images of root/shapes3d/3dshapes.h5 with the factors its labels span."""
    (path,) = present_files(SOURCE, root)
    with reading(path, "the HDF5 file of 3D Shapes"), h5py.File(path, "r") as file:
        count = _check_form(path, file)
        labels = np.asarray(file["labels"])
    names, kinds = zip(*FACTORS, strict=True)
    grid = labelled_grid(str(path), names, kinds, labels.T)
    if not grid.complete or grid.names != names:
        raise DamagedError(
            f"{path}: its {count:,} labels are not every combination of {len(names)} factors once, in order"
        )
    rows = grid.rows(np.arange(count))
    images, _ = prepare([path], lambda: Build((count, 64, 64, 3), rows, _parts(path, count)))
    return ArrayDataset("shapes3d", images, grid)


def _check_form(path: Path, file: h5py.File) -> int:
    there = own_arrays(path, file)
    images, labels = there.get("images"), there.get("labels")
    if images is None or labels is None:
        raise DamagedError(f"{path} holds {', '.join(file) or 'nothing'}; expected the arrays `images` and `labels`")
    count = images.shape[0] if images.ndim else 0
    if images.dtype != np.uint8 or images.shape != (count, 64, 64, 3) or labels.shape != (count, 6) or not count:
        raise DamagedError(
            f"{path}: images are {images.dtype} {images.shape} and labels {labels.shape}; expected uint8 (n, 64, 64, 3) and "
            "(n, 6)"
        )
    return count


def _parts(path: Path, count: int):
    with reading(path, "the HDF5 file of 3D Shapes"), h5py.File(path, "r") as file:
        images = file["images"]
        assert isinstance(images, h5py.Dataset)
        for start in range(0, count, _CHUNK):
            yield range(start, min(start + _CHUNK, count)), np.asarray(images[start : start + _CHUNK])


SOURCE = Source(
    name="shapes3d",
    title="Shapes3D",
    summary="3D Shapes: one object in a room, rendered",
    images="480,000 of 64×64×3",
    factors="floor_hue 10, wall_hue 10, object_hue 10, scale 8, shape 4, orientation 15",
    licence="Apache-2.0",
    load=load,
    files=(_FILE,),
    # The same factors, rendered by hackle.
    stand_in="rooms3d",
)
