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
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from hackle.information.posterior import Floats, Posteriors, check_groups, generator
from hackle.information.quantised import Bounds, Quantised, Rule, bins_over, quantise
from hackle.information.sampled import Device, draw_subsets
from hackle.metrics.informativeness import informativeness
from hackle.metrics.metric import EVERY_PART, Evaluation, Metric, Row


def misjed(
    means: ArrayLike,
    logvars: ArrayLike,
    *,
    bins: int = 100,
    bounds: Bounds = (-4.0, 4.0),
    rule: Rule = "exact",
    normalised: bool = False,
    groups: Sequence[Sequence[int]] | None = None,
    correlation: float = 0.0,
    samples: int = 1,
    seed: int = 0,
    device: Device = None,
) -> Floats:
    """MISJED of every pair of codes, (c, c), symmetric, for posteriors with `means` and `logvars` (n, c).

    `bounds` is the range of the bins, or "data" for that of the posteriors; `rule` is how their masses are integrated.
    `groups`, such as [[0, 1], [2]], count as one representation each, (g, g). A group's entropy is sampled, with `samples`
    draws from each point, `seed` and the noise's `correlation`, and the logarithm of a cell's volume is subtracted (A.11).

    >>> means = [[-3.0, -3.0], [-3.0, 3.0], [3.0, -3.0], [3.0, 3.0]]
    >>> misjed(means, [[-9.0, -9.0]] * 4, bins=2).round(4)
    array([[0.6931, 0.    ],
           [0.    , 0.6931]])
    """
    points = Posteriors(means, logvars, correlation)
    cut = bins_over([points], bins, bounds, rule)
    if groups is None:
        return misjed_of_bins(quantise(points, cut), points.means, normalised=normalised)
    parts = check_groups(groups, points.codes)
    _, mixed, _ = draw_subsets(points, parts, samples=samples, seed=seed, device=device)
    sizes = np.array([float(len(part)) for part in parts])
    entropies = -mixed.mean(axis=1) - sizes * math.log(cut.width)
    cells = cut.index(points.means)
    numbers = [np.unique(cells[:, part], axis=0, return_inverse=True)[1].reshape(-1) for part in parts]
    cells = np.stack(numbers, axis=1)
    base = int(cells.max()) + 1
    joint = _joint_entropies(cells, lambda one, other: np.unique(one * base + other, return_inverse=True)[1])
    difference = entropies[:, None] + entropies - joint
    return difference / ((sizes[:, None] + sizes) * math.log(bins)) if normalised else difference


def misjed_of_bins(quantised: Quantised, means: NDArray, *, normalised: bool = False) -> Floats:
    """MISJED of every pair of codes, (c, c), of posteriors with these means (n, c) that have been cut into bins."""
    cut, entropies = quantised.bins, quantised.entropies
    difference = entropies[:, None] + entropies
    difference -= _joint_entropies(cut.index(means), lambda one, other: one * cut.count + other)
    return difference / (2 * math.log(cut.count)) if normalised else difference


def _joint_entropies(cells: NDArray[np.int64], numbered: Callable[[NDArray, NDArray], NDArray]) -> Floats:
    """The entropy of each pair of columns of cells (n, c); `numbered` gives each pair of cells a number."""
    joint = np.empty((cells.shape[1], cells.shape[1]))
    for first in range(len(joint)):
        for second in range(first + 1):
            counts = np.bincount(numbered(cells[:, first], cells[:, second]))
            joint[first, second] = joint[second, first] = entr(counts / len(cells)).sum()
    return joint


def _compute(e: Evaluation) -> dict[str, float]:
    """The mean over all pairs, normalised, and over pairs of the most informative codes (Do & Tran 2020, Table 5)."""
    if e.posteriors[0].shape[1] < 2:
        return {"misjed": 0.0}
    top, pairs = _most_informative(e), misjed_of_bins(e.quantised, e.posteriors[0])
    largest = 2 * math.log(e.protocol.posterior_bins)
    return {"misjed": mean_of_pairs(pairs) / largest, "misjed_top": mean_of_pairs(pairs[np.ix_(top, top)])}


def _whole(e: Evaluation) -> float:
    """`misjed_top` with the joint entropy of the means over every image of the plan: 10,000 points leave most of
    100 × 100 cells empty, which adds a quarter of a nat to the MISJED of two independent codes."""
    top = _most_informative(e)
    return mean_of_pairs(misjed(*(part[:, top] for part in e.everything), **e.protocol.quantisation))


def _most_informative(e: Evaluation) -> NDArray[np.intp]:
    return np.argsort(-e.quantised.information, kind="stable")[: max(2, e.protocol.top)]


_BINS, _SHARE = 50, 0.1
"""Table 5: the bins, and the share of the data set's images."""
_PAIRS = ((1, 2), (1, 3), (1, -1), (1, -2), (-1, -2), (-1, -3))
"""The columns of Table 5: codes by their rank in informativeness, those of the least informative from the end."""


def _ranked_pairs(e: Evaluation) -> dict[str, float]:
    """MISJED of pairs of the most and the least informative codes, over a tenth of the data (Do & Tran 2020, Table 5)."""
    means, logvars = e.everything
    rows = generator(e.seed, "a tenth").permutation(len(means))[: max(2, round(_SHARE * e.grid.size))]
    part = means[rows], logvars[rows]
    cut = {**e.protocol.quantisation, "bins": _BINS}
    order = np.argsort(-informativeness(*part, **cut), kind="stable")
    matrix = misjed(*part, **cut)[np.ix_(order, order)]
    places = [[rank - 1 if rank > 0 else rank for rank in pair] for pair in _PAIRS]
    return {
        f"misjed_z{first}_z{second}": float(matrix[here, there])
        for (first, second), (here, there) in zip(_PAIRS, places, strict=True)
        if len({here % len(order), there % len(order)}) == 2 and max(abs(first), abs(second)) <= len(order)
    }


def mean_of_pairs(matrix: Floats) -> float:
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
RANKED_MISJED = Metric(
    "ranked_misjed",
    _ranked_pairs,
    tuple(
        Row(
            f"misjed_z{first}_z{second}",
            f"MISJED of z{first}, z{second} (nats)",
            f"MISJED z{first}, z{second}",
            None,
            None,
        )
        for first, second in _PAIRS
    ),
    "lower",
    needs=("two codes",),
    on="posterior",
    slow=True,
    parts=EVERY_PART,
)
