"""Pictures of one model: reconstructions, traversals, samples, two-latent maps and latent histograms.

The layouts follow the papers: originals, reconstructions and traversals sorted by KL as in Kim & Mnih 2018, Fig. 6;
histograms of q(z_j) against the prior as in their Fig. 40; maps of two latents as in Yang et al. 2020, Fig. 3.
Pictures are uint8 arrays (height, width, 3) unless they need text, which matplotlib draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.gaussian import kl_per_latent
from hackle.model import Model
from hackle.types import Dataset, HackleError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture = NDArray[np.uint8]
SPAN = 2.0
"""Traversals go from −SPAN to SPAN, two standard deviations of the prior to either side."""


class PictureError(HackleError):
    """A picture that would overwrite another, or cannot be drawn."""


def to_bytes(images: NDArray) -> Picture:
    """Images in [0, 1] as uint8; uint8 images as they are."""
    if images.dtype == np.uint8:
        return np.asarray(images)
    return (np.clip(images, 0, 1) * 255).round().astype(np.uint8)


def mosaic(images: NDArray, *, gap: int = 2, background: int = 255) -> Picture:
    """Images (rows, columns, h, w, c) as one picture with gaps between them."""
    tiles = to_bytes(images)
    rows, columns, height, width, channels = tiles.shape
    if channels == 1:
        tiles = tiles.repeat(3, axis=-1)
    sheet = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), background, np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = gap + row * (height + gap), gap + column * (width + gap)
            sheet[top : top + height, left : left + width] = tiles[row, column]
    return sheet


@dataclass(frozen=True)
class Look:
    """What the pictures of a model are made from: some images, their posteriors, and the latents from most to least used."""

    model: Model
    images: Picture
    means: NDArray[np.float32]
    logvars: NDArray[np.float32]
    kl: NDArray[np.float64]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, model: Model, dataset: Dataset, *, n: int = 1000, seed: int = 0) -> Look:
        """Encode n random images of the data set."""
        import torch

        rows = dataset.factors.draw(n, np.random.default_rng(seed))
        images = dataset.render(rows, seed=seed)
        means, logvars = model.encode(images)
        kl = kl_per_latent(torch.from_numpy(means).double(), torch.from_numpy(logvars).double()).mean(0).numpy()
        return cls(model, images, means, logvars, kl, np.argsort(-kl, kind="stable"))


def traversals(look: Look, image: int = 0, columns: int = 11) -> NDArray[np.float32]:
    """Decoded images (latents, columns, h, w, c): each row moves one latent of an image's mean, most used latent first."""
    values = np.linspace(-SPAN, SPAN, columns, dtype=np.float32)
    z = np.repeat(look.means[image][None], len(look.order) * columns, axis=0).reshape(len(look.order), columns, -1)
    for row, latent in enumerate(look.order):
        z[row, :, latent] = values
    decoded = look.model.decode(z.reshape(-1, z.shape[-1]))
    return decoded.reshape(len(look.order), columns, *decoded.shape[1:])


def pair_map(look: Look, first: int, second: int, image: int = 0, side: int = 9) -> NDArray[np.float32]:
    """Decoded images (side, side, h, w, c): one latent moves down the rows, another along the columns."""
    values = np.linspace(-SPAN, SPAN, side, dtype=np.float32)
    z = np.repeat(look.means[image][None], side * side, axis=0).reshape(side, side, -1)
    z[:, :, first] = values[:, None]
    z[:, :, second] = values[None, :]
    decoded = look.model.decode(z.reshape(side * side, -1))
    return decoded.reshape(side, side, *decoded.shape[1:])


def samples(look: Look, rows: int = 8, columns: int = 8, seed: int = 0) -> NDArray[np.float32]:
    """Images decoded from the prior, (rows, columns, h, w, c)."""
    z = np.random.default_rng(seed).standard_normal((rows * columns, look.means.shape[1]), dtype=np.float32)
    decoded = look.model.decode(z)
    return decoded.reshape(rows, columns, *decoded.shape[1:])


def reconstructions(look: Look, columns: int = 11) -> NDArray:
    """Originals above their reconstructions, (2, columns, h, w, c) in [0, 1]."""
    columns = min(columns, len(look.images))
    return np.stack([look.images[:columns] / np.float32(255), look.model.decode(look.means[:columns])])


def overview(look: Look, image: int = 0, columns: int = 11) -> Figure:
    """Originals, reconstructions, then a traversal of each latent labelled with its KL, most used first."""
    from matplotlib.figure import Figure

    rows = np.concatenate([reconstructions(look, columns), traversals(look, image, columns)])
    sheet = mosaic(rows)
    labels = ["original", "reconstruction"]
    labels += [f"z{latent}  KL {look.kl[latent]:.2f}" for latent in look.order]
    height = len(rows)
    figure = Figure(figsize=(columns * 0.62 + 1.6, height * 0.62), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.imshow(sheet, interpolation="nearest")
    step = sheet.shape[0] / height
    axes.set_yticks([step * (row + 0.5) for row in range(height)], labels, fontsize=8)
    axes.set_xticks([])
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def histograms(look: Look, seed: int = 0) -> Figure:
    """Samples of q(z_j) for each latent, most used first, with the prior's density drawn over them."""
    from matplotlib.figure import Figure

    noise = np.random.default_rng(seed).standard_normal(look.means.shape)
    z = look.means + np.exp(0.5 * look.logvars) * noise
    count = len(look.order)
    columns = min(5, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(columns * 1.9, rows * 1.5), dpi=150, layout="constrained")
    grid = np.linspace(-4, 4, 201)
    density = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for panel, latent in zip(panels, look.order, strict=False):
        panel.hist(z[:, latent], bins=40, range=(-4, 4), density=True, color="#56B4E9")
        panel.plot(grid, density, color="#D55E00", linewidth=1)
        panel.set_title(f"z{latent}  KL {look.kl[latent]:.2f}", fontsize=8)
        panel.set_yticks([])
        panel.tick_params(labelsize=7)
    for panel in panels[count:]:
        panel.set_visible(False)
    return figure


def animation(look: Look, images: int = 4, frames: int = 24) -> list[Picture]:
    """Frames of a loop in which every latent (columns, most used first) of several images (rows) sweeps out and back."""
    values = SPAN * np.sin(np.linspace(0, 2 * np.pi, frames, endpoint=False)).astype(np.float32)
    images = min(images, len(look.images))
    count = len(look.order)
    z = np.broadcast_to(look.means[:images, None, None], (images, count, frames, look.means.shape[1])).copy()
    for column, latent in enumerate(look.order):
        z[:, column, :, latent] = values
    decoded = look.model.decode(z.reshape(-1, z.shape[-1]))
    decoded = decoded.reshape(images, count, frames, *decoded.shape[1:])
    return [mosaic(decoded[:, :, frame]) for frame in range(frames)]


def save_picture(picture: Picture, path: Path, scale: int = 1) -> None:
    """Write a PNG, each pixel `scale` pixels wide."""
    image = Image.fromarray(picture)
    image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST).save(path)


def show(
    model: Model, dataset: Dataset, folder: str | Path, *, seed: int = 0, image: int = 0, overwrite: bool = False
) -> list[Path]:
    """Write every picture of a model into a folder: overview, samples, pair map, histograms (PNG) and traversals (GIF)."""
    folder = Path(folder)
    names = ["overview.png", "samples.png", "pair.png", "histograms.png", "traversals.gif"]
    present = [name for name in names if (folder / name).exists()]
    if present and not overwrite:
        raise PictureError(f"{folder} holds {', '.join(present)} already; add --overwrite, or choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    look = Look.of(model, dataset, seed=seed)
    overview(look, image).savefig(folder / names[0])
    save_picture(mosaic(samples(look, seed=seed)), folder / names[1])
    first, second = look.order[0], look.order[min(1, len(look.order) - 1)]
    save_picture(mosaic(pair_map(look, int(first), int(second), image)), folder / names[2])
    histograms(look, seed).savefig(folder / names[3])
    head, *tail = [Image.fromarray(frame) for frame in animation(look)]
    head.save(folder / names[4], save_all=True, append_images=tail, duration=80, loop=0)
    return [folder / name for name in names]
