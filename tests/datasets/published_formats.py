"""Writes small files in exactly the format of the published data sets, for the tests to load.

Every function takes the data root, writes the files under the set's own folder, and returns how to load them, the factor
sizes, and the images (n, h, w, c) that loading must give in the order of the grid.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from hackle.core.factors import Factor
from hackle.datasets import cars3d, celeba, chairs3d, faces3d, mnist, mpi3d, shapes3d, smallnorb
from hackle.datasets.arrays import ArrayDataset


class Written(NamedTuple):
    load: Callable[[Path], ArrayDataset]
    folder: Path
    sizes: tuple[int, ...]
    images: NDArray[np.uint8]


def noise(*shape: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


def folder_of(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_shapes3d(root: Path) -> Written:
    folder = folder_of(root, "shapes3d")
    values = [[0.0, 0.1], [0.0, 0.1], [0.0], [0.75, 1.25], [0.0, 1.0, 2.0], [-30.0, 0.0, 30.0]]
    labels = np.stack([axis.reshape(-1) for axis in np.meshgrid(*values, indexing="ij")], axis=1)
    images = noise(len(labels), 64, 64, 3)
    with h5py.File(folder / "3dshapes.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(8, 64, 64, 3), compression="gzip", compression_opts=1)
        file.create_dataset("labels", data=labels)
    return Written(shapes3d.load, folder, (2, 2, 1, 2, 3, 3), images)


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def car_colour(elevation: int, azimuth: int, car: int) -> tuple[int, int, int]:
    return 60 * elevation, 10 * azimuth, 100 * car


@lru_cache
def car_mat(car: int) -> bytes:
    """A car whose every view is one flat colour that names it."""
    colours = np.array(
        [[car_colour(elevation, azimuth, car) for elevation in range(4)] for azimuth in range(24)], np.uint8
    )
    image = np.broadcast_to(colours.transpose(2, 0, 1)[None, None], (128, 128, 3, 24, 4))
    buffer = io.BytesIO()
    savemat(buffer, {"im": image, "mask": np.zeros((2, 2), np.uint8)}, do_compression=True)
    return buffer.getvalue()


def write_cars3d(root: Path) -> Written:
    folder = folder_of(root, "cars3d")
    # The archive's own order is not that of the names, and it holds more than cars.
    members = {
        "data/cars/list.txt": b"car_002_mesh\ncar_001_mesh\n",
        "data/cars/car_002_mesh.mat": car_mat(1),
        "data/sprites/sprites_1.mat": b"not a car",
        "data/cars/car_001_mesh.mat": car_mat(0),
    }
    write_tar(folder / "nips2015-analogy-data.tar.gz", members, "w:gz")
    colours = [car_colour(e, a, c) for e in range(4) for a in range(24) for c in range(2)]
    images = np.broadcast_to(np.array(colours, np.uint8)[:, None, None], (len(colours), 64, 64, 3))
    return Written(cars3d.load, folder, (4, 24, 2), images)


def norb_matrix(array: NDArray) -> bytes:
    magic = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54}[str(array.dtype)]
    sizes = (*array.shape, 1, 1)[: max(3, array.ndim)]
    return (
        struct.pack(f"<ii{len(sizes)}i", magic, array.ndim, *sizes)
        + array.astype(array.dtype.newbyteorder("<")).tobytes()
    )


def write_norb_half(folder: Path, stem: str, rows: NDArray[np.int64], images: NDArray[np.uint8]) -> None:
    """rows are category, elevation, azimuth, lighting, instance; images (n, 96, 96) of the first camera."""
    category, elevation, azimuth, lighting, instance = rows.astype(np.int32).T
    pairs = np.stack([images, 255 - images], axis=1)
    info = np.stack([instance, elevation, 2 * azimuth, lighting], axis=1)
    for kind, array in (("dat", pairs), ("cat", category), ("info", info)):
        (folder / f"{stem}-{kind}.mat.gz").write_bytes(gzip.compress(norb_matrix(array), 1))


NORB_ROWS = np.array([[4, 8, 17, 5, 4], [0, 0, 1, 2, 9], [2, 3, 4, 0, 0], [2, 3, 4, 0, 5]])
NORB_STEMS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")


def write_smallnorb(root: Path) -> Written:
    folder = folder_of(root, "smallnorb")
    images = np.broadcast_to(np.array([10, 90, 160, 250], np.uint8)[:, None, None], (4, 96, 96))
    for half, stem in enumerate(NORB_STEMS):
        write_norb_half(folder, stem, NORB_ROWS[2 * half : 2 * half + 2], images[2 * half : 2 * half + 2])
    return Written(smallnorb.load, folder, (5, 9, 18, 6, 10), images[:, :64, :64, None])


MPI3D_FACTORS = (Factor("color", 2, "categorical"), Factor("horizontal", 3))


def write_mpi3d(root: Path, *, compressed: bool = True) -> Written:
    folder = folder_of(root, "mpi3d-toy")
    images = noise(6, 64, 64, 3)
    (np.savez_compressed if compressed else np.savez)(folder / "mpi3d_toy.npz", images=images)
    return Written(partial(mpi3d.load, variant="toy", factors=MPI3D_FACTORS), folder, (2, 3), images)


def idx(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


MNIST_DIGITS = np.array([7, 0, 7, 9, 0], np.uint8)


def write_mnist(root: Path, *, packed: bool = True) -> Written:
    folder = folder_of(root, "mnist")
    images = noise(5, 28, 28)
    for stem, part in (("train", slice(0, 3)), ("t10k", slice(3, 5))):
        for name, array in (
            (f"{stem}-images-idx3-ubyte", images[part]),
            (f"{stem}-labels-idx1-ubyte", MNIST_DIGITS[part]),
        ):
            path = folder / (f"{name}.gz" if packed else name)
            path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    return Written(mnist.load, folder, (10, 2), images[..., None])


def write_mnist_train(root: Path) -> Written:
    written = write_mnist(root)
    folder = written.folder.rename(root / "mnist-train")
    for name in ("images-idx3", "labels-idx1"):
        (folder / f"t10k-{name}-ubyte.gz").unlink()
    return Written(partial(mnist.load, name="mnist-train"), folder, (10, 2), written.images[:3])


CELEBA_ATTRIBUTES = np.array([[1, -1, 1], [-1, -1, -1], [1, -1, 1]])


def picture(image: NDArray[np.uint8], kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return buffer.getvalue()


def write_celeba(root: Path) -> Written:
    folder = folder_of(root, "celeba")
    names = ["000001.jpg", "000002.jpg", "000003.jpg"]
    greys = np.array([20, 120, 240], np.uint8)
    with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
        archive.writestr("img_align_celeba/", "")
        for name, grey in zip(reversed(names), reversed(greys), strict=True):
            archive.writestr(f"img_align_celeba/{name}", picture(np.full((218, 178, 3), grey, np.uint8), "JPEG"))
    lines = ["3", "Bald Male Young "] + [
        f"{name} {' '.join(f'{value:2d}' for value in row)}" for name, row in zip(names, CELEBA_ATTRIBUTES, strict=True)
    ]
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    images = np.broadcast_to(greys[:, None, None, None], (3, 64, 64, 3))
    return Written(celeba.load, folder, (2, 2, 2, 2), images)


CHAIRS, ELEVATIONS, AZIMUTHS = ("0b9", "1a2"), (20, 30), (0, 11, 348)


def chair_picture(chair: int, elevation: int, azimuth: int) -> NDArray[np.uint8]:
    """600×600 pixels: a flat colour in the central 400×400, black around it."""
    image = np.zeros((600, 600, 3), np.uint8)
    image[100:500, 100:500] = (200 * chair + 5, 100 * elevation + 5, 80 * azimuth + 5)
    return image


@lru_cache
def chair_members() -> dict[str, bytes]:
    """Members in another order than the grid's; the published numbers skip 31, after a full turn."""
    members = {"rendered_chairs/all_chair_names.mat": b"names"}
    for c in (1, 0):
        for e in (0, 1):
            for a in range(3):
                name = f"image_{32 * e + a:03d}_p{ELEVATIONS[e]:03d}_t{AZIMUTHS[a]:03d}_r096.png"
                members[f"rendered_chairs/{CHAIRS[c]}/renders/{name}"] = picture(chair_picture(c, e, a), "PNG")
    return members


def write_chairs3d(root: Path) -> Written:
    folder = folder_of(root, "chairs3d")
    write_tar(folder / "rendered_chairs.tar", chair_members())
    colours = [chair_picture(c, e, a)[300, 300] for c in range(2) for e in range(2) for a in range(3)]
    images = np.broadcast_to(np.array(colours)[:, None, None], (12, 64, 64, 3))
    return Written(chairs3d.load, folder, (2, 2, 3), images)


def write_faces3d(root: Path, *, legacy: bool = False) -> Written:
    folder = folder_of(root, "faces3d")
    images = noise(2, 3, 2, 2, 64, 64)
    torch.save(torch.from_numpy(images), folder / "basel_face_renders.pth", _use_new_zipfile_serialization=not legacy)
    return Written(faces3d.load, folder, (2, 3, 2, 2), images.reshape(-1, 64, 64, 1))


WRITERS: dict[str, Callable[[Path], Written]] = {
    "shapes3d": write_shapes3d,
    "cars3d": write_cars3d,
    "smallnorb": write_smallnorb,
    "mpi3d-toy": write_mpi3d,
    "mnist": write_mnist,
    "mnist-train": write_mnist_train,
    "celeba": write_celeba,
    "chairs3d": write_chairs3d,
    "faces3d": write_faces3d,
}
