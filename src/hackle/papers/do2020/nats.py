"""RMIG and JEMMIG in nats, as Figures 5, 6 and 24 of Do & Tran 2020 have them; hackle stores both divided by their largest
value, as the tables have them.

The scores of single factors are stored too. Each times its largest value, H(y_k) for RMIG and H(y_k) + ln(bins) for JEMMIG, is
the factor's score in nats, and their mean is the paper's score. Here it is divided by the mean of the largest values, a
constant, so that it ranges from 0 to 1 and bounds mean the same with and without: a factor counts by its entropy, not once. The
factors of dSprites are uniform. Figure 5's JEMMIG, from 0 to 3, is by sampling, which is less than by quantisation by −ln(bin
width) (A.11) for every model: differences and orders are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hackle.claims.conditions import Condition
from hackle.claims.measures import Measure
from hackle.claims.statistics import Floats, Units
from hackle.claims.view import Data
from hackle.papers.do2020.claims import SIZES

NATS = " in nats"
"""What the name of a score ends in that is taken in nats, as part of its largest value."""
BINS = 100
"""Of the quantised estimates, in the paper and in every protocol of hackle's but those that vary them."""
NORMALISED = "scores of which each factor was divided by its own largest value"


def in_nats(measure: Measure) -> Measure:
    """The measure, in which names of RMIG and JEMMIG that end in `NATS` are these scores in nats.

    A stratum is judged only if every run that has the scores has them of single factors as well.
    """
    wanted = [name.removesuffix(NATS) for name in measure.scores if name.endswith(NATS)]

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        for name in wanted:
            if name + NATS not in data.added:
                data.added[name + NATS] = _scored(data, name)
        for name in wanted:
            stored, own = data.scored(name), data.added[name + NATS]
            places = [data.runs.index.get_indexer(data.rows(condition, (name,)).index) for condition in conditions]
            if any((np.isfinite(stored) & ~np.isfinite(own))[part].any() for part in places):
                return None
        return measure.compute(data, conditions)

    scores = tuple(name.removesuffix(NATS) for name in measure.scores)
    return replace(measure, compute=compute, scores=scores, least="scores of single factors of every run")


def _scored(data: Data, name: str) -> Floats:
    """The score of each run in nats as part of its largest value, NaN where a factor's is missing."""
    largest = np.log(list(SIZES.values())) + (math.log(BINS) if name.endswith("jemmig") else 0.0)
    scores = data.of_factors(name).reindex(index=data.runs.index, columns=list(SIZES)).to_numpy(float)
    return scores @ (largest / largest.sum())
