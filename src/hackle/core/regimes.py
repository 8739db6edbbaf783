"""What a run's data give beside single images drawn uniformly: the law of the factors, pairs of images, and labels.

Each is a frozen record, a field of `Run`, and at its default it changes nothing. Sources: pairs, Locatello et al. 2020
(ICML, section 5) and Klindt et al. 2021; labels, Locatello et al. 2020 (ICLR); correlated factors, Träuble et al. 2021;
left-out combinations, Montero et al. 2021 and Schott et al. 2022 (`hackle.core.left_out`). docs/regimes.md gives each
definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import Factor, FactorError, FactorGrid, Rows
from hackle.core.left_out import RegimeError, needed_factors, training_rows

__all__ = [
    "Drawing",
    "Labelled",
    "Labels",
    "Pairs",
    "RegimeError",
    "check_pairs",
    "correlated_columns",
    "labelled_images",
    "row_weights",
    "training_rows",
]

TRAINING_SHARE = 0.9
"""The share of the labelled images, the first, whose labels train; the rest validates (Locatello et al. 2020, ICLR)."""
MOST_TEXT = 1_000
"""The most characters of a condition, or of a list of correlated factors: records may come from anyone."""
SIGMAS = 1e-3, 1e3
"""The widths of a correlation: at the first, factors of a thousand values are the same; at the last, independent."""


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
        for name in ("correlated", "left_out"):
            if len(value := str(getattr(self, name))) > MOST_TEXT:
                raise RegimeError(f"drawing.{name} is {value[:40]!r}…; expected at most {MOST_TEXT} characters")
        if not isinstance(self.sigma, int | float) or not SIGMAS[0] <= self.sigma <= SIGMAS[1]:
            raise RegimeError(
                f"drawing.sigma is {self.sigma!r}; expected a positive number, {SIGMAS[0]:g} to {SIGMAS[1]:g}, such as 0.2 "
                "(strong) or 0.7 (weak); without a correlation leave drawing.correlated empty"
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
                f"pairs.changed is {self.changed}, but the rule {self.rule!r} takes no number of factors; set it to 0, or "
                "choose resample, differ or lib"
            )
        if self.rule != "laplace" and self.rate != 1.0:
            raise RegimeError(
                f"pairs.rate is {self.rate}, but belongs to laplace alone, and pairs.rule is {self.rule!r}; leave it at 1"
            )
        if not isinstance(self.rate, int | float) or not (self.rate == -1 or 0 < self.rate <= 100):
            raise RegimeError(f"pairs.rate is {self.rate!r}; expected above 0 up to 100, or -1 to draw it from 1 to 10")


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
        for name, least in (("images", 0), ("bins", 2), ("factors", 1), ("seed", 0)):
            if not isinstance(value := getattr(self, name), int) or value < least:
                raise RegimeError(f"labels.{name} is {value!r}; expected a whole number from {least}")
        if not isinstance(self.noise, int | float) or not 0 <= self.noise <= 1:
            raise RegimeError(f"labels.noise is {self.noise!r}; expected a probability, from 0 to 1")
        idle = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        if idle and not self.images:
            raise RegimeError(
                f"labels.{idle[0]} is {getattr(self, idle[0])!r}, but no images are labelled, so that it would do nothing; set "
                "labels.images, such as 100"
            )
        owner = {"bins": "binned", "noise": "noisy", "factors": "partial"}
        for name in idle:
            if owner.get(name, self.kind) != self.kind:
                raise RegimeError(
                    f"labels.{name} is {getattr(self, name)!r}, but belongs to labels.kind {owner[name]!r}, and that is "
                    f"{self.kind!r}; change one of them"
                )


def correlated_columns(grid: FactorGrid, correlated: str) -> list[tuple[int, int, bool]]:
    """The pairs of columns that `Drawing.correlated` names, each with whether it is inverse.

    >>> correlated_columns(FactorGrid([Factor("x", 3), Factor("y", 3), Factor("z", 2)]), "x~-y,z~*")
    [(0, 1, True), (2, 0, False), (2, 1, False)]
    """
    if not correlated:
        return []
    pairs: list[tuple[int, int, bool]] = []
    scored = needed_factors(
        grid, f"drawing.correlated is {correlated!r}, which names factors", "or leave drawing.correlated empty"
    )
    for pair in correlated.split(","):
        left, tilde, right = (part.strip() for part in pair.partition("~"))
        if not (left and tilde and right):
            raise RegimeError(
                f"drawing.correlated is {correlated!r}, in which {pair.strip()!r} is no pair; expected two factors as x~y, "
                "several pairs as x~y,shape~scale, x~-y for inverse, or x~* for x with every other"
            )
        inverse, other = right.startswith("-"), right.removeprefix("-")
        try:
            first = grid.column(left)
            others = [column for column in scored if column != first] if other == "*" else [grid.column(other)]
        except FactorError as error:
            raise RegimeError(f"drawing.correlated is {correlated!r}: {error}") from error
        for column in (first, *others):
            if column not in scored:
                raise RegimeError(
                    f"drawing.correlated is {correlated!r}, but {grid.names[column]} is not observed or has one value only; "
                    f"expected among {', '.join(grid.names[each] for each in scored)}"
                )
        pairs += [(first, column, inverse) for column in others]
    for (a, b, _), (c, d, _) in combinations(pairs, 2):
        if {a, b} == {c, d}:
            raise RegimeError(
                f"drawing.correlated is {correlated!r}, which has {grid.names[a]}~{grid.names[b]} twice; leave out one of them"
            )
    if any(a == b for a, b, _ in pairs):
        raise RegimeError(
            f"drawing.correlated is {correlated!r}, which pairs a factor with itself; expected two of "
            f"{', '.join(grid.names[column] for column in scored)}"
        )
    return pairs


def _position(factor: Factor) -> NDArray[np.float64]:
    """Each value's place in [0, 1]: of a continuous factor by its number, of others by its class number."""
    numbers = factor.numbers if factor.kind == "continuous" else np.arange(factor.size, dtype=np.float64)
    return (numbers - numbers.min()) / np.ptp(numbers)


def row_weights(grid: FactorGrid, drawing: Drawing) -> NDArray[np.float64]:
    """The probability with which training draws each image, (n,), in the order of the flat index.

    p(row) ∝ Π over the correlated pairs of exp(−(a₁ − a₂)² / 2σ²), with a the factors' values scaled to [0, 1] and 1 − a₂
    for a₂ where the pair is inverse; 0 for combinations that are left out.
    """
    rows = grid.rows(np.arange(len(grid)))
    logs = np.where(training_rows(grid, drawing.left_out), 0.0, -np.inf)
    for first, second, inverse in correlated_columns(grid, drawing.correlated):
        a, b = _position(grid.factors[first]), _position(grid.factors[second])
        apart = a[rows[:, first]] - (1 - b if inverse else b)[rows[:, second]]
        logs -= apart**2 / (2 * drawing.sigma**2)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def check_pairs(grid: FactorGrid, pairs: Pairs) -> tuple[int, ...]:
    """The columns of the factors that may change, if pairs of this record can be drawn of the grid's factors."""
    scored = needed_factors(grid, "pairs are drawn by factors")
    if pairs.rule == "laplace" and all(grid.kinds[column] == "categorical" for column in scored):
        raise RegimeError(
            "pairs.rule is 'laplace', which moves factors whose values have an order, and all factors here are categorical: "
            f"{', '.join(grid.names[column] for column in scored)}; choose resample or differ"
        )
    if pairs.changed > len(scored):
        raise RegimeError(
            f"pairs.changed is {pairs.changed}, but this data set has {len(scored)} factors that vary: "
            f"{', '.join(grid.names[column] for column in scored)}; expected 1 to {len(scored)}, or 0 to draw it for each pair"
        )
    if pairs.rule in ("resample", "differ", "lib") and not pairs.changed and len(scored) < 2:
        raise RegimeError(
            "pairs.changed is 0, for a number of factors up to one less than all, and in this data set one factor alone "
            "varies; set pairs.changed to 1"
        )
    return scored


@dataclass(frozen=True)
class Labelled:
    """The labelled images of a data set, in the order drawn.

    index: their flat indices, (n,). classes: their labels, (n, f). sizes: the number of classes of each labelled factor.
    columns: the grid's columns of these factors, in the order of the labels.
    """

    index: NDArray[np.int64]
    classes: Rows
    sizes: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def training(self) -> int:
        """The number of images, the first, whose labels train: `TRAINING_SHARE` of them."""
        return math.ceil(TRAINING_SHARE * len(self.index))


def labelled_images(grid: FactorGrid, labels: Labels, left_out: str = "") -> Labelled:
    """The images that are labelled, and their labels: the same for every run with this record and these left out.

    They are drawn uniformly, without repetition, from the images that training does not leave out, whatever else its law.
    """
    remedy = "or set labels.images to 0 and choose a method without them"
    columns = needed_factors(grid, "labels are values of factors", remedy)
    eligible = np.flatnonzero(training_rows(grid, left_out))
    if labels.images > len(eligible):
        raise RegimeError(
            f"labels.images is {labels.images:,}, but training has {len(eligible):,} images to draw them from; expected at "
            f"most so many: --labels.images {len(eligible)}, or Labels(images={len(eligible)}) in Python"
        )
    index = np.random.default_rng([labels.seed, 0]).permutation(eligible)[: labels.images]
    rng = np.random.default_rng([labels.seed, 1])
    classes = grid.classes(grid.rows(index))[:, list(columns)]
    sizes = tuple(int(factor.classes(grid.bins).max()) + 1 for factor in (grid.factors[column] for column in columns))
    if labels.kind == "binned":
        classes = np.stack(
            [binned(labels.bins, size)[column] for column, size in zip(classes.T, sizes, strict=True)], 1
        )
        sizes = tuple(min(size, labels.bins) for size in sizes)
    elif labels.kind == "noisy":
        wrong = rng.random(classes.shape) < labels.noise
        classes = np.where(wrong, rng.integers(sizes, size=classes.shape), classes)
    elif labels.kind == "permuted":
        renamed = [rng.permutation(size) for size in sizes]
        classes = np.stack([table[column] for column, table in zip(classes.T, renamed, strict=True)], axis=1)
    elif labels.kind == "partial":
        if labels.factors > len(columns):
            raise RegimeError(
                f"labels.factors is {labels.factors}, but this data set has {len(columns)} factors that are observed and vary: "
                f"{', '.join(grid.names[column] for column in columns)}; expected at most so many"
            )
        chosen = rng.permutation(len(columns))[: labels.factors]
        classes, sizes = classes[:, chosen], tuple(sizes[place] for place in chosen)
        columns = tuple(columns[place] for place in chosen)
    return Labelled(index, classes.astype(np.int64), sizes, columns)


def binned(bins: int, size: int) -> NDArray[np.int64]:
    """The label of each of a factor's values where labels have at most so many values.

    >>> binned(5, 6).tolist(), binned(5, 8).tolist(), binned(5, 3).tolist()
    ([0, 0, 1, 2, 3, 4], [0, 0, 1, 1, 2, 3, 3, 4], [0, 1, 2])
    """
    values = np.arange(size)
    return values if size <= bins else np.minimum(values * bins // size, bins - 1)
