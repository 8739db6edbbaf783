"""Claims of Schott et al. 2022: no method generalises to values that training left out.

R² of a linear readout of the factors, fitted on codes of combinations that were trained on (`hackle.metrics.generalisation`).
Directions are the paper's, bounds ours. The method that fits a claim worst decides, so that what is said of all is tested on
all that were trained: of failures the one that generalises best, of successes the one that changes most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, by_seed
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Condition, Data
from hackle.core.regimes import Drawing, Pairs
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.schott2022.settings import DATASETS, METHODS

PAPER = "schott2022"
LOSS = 0.1
"""The smallest loss of R² that counts as a failure to generalise."""
SCORE = "generalisation_loss"


def least(losses: Floats) -> float:
    """The loss of the method that loses least."""
    return float(losses.min())


def farthest(losses: Floats) -> float:
    """The loss that is farthest from none."""
    return float(losses[np.abs(losses).argmax()])


def _loss(which: Callable[[Floats], float]) -> Measure:
    """The R² lost by one of the methods; jackknifed over seeds and widened, since the same seeds choose it."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        (condition,) = conditions
        found = [data.rows({**condition, "method": method}, (SCORE,)).dropna(subset=[SCORE]) for method in METHODS]
        losses = [by_seed(rows, rows[SCORE]) for rows in found if len(rows)]
        seeds = sorted(set.intersection(*(set(part.index) for part in losses))) if losses else []
        if len(seeds) < 2:
            return None
        values = np.array([part[seeds].to_numpy() for part in losses])
        numbers = jackknife(lambda kept: which(values[:, kept].mean(axis=1)), len(seeds))
        return Units(numbers, len(losses), widened=len(losses) > 1)

    return Measure(compute, (SCORE,), least="two seeds")


def _strata(rule: str) -> tuple[Stratum, ...]:
    fields = {"latents": 10, "pairs": (Pairs(), ONE), "drawing": Drawing(left_out=rule)}
    return tuple(Stratum(name, ({"method": METHODS, "dataset": name, **fields},)) for name in DATASETS)


def _claim(
    name: str, statement: str, effect: str, region: Region, rule: str, which: Callable[[Floats], float]
) -> Claim:
    about = name, PAPER, "Section 5", statement, effect, region, _loss(which), _strata(rule)
    return Claim(*about, seeds=5, runs_per_seed=len(METHODS))


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "no-extrapolation",
        "No method extrapolates: from values beyond those of training a factor is read far worse than from values within.",
        "R² on seen combinations minus R² on values beyond those of training, for the method that loses least",
        Region(low=LOSS),
        "extrapolation",
        least,
    ),
    _claim(
        "random-combinations",
        "Combinations left out at random are read as well as those seen.",
        "R² on seen combinations minus R² on left-out ones, for the method of which it is farthest from 0",
        Region(-LOSS / 2, LOSS / 2),
        "random",
        farthest,
    ),
)
