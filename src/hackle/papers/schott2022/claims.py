"""Claims of Schott et al. 2022: no method generalises to values that training left out.

R² of a linear readout of the factors, fitted on codes of combinations that were trained on (`hackle.metrics.generalisation`).
Directions are the paper's, bounds ours. The method that fits a claim worst decides, so that what is said of all is tested on
all that were trained: of failures the one whose failure is least certain, of successes the one that changes most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hackle.claims.claim import Claim
from hackle.claims.forms import Strata, above, claims_of, runs, within
from hackle.claims.measures import Measure, by_seed, least_certain
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Condition, Data
from hackle.core.regimes import Drawing, Pairs
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.schott2022.settings import DATASETS, METHODS

PAPER = "schott2022"
LOSS = 0.1
"""The smallest loss of R² that counts as a failure to generalise."""
SCORE = "generalisation_loss"


def beyond(losses: Floats) -> Units:
    """Of losses (seeds, methods), those of the method whose loss is least certain to be above `LOSS`: if it is, all are. That
    it is not is chosen by the same seeds that judge it, and widened."""
    values = least_certain(losses - LOSS) + LOSS
    return Units(values, losses.shape[1], widened=losses.shape[1] > 1 and values.mean() < LOSS)


def farthest(losses: Floats) -> Units:
    """The mean loss of the method of which it is farthest from 0; jackknifed over seeds and widened, since these choose it."""

    def statistic(kept: NDArray[np.intp]) -> float:
        means = losses[kept].mean(axis=0)
        return float(means[np.abs(means).argmax()])

    return Units(jackknife(statistic, len(losses)), losses.shape[1], widened=losses.shape[1] > 1)


def _loss(which: Callable[[Floats], Units]) -> Measure:
    """The R² lost by one of the methods."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        (condition,) = conditions
        by_method = [data.rows({**condition, "method": method}, (SCORE,)).dropna(subset=[SCORE]) for method in METHODS]
        losses = [by_seed(rows, rows[SCORE]) for rows in by_method if len(rows)]
        seeds = sorted(set.intersection(*(set(part.index) for part in losses))) if losses else []
        return which(np.stack([part[seeds].to_numpy() for part in losses], axis=1)) if len(seeds) > 1 else None

    return Measure(compute, (SCORE,), least="two seeds")


def _without(rule: str) -> Strata:
    return {name: runs(METHODS, name, pairs=(Pairs(), ONE), drawing=Drawing(left_out=rule)) for name in DATASETS}


claim = claims_of(PAPER, seeds=5, runs_per_seed=len(METHODS))

CLAIMS: tuple[Claim, ...] = (
    claim(
        "no-extrapolation",
        "Section 5",
        "No method extrapolates: from values beyond those of training a factor is read far worse than from values within.",
        "R² on seen combinations minus R² on values beyond those of training, for the method of which it is least certain",
        above(LOSS, _loss(beyond), mean=_without("extrapolation")),
    ),
    claim(
        "random-combinations",
        "Section 5",
        "Combinations left out at random are read as well as those seen.",
        "R² on seen combinations minus R² on left-out ones, for the method of which it is farthest from 0",
        within(-LOSS / 2, LOSS / 2, _loss(farthest), mean=_without("random")),
    ),
)
