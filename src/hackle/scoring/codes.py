"""Scoring codes that are there already, whatever made them: arrays of codes and factors in place of a model and a data set.

No image can be encoded anew, so the rows are all there is: a part of them trains what a metric trains, the rest tests it, and
the groups and pairs of the β-VAE and FactorVAE scores are drawn from the rows that share a factor's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.factors import FactorGrid
from hackle.datasets.labels import labelled_grid
from hackle.scoring.encode import Codebook
from hackle.scoring.models import score_table
from hackle.scoring.protocol import Protocol
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import ScoreError, Wanted, choose_metrics, names_of
from hackle.scoring.scorer import Representation, prepare_scorer

Factors = ArrayLike | Mapping[str, ArrayLike] | pd.DataFrame
_FEWEST = 10


def score_codes(
    codes: ArrayLike | Tensor,
    factors: Factors,
    metrics: Wanted = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    *,
    logvars: ArrayLike | Tensor | None = None,
    factor_bins: int = 20,
    correlation: float = 0.0,
    discrete: bool | Sequence[bool] = False,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    references: bool = True,
    bootstrap: int = 0,
    whole_mixture: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    """Score codes (n, c) of samples whose factors (n, f) are known with every metric that fits: the table of `hackle.score`.

    factors: an array of whole numbers, real numbers or texts, or a column for each factor's name: a mapping or a frame. Real
    numbers of more than `factor_bins` values are cut into so many bins of equal width. logvars: logarithms of the variances of
    posteriors whose means the codes are, for metrics of posteriors; correlation: σ of their noise. discrete: which codes are
    class numbers. The other arguments are those of `hackle.score`.

    Two thirds of the rows are training points, as in the protocol, one third test points; a protocol asks for 10,000 or so and
    takes what there is. Metrics that decode images do not fit.

    >>> rows = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), axis=-1).reshape(-1, 2).repeat(9, axis=0)
    >>> score_codes(rows + 0.0, rows, "mig", "quick").round(1)[["metric", "representation", "score"]].values.tolist()
    [['mig', 'mean', 1.0]]
    """
    means = _numbers(codes, "codes")
    spread = None if logvars is None else _numbers(logvars, "logvars")
    if spread is not None and spread.shape != means.shape:
        raise ScoreError(f"logvars have shape {spread.shape} and codes {means.shape}; expected the same")
    grid, settings = _grid(factors, len(means), factor_bins), find_protocol(protocol)
    chosen = choose_metrics(metrics, settings, strictly=True).values()
    scorer = prepare_scorer(grid, chosen, settings, seed, representations, bootstrap, whole_mixture, split=True)
    flags = discrete if isinstance(discrete, bool) else tuple(bool(flag) for flag in discrete)
    book = Codebook(np.arange(len(means)), means, spread)
    evaluation = scorer.of_codes(book, discrete=flags, correlation=correlation)
    return score_table(scorer, evaluation, names_of(metrics), references=references, progress=progress)


def _numbers(values: ArrayLike | Tensor, name: str) -> NDArray[np.float32]:
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or 0 in array.shape:
        raise ScoreError(
            f"{name} are {array.dtype} of shape {array.shape}; expected real numbers, a row for each sample and a column for "
            "each code"
        )
    if len(array) < _FEWEST:
        raise ScoreError(
            f"{name} have {len(array)} rows; expected {_FEWEST} or more, and thousands for scores to trust"
        )
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ScoreError(f"{name} have a number that is not finite, first in row {bad}; leave such samples out")
    return array.astype(np.float32)


def _grid(factors: Factors, count: int, bins: int) -> FactorGrid:
    """The grid in which row i has the factors of sample i."""
    if bins < 2:
        raise ScoreError(f"factor_bins is {bins}; expected 2 or more")
    if isinstance(factors, Mapping | pd.DataFrame):
        columns = {str(name): np.asarray(factors[name]) for name in factors}
    else:
        array = np.asarray(factors)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] == 0:
            raise ScoreError(
                f"factors have shape {array.shape}; expected a row for each sample, a column for each factor"
            )
        columns = {f"factor_{number}": column for number, column in enumerate(array.T)}
    for name, column in columns.items():
        if column.shape != (count,):
            raise ScoreError(
                f"factor {name} has shape {column.shape}; expected one value for each of {count:,} samples"
            )
    cut = [_cut(_plain(column), bins) for column in columns.values()]
    return labelled_grid("factors", list(columns), [""] * len(columns), cut)


def _plain(column: NDArray) -> NDArray:
    """Objects, as frames have them, as the texts or numbers that they are."""
    return np.array(column.tolist()) if column.dtype.kind in "OT" else column


def _cut(column: NDArray, bins: int) -> NDArray:
    """Real numbers of many values as the number of their bin."""
    if column.dtype.kind != "f" or not np.isfinite(column).all() or len(np.unique(column)) <= bins:
        return column
    edges = np.linspace(column.min(), column.max(), bins + 1)[1:-1]
    return np.searchsorted(edges, column, side="right")
