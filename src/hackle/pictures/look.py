"""What the pictures of a model are made from: its codes' priors, some images and their posteriors.

A code's prior is N(0, 1), or, for an InfoGAN, U[−1, 1], or uniform over classes. Codes are ordered by the KL of their
posterior to the prior: ln 2 − H(q) for U[−1, 1], where q is the output of the recognition network; it counts a
posterior's mass outside the interval as if it lay inside, so it is clipped at 0. A class number has no noise: ln k for
the k classes that occur.

Traversals span two standard deviations of a normal prior on either side, extended to the range of the images' means
without the outermost 1% at each end. A posterior that has drifted from its prior is thus shown where it lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from hackle.core.errors import HackleError
from hackle.core.gaussian import kl_per_latent
from hackle.core.method import Code
from hackle.core.tiles import Picture
from hackle.core.types import Dataset
from hackle.train.model import Model

SPAN = 2.0
"""Traversals cover at least −SPAN to SPAN, two standard deviations of the prior on either side."""
REACH = 3.0
"""Sliders and histograms cover at least −REACH to REACH."""
VISITED, SEEN = 0.01, 0.005
"""At most this fraction of the images' means lies beyond each end of a traversal, and of posterior draws beyond a histogram."""
ACTIVE = 0.01
"""A code has collapsed if its KL to the prior is at most this many nats, as in `hackle.metrics.active_units`."""
MOST_CLASSES = 1_024
"""The most classes of a code that pictures show, a bar or a button for each."""


class PictureError(HackleError):
    """A picture that would overwrite another, or cannot be drawn."""


def _joined(ends: tuple[float, float], values: NDArray[np.float32], beyond: float) -> tuple[float, float]:
    """A range widened, in tenths, until at most the fraction `beyond` of the values lies outside each end."""
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = np.quantile(finite, [beyond, 1 - beyond]) if len(finite) else ends
    return min(ends[0], math.floor(10 * low) / 10), max(ends[1], math.ceil(10 * high) / 10)


@dataclass(frozen=True)
class Axis(Code):
    """One code as an axis of pictures. visited: the ends of its traversals if they differ from those of the prior."""

    visited: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last value of a traversal."""
        if self.prior == "categorical":
            return 0.0, self.classes - 1.0
        return self.visited or ((-SPAN, SPAN) if self.prior == "normal" else (-1.0, 1.0))

    def visiting(self, means: NDArray[np.float32]) -> Axis:
        """The same code with traversals widened to cover these means (n,) of images. Only for a normal prior: a generator never
        saw codes outside the interval or the classes of its prior."""
        ends = _joined(self.ends, means, VISITED) if self.prior == "normal" else self.ends
        return self if ends == self.ends else replace(self, visited=ends)

    def reach(self, draws: NDArray[np.float32] | None = None) -> tuple[float, float]:
        """The ends of a slider or histogram, wide enough for traversals, the prior and draws from the posteriors."""
        if self.prior == "categorical":
            return self.ends
        low, high = self.ends
        wide = REACH if self.prior == "normal" else 1.0
        least = min(-wide, low), max(wide, high)
        return least if draws is None else _joined(least, draws, SEEN)

    def values(self, columns: int) -> NDArray[np.float32]:
        """The values of a traversal, (columns,), from end to end; for classes, rounded."""
        values = np.linspace(*self.ends, columns)
        return (values.round() if self.prior == "categorical" else values).astype(np.float32)

    def levels(self, columns: int) -> NDArray[np.float32]:
        """The values of a traversal without repetition, at most `columns` of them: each class once, where they are few."""
        return self.values(min(columns, self.classes) if self.prior == "categorical" else columns)

    def sweep(self, frames: int) -> NDArray[np.float32]:
        """The values of a loop that goes back and forth, (frames,)."""
        share = (np.sin(np.linspace(0, 2 * np.pi, frames, endpoint=False)) + 1) / 2
        if self.prior == "categorical":
            return np.floor(share * (self.classes - 1e-6)).astype(np.float32)
        low, high = self.ends
        return (low + share * (high - low)).astype(np.float32)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """n draws from the prior, (n,)."""
        if self.prior == "categorical":
            return rng.integers(self.classes, size=n).astype(np.float32)
        if self.prior == "uniform":
            return rng.uniform(-1, 1, size=n).astype(np.float32)
        return rng.standard_normal(n, dtype=np.float32)


def axes_of(model: Model) -> tuple[Axis, ...]:
    """The model's codes, in order. A code of more classes than can be shown is refused: a record may name any number."""
    if most := max((code.classes for code in model.codes if code.classes > MOST_CLASSES), default=0):
        raise PictureError(
            f"a code takes one of {most:,} values; pictures and the explorer show each, of at most {MOST_CLASSES:,}"
        )
    return tuple(Axis(code.prior, code.classes) for code in model.codes)


def _kl(axes: tuple[Axis, ...], means: NDArray[np.float32], logvars: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean KL of each code's posterior to its prior, in nats."""
    kl = kl_per_latent(torch.from_numpy(means).double(), torch.from_numpy(logvars).double()).mean(0).numpy()
    for code, axis in enumerate(axes):
        if axis.prior == "categorical":
            kl[code] = math.log(len(np.unique(means[:, code])))
        elif axis.prior == "uniform":
            entropies = 0.5 * (math.log(2 * math.pi * math.e) + logvars[:, code].astype(np.float64))
            kl[code] = max(0.0, float(math.log(2) - entropies.mean()))
    return kl


@dataclass(frozen=True)
class Look:
    """Some images with their factor rows and posteriors, and the latents from most to least used."""

    model: Model
    images: Picture
    rows: NDArray[np.int64]
    means: NDArray[np.float32]
    logvars: NDArray[np.float32]
    axes: tuple[Axis, ...]
    kl: NDArray[np.float64]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, model: Model, dataset: Dataset, *, n: int = 1000, seed: int = 0) -> Look:
        """Encode n random images of the data set without repetition, or all of them if there are no more than n."""
        size = dataset.factors.size
        rows = dataset.factors.rows(np.random.default_rng(seed).choice(size, min(n, size), replace=False))
        images = dataset.render(rows, seed=seed)
        means, logvars = model.encode(images)
        axes = tuple(axis.visiting(means[:, code]) for code, axis in enumerate(axes_of(model)))
        kl = _kl(axes, means, logvars)
        return cls(model, images, rows, means, logvars, axes, kl, np.argsort(-kl, kind="stable"))

    @property
    def collapsed(self) -> NDArray[np.bool_]:
        """Which codes say next to nothing about the images: those that `active_units` does not count."""
        return self.kl <= ACTIVE

    @cached_property
    def seen(self) -> tuple[tuple[float, float], ...]:
        """The range of each code's means without the outermost 1% at either end, as traversals are widened to."""
        low, high = np.nanquantile(self.means.astype(np.float64), [VISITED, 1 - VISITED], axis=0)
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @cached_property
    def reach(self) -> tuple[tuple[float, float], ...]:
        """The ends of each code's slider and histogram."""
        draws = self.draws()
        return tuple(axis.reach(draws[:, code]) for code, axis in enumerate(self.axes))

    @property
    def continuous(self) -> NDArray[np.int64]:
        """The codes that are real numbers."""
        return np.flatnonzero([axis.prior != "categorical" for axis in self.axes])

    def draws(self, seed: int = 0) -> NDArray[np.float32]:
        """One sample from each image's posterior, (n, l): draws from the aggregate posterior q(z)."""
        noise = np.random.default_rng(seed).standard_normal(self.means.shape, dtype=np.float32)
        return (self.means + np.exp(0.5 * self.logvars) * noise).astype(np.float32)
