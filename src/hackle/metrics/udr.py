"""Unsupervised disentanglement ranking (Duan et al. 2020): models that disentangle agree on their codes, and need no labels.

Of models i and j, encoded on the same images, codes are standardised and those with a mean KL of more than 0.01 nats kept.

    R_ab    = |coefficient of code a of model i in a Lasso (α = 0.1) that predicts code b of model j|    or  |Spearman(a, b)|
    UDR_ij  = ½ [ mean over b of (max_a R_ab)² / Σ_a R_ab  +  mean over a of (max_b R_ab)² / Σ_b R_ab ]
    UDR_j   = median over the other models i of UDR_ij

As in disentanglement_lib, rows and columns of zeros count 0, and a model's score is the median over the models that predict
it. A pair of which one model keeps no code scores 0. The Lasso shrinks: models that agree perfectly, with uncorrelated
codes, score 1 − α = 0.9; by Spearman they score 1.

All pairs together: model i's Lassos share its Gram matrix, so coordinate descent solves for the codes of all other models at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from hackle.core.columns import TableLike
from hackle.metrics.checks import MetricError, Table, check_choice, check_codes, check_matrix, varying

Similarity = Literal["lasso", "spearman"]
_TOLERANCE, _SWEEPS = 1e-7, 10_000
"""Coordinate descent stops once no coefficient moves by more; codes are standardised, so coefficients are of order 1."""


class UDR(NamedTuple):
    """The result for m models."""

    scores: NDArray[np.float64]
    """Each model's score, (m,); NaN for a model with which no other is compared."""
    pairs: NDArray[np.float64]
    """UDR_ij, (m, m): row i predicts column j; NaN for pairs that are not compared."""
    kept: NDArray[np.int64]
    """How many codes of each model were kept, (m,). A model that keeps none scores 0."""


def udr_from_similarity(similarity: ArrayLike) -> float:
    """UDR_ij from the similarities (a, b) of the codes of two models.

    >>> udr_from_similarity([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    0.6666666666666666
    """
    matrix = check_matrix(similarity, "similarities")
    return float(_agreement(matrix[:, None], np.ones((1, matrix.shape[1]), dtype=bool))[0])


def udr_pair(
    codes_i: TableLike,
    codes_j: TableLike,
    kl_i: ArrayLike | None = None,
    kl_j: ArrayLike | None = None,
    *,
    similarity: Similarity = "lasso",
    alpha: float = 0.1,
    threshold: float = 0.01,
) -> float:
    """UDR_ij of two models' codes (n, c) of the same images; the other arguments are those of `udr_scores`.

    >>> codes = np.random.default_rng(0).normal(size=(1000, 4))
    >>> round(udr_pair(codes, -codes[:, ::-1], similarity="spearman"), 1)
    0.9
    """
    kls = None if kl_i is None and kl_j is None else [kl_i, kl_j]
    found = udr_scores([codes_i, codes_j], kls, similarity=similarity, alpha=alpha, threshold=threshold)
    return float(found.pairs[0, 1])


def udr_scores(
    codes: Sequence[TableLike] | NDArray,
    kls: Sequence[ArrayLike | None] | NDArray | None = None,
    *,
    groups: Sequence | NDArray | None = None,
    similarity: Similarity = "lasso",
    alpha: float = 0.1,
    threshold: float = 0.01,
    tell: Callable[[], None] = lambda: None,
) -> UDR:
    """The scores of m models from their codes, each (n, c) for the same n images in the same order.

    kls: each model's mean KL per latent, (c,); codes with at most `threshold` nats are left out. Without them, all codes that
    vary are kept. groups: a label for each model; only models of the same group are compared, by default all (the paper's
    "all-to-all"). similarity: "lasso", with penalty `alpha`, or "spearman". tell: called after each model.

    >>> codes = np.random.default_rng(0).normal(size=(1000, 3))
    >>> udr_scores([codes, codes[:, ::-1], -codes], similarity="lasso").scores.round(1)
    array([0.9, 0.9, 0.9])
    """
    check_choice(similarity, ("lasso", "spearman"), "similarity")
    if not 0 <= alpha < 1:
        raise MetricError(f"alpha is {alpha}; expected 0 or more, less than 1")
    tables = [check_codes(one, f"codes of model {number}") for number, one in enumerate(codes)]
    labels = np.zeros(len(tables), dtype=np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
    if len(tables) < 2 or len(labels) != len(tables) or (kls is not None and len(kls) != len(tables)):
        raise MetricError(
            f"{len(tables)} models, {len(labels)} groups, {len(tables) if kls is None else len(kls)} KLs; expected two "
            "models or more, with a group and the KLs of each"
        )
    if len({len(table) for table in tables}) > 1:
        raise MetricError("the models' codes have different numbers of rows; expected those of the same images")
    width = max(table.shape[1] for table in tables)
    scaled = np.zeros((len(tables), width, len(tables[0])))
    kept = np.zeros((len(tables), width), dtype=bool)
    for number, table in enumerate(tables):
        own = _kept(table, None if kls is None else kls[number], threshold, number)
        kept[number, : len(own)] = own
        scaled[number, kept[number]] = _standardised(table[:, own], similarity).T
    pairs = np.full((len(tables), len(tables)), np.nan)
    for number in range(len(tables)):
        others = np.flatnonzero((labels == labels[number]) & (np.arange(len(tables)) != number))
        if len(others):
            pairs[number, others] = _pairs(scaled, kept, number, others, alpha if similarity == "lasso" else None)
        tell()
    scores = [
        float(np.median(column[~np.isnan(column)])) if (~np.isnan(column)).any() else np.nan for column in pairs.T
    ]
    return UDR(np.array(scores), pairs, kept.sum(axis=1))


def _kept(table: Table, kl: ArrayLike | None, threshold: float, number: int) -> NDArray[np.bool_]:
    """Which codes of a model vary and have enough KL, (c,)."""
    if kl is None:
        return varying(table)
    values = np.asarray(kl, dtype=np.float64)
    if values.shape != table.shape[1:] or np.isnan(values).any():
        raise MetricError(f"KLs of model {number} are {values}; expected {table.shape[1]} numbers, one for each code")
    return varying(table) & (values > threshold)


def _standardised(table: Table, similarity: Similarity) -> Table:
    """Codes, or their ranks, with mean 0 and variance 1."""
    table = rankdata(table, axis=0) if similarity == "spearman" else table / np.abs(table).max(axis=0, initial=1e-300)
    return (table - table.mean(axis=0)) / table.std(axis=0)


def _pairs(
    scaled: NDArray, kept: NDArray[np.bool_], number: int, others: NDArray[np.int64], alpha: float | None
) -> NDArray[np.float64]:
    """UDR_ij of one model i and the other models."""
    rows, own = scaled.shape[2], scaled[number, kept[number]]
    inner = own @ scaled[others].reshape(-1, rows).T / rows
    if alpha is not None:
        inner = _lasso(own @ own.T / rows, inner, alpha)
    return _agreement(np.abs(inner).reshape(len(own), *kept[others].shape), kept[others])


def _lasso(gram: Table, inner: Table, alpha: float) -> Table:
    """Coefficients (a, t) that minimise ½ wᵀGw − wᵀr + α|w|₁ for each column r of `inner`, by coordinate descent."""
    found = np.zeros_like(inner)
    going = np.arange(inner.shape[1])
    for _ in range(_SWEEPS):
        weights, target = found[:, going], inner[:, going]
        moved = np.zeros(len(going))
        for code in range(len(gram)):
            pull = target[code] - gram[code] @ weights + gram[code, code] * weights[code]
            new = np.sign(pull) * np.maximum(np.abs(pull) - alpha, 0.0) / gram[code, code]
            np.maximum(moved, np.abs(new - weights[code]), out=moved)
            weights[code] = new
        found[:, going] = weights
        going = going[moved > _TOLERANCE]
        if not len(going):
            break
    return found


def _agreement(similarity: NDArray, columns: NDArray[np.bool_]) -> NDArray[np.float64]:
    """UDR_ij (t,) from similarities (a, t, b) of a model's codes and those of t others, of which `columns` (t, b) are kept."""
    if not len(similarity):
        return np.zeros(len(columns))
    similarity = np.where(columns, similarity, 0.0)
    count = columns.sum(axis=1)
    of_columns = _share(similarity, axis=0).sum(axis=1) / np.maximum(count, 1)
    of_rows = _share(similarity, axis=2).mean(axis=0)
    return np.where(count > 0, 0.5 * (of_columns + of_rows), 0.0)


def _share(similarity: NDArray, axis: int) -> NDArray[np.float64]:
    """The squared maximum over the sum along an axis; 0 where all are 0."""
    top, total = similarity.max(axis=axis), similarity.sum(axis=axis)
    return np.divide(top**2, total, out=np.zeros_like(top), where=total > 0)
