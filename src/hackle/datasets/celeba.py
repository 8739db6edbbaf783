"""CelebA (Liu et al. 2015): 202,599 aligned photographs of faces with 40 yes-or-no attributes, 64×64×3.

img_align_celeba.zip holds img_align_celeba/NNNNNN.jpg of 178×218 pixels; list_attr_celeba.txt holds the number of images,
the names of the attributes, and for each image its name and 40 numbers, 1 or −1. The central 148×148 pixels are resized
to 64×64, the crop most work on autoencoders uses. Kim & Mnih 2018 speak of a cropped version without giving the crop.
The attributes are not independent and do not fully describe an image: an unobserved instance number tells images apart.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from hackle.core.factors import Factor, Rows
from hackle.datasets.archives import members
from hackle.datasets.arrays import ArrayDataset, grid_of, with_instance
from hackle.datasets.damage import reading
from hackle.datasets.decoding import cropped_pictures
from hackle.datasets.fetch import present_files
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_CROP, _SIZE = 148, 64
_ADDRESS = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="

# Sizes and SHA-256 as recorded by TensorFlow Datasets.
_IMAGES = RemoteFile(
    "img_align_celeba.zip",
    _ADDRESS + "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
    "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
    1_443_490_838,
)
_ATTRIBUTES = RemoteFile(
    "list_attr_celeba.txt",
    _ADDRESS + "0B7EVK8r0v71pblRyaVFSWGxPY0U",
    "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
    26_721_026,
)


def load(root: Path) -> ArrayDataset:
    """The images of root/celeba/img_align_celeba.zip, or of the folder it unpacks to, with their attributes."""
    archive, listing = present_files(SOURCE, root)
    attributes, names, rows = read_attributes(listing)
    images, rows = prepare([archive, listing], lambda: _build(archive, names, rows))
    factors = [Factor(attribute, 2, "categorical") for attribute in attributes]
    return ArrayDataset("celeba", images, grid_of(*with_instance(factors, rows)))


def read_attributes(path: Path) -> tuple[list[str], list[str], Rows]:
    """Attribute names, image names and the (n, 40) attributes as 0 and 1."""
    with reading(path, "CelebA's list of attributes"):
        count, header, *lines = path.read_text("ascii").splitlines()
        attributes, fields = header.split(), [line.split() for line in lines if line.strip()]
        names = [field[0] for field in fields]
        table = np.array([field[1:] for field in fields], dtype=np.int8)
        if len(names) != int(count) or not names or table.shape != (len(names), len(attributes)):
            raise ValueError(f"it announces {count} images with {len(attributes)} attributes and holds {table.shape}")
        if len(set(attributes)) != len(attributes) or len(set(names)) != len(names):
            raise ValueError("an attribute or image is listed twice")
        if not np.isin(table, (-1, 1)).all():
            raise ValueError("an attribute is neither 1 nor -1")
    return attributes, names, (table.astype(np.int64) + 1) // 2


def _build(archive: Path, names: list[str], rows: Rows) -> Build:
    position = {name: number for number, name in enumerate(names)}
    pictures = ((PurePosixPath(name).name, read) for name, read in members(archive, r"\.jpg$"))
    items = ((position[name], read()) for name, read in pictures if name in position)
    parts = cropped_pictures(archive, "CelebA's aligned images", items, crop=_CROP, size=_SIZE)
    return Build((len(names), _SIZE, _SIZE, 3), rows, parts)


SOURCE = Source(
    name="celeba",
    title="CelebA",
    summary="CelebA: photographs of faces with 40 attributes",
    images="202,599 of 64×64×3",
    factors="40 yes-or-no attributes",
    licence="non-commercial research only",
    load=load,
    files=(_IMAGES, _ATTRIBUTES),
    # Faces, too, are objects in three dimensions, seen from all sides, in colour.
    stand_in="rooms3d",
    steps=(
        "read the terms at https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, follow its link to Google Drive, and download "
        "Img/img_align_celeba.zip and Anno/list_attr_celeba.txt"
    ),
)
