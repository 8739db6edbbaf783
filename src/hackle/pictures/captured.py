"""What a model captured: what each code says about each factor, and how codes respond when one factor moves.

Four matrices. The mutual information of codes and factors, counted after cutting posterior means into bins, underlies
MIG (Chen et al. 2018); over whole posteriors it underlies RMIG (Do & Tran 2020, section 3.3). The importance of codes
for predicting factors underlies DCI (Eastwood & Williams 2018). MISJED shows which pairs of codes share information or
have none (Do & Tran 2020, Eq. 7). Categorical codes are counted as they are; MISJED leaves them out. A continuous
factor is cut into the grid's bins, except for importance.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.types import Dataset
from hackle.information import OutOfRangeWarning, bin_codes, discrete_entropy, discrete_mutual_information
from hackle.metrics import dci_importance, factor_information, informativeness, misjed
from hackle.pictures.look import Look, PictureError, axes_of
from hackle.pictures.sentence import in_a_sentence
from hackle.train.model import Model

Floats = NDArray[np.float64]
BINS = 20
"""Bins of a code's means, as in MIG."""


def _factors(look: Look, grid: FactorGrid) -> list[int]:
    """The columns of the factors that vary among a look's images."""
    kept = [column for column in scored_factors(grid) if len(np.unique(look.rows[:, column])) > 1]
    if not kept:
        raise PictureError("no factor of this data set is known and varies: there is nothing to compare codes with")
    return kept


@dataclass(frozen=True)
class Captured:
    """Mutual information with the factors in nats: `information` (c, f) of means, `posterior_information` (c, f) of
    posteriors; the factors' `entropies` (f,); `informativeness` (c,) of each code about the image; `misjed` (c, c), NaN
    for categorical codes. `chance` (f,) is what counting gives for uninformative means: the average over codes with the
    factors permuted among the images; `posterior_chance` (c, f) is the same of each code's posterior."""

    factors: tuple[str, ...]
    information: Floats
    posterior_information: Floats
    entropies: Floats
    informativeness: Floats
    misjed: Floats
    chance: Floats
    posterior_chance: Floats

    @classmethod
    def of(cls, look: Look, grid: FactorGrid) -> Captured:
        """From the codes of a look's images; `grid` is the data set's."""
        kept = _factors(look, grid)
        names, factors = tuple(grid.names[column] for column in kept), grid.classes(look.rows)[:, kept]
        codes = look.means.shape[1]
        binned, anew = bin_codes(look.means, BINS), np.random.default_rng(0).permutation(len(factors))
        counted, permuted = (discrete_mutual_information(binned, rows) for rows in (factors, factors[anew]))
        chance = permuted.mean(axis=0)
        classes = np.setdiff1d(np.arange(codes), look.continuous)
        if len(classes):
            counted[classes] = discrete_mutual_information(look.means[:, classes], factors)
            permuted[classes] = discrete_mutual_information(look.means[:, classes], factors[anew])
        posterior, pairs = counted.copy(), np.full((codes, codes), np.nan)
        if len(look.continuous):
            means, logvars = look.means[:, look.continuous], look.logvars[:, look.continuous]
            with warnings.catch_warnings():
                # Codes beyond the bins are counted in the outermost ones, which is accurate enough for a picture.
                warnings.simplefilter("ignore", OutOfRangeWarning)
                for table, rows in ((posterior, factors), (permuted, factors[anew])):
                    table[look.continuous] = factor_information(means, logvars, rows, kinds="categorical").information
                pairs[np.ix_(look.continuous, look.continuous)] = misjed(means, logvars, normalised=True)
        entropies = discrete_entropy(factors)
        return cls(names, counted, posterior, entropies, informativeness_of(look), pairs, chance, permuted)

    @property
    def ranking(self) -> NDArray[np.int64]:
        """Codes by their information on each factor, highest first, (c, f)."""
        return np.argsort(-self.posterior_information, axis=0, kind="stable")

    def main_factor(self, code: int, least: float = 0.1) -> str:
        """The factor of which a code captures the largest fraction, with that fraction; empty if it is below `least`.

        The fraction is the mutual information of the code's posterior and the factor, divided by the factor's entropy.
        """
        part = self.posterior_information[code] / self.entropies
        best = int(np.argmax(part))
        return f"{self.factors[best]} {100 * min(1.0, part[best]):.0f}%" if part[best] >= least else ""

    def sentence(self, used: NDArray[np.bool_], images: int) -> str:
        """What the posteriors say about the factors, in words: see `hackle.pictures.sentence`."""
        return in_a_sentence(
            self.factors,
            self.posterior_information,
            self.entropies,
            chance=self.posterior_chance,
            used=used,
            images=images,
        )


def informativeness_of(look: Look) -> Floats:
    """I(z_i; x) of each code, (c,): from quantised posteriors, or the entropy of the classes assigned to images."""
    information = np.zeros(look.means.shape[1])
    for code, axis in enumerate(look.axes):
        if axis.prior == "categorical":
            information[code] = discrete_entropy(look.means[:, [code]])[0]
    if len(look.continuous):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfRangeWarning)
            information[look.continuous] = informativeness(
                look.means[:, look.continuous], look.logvars[:, look.continuous]
            )
    return information


def importance(look: Look, grid: FactorGrid, predictor: str = "gbt") -> Floats:
    """DCI's importance matrix (c, f), each column summing to 1; codes that do not vary have importance 0."""
    return np.stack([importance_for(look, grid, column, predictor) for column in range(len(_factors(look, grid)))], 1)


def importance_for(look: Look, grid: FactorGrid, factor: int, predictor: str = "gbt") -> Floats:
    """One column of that matrix, (c,): columns do not depend on each other."""
    column = _factors(look, grid)[factor]
    numbers, kinds = grid.values(look.rows)[:, [column]], [grid.kinds[column]]
    varying, importance = np.ptp(look.means, axis=0) > 0, np.zeros(look.means.shape[1])
    if varying.any():
        importance[varying] = dci_importance(look.means[:, varying], numbers, predictor=predictor, kinds=kinds).matrix[
            :, 0
        ]
    return importance / importance.sum() if importance.sum() > 0 else importance


@dataclass(frozen=True)
class Response:
    """What codes do when one factor moves: its values (n,), an image of each, and the codes' means and deviations (n, c).

    Values are real numbers for a continuous factor and class numbers for others. held: the other factors stay fixed;
    if not, no two images differ in this factor alone, and the codes are averages over some images of each value or bin.
    shares: of each code that is a class number, the share of images in every class, (n, classes), by code.
    """

    factor: str
    values: NDArray[np.int64] | Floats
    images: NDArray[np.uint8]
    means: NDArray[np.float32]
    deviations: NDArray[np.float32]
    held: bool = True
    shares: dict[int, Floats] = field(default_factory=dict)


_OF_EACH = 16
"""Images per value or bin if the other factors cannot be held."""


def response(model: Model, dataset: Dataset, row: NDArray[np.int64], column: int, *, most: int = 64) -> Response:
    """Move one factor through its values, at most `most` of them, evenly spaced, and hold the others at `row`. An incomplete
    grid offers only the values that occur together with the others; if there is just one, the codes are averaged over
    some images of each value, or of each bin of a continuous factor."""
    grid = dataset.factors
    row = grid.check(np.asarray(row)[None])[0]
    if grid.complete:
        values = np.arange(grid.sizes[column])
    else:
        every = grid.rows(np.arange(grid.size))
        others = np.arange(len(row)) != column
        values = np.unique(every[(every[:, others] == row[others]).all(axis=1), column])
        if len(values) < 2 and column in grid.varying:
            return _across(model, dataset, every, column, most)
    values = _spaced(values, most)
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, column] = values
    images = dataset.render(rows)
    means, logvars = model.encode(images)
    shown, shares = _shown(grid, values, column), _shares(model, means[:, None])
    return Response(grid.names[column], shown, images, means, np.exp(0.5 * logvars), shares=shares)


def _across(model: Model, dataset: Dataset, every: NDArray[np.int64], column: int, most: int) -> Response:
    """Codes over some images of each value or bin; the deviation combines that of the means and of the posteriors."""
    grid = dataset.factors
    classes = grid.classes(every)[:, column]
    chosen = [_spaced(np.flatnonzero(classes == one), _OF_EACH) for one in _spaced(np.unique(classes), most)]
    images = dataset.render(every[np.concatenate(chosen)])
    means, logvars = model.encode(images)
    cuts = np.cumsum([len(part) for part in chosen])
    parts = list(zip(np.split(means, cuts[:-1]), np.split(logvars, cuts[:-1]), strict=True))
    values = np.array([_shown(grid, every[part, column], column).mean() for part in chosen], dtype=np.float64)
    return Response(
        grid.names[column],
        values if grid.kinds[column] == "continuous" else values.astype(np.int64),
        images[np.concatenate([[0], cuts[:-1]])],
        np.stack([mean.mean(axis=0) for mean, _ in parts]),
        np.stack([np.sqrt(mean.var(axis=0) + np.exp(logvar).mean(axis=0)) for mean, logvar in parts]),
        held=False,
        shares=_shares(model, [mean for mean, _ in parts]),
    )


def _shares(model: Model, parts: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> dict[int, Floats]:
    return {
        code: np.stack(
            [np.bincount(part[:, code].astype(np.int64), minlength=axis.classes) / len(part) for part in parts]
        )
        for code, axis in enumerate(axes_of(model))
        if axis.prior == "categorical"
    }


def _shown(grid: FactorGrid, values: NDArray[np.int64], column: int) -> NDArray[np.int64] | Floats:
    return grid.factors[column].numbers[values] if grid.kinds[column] == "continuous" else values


def _spaced(values: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most `most` of these values, evenly spaced."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]


def nearest_row(grid: FactorGrid, row: ArrayLike) -> NDArray[np.int64]:
    """The row itself if it exists; otherwise, if a factor is continuous, the nearest existing row.

    The distance is the squared difference relative to the range for continuous factors, and 1 for others that differ.
    """
    wanted = grid.check(np.asarray(row)[None])
    if grid.complete or "continuous" not in grid.kinds:
        return grid.rows(grid.index(wanted))[0]
    every = grid.rows(np.arange(grid.size))
    distance = np.zeros(len(every))
    for column, factor in enumerate(grid.factors):
        if factor.observed and factor.kind == "continuous":
            span = np.ptp(factor.numbers) or 1.0
            distance += ((factor.numbers[every[:, column]] - factor.numbers[wanted[0, column]]) / span) ** 2
        elif factor.observed:
            distance += every[:, column] != wanted[0, column]
    return every[distance.argmin()]
