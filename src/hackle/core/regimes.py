"""What a run's data give beside single images drawn uniformly: the law of the factors, pairs of images, and labels.

Each is a frozen record, a field of `Run`, and at its default it changes nothing. Sources: pairs, Locatello et al. 2020
(ICML, section 5) and Klindt et al. 2021; labels, Locatello et al. 2020 (ICLR); correlated factors, Träuble et al. 2021;
left-out combinations, Montero et al. 2021 and Schott et al. 2022. docs/regimes.md gives each definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hackle.core.errors import HackleError
from hackle.core.factors import FactorGrid, Rows, scored_factors

TRAINING_SHARE = 0.9
"""The share of the labelled images, the first, whose labels train; the rest validates (Locatello et al. 2020, ICLR)."""


class RegimeError(HackleError, ValueError):
    """A data regime that contradicts itself, or that a data set cannot serve."""


@dataclass(frozen=True)
class Drawing:
    """How a training step draws factor rows: uniformly, or with correlated factors, or without some combinations."""

    correlated: str = ""
    """Correlated pairs of factors, such as x~y or x~y,shape~scale; x~-y is inverse, x~* pairs x with every other factor."""
    sigma: float = 0.2
    """Width of the correlation, of factors scaled to [0, 1]: small is strong; 0.2 is strong, 0.7 weak."""
    left_out: str = ""
    """Combinations never trained on: a rule's name or a condition such as shape=square & x>0.5."""

    def __post_init__(self) -> None:
        if not isinstance(self.sigma, int | float) or not 0 < self.sigma < math.inf:
            raise RegimeError(
                f"drawing.sigma is {self.sigma!r}; expected a positive number, such as 0.2 (strong) or 0.7 (weak); without a "
                "correlation leave drawing.correlated empty"
            )
        if not self.correlated and self.sigma != 0.2:
            raise RegimeError(
                f"drawing.sigma is {self.sigma}, but no factors are correlated, so that it would do nothing; name them in "
                "drawing.correlated, such as x~y"
            )


@dataclass(frozen=True)
class Pairs:
    """A second image for each image, with some factors changed."""

    rule: Literal["none", "resample", "differ", "lib", "laplace"] = "none"
    """resample: k factors are redrawn; differ: they take other values; lib: 1 or k are redrawn, as disentanglement_lib
    does; laplace: every ordered factor moves a little; none: no pairs."""
    changed: int = 0
    """The number k of factors that may change; 0 draws it for each pair, uniform on 1 up to one less than all."""
    rate: float = 1.0
    """Of laplace: how fast probability falls with the distance moved; -1 draws it for each pair from 1 to 10."""

    def __post_init__(self) -> None:
        if isinstance(self.changed, int) and self.changed < 0:
            raise RegimeError(
                f"pairs.changed is {self.changed}; expected a number of factors, or 0 to draw it for each pair"
            )
        if self.rule in ("none", "laplace") and self.changed:
            raise RegimeError(
                f"pairs.changed is {self.changed}, but the rule {self.rule!r} takes no number of factors; leave it at 0, or "
                "choose resample, differ or lib"
            )
        if self.rule != "laplace" and self.rate != 1.0:
            raise RegimeError(
                f"pairs.rate is {self.rate}, but belongs to laplace alone, and pairs.rule is {self.rule!r}; leave it at 1"
            )
        if not isinstance(self.rate, int | float) or not (self.rate == -1 or 0 < self.rate < math.inf):
            raise RegimeError(f"pairs.rate is {self.rate!r}; expected a positive number, or -1 to draw it from 1 to 10")


@dataclass(frozen=True)
class Labels:
    """Labels of some images, beside the unlabelled ones."""

    images: int = 0
    """Number of labelled images, such as 100 or 1000; 0 for none. The first nine tenths of them train."""
    kind: Literal["exact", "binned", "noisy", "partial", "permuted"] = "exact"
    """exact; binned: of few values; noisy: some redrawn; partial: of some factors; permuted: values renamed at random."""
    bins: int = 5
    """Of binned: the values that are left of a factor with more."""
    noise: float = 0.1
    """Of noisy: the probability that a label is redrawn."""
    factors: int = 2
    """Of partial: the number of factors that have labels."""
    seed: int = 0
    """Determines which images are labelled and how labels are wrong, for all runs alike."""

    def __post_init__(self) -> None:
        if not isinstance(self.images, int) or self.images < 0:
            raise RegimeError(f"labels.images is {self.images!r}; expected a number of images, or 0 for no labels")
        idle = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        if idle and not self.images:
            raise RegimeError(
                f"labels.{idle[0]} is {getattr(self, idle[0])!r}, but no images are labelled, so that it would do nothing; set "
                "labels.images, such as 100"
            )


@dataclass(frozen=True)
class Labelled:
    """The labelled images of a data set, in the order drawn.

    index: their flat indices, (n,). classes: their labels, (n, f). sizes: the number of classes of each labelled factor.
    columns: the grid's columns of these factors.
    """

    index: NDArray[np.int64]
    classes: Rows
    sizes: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def training(self) -> int:
        """The number of images, the first, whose labels train."""
        return math.ceil(TRAINING_SHARE * len(self.index))


def labelled_images(grid: FactorGrid, labels: Labels) -> Labelled:
    """The images that are labelled, and their labels: the same for every run with this record."""
    columns = scored_factors(grid)
    index = np.random.default_rng([labels.seed, 0]).permutation(len(grid))[: labels.images]
    classes = grid.classes(grid.rows(index))[:, columns]
    sizes = tuple(
        grid.bins if grid.kinds[column] == "continuous" and grid.sizes[column] > grid.bins else grid.sizes[column]
        for column in columns
    )
    return Labelled(index, classes, sizes, columns)
