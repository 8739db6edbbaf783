"""Mean correlation coefficient (Hyvärinen & Morioka 2016; Khemakhem et al. 2020): every factor has a code of its own.

    A_jk = |corr(z_j, v_k)|,      MCC = (1/f) Σ_k A_{π(k) k},      π the one-to-one matching with the largest sum

with Pearson's correlation, or Spearman's (ties share their average rank), as Klindt et al. 2021 report. Theorems on
identifiability speak of this score: at 1 the codes are the factors up to order, sign and scale or, with Spearman, up to
order and monotone functions. Rotations are not forgiven: two independent factors turned by 45° score 1/√2.

Where there are fewer codes than factors, a factor without a code counts 0, so that models of different sizes can be
compared. A constant code correlates with nothing. The numbers of a categorical factor with more than two values have no
order to correlate with; such factors are left out, with a warning. A cyclic factor is taken as its numbers, as usual.

Chance is above 0: in n rows of noise the best of c codes correlates with a factor by about √(2 ln c / n).
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from hackle.core.code_table import partition
from hackle.core.columns import Kinds, TableLike
from hackle.core.factors import scored_factors
from hackle.core.progress import bar, following
from hackle.information.entries import Device, Entries, Scale, correlations, ranked
from hackle.metrics.checks import (
    MetricError,
    check_choice,
    check_matrix,
    check_ranges,
    check_table_split,
    standardise,
)
from hackle.metrics.metric import Evaluation, Metric, Row

_CORRELATIONS = ("pearson", "spearman")


class CategoricalFactorsWarning(UserWarning):
    """Categorical factors that are left out because they have no correlation."""

    code = "categorical"


def mcc_score(
    codes: TableLike,
    factors: TableLike,
    *,
    correlation: str = "pearson",
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> float:
    """The mean |correlation|, 0 to 1, of the factors (n, f) with codes (n, c) matched to them one to one.

    `codes` may be a SciPy sparse matrix or a memory-mapped array, which are read in blocks. `correlation` is "pearson" or
    "spearman". `kinds` gives the factors' kinds, which are otherwise guessed; categorical ones with more than two values
    are left out. `device` is where blocks are worked on, by default the CPU; `progress` shows a bar with the time left. To
    compare two models, give the second one's codes as factors, with kinds="continuous".

    >>> grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    >>> round(mcc_score(-3.0 * grid[:, ::-1], grid), 6)
    1.0
    >>> round(mcc_score(grid @ [[1.0, 1.0], [1.0, -1.0]], grid), 4)
    0.7071
    """
    matrix = mcc_matrix(codes, factors, correlation=correlation, kinds=kinds, device=device, progress=progress)
    return mcc_from_correlations(matrix)


def mcc_from_correlations(correlations: ArrayLike) -> float:
    """The score of a matrix (c, f) of absolute correlations.

    >>> mcc_from_correlations([[0.9, 0.8], [0.7, 0.0]])
    0.75
    """
    matrix = check_matrix(correlations, "absolute correlations")
    return float(matrix[linear_sum_assignment(matrix, maximize=True)].sum() / matrix.shape[1])


def mcc_matrix(
    codes: TableLike,
    factors: TableLike,
    *,
    correlation: str = "pearson",
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> NDArray[np.float64]:
    """A_jk, (c, f'), of all codes and the factors that vary and are not left out; arguments as for `mcc_score`."""
    check_choice(correlation, _CORRELATIONS, "correlation")
    split = check_table_split(codes, factors, None, kinds)
    ordered = np.array([k != "categorical" for k in split.kinds]) | (split.factors.max(axis=0) == 1)
    lacking = ", ".join(name for name, kept in zip(split.names, ordered, strict=True) if not kept)
    if not ordered.any():
        raise MetricError(
            f"every factor ({lacking}) is categorical with more than two values, whose numbers have no order to correlate "
            'with; where they have one, say so: kinds="ordinal"'
        )
    if lacking:
        words = f"categorical factors of more than two values have no correlation and are left out: {lacking}"
        warnings.warn(words, CategoricalFactorsWarning, stacklevel=2)
    numbers = split.numbers[:, ordered]
    numbers = rankdata(numbers, axis=0) if correlation == "spearman" else numbers
    scaled = torch.from_numpy(np.ascontiguousarray(standardise(numbers, numbers)[0].T)).to(device)
    matrix = np.zeros((split.codes.shape[1], len(scaled)))
    with bar(progress):
        kept = check_ranges(split.codes, device).varying
        for part in following(partition(split.codes), "correlations"):
            entries = Entries(split.codes.block(*part), device)
            entries = ranked(entries) if correlation == "spearman" else entries
            values = Scale.of(entries).apply(entries)
            matrix[slice(*part)] = (
                torch.stack([correlations(entries, *values, one) for one in scaled], dim=1).cpu().numpy()
            )
    return np.where(kept[:, None], np.minimum(np.abs(matrix), 1.0), 0.0)


def _compute(e: Evaluation) -> dict[str, float]:
    names = [e.grid.names[column] for column in scored_factors(e.grid)]
    factors = dict(zip(names, e.values.T, strict=True))
    pearson, spearman = (
        mcc_score(e.codes, factors, correlation=one, kinds=e.kinds, device=e.place) for one in _CORRELATIONS
    )
    return {"mcc": pearson, "mcc_spearman": spearman}


MCC = Metric(
    "mcc",
    _compute,
    (Row("mcc", "MCC", "MCC"), Row("mcc_spearman", "MCC by ranks", "MCC ranks")),
    needs=("an ordered factor",),
    continuous="values",
)
