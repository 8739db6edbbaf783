"""MISJED, mutual information sums joint entropy difference (Do & Tran 2020, Eq. 7).

    MISJED(z_i, z_j) = H(z_i) + H(z_j) − H(z̄_i, z̄_j)

with z ~ q(z|x) and z̄ its mean, all quantised. Unlike I(z_i; z_j), which is lowest for two codes of pure noise, it is
small for a pair that is independent and informative, larger when one is noise and largest when both are. Lower is
better; at most 2 ln(bins), by which `normalised` divides.

Departure: none in the formula. The joint entropy of the means is estimated from n points, which cannot fill bins²
cells: it is at most ln n and low by about (occupied cells)/2n, which raises MISJED by as much. Compare only at the same
n and bins. The diagonal follows the formula with i = j: 2 H(z_i) − H(z̄_i).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from hackle.information.posterior import Floats, Posteriors
from hackle.information.quantised import Bins, quantise
from hackle.metrics.informativeness import informativeness
from hackle.metrics.metric import EVERY_PART, Evaluation, Metric, Row


def misjed(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    bins: int = 100,
    bounds: tuple[float, float] = (-4.0, 4.0),
    normalised: bool = False,
) -> Floats:
    """MISJED of every pair of codes, (c, c), symmetric, for posteriors with `means` and `logvars` (n, c).

    >>> means = [[-3.0, -3.0], [-3.0, 3.0], [3.0, -3.0], [3.0, 3.0]]
    >>> misjed(means, [[-9.0, -9.0]] * 4, bins=2).round(4)
    array([[0.6931, 0.    ],
           [0.    , 0.6931]])
    """
    points, cut = Posteriors(means, logvars), Bins(bins, bounds)
    entropies = quantise(points, cut).entropies
    cells = cut.index(points.means)
    joint = np.empty((points.codes, points.codes))
    for first in range(points.codes):
        for second in range(first + 1):
            counts = np.bincount(cells[:, first] * cut.count + cells[:, second])
            joint[first, second] = joint[second, first] = entr(counts / len(points)).sum()
    difference = entropies[:, None] + entropies - joint
    return difference / (2 * math.log(bins)) if normalised else difference


def _compute(e: Evaluation) -> dict[str, float]:
    """The mean over all pairs, normalised, and over pairs of the most informative codes (Do & Tran 2020, Table 5)."""
    if e.posteriors[0].shape[1] < 2:
        return {"misjed": 0.0}
    bins, top = e.protocol.posterior_bins, _most_informative(e)
    pairs = misjed(*e.posteriors, bins=bins)
    return {"misjed": _of_pairs(pairs) / (2 * math.log(bins)), "misjed_top": _of_pairs(pairs[np.ix_(top, top)])}


def _whole(e: Evaluation) -> float:
    """`misjed_top` with the joint entropy of the means over every image of the plan: 10,000 points leave most of
    100 × 100 cells empty, which adds a quarter of a nat to the MISJED of two independent codes."""
    top = _most_informative(e)
    return _of_pairs(misjed(*(part[:, top] for part in e.everything), bins=e.protocol.posterior_bins))


def _most_informative(e: Evaluation) -> NDArray[np.intp]:
    alone = informativeness(*e.posteriors, bins=e.protocol.posterior_bins)
    return np.argsort(-alone, kind="stable")[: max(2, e.protocol.top)]


def _of_pairs(matrix: Floats) -> float:
    """The mean over pairs of codes."""
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


MISJED = Metric(
    "misjed",
    _compute,
    (
        Row("misjed", "MISJED", "MISJED", 0.0, None),
        Row("misjed_top", "MISJED of the most informative, of the points (nats)", "MISJED, top", None, None),
    ),
    "lower",
    needs=(),
    on="posterior",
)
WHOLE_MISJED = Metric(
    "whole_misjed",
    lambda e: {"whole_misjed_top": _whole(e)},
    (Row("whole_misjed_top", "MISJED of the most informative (nats)", "MISJED", None, None),),
    "lower",
    needs=("two codes",),
    on="posterior",
    slow=True,
    parts=EVERY_PART,
)
