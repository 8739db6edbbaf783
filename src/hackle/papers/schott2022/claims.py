"""Claims of Schott et al. 2022: no method generalises to values that training left out.

Of the paper's methods β-VAE and Ada-GVAE are compared. R² of a linear readout of the factors, fitted on codes of combinations
that were trained on (`hackle.metrics.generalisation`). Directions are the paper's, bounds ours. The method that fits a claim
worst decides, so that what is said of all is tested on both: of failures the one whose failure is least certain, of successes
the one whose success is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import Strata, above, claims_of, runs, within
from hackle.claims.measures import Measure, balanced
from hackle.claims.statistics import Floats, Units, mean_of
from hackle.claims.view import Data
from hackle.core.regimes import Drawing, Pairs
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.schott2022.settings import DATASETS, METHODS

PAPER = "schott2022"
LOSS = 0.1
"""The smallest loss of R² that counts as a failure to generalise."""
SCORE = "generalisation_loss"


def above_loss(losses: Floats) -> Floats:
    """How far each loss lies above `LOSS`."""
    return losses - LOSS


def inside_gain(losses: Floats) -> Floats:
    """How far each loss lies inside ±`LOSS`/2, on the side of their mean."""
    return LOSS / 2 - losses * np.sign(losses.mean())


def weakest(losses: Sequence[Floats], margin: Callable[[Floats], Floats]) -> Units:
    """Of the methods' losses, each of its own seeds, those of the method whose margin is least certain to be positive: if it
    is, all are (an intersection–union test). That it is not is chosen by the same seeds that judge it, and widened."""
    margins = [mean_of([Units(margin(part), 1)]) for part in losses]
    place = int(np.argmax([one.chance_above(0.0) for one in margins]))
    runs = sum(map(len, losses)) / len(losses[place])
    return Units(losses[place], runs, widened=len(losses) > 1 and margins[place].effect < 0)


def _loss(margin: Callable[[Floats], Floats]) -> Measure:
    """The R² lost by one of the methods, of which each must have been trained."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        (condition,) = conditions
        by_method = [data.rows({**condition, "method": method}, (SCORE,)).dropna(subset=[SCORE]) for method in METHODS]
        losses = [balanced(rows, rows[SCORE]).mean(axis=1).to_numpy() for rows in by_method]
        return weakest(losses, margin) if min(map(len, losses)) > 1 else None

    return Measure(compute, (SCORE,), least="two seeds of each method")


def _without(rule: str) -> Strata:
    return {name: runs(METHODS, name, pairs=(Pairs(), ONE), drawing=Drawing(left_out=rule)) for name in DATASETS}


claim = claims_of(PAPER, seeds=5, runs_per_seed=len(METHODS))

CLAIMS: tuple[Claim, ...] = (
    claim(
        "no-extrapolation",
        "Section 5",
        "Neither β-VAE nor Ada-GVAE extrapolates: from values beyond those of training a factor is read far worse than from "
        "values within.",
        "R² on seen combinations minus R² on values beyond those of training, for the method of which it is least certain",
        above(LOSS, _loss(above_loss), mean=_without("extrapolation")),
    ),
    claim(
        "random-combinations",
        "Section 5",
        "Combinations left out at random are read as well as those seen.",
        "R² on seen combinations minus R² on left-out ones, for the method of which it is least certain to be small",
        within(-LOSS / 2, LOSS / 2, _loss(inside_gain), mean=_without("random")),
    ),
)
