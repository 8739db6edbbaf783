"""What a model captured: what each code says about each factor, and how codes answer when one factor moves.

Four matrices. The information of codes on factors, counted after cutting posterior means in bins, is what MIG sees (Chen et
al. 2018); over whole posteriors it is what RMIG sees (Do & Tran 2020, section 3.3). The importance of codes for predicting
factors is what DCI sees (Eastwood & Williams 2018). MISJED says which pairs of codes share or lack information (Do & Tran
2020, Eq. 7). Categorical codes are counted as they are; MISJED leaves them out. A continuous factor is cut into the grid's
bins, but for its importance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.types import Dataset
from hackle.information import OutOfRangeWarning, bin_codes, discrete_entropy, discrete_mutual_information
from hackle.metrics import dci_importance, factor_information, informativeness, misjed
from hackle.pictures.look import Look, PictureError
from hackle.train.model import Model

Floats = NDArray[np.float64]
BINS = 20
"""Bins of a code's means, as MIG cuts them."""


def _factors(look: Look, grid: FactorGrid) -> list[int]:
    """The columns of the factors that vary among a look's images."""
    kept = [column for column in scored_factors(grid) if len(np.unique(look.rows[:, column])) > 1]
    if not kept:
        raise PictureError("no factor of this data set is known and varies: there is nothing to compare codes with")
    return kept


@dataclass(frozen=True)
class Captured:
    """Informations in nats: `information` (c, f) of means, `posterior_information` (c, f) of posteriors, the factors'
    `entropies` (f,), `informativeness` (c,) of each code on the image, `misjed` (c, c), NaN for categorical codes."""

    factors: tuple[str, ...]
    information: Floats
    posterior_information: Floats
    entropies: Floats
    informativeness: Floats
    misjed: Floats

    @classmethod
    def of(cls, look: Look, grid: FactorGrid) -> Captured:
        """From the codes of a look's images; `grid` is the data set's."""
        kept = _factors(look, grid)
        names, factors = tuple(grid.names[column] for column in kept), grid.classes(look.rows)[:, kept]
        codes = look.means.shape[1]
        counted = discrete_mutual_information(bin_codes(look.means, BINS), factors)
        classes = np.setdiff1d(np.arange(codes), look.continuous)
        if len(classes):
            counted[classes] = discrete_mutual_information(look.means[:, classes], factors)
        posterior, pairs = counted.copy(), np.full((codes, codes), np.nan)
        if len(look.continuous):
            means, logvars = look.means[:, look.continuous], look.logvars[:, look.continuous]
            with warnings.catch_warnings():
                # Codes beyond the bins are counted in the outermost ones: a picture bears that.
                warnings.simplefilter("ignore", OutOfRangeWarning)
                posterior[look.continuous] = factor_information(
                    means, logvars, factors, kinds="categorical"
                ).information
                pairs[np.ix_(look.continuous, look.continuous)] = misjed(means, logvars, normalised=True)
        return cls(names, counted, posterior, discrete_entropy(factors), informativeness_of(look), pairs)

    @property
    def ranking(self) -> NDArray[np.int64]:
        """Codes by their information on each factor, most first, (c, f)."""
        return np.argsort(-self.posterior_information, axis=0, kind="stable")

    def main_factor(self, code: int, least: float = 0.1) -> str:
        """The factor of which a code knows the largest part, with that part; nothing where it is below `least`.

        The part is the information of the code's posterior on the factor over the factor's entropy.
        """
        part = self.posterior_information[code] / self.entropies
        best = int(np.argmax(part))
        return f"{self.factors[best]} {100 * min(1.0, part[best]):.0f}%" if part[best] >= least else ""


def informativeness_of(look: Look) -> Floats:
    """I(z_i; x) of each code, (c,): quantised posteriors, or the entropy of the classes that images are given."""
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
    """DCI's importance matrix (c, f), each column summing to 1; codes that do not vary have none."""
    kept = _factors(look, grid)
    factors, kinds = grid.values(look.rows)[:, kept], [grid.kinds[column] for column in kept]
    varying = np.ptp(look.means, axis=0) > 0
    matrix = np.zeros((look.means.shape[1], len(kept)))
    if varying.any():
        matrix[varying] = dci_importance(look.means[:, varying], factors, predictor=predictor, kinds=kinds).matrix
    total = matrix.sum(axis=0, keepdims=True)
    return np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)


@dataclass(frozen=True)
class Response:
    """What codes do when one factor moves: its values (n,), the images, and each image's means and deviations (n, c)."""

    factor: str
    values: NDArray[np.int64]
    images: NDArray[np.uint8]
    means: NDArray[np.float32]
    deviations: NDArray[np.float32]


def response(model: Model, dataset: Dataset, row: NDArray[np.int64], column: int, *, most: int = 64) -> Response:
    """Move one factor through its values and hold the others at `row`; where there are more values than `most`, through as
    many, evenly spaced. In an incomplete grid, through the values that exist beside the others."""
    grid = dataset.factors
    row = grid.check(np.asarray(row)[None])[0]
    if grid.complete:
        values = np.arange(grid.sizes[column])
    else:
        rows = grid.rows(np.arange(grid.size))
        others = np.arange(len(row)) != column
        values = np.unique(rows[(rows[:, others] == row[others]).all(axis=1), column])
    if len(values) > most:
        values = values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, column] = values
    images = dataset.render(rows)
    means, logvars = model.encode(images)
    return Response(grid.names[column], values, images, means, np.exp(0.5 * logvars))
