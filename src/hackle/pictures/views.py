"""Views of one model as decoded images: reconstructions, traversals, samples, maps of two latents, interpolations.

The layouts follow the papers: traversals sorted by KL as in Kim & Mnih 2018, Fig. 6; maps of two latents as in Yang et al.
2020, Fig. 3, and Do & Tran 2020, Fig. 26; the latents that say most about a factor as in Do & Tran 2020, Fig. 12 and 16;
images of the same codes with other noise as in Kim & Mnih 2018, Fig. 26.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hackle.core.method import about
from hackle.core.tiles import Picture, mosaic
from hackle.pictures.captured import Captured
from hackle.pictures.look import SPAN, Look, PictureError

Images = NDArray[np.float32]


def _decode(look: Look, z: NDArray[np.float32]) -> Images:
    """Latents (…, l) as images (…, h, w, c)."""
    decoded = look.model.decode(z.reshape(-1, z.shape[-1]))
    return decoded.reshape(*z.shape[:-1], *decoded.shape[1:])


def _moved(look: Look, image: int, latents: NDArray[np.int64], columns: int) -> Images:
    z = np.broadcast_to(look.means[image], (len(latents), columns, look.means.shape[1])).copy()
    for row, latent in enumerate(latents):
        z[row, :, latent] = look.axes[latent].values(columns)
    return _decode(look, z)


def traversals(look: Look, image: int = 0, columns: int = 11) -> Images:
    """Decoded images (latents, columns, h, w, c): each row varies one latent of an image's mean, most used latent first."""
    return _moved(look, image, look.order, columns)


def top_latents(look: Look, captured: Captured, top: int = 3, image: int = 0, columns: int = 11) -> Images:
    """Traversals (factors, top, columns, h, w, c) of the latents that say most about each factor."""
    chosen = captured.ranking[:top].T
    rows = _moved(look, image, chosen.ravel(), columns)
    return rows.reshape(*chosen.shape, *rows.shape[1:])


def pair_map(look: Look, first: int, second: int, image: int = 0, side: int = 9) -> Images:
    """Decoded images (side, side, h, w, c): one latent varies down the rows, another along the columns."""
    z = np.broadcast_to(look.means[image], (side, side, look.means.shape[1])).copy()
    z[:, :, first] = look.axes[first].values(side)[:, None]
    z[:, :, second] = look.axes[second].values(side)[None, :]
    return _decode(look, z)


def pair_maps(look: Look, codes: int = 3, image: int = 0, side: int = 9) -> Images:
    """Maps (pairs, side, side, h, w, c) of every pair among the first continuous codes, each from −2 to 2 as in both papers:
    the first of a pair moves along the columns, the second down the rows. A model of one code has none."""
    wide = replace(look, axes=tuple(replace(axis, visited=(-SPAN, SPAN)) for axis in look.axes))
    pairs = combinations(look.continuous[:codes].tolist(), 2)
    maps = [pair_map(wide, second, first, image, side) for first, second in pairs]
    return np.stack(maps) if maps else np.empty((0, side, side, *look.images.shape[1:]), np.float32)


def _code_values(look: Look, columns: int) -> list[tuple[int, NDArray[np.float32]]]:
    """The rows of traversals in the order of the codes: a code and its values. Each class of a categorical code comes once,
    in as many rows as the classes need."""
    rows: list[tuple[int, NDArray[np.float32]]] = []
    for code, axis in enumerate(look.axes):
        classes = axis.prior == "categorical"
        values = np.arange(axis.classes, dtype=np.float32) if classes else axis.values(columns)
        rows += [(code, values[start : start + columns]) for start in range(0, len(values), columns)]
    return rows


def code_ends(look: Look, columns: int = 11) -> NDArray[np.float64]:
    """What the rows of `code_rows` are, (rows, 4): the code, its KL to the prior, the row's first and last value."""
    return np.array([(code, look.kl[code], values[0], values[-1]) for code, values in _code_values(look, columns)])


def code_rows(look: Look, image: int = 0, columns: int = 11) -> Images:
    """Traversals (rows, columns, h, w, c) of an image's codes in their order; tiles that a row of classes spares are white."""
    rows = _code_values(look, columns)
    lengths = [len(values) for _, values in rows]
    z = np.repeat(look.means[[image]], sum(lengths), axis=0)
    z[np.arange(len(z)), np.repeat([code for code, _ in rows], lengths)] = np.concatenate([one for _, one in rows])
    decoded = _decode(look, z)
    tiles = np.ones((len(rows), columns, *decoded.shape[1:]), np.float32)
    tiles[np.arange(columns) < np.array(lengths)[:, None]] = decoded
    return tiles


def noise_reconstructions(look: Look, rows: int = 8, columns: int = 11, seed: int = 0) -> Images:
    """Images (rows, columns, h, w, c): one of the data set, then what a generator makes of its codes with other noise."""
    method = look.model.run.method
    noise = about(method).noise_inputs(method)
    if not noise:
        raise PictureError("this model has no noise to vary beside its codes")
    rows = min(rows, len(look.images))
    draws = np.random.default_rng(seed).standard_normal((rows, columns - 1, noise), dtype=np.float32)
    codes = np.repeat(look.means[:rows, None], columns - 1, axis=1)
    originals = look.images[:rows, None].astype(np.float32) / np.float32(255)
    return np.concatenate([originals, _decode(look, np.concatenate([codes, draws], axis=-1))], axis=1)


def interpolation(look: Look, first: int = 0, second: int = 1, columns: int = 11) -> Images:
    """Images (columns, h, w, c) decoded along the straight line between two images' means; classes change half-way."""
    share = np.linspace(0, 1, columns, dtype=np.float32)[:, None]
    start, end = look.means[first], look.means[second]
    z = (1 - share) * start + share * end
    for code, axis in enumerate(look.axes):
        if axis.prior == "categorical":
            z[:, code] = np.where(share[:, 0] < 0.5, start[code], end[code])
    return _decode(look, z)


def samples(look: Look, rows: int = 8, columns: int = 8, seed: int = 0) -> Images:
    """Images decoded from the prior, (rows, columns, h, w, c)."""
    rng = np.random.default_rng(seed)
    z = np.stack([axis.draw(rows * columns, rng) for axis in look.axes], axis=1)
    method = look.model.run.method
    if noise := about(method).noise_inputs(method):
        z = np.concatenate([z, rng.standard_normal((len(z), noise), dtype=np.float32)], axis=1)
    return _decode(look, z.reshape(rows, columns, -1))


def reconstructions(look: Look, columns: int = 11) -> Images:
    """Originals above their reconstructions, (2, columns, h, w, c) in [0, 1]."""
    columns = min(columns, len(look.images))
    originals = look.images[:columns].astype(np.float32) / np.float32(255)
    return np.stack([originals, look.model.decode(look.means[:columns])])


def overview_rows(look: Look, image: int = 0, columns: int = 11) -> Images:
    """Originals, reconstructions and traversals, (2 + latents, columns, h, w, c). If there are fewer images than columns,
    the rest of the first two rows is white."""
    first, moved = reconstructions(look, columns), traversals(look, image, columns)
    rows = np.ones((2 + len(moved), *moved.shape[1:]), np.float32)
    rows[:2, : first.shape[1]], rows[2:] = first, moved
    return rows


def animation(look: Look, images: int = 4, frames: int = 24) -> list[Picture]:
    """Frames of a loop in which each latent (columns, most used first) of several images (rows) sweeps back and forth."""
    images = min(images, len(look.images))
    count = len(look.order)
    z = np.broadcast_to(look.means[:images, None, None], (images, count, frames, look.means.shape[1])).copy()
    for column, latent in enumerate(look.order):
        z[:, column, :, latent] = look.axes[latent].sweep(frames)
    decoded = _decode(look, z)
    return [mosaic(decoded[:, :, frame]) for frame in range(frames)]
