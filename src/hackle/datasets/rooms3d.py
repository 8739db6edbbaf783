"""rooms3d: hackle's own 3-D scenes, ray-cast on first use, so that there is nothing to download.

The factors, their sizes and their order are those of 3D Shapes (Burgess and Kim 2018): floor, wall and object hue, the
object's scale and shape, the camera's orientation; 480,000 images of 64 × 64 × 3. The images are not those of 3D
Shapes: room, lamp, camera, solids and colours are hackle's own, and results on one set do not carry over to the other.

An image is linear in its three colours (see raycast.py), so only the 480 combinations of scale, shape and orientation are
cast. They are kept as 8-bit material weights, and an image is their product with the colours:

    value = ⌊(Σ weight · colour + 128) / 256⌋,  weight and colour whole numbers from 0 to 255, Σ weight ≤ 256.

Every term is an integer below 2²⁴, which float32 represents exactly: any order of summation on any device gives the
same bytes.
"""

from __future__ import annotations

import colorsys
import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.factors import Factor, FactorGrid
from hackle.core.progress import progress
from hackle.core.randomness import Stream
from hackle.core.triton_shim import on_triton
from hackle.core.types import Images
from hackle.datasets import rooms3d_kernel
from hackle.datasets.kept import kept
from hackle.datasets.raycast import MATERIALS, Capsule, Cube, Cylinder, Solid, Sphere, View, cast
from hackle.datasets.source import Source, render_rows

SIDE = 64
HUES = 10
SHAPES: dict[str, Solid] = {
    "cube": Cube(1.45),
    "cylinder": Cylinder(0.8, 1.6),
    "sphere": Sphere(0.92),
    "capsule": Capsule(0.62, 2.2),
}
SCALES = tuple(np.linspace(0.75, 1.25, 8).tolist())
ORIENTATIONS = tuple(np.linspace(-30.0, 30.0, 15).tolist())
GEOMETRIES = len(SCALES) * len(SHAPES) * len(ORIENTATIONS)

GEOMETRY_FILE = "geometry-v1.weights"
GEOMETRY_SHA256 = "9edc82e8cd7f624022ed7fef266e4b5b4aa737fd78d00961adc57f35918f365a"

# How many images to render at a time without the kernel. On the CPU their weights as float32, 4 MiB, stay in the cache.
_CPU_CHUNK, _CUDA_CHUNK = 64, 4096


class Rooms3D:
    """Rooms with one solid, six factors, 480,000 images.

    `weights` has shape (480, 64, 64, 4): for each scale, shape and orientation, last fastest, the fraction of floor,
    wall, object and white in each pixel, in units of 1/256. `load` reads them from the cache.
    """

    name = "rooms3d"
    shape = (SIDE, SIDE, 3)
    factors = FactorGrid(
        [
            Factor("floor_hue", HUES, "cyclic"),
            Factor("wall_hue", HUES, "cyclic"),
            Factor("object_hue", HUES, "cyclic"),
            Factor("scale", len(SCALES), "ordinal", values=SCALES),
            Factor("shape", len(SHAPES), "categorical", words=tuple(SHAPES)),
            Factor("orientation", len(ORIENTATIONS), "ordinal", values=ORIENTATIONS),
        ]
    )

    def __init__(self, weights: NDArray[np.uint8]) -> None:
        self.weights = weights

    def render(self, rows: ArrayLike, *, seed: int = 0) -> NDArray[np.uint8]:
        """Images (n, 64, 64, 3) for factor rows (n, 6). Nothing is random here: the seed changes nothing."""
        return render_rows(self.images_on("cpu"), self.factors, rows, seed)

    def images_on(self, device: torch.device | str) -> Images:
        """A renderer on the device, which keeps 8 MB of weights there."""
        weights = torch.from_numpy(self.weights).to(device).flatten(1, 2)
        fill = rooms3d_kernel.render if on_triton(weights, dtypes=(torch.uint8,)) else render_chunks
        return RoomImages(weights, colour_table().to(device), fill)


@dataclass(frozen=True)
class RoomImages:
    """Renders flat indices (m, b) to uint8 images (m, b, 64, 64, 3) from weights (480, p, 4) and colours (1000, 4, 3)."""

    weights: Tensor
    colours: Tensor
    fill: Callable[[Tensor, Tensor, Tensor, Tensor], None]

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        images = torch.empty(*index.shape, SIDE, SIDE, 3, dtype=torch.uint8, device=index.device)
        self.fill(self.weights, self.colours, index, images)
        return images


def render_chunks(weights: Tensor, colours: Tensor, index: Tensor, images: Tensor) -> None:
    """Fills images (m, b, h, w, 3) as matrix products of each image's weights (p, 4) and colours (4, 3)."""
    chunk = _CUDA_CHUNK if index.is_cuda else _CPU_CHUNK
    targets = images.view(-1, SIDE * SIDE, 3).split(chunk)
    for part, target in zip(index.flatten().split(chunk), targets, strict=True):
        shares = weights.index_select(0, part % GEOMETRIES).to(torch.float32)
        paints = colours.index_select(0, part // GEOMETRIES).to(torch.float32) / 256
        target.copy_(torch.bmm(shares, paints).add_(0.5))


def palette() -> NDArray[np.uint8]:
    """The hues' colours (10, 3): the colour circle in steps of 36 degrees from red, at saturation 0.78."""
    circle = [colorsys.hsv_to_rgb(hue / HUES, 0.78, 1.0) for hue in range(HUES)]
    return np.round(255 * np.array(circle)).astype(np.uint8)


def colour_table() -> Tensor:
    """The colours of floor, wall, object and white for each combination of hues, last fastest: uint8 (1000, 4, 3)."""
    hues = torch.from_numpy(palette())
    floor, wall, thing = torch.meshgrid(*[torch.arange(HUES)] * 3, indexing="ij")
    white = torch.full((HUES**3, 3), 255, dtype=torch.uint8)
    return torch.stack([hues[floor.flatten()], hues[wall.flatten()], hues[thing.flatten()], white], dim=1)


def cast_geometry() -> NDArray[np.uint8]:
    """The weights of every scale, shape and orientation, ray-cast in about two seconds."""
    weights = np.empty((len(SCALES), len(SHAPES), len(ORIENTATIONS), SIDE * SIDE, len(MATERIALS)), dtype=np.uint8)
    for o, orientation in enumerate(progress(ORIENTATIONS, "casting rooms3d")):
        view = View.at(orientation, SIDE)
        for s, scale in enumerate(SCALES):
            for k, solid in enumerate(SHAPES.values()):
                weights[s, k, o] = np.floor(256 * cast(view, solid.scaled(scale)) + 0.5)
    return weights.reshape(GEOMETRIES, SIDE, SIDE, len(MATERIALS))


def load(root: Path) -> Rooms3D:
    """The data set, with its geometry read from the folder `rooms3d` of the data folder, or cast and stored there."""
    path = root / Rooms3D.name / GEOMETRY_FILE
    weights = kept(path, "rooms3d", cast_geometry, (GEOMETRIES, SIDE, SIDE, len(MATERIALS)), np.uint8)
    if hashlib.sha256(weights.data).hexdigest() != GEOMETRY_SHA256:
        warnings.warn(
            f"the geometry in {path} differs a little from the published one, because the machine that cast it has another "
            "arithmetic: images may differ in single grey levels from those on other machines",
            stacklevel=2,
        )
    return Rooms3D(weights)


SOURCE = Source(
    name=Rooms3D.name,
    title="Rooms3D",
    summary="hackle's own ray-cast rooms with the factors of 3D Shapes; its own pictures, nothing to download",
    images="480,000 of 64×64×3",
    factors="floor_hue 10, wall_hue 10, object_hue 10, scale 8, shape 4, orientation 15",
    licence="MIT",
    load=load,
    like="shapes3d",
)
