"""Combinations of factor values that training leaves out: rules by name, and conditions in values.

Schott et al. 2022 (ICLR) train on about 30 % of the combinations and test on the rest. Their boxes are published as files
of indices only; here a rule of the factors' sizes takes their place, below. Montero et al. 2021 (ICLR) leave out one small
box (recombination to element) or a range of one factor for one value of another (to range); their conditions for dSprites,
3D Shapes and MPI3D are as in their code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorError, FactorGrid, scored_factors
from hackle.core.present_rows import number_rows

Mask = NDArray[np.bool_]
TRAINED = 0.3
"""The share of the combinations that Schott et al. train on."""
_HUES = "object_hue>=#8 & wall_hue>=#8 & floor_hue>=#8"
_MONTERO = {
    (("shape", 3), ("scale", 6), ("orientation", 40), ("x", 32), ("y", 32)): {
        "element": "shape=#1 & scale>#1 & orientation>#13 & orientation<#26 & x>#20 & y>#20",
        "range": "shape=#0 & x>#15",
    },
    (("floor_hue", 10), ("wall_hue", 10), ("object_hue", 10), ("scale", 8), ("shape", 4), ("orientation", 15)): {
        "element": f"{_HUES} & scale>=#5 & shape=#1 & orientation>#11",
        "range": "shape=#3 & object_hue>=#5",
    },
    (
        *(("color", 6), ("shape", 6), ("size", 2), ("camera_height", 3), ("background", 3)),
        *(("horizontal", 40), ("vertical", 40)),
    ): {
        "element": "color=#5 & shape=#2 & size=#1 & camera_height=#1 & background=#1 & horizontal>#35 & vertical>#35",
        "range": "shape=#2 & horizontal<#20",
    },
}
"""The conditions of Montero et al., in class numbers, for the data sets whose factors have these names and numbers of values.
Of dSprites: scale > 0.6, orientation between 2π/3 and 4π/3, x and y > 0.66; x > 0.5. Of 3D Shapes: hues ≥ 0.8, scale ≥ 1.1,
orientation > 20°; object hue ≥ 0.5."""
_MOST_LISTED, _LONGEST = 20, 60
"""The most names of values in a message, and the most letters of each."""
_SIGN = re.compile("<=|>=|!=|=|<|>")
_COMPARED: dict[str, Callable[[NDArray, float], Mask]] = {
    "=": np.isclose,
    "!=": lambda values, number: ~np.isclose(values, number),
    "<": lambda values, number: (values < number) & ~np.isclose(values, number),
    ">": lambda values, number: (values > number) & ~np.isclose(values, number),
    "<=": lambda values, number: (values < number) | np.isclose(values, number),
    ">=": lambda values, number: (values > number) | np.isclose(values, number),
}


class RegimeError(HackleError, ValueError):
    """A data regime that contradicts itself, or that a data set cannot serve."""


def needed_factors(grid: FactorGrid, asks: str, remedy: str = "") -> tuple[int, ...]:
    """The factors that are observed and vary. Where there are none, an error says what asks for them."""
    if not (columns := scored_factors(grid)):
        beside = f", {remedy}" if remedy else ""
        raise RegimeError(
            f"{asks}, and this data set has none that are observed and vary; give its images labels{beside}"
        )
    return columns


@lru_cache(maxsize=16)
def training_rows(grid: FactorGrid, left_out: str) -> Mask:
    """Which images training draws from, (n,) in the order of the flat index; its complement is what it leaves out.

    left_out: the name of a rule (`RULES`), for random also with the share left out and a seed, such as random:0.1:3; or a
    condition such as `shape=square & x>0.5 | y<#3`. A factor is compared with a number, with a class number as #3, or
    with a value's name where its values have names; & binds more tightly than |. Empty: nothing is left out.

    >>> grid = FactorGrid([Factor("shape", 2, "categorical", words=("square", "heart")), Factor("x", 3)])
    >>> training_rows(grid, "shape=heart & x>=1").tolist()
    [True, True, True, True, False, False]
    """
    if not left_out:
        return _fixed(np.ones(len(grid), dtype=bool))
    name, *arguments = left_out.strip().split(":")
    needed_factors(
        grid, f"drawing.left_out is {left_out!r}, which chooses images by factors", "or leave drawing.left_out empty"
    )
    if name in RULES and len(arguments) > (most := 2 if name == "random" else 0):
        takes = "a share and a seed" if most else "nothing"
        raise RegimeError(f"drawing.left_out is {left_out!r}, but the rule {name} takes {takes} after its name")
    out = RULES[name](grid, *arguments) if name in RULES else _condition(grid, left_out)
    if out.all() or not out.any():
        what = "every image, so that none is left to train on" if out.all() else "no image at all"
        raise RegimeError(
            f"drawing.left_out is {left_out!r}, which leaves out {what}; choose a condition that holds for some of the "
            f"{len(grid):,} images of these factors: {_described(grid)}"
        )
    return _fixed(~out)


def _fixed(mask: Mask) -> Mask:
    """The mask, which several callers share, as one that none can change."""
    mask.setflags(write=False)
    return mask


def _described(grid: FactorGrid) -> str:
    def values(factor: Factor) -> str:
        if factor.words is not None:
            return _listed(factor.words)
        return f"{factor.numbers.min():g} to {factor.numbers.max():g}"

    return "; ".join(f"{factor.name} ({values(factor)})" for factor in grid.factors if factor.observed)


def _listed(words: Sequence[str]) -> str:
    """The first of these words, each as long as fits on a line: there may be as many as images."""
    shown = [word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…" for word in words[:_MOST_LISTED]]
    return ", ".join(shown + ["…"] * (len(words) > _MOST_LISTED))


def _condition(grid: FactorGrid, text: str) -> Mask:
    """The rows for which a condition holds."""
    index = np.arange(len(grid))
    rows = grid.rows(index)
    holds = np.zeros(len(grid), dtype=bool)
    for alternative in text.split("|"):
        both = np.ones(len(grid), dtype=bool)
        for clause in alternative.split("&"):
            column, chosen = _clause(grid, clause, text)
            both &= chosen[rows[:, column]]
        holds |= both
    return holds


def _clause(grid: FactorGrid, clause: str, text: str) -> tuple[int, Mask]:
    """A factor's column and which of its values a clause such as x>0.5 holds for."""
    match = _SIGN.search(clause)
    name, value = (clause[: match.start()].strip(), clause[match.end() :].strip()) if match is not None else ("", "")
    if match is None or not name or not value:
        raise RegimeError(
            f"drawing.left_out is {text!r}, in which {clause.strip()!r} cannot be read; expected a rule ({', '.join(RULES)}) "
            "or comparisons such as shape=square & x>0.5, with =, !=, <, <=, > or >=, joined by & and |"
        )
    sign = match.group()
    try:
        column = grid.column(name)
    except FactorError as error:
        raise RegimeError(f"drawing.left_out is {text!r}: {error}") from error
    factor = grid.factors[column]
    if not factor.observed:
        raise RegimeError(f"drawing.left_out is {text!r}, but the factor {name} is not observed; name another")
    if factor.words is not None and value in factor.words:
        return column, _COMPARED[sign](np.arange(factor.size), factor.words.index(value))
    try:
        number = float(value.removeprefix("#"))
    except ValueError:
        named = f", a class number such as #0 or one of {_listed(factor.words)}" if factor.words is not None else ""
        raise RegimeError(
            f"drawing.left_out is {text!r}: {value!r} is no value of {name}; expected a number"
            f"{named or ' or a class number such as #0'}"
        ) from None
    return column, _COMPARED[sign](np.arange(factor.size) if value.startswith("#") else factor.numbers, number)


def _random(grid: FactorGrid, share: str = f"{1 - TRAINED}", seed: str = "0") -> Mask:
    """Combinations of the scored factors at random, all images of one alike."""
    try:
        fraction, number = float(share), int(seed)
        if not 0 < fraction < 1 or number < 0:
            raise ValueError
    except ValueError:
        raise RegimeError(
            f"drawing.left_out is random:{share}:{seed}; expected the share left out, between 0 and 1, and a seed: random:0.7:0"
        ) from None
    key = number_rows(grid.rows(np.arange(len(grid)))[:, list(scored_factors(grid))])
    count = int(key.max()) + 1
    out = np.zeros(count, dtype=bool)
    out[np.random.default_rng(number).permutation(count)[: round(fraction * count)]] = True
    return out[key]


def _nearest(sizes: Sequence[int], least: int, share: Callable[[NDArray], float]) -> list[int]:
    """The numbers of values kept, so many per cent of each factor's, with which the share trained on comes nearest to
    `TRAINED`."""
    tried = ([min(size, max(least, round(size * percent / 100))) for size in sizes] for percent in range(1, 101))
    return min(tried, key=lambda kept: abs(share(np.array(kept) / np.array(sizes)) - TRAINED))


def _ordered(grid: FactorGrid, rule: str, cyclic: bool) -> list[int]:
    kinds = ("ordinal", "continuous", "cyclic") if cyclic else ("ordinal", "continuous")
    columns = [column for column in scored_factors(grid) if grid.kinds[column] in kinds]
    columns = [column for column in columns if grid.sizes[column] > 2] if cyclic else columns
    if not columns:
        raise RegimeError(
            f"drawing.left_out is {rule!r}, which needs a factor whose values have an order, and none of "
            f"{', '.join(grid.names)} does; take random or composition"
        )
    return columns


def _two_or_more(grid: FactorGrid, rule: str, instead: str) -> tuple[int, ...]:
    columns = scored_factors(grid)
    if len(columns) < 2:
        raise RegimeError(
            f"drawing.left_out is {rule!r}, which needs two factors that vary; this set has {len(columns)}: take {instead}"
        )
    return columns


def _extrapolation(grid: FactorGrid) -> Mask:
    """The upper end of every ordered factor: trained are rows with all of them among their lowest values."""
    columns = _ordered(grid, "extrapolation", cyclic=False)
    kept = _nearest([grid.sizes[column] for column in columns], 1, lambda shares: float(shares.prod()))
    rows = grid.rows(np.arange(len(grid)))[:, columns]
    return np.asarray((rows >= np.array(kept)).any(axis=1))


def _interpolation(grid: FactorGrid) -> Mask:
    """Values inside the range of ordered and cyclic factors: trained are evenly spaced values, both ends among them."""
    columns = _ordered(grid, "interpolation", cyclic=True)
    kept = _nearest([grid.sizes[column] for column in columns], 2, lambda shares: float(shares.prod()))
    rows = grid.rows(np.arange(len(grid)))
    out = np.zeros(len(grid), dtype=bool)
    for column, count in zip(columns, kept, strict=True):
        seen = np.isin(np.arange(grid.sizes[column]), np.round(np.linspace(0, grid.sizes[column] - 1, count)))
        out |= ~seen[rows[:, column]]
    return out


def _composition(grid: FactorGrid) -> Mask:
    """Combinations of two or more factors in their upper parts: each value is trained on with the others in their lower
    parts."""
    columns = _two_or_more(grid, "composition", "random")

    def share(parts: NDArray) -> float:
        others = [np.delete(parts, place).prod() for place in range(len(parts))]
        return float(parts.prod() + ((1 - parts) * others).sum())

    kept = _nearest([grid.sizes[column] for column in columns], 1, share)
    return (grid.rows(np.arange(len(grid)))[:, list(columns)] >= np.array(kept)).sum(axis=1) > 1


def _montero(grid: FactorGrid, rule: str) -> Mask | None:
    known = _MONTERO.get(tuple((factor.name, factor.size) for factor in grid.factors if factor.observed))
    return None if known is None else _condition(grid, known[rule])


def _element(grid: FactorGrid) -> Mask:
    """Montero's box of a known set; of others the last third of each factor's values, of categories the last one."""
    published = _montero(grid, "element")
    if published is not None:
        return published
    rows = grid.rows(np.arange(len(grid)))
    out = np.ones(len(grid), dtype=bool)
    for column in scored_factors(grid):
        size = grid.sizes[column]
        out &= rows[:, column] >= size - (1 if grid.kinds[column] == "categorical" else max(1, size // 3))
    return out


def _range(grid: FactorGrid) -> Mask:
    """Montero's range of a known set; of others the upper half of the factor of most values, for the first value of the
    factor of fewest, a categorical one if there is any."""
    published = _montero(grid, "range")
    if published is not None:
        return published
    columns = _two_or_more(grid, "range", "random or a condition")
    scored = sorted(columns, key=lambda column: (grid.kinds[column] != "categorical", grid.sizes[column]))
    few, many = scored[0], max(scored[1:], key=lambda column: grid.sizes[column])
    rows = grid.rows(np.arange(len(grid)))
    return (rows[:, few] == 0) & (rows[:, many] >= grid.sizes[many] / 2)


RULES: dict[str, Callable[..., Mask]] = {
    "random": _random,
    "composition": _composition,
    "interpolation": _interpolation,
    "extrapolation": _extrapolation,
    "element": _element,
    "range": _range,
}
"""The rules by name: which images of a grid each leaves out."""
