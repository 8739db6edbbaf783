"""The mutual information gap of continuous factors without bins: mutual information by nearest neighbours.

    gap = (1/K) Σ_k ( I(z_{j_k}; v_k) − max_{j ≠ j_k} I(z_j; v_k) ),      j_k = argmax_j I(z_j; v_k)

over the K continuous factors, with I as in `hackle.information.nearest_neighbours`. In nats it grows with the precision
of a code up to ψ(n) − ψ(k + 1) for n rows. MIG divides by the entropy of the factor, but the differential entropy of a
real number does not bound what a code can say about it; instead the bounded score takes the gap of

    R² = 1 − exp(−2 I),

the square of Linfoot's (1957) informational correlation. For Gaussian variables this is the squared correlation, so the
score is SAP for dependences of any form. Constant codes have no information; with a single code the second-best value
is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hackle.core.columns import Kinds, TableLike
from hackle.information.nearest_neighbours import neighbour_information
from hackle.metrics.checks import MetricError, check_split
from hackle.metrics.metric import Evaluation, Metric, Row
from hackle.metrics.mig import top_two_gap


def neighbour_matrix(
    codes: TableLike, factors: TableLike, *, kinds: Kinds | None = None, neighbours: int = 3
) -> NDArray[np.float64]:
    """I(code; factor) in nats, (c, f), of codes (n, c) and the continuous ones among the factors (n, f)."""
    split = check_split(codes, factors, None, kinds)
    if not split.continuous.any():
        raise MetricError(
            'no factor is continuous; say which are, such as kinds={"x": "continuous"}, or take mig_score'
        )
    if not 1 <= neighbours < len(split.codes):
        raise MetricError(f"neighbours is {neighbours}; expected 1 or more, fewer than the {len(split.codes)} rows")
    return neighbour_information(split.codes, split.numbers[:, split.continuous], neighbours=neighbours)


def neighbour_gap_score(
    codes: TableLike, factors: TableLike, *, kinds: Kinds | None = None, neighbours: int = 3, nats: bool = False
) -> float:
    """The mean gap in R², 0 to 1, between the two codes most informative about each continuous factor.

    `codes` (n, c), `factors` (n, f). `nats` gives the gap in mutual information itself. `kinds` gives the factors'
    kinds, which are otherwise guessed.

    >>> x = np.random.default_rng(0).random((1000, 2))
    >>> round(neighbour_gap_score(np.cos(3 * x), x), 2)
    0.96
    """
    return _gap(neighbour_matrix(codes, factors, kinds=kinds, neighbours=neighbours), nats)


def _gap(information: NDArray[np.float64], nats: bool) -> float:
    return float(top_two_gap(information if nats else -np.expm1(-2 * information)).mean())


def _compute(e: Evaluation) -> dict[str, float]:
    information = neighbour_matrix(e.codes, e.values, kinds=e.kinds)
    return {"neighbour_gap": _gap(information, nats=False), "neighbour_mig": _gap(information, nats=True)}


NEIGHBOURS = Metric(
    "neighbour_gap",
    _compute,
    (
        Row("neighbour_gap", "gap of 1 − exp(−2I) by nearest neighbours", "R² gap, neighbours"),
        Row("neighbour_mig", "MIG by nearest neighbours (nats)", "MIG, neighbours", 0.0, None),
    ),
    needs=("a continuous factor",),
    continuous="values",
)
