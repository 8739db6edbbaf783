"""MIG-sup, the mutual information gap seen from the codes (Li et al. 2020), as Carbonneau et al. 2022 review it.

    MIG-sup = (1/C) Σ_j ( I(z_j; v_{k_j}) / H(v_{k_j})  −  max_{k ≠ k_j} I(z_j; v_k) / H(v_k) )

with k_j the factor of which code j, cut into 20 equal-width bins, holds the largest share. MIG asks whether a factor is in one
code; this asks whether a code is about one factor. The authors average over "meaningful" codes and give no rule for
them: here it is all C codes, of which dead ones count 0, or the active ones (`hackle.metrics.infomec.active_codes`). With a
single factor the second-largest share is 0.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import TableLike
from hackle.metrics.infomec import active_codes
from hackle.metrics.metric import Evaluation, Metric, Row
from hackle.metrics.mig import BinnedOptions, binned_information, normalised_information, top_two_gap


def mig_sup_score(
    codes: TableLike, factors: TableLike, *, active: bool = False, **options: Unpack[BinnedOptions]
) -> float:
    """MIG-sup of codes (n, c) and factors (n, f), between 0 and 1; with `active` the mean is over active codes alone.

    The other arguments are those of `mig_score`.

    >>> grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    >>> round(mig_sup_score(grid * 1.0, grid, bins=4), 6)
    1.0
    """
    binned = binned_information(codes, factors, **options)
    return _mean(
        mig_sup_per_code(binned.information, binned.entropies), active_codes(binned.ranges) if active else None
    )


def mig_sup_from_information(information: ArrayLike, entropies: ArrayLike, *, active: bool = False) -> float:
    """The mean gap from mutual information (c, f) and the factors' entropies (f,); `active` leaves out rows of zeros.

    >>> shares = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    >>> round(mig_sup_from_information(shares, [1, 1]), 4), mig_sup_from_information(shares, [1, 1], active=True)
    (0.6667, 1.0)
    """
    gaps, informed = mig_sup_per_code(information, entropies), np.asarray(information) > 0
    return _mean(gaps, informed.max(axis=1) if active else None)


def mig_sup_per_code(information: ArrayLike, entropies: ArrayLike) -> NDArray[np.float64]:
    """Each code's gap, (c,); arguments as for `mig_sup_from_information`.

    >>> mig_sup_per_code([[0.6, 0.3], [0.0, 0.4]], [1.0, 1.0]).round(4)
    array([0.3, 0.4])
    """
    return top_two_gap(normalised_information(information, entropies).T)


def _mean(gaps: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> float:
    """The mean over all codes or those kept; 0 if none is."""
    gaps = gaps if kept is None else gaps[kept]
    return float(gaps.mean()) if len(gaps) else 0.0


def _compute(e: Evaluation) -> dict[str, float]:
    binned = e.binned_information
    gaps = mig_sup_per_code(binned.information, binned.entropies)
    kept = active_codes(binned.ranges, np.asarray(e.discrete))
    return {"mig_sup": _mean(gaps, None), "mig_sup_active": _mean(gaps, kept)}


MIG_SUP = Metric(
    "mig_sup",
    _compute,
    (
        Row("mig_sup", "MIG-sup", "MIG-sup"),
        Row("mig_sup_active", "MIG-sup of active codes", "MIG-sup, active"),
    ),
)
