"""Mutual information gap (Chen et al. 2018), as Locatello et al. 2019, appendix B, compute it on posterior means.

    MIG = (1/K) Σ_k ( I(z_{j_k}; v_k) − max_{j ≠ j_k} I(z_j; v_k) ) / H(v_k),     j_k = argmax_j I(z_j; v_k)

with mutual information estimated from counts after each code is cut into 20 equal-width bins. Departures: Chen et al.
integrate q(z|x) over the data set; this takes one code for each sample. A continuous factor is cut into 20 equal-width
bins as well (`hackle.metrics.neighbour_information` needs none). With a single code the second-best value is 0.

At most 1 in theory; 20 bins cannot resolve a factor with more than 20 values, so that factor's gap stays below
ln 20 / ln(values).
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import Kinds, TableLike, as_array
from hackle.core.progress import bar
from hackle.information.binned import table_information
from hackle.information.discrete import discrete_entropy
from hackle.information.entries import Device, Ranges
from hackle.metrics.checks import MetricError, check_bins, check_matrix, check_ranges, check_table_split
from hackle.metrics.metric import Evaluation, Metric, PerFactor, Row, per_factor


def mig_score(
    codes: TableLike,
    factors: TableLike,
    *,
    bins: int = 20,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
    device: Device = None,
    progress: bool = False,
) -> float:
    """The mutual information gap of codes (n, c) and factors (n, f), between 0 and 1.

    `codes` may be a SciPy sparse matrix or a memory-mapped array, which are read in blocks. `kinds` gives the factors'
    kinds, which are otherwise guessed; continuous factors are cut into `factor_bins` bins. `device` is where blocks are
    counted, by default the CPU; `progress` shows a bar with the time left.

    >>> grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    >>> round(mig_score(grid * 1.0, grid, bins=4), 6)
    1.0
    >>> duplicated = np.hstack([grid, grid[:, :1]]) * 1.0
    >>> round(mig_score(duplicated, grid, bins=4), 6)
    0.5
    """
    binned = binned_information(
        codes, factors, bins=bins, kinds=kinds, factor_bins=factor_bins, device=device, progress=progress
    )
    return mig_from_information(binned.information, binned.entropies)


class BinnedInformation(NamedTuple):
    """What codes cut into bins say about factors: the basis of MIG, MIG-sup, DCIMIG and modularity."""

    information: NDArray[np.float64]
    """I(z_j; v_k) in nats, (c, f); 0 for a constant code."""
    entropies: NDArray[np.float64]
    """H(v_k), (f,), of the factors with more than one value."""
    ranges: Ranges
    """The range of each code."""


class BinnedOptions(TypedDict, total=False):
    """The arguments that these scores share. See `mig_score`."""

    bins: int
    kinds: Kinds | None
    factor_bins: int
    device: Device
    progress: bool


def binned_information(
    codes: TableLike,
    factors: TableLike,
    *,
    bins: int = 20,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
    device: Device = None,
    progress: bool = False,
) -> BinnedInformation:
    """The mutual information of codes (n, c), in bins, and factors (n, f); arguments as for `mig_score`."""
    split = check_table_split(codes, factors, None, kinds, factor_bins)
    bins, classes = check_bins(bins, len(split.codes)), split.factors
    with bar(progress):
        ranges = check_ranges(split.codes, device)
        information = table_information(split.codes, ranges, classes, bins, device)
    # Bins from minimum to maximum would pick up the rounding error of a constant code.
    information[~ranges.varying] = 0.0
    return BinnedInformation(information, discrete_entropy(classes), ranges)


def mig_from_information(information: ArrayLike, entropies: ArrayLike) -> float:
    """The mean gap from mutual information (c, f) and the factors' entropies (f,) in the same unit.

    >>> round(mig_from_information([[0.6, 0.0], [0.2, 0.3]], [0.8, 1.2]), 6)
    0.375
    """
    return float(mig_per_factor(information, entropies).mean())


def mig_per_factor(information: ArrayLike, entropies: ArrayLike) -> NDArray[np.float64]:
    """Each factor's gap, (f,); arguments as for `mig_from_information`.

    >>> mig_per_factor([[0.6, 0.0], [0.2, 0.3]], [0.8, 1.2])
    array([0.5 , 0.25])
    """
    information, entropies = _checked(information, entropies)
    return top_two_gap(information) / entropies


def normalised_information(information: ArrayLike, entropies: ArrayLike) -> NDArray[np.float64]:
    """Mutual information (c, f) divided by the factors' entropies (f,), both checked."""
    information, entropies = _checked(information, entropies)
    return information / entropies


def _checked(information: ArrayLike, entropies: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    information = check_matrix(information, "mutual information values")
    entropies = as_array(entropies).astype(np.float64)
    if entropies.shape != information.shape[1:] or not (np.isfinite(entropies) & (entropies > 0)).all():
        raise MetricError(
            f"entropies are {entropies}; expected {information.shape[1]} positive numbers, one for each column of the "
            "mutual information matrix: leave out factors that have a single value"
        )
    return information, entropies


def top_two_gap(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest minus the second largest entry of each column, (f,); with a single row the second largest is 0."""
    ordered = np.sort(matrix, axis=0)
    return ordered[-1] - ordered[-2] if len(ordered) > 1 else ordered[-1]


def _compute(e: Evaluation) -> PerFactor:
    binned = e.binned_information
    gaps = mig_per_factor(binned.information, binned.entropies)
    return per_factor(e, gaps.mean(), gaps)


MIG = Metric(
    "mig",
    _compute,
    (Row("mig", "MIG", "MIG"),),
)
