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

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from hackle.core.columns import TableLike
from hackle.metrics.checks import MetricError, Table, check_choice, check_codes, check_matrix, varying

Similarity = Literal["lasso", "spearman"]
_TOLERANCE, _SWEEPS = 1e-7, 10_000
"""Coordinate descent stops once no coefficient moves by more; codes are standardised, so coefficients are of order 1."""
_TOGETHER = 16
"""Of so many models inner products with all others are computed at once."""


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
    return float(_agreement(matrix, np.array([matrix.shape[1]]))[0])


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
    udr = udr_scores([codes_i, codes_j], kls, similarity=similarity, alpha=alpha, threshold=threshold)
    return float(udr.pairs[0, 1])


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
    kept = [
        _kept(table, None if kls is None else kls[number], threshold, number) for number, table in enumerate(tables)
    ]
    counts = np.array([own.sum() for own in kept])
    pairs = np.full((len(tables), len(tables)), np.nan)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) > 1:
            scaled = [_standardised(tables[one][:, kept[one]], similarity).T for one in members]
            for one, similarities in zip(
                members, _pairs(scaled, alpha if similarity == "lasso" else None), strict=True
            ):
                pairs[one, members] = similarities
                pairs[one, one] = np.nan
                tell()
        else:
            tell()
    scores = [
        float(np.median(column[~np.isnan(column)])) if (~np.isnan(column)).any() else np.nan for column in pairs.T
    ]
    return UDR(np.array(scores), pairs, counts)


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


def _pairs(scaled: Sequence[NDArray], alpha: float | None) -> Iterator[NDArray[np.float64]]:
    """For each model i UDR_ij of all models j, itself included, from standardised codes as rows."""
    counts = [len(own) for own in scaled]
    every = np.concatenate(scaled)
    rows = every.shape[1]
    for start in range(0, len(scaled), _TOGETHER):
        block = scaled[start : start + _TOGETHER]
        # One product for several models: all codes are read once for them.
        inner = np.concatenate(block) @ every.T / rows
        for own in block:
            similarity, inner = np.split(inner, [len(own)])
            if alpha is not None:
                similarity = _lasso(own @ own.T / rows, similarity, alpha)
            yield _agreement(np.abs(similarity), np.array(counts))


def _lasso(gram: Table, inner: Table, alpha: float) -> Table:
    """Coefficients (a, t) that minimise ½ wᵀGw − wᵀr + α|w|₁ for each column r of `inner`, by coordinate descent."""
    solution = np.zeros_like(inner)
    going = np.arange(inner.shape[1])
    for _ in range(_SWEEPS):
        weights, target = solution[:, going], inner[:, going]
        moved = np.zeros(len(going))
        for code in range(len(gram)):
            pull = target[code] - gram[code] @ weights + gram[code, code] * weights[code]
            # Pulled towards zero by α, and to zero from within α of it.
            new = (pull - np.clip(pull, -alpha, alpha)) / gram[code, code]
            np.maximum(moved, np.abs(new - weights[code]), out=moved)
            weights[code] = new
        solution[:, going] = weights
        going = going[moved > _TOLERANCE]
        if not len(going):
            break
    return solution


def _agreement(similarity: NDArray, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """UDR_ij (m,) from similarities (a, Σ counts) of a model's codes and those of m models, `counts` of each."""
    agreement, some = np.zeros(len(counts)), counts > 0
    if len(similarity) and some.any():
        first = np.concatenate([[0], np.cumsum(counts[some])[:-1]])
        of_columns = np.add.reduceat(_share(similarity.max(axis=0), similarity.sum(axis=0)), first) / counts[some]
        tops, totals = np.maximum.reduceat(similarity, first, axis=1), np.add.reduceat(similarity, first, axis=1)
        agreement[some] = 0.5 * (of_columns + _share(tops, totals).mean(axis=0))
    return agreement


def _share(top: NDArray, total: NDArray) -> NDArray[np.float64]:
    """The squared maximum over the sum; 0 where all are 0."""
    return np.divide(top**2, total, out=np.zeros_like(top), where=total > 0)
