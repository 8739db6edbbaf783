"""Which latents of several models say the same: matched by their information about the factors.

The first model is the guide. Each other model's latents are assigned to its latents, each at most once, so that the sum over
pairs of Σ_k |I(z_i; y_k) − I(z'_j; y_k)| / H(y_k) is least, which the Hungarian method finds (Kuhn 1955).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from hackle.explorer.workbench import Bench

Match = list[int | None]
"""A latent of each model, None where the model has none left."""
_NEVER = 1e9
"""The cost of a pair of which one is a class number and the other is not."""


def matched_latents(informations: Sequence[ArrayLike], classes: Sequence[Sequence[bool]] | None = None) -> list[Match]:
    """The latents of models as rows of matched ones, in the order of the first model's; at the end those of others that are
    left, each alone.

    informations: of each model the share of each factor's entropy that each latent has, (l, f), with the same factors.
    classes: of each model which latents are class numbers; these are matched with one another alone.

    >>> matched_latents([[[1, 0], [0, 1]], [[0, 0.9], [0.8, 0], [0, 0]]])
    [[0, 1], [1, 0], [None, 2]]
    """
    tables = [np.asarray(information, np.float64) for information in informations]
    kinds = (
        [np.zeros(len(table), bool) for table in tables] if classes is None else [np.asarray(one) for one in classes]
    )
    rows: list[Match] = [[latent] + [None] * (len(tables) - 1) for latent in range(len(tables[0]))]
    for model, table in enumerate(tables[1:], 1):
        cost = np.abs(tables[0][:, None] - table[None]).sum(axis=2)
        cost[kinds[0][:, None] != kinds[model][None]] = _NEVER
        pairs = [(a, b) for a, b in zip(*linear_sum_assignment(cost), strict=True) if cost[a, b] < _NEVER]
        for guide, latent in pairs:
            rows[guide][model] = int(latent)
        left = sorted(set(range(len(table))) - {int(latent) for _, latent in pairs})
        rows += [[latent if at == model else None for at in range(len(tables))] for latent in left]
    return rows


def direction(codes: NDArray[Any], others: NDArray[Any]) -> int:
    """−1 if two latents' codes of the same images run against each other, else 1.

    >>> direction(np.array([0, 1, 2]), np.array([3, 2, 0])), direction(np.array([0, 1]), np.array([5, 5]))
    (-1, 1)
    """
    one, other = (np.asarray(values, np.float64) - np.mean(values) for values in (codes, others))
    return -1 if float(one @ other) < 0 else 1


def match_benches(benches: Sequence[Bench]) -> dict[str, Any]:
    """Rows of matched latents, each as {latent, sign} or None, and by what they are matched: their information about
    factors, or their use where the models' data sets do not have the same factors."""
    known = all(bench.has_factors for bench in benches)
    captured = [bench.captured for bench in benches] if known else []
    if captured and len({each.factors for each in captured}) == 1:
        shares = [each.posterior_information / each.entropies for each in captured]
        classes = [[axis.prior == "categorical" for axis in bench.axes] for bench in benches]
        rows, by = matched_latents(shares, classes), "information"
    else:
        orders = [bench.look.order.tolist() if bench.dataset else list(range(len(bench.axes))) for bench in benches]
        most = max(map(len, orders))
        rows = [[order[at] if at < len(order) else None for order in orders] for at in range(most)]
        by = "use"
    same = by == "information" and all(np.array_equal(bench.look.rows, benches[0].look.rows) for bench in benches[1:])

    def sign(row: Match, model: int) -> int:
        guide, latent = row[0], row[model]
        if not same or guide is None or latent is None or benches[model].axes[latent].prior == "categorical":
            return 1
        return direction(benches[0].look.means[:, guide], benches[model].look.means[:, latent])

    matched = [
        [None if latent is None else {"latent": latent, "sign": sign(row, at)} for at, latent in enumerate(row)]
        for row in rows
    ]
    return {"rows": matched, "by": by}
