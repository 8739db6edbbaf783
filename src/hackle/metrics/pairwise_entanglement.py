"""How strongly codes tie two factors together (Locatello et al. 2020, JMLR; Träuble et al. 2021).

Codes and factors are the nodes of a graph, and the entries of a matrix of importances or informations its edges. Edges are
added from the largest to the smallest. Two factors are entangled by the value of the edge that first connects them: the
largest value t for which a path of entries of at least t leads from one to the other. Where every code is about one
factor alone, nothing but zeros connects two factors.

Departure: Locatello et al.'s library records the rank of that edge, which depends on the number of codes; the value does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.metrics.checks import MetricError, check_codes


def pairwise_entanglement(matrix: ArrayLike) -> NDArray[np.float64]:
    """The value at which each two factors merge, (f, f), from a matrix (c, f) of non-negative entries; NaN on the diagonal.

    The matrix may be mutual information, divided by the factors' entropies so that factors are comparable, or
    `dci_importance`.

    >>> pairwise_entanglement([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0]]).round(1).tolist()
    [[nan, 0.4, 0.0], [0.4, nan, 0.0], [0.0, 0.0, nan]]
    """
    table = check_codes(matrix, "matrix", "c f")
    if (table < 0).any():
        raise MetricError("the matrix has negative entries; expected importances or informations of 0 or more")
    codes, factors = table.shape
    # Each node's component, factors first. A factor's component grows as edges are added in descending order.
    component = np.arange(factors + codes)
    entanglement = np.full((factors, factors), np.nan)
    for edge in np.argsort(-table, axis=None, kind="stable"):
        code, factor = divmod(int(edge), factors)
        one, other = component[factors + code], component[factor]
        if one != other:
            left, right = (np.flatnonzero(component[:factors] == part) for part in (one, other))
            entanglement[np.ix_(left, right)] = entanglement[np.ix_(right, left)] = table[code, factor]
            component[component == one] = other
    return entanglement


def excess_entanglement(matrix: ArrayLike, first: int, second: int) -> float:
    """The entanglement of two factors minus the median of that of all other pairs of factors.

    >>> excess_entanglement([[0.6, 0.4, 0.0], [0.0, 0.0, 1.0]], 0, 1)
    0.4
    """
    values = pairwise_entanglement(matrix)
    upper = np.triu(np.ones_like(values, dtype=bool), 1)
    pair = (min(first, second), max(first, second))
    if first == second or not 0 <= pair[0] < pair[1] < len(values) or len(values) < 3:
        raise MetricError(
            f"factors {first} and {second} of {len(values)}; expected two different ones of three or more"
        )
    upper[pair] = False
    return float(values[pair] - np.median(values[upper]))
