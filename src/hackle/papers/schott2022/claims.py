"""Claims of Schott et al. 2022: no method generalises to values that training left out.

R² of a linear readout of the factors, fitted on codes of combinations that were trained on (`hackle.metrics.generalisation`).
Directions are the paper's, bounds ours. The method that generalises best decides, so that what is said of all is tested on all
that were trained.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, by_seed
from hackle.claims.statistics import Units, jackknife
from hackle.claims.view import Condition, Data
from hackle.core.regimes import Drawing, Pairs
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.schott2022.settings import DATASETS, METHODS

PAPER = "schott2022"
LOSS = 0.1
"""The smallest loss of R² that counts as a failure to generalise."""
SCORE = "generalisation_loss"


def _least_loss(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The R² lost by the method that loses least; jackknifed over seeds and widened, since the same seeds choose it."""
    (condition,) = conditions
    found = [data.rows({**condition, "method": method}, (SCORE,)).dropna(subset=[SCORE]) for method in METHODS]
    losses = [by_seed(rows, rows[SCORE]) for rows in found if len(rows)]
    seeds = sorted(set.intersection(*(set(part.index) for part in losses))) if losses else []
    if len(seeds) < 2:
        return None
    values = np.array([part[seeds].to_numpy() for part in losses])

    def statistic(kept: NDArray[np.intp]) -> float:
        return float(values[:, kept].mean(axis=1).min())

    return Units(jackknife(statistic, len(seeds)), len(losses), widened=len(losses) > 1)


def _strata(rule: str) -> tuple[Stratum, ...]:
    fields = {"latents": 10, "pairs": (Pairs(), ONE), "drawing": Drawing(left_out=rule)}
    return tuple(Stratum(name, ({"method": METHODS, "dataset": name, **fields},)) for name in DATASETS)


def _claim(name: str, statement: str, effect: str, region: Region, rule: str) -> Claim:
    measure = Measure(_least_loss, (SCORE,), least="two seeds")
    about = name, PAPER, "Section 5", statement, effect, region, measure, _strata(rule)
    return Claim(*about, seeds=5, runs_per_seed=len(METHODS))


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "no-extrapolation",
        "No method extrapolates: from values beyond those of training a factor is read far worse than from values within.",
        "R² on seen combinations minus R² on values beyond those of training, for the method that loses least",
        Region(low=LOSS),
        "extrapolation",
    ),
    _claim(
        "random-combinations",
        "Combinations left out at random are read as well as those seen.",
        "R² on seen combinations minus R² on left-out ones, for the method that loses least",
        Region(-LOSS / 2, LOSS / 2),
        "random",
    ),
)
