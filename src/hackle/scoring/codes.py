"""Scoring codes computed elsewhere: arrays of codes and factors in place of a model and a data set.

No further images can be encoded, so the rows are all there is: some of them train the metrics' classifiers, the rest
test them, and the groups and pairs of the β-VAE and FactorVAE scores are drawn from rows that share a factor's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from hackle.core.code_table import CodeTable, is_large, partition
from hackle.core.columns import (
    Kinds,
    TableLike,
    absent,
    as_array,
    columns_of,
    in_words,
    kind_by_name,
    read_numbers,
    refuse_absent,
    refuse_another_order,
    row_numbers,
)
from hackle.core.factors import FactorError, FactorGrid
from hackle.core.progress import following
from hackle.datasets.labels import labelled_grid
from hackle.datasets.source import DataError
from hackle.scoring.encode import Codebook
from hackle.scoring.models import score_table
from hackle.scoring.protocol import Protocol
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import ScoreError, Wanted, adjusted, choose_metrics, names_of
from hackle.scoring.scorer import Representation, prepare_scorer
from hackle.train import find_device

_FEWEST = 10


def score_codes(
    codes: TableLike,
    factors: TableLike,
    metrics: Wanted = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    *,
    logvars: TableLike | None = None,
    kinds: Kinds | None = None,
    factor_bins: int | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    correlation: float = 0.0,
    discrete: bool | Sequence[bool] = False,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    references: bool = True,
    bootstrap: int = 0,
    whole_mixture: bool = False,
    groups: Sequence[Sequence[int]] | str | None = None,
    progress: bool = False,
    device: str | torch.device | None = None,
) -> pd.DataFrame:
    """Score codes (n, c) with known factors (n, f) by every metric that applies; the table is that of `hackle.score`.

    codes: an array, a tensor, a frame, or, for codes by the ten thousand, a SciPy sparse matrix or a memory-mapped array,
    which are read in blocks; metrics that need all codes at once refuse those that do not fit, and their note says so.
    factors: an array or tensor of integers, real numbers or strings, or a mapping or data frame with a column for each
    factor. kinds: of some factors by name, `{"x": "continuous"}`, or one for each; the others are guessed, as described
    in `hackle.core.columns`. factor_bins: the number of equal-width bins into which continuous factors are cut where a
    metric needs classes; by default the protocol's (20). missing: rows with a missing value are refused, or dropped.
    logvars: if the codes are posterior means, the logarithms of the posteriors' variances, for metrics of posteriors;
    correlation: σ of their noise. discrete: which codes are class numbers. The other arguments are those of
    `hackle.score`. device: where blocks of codes are worked on, by default a GPU if there is one and codes are sparse or
    memory-mapped. Columns of a data frame that number its rows are left out; the table's `attrs["read"]` describes
    what was read.

    Two thirds of the rows are training points, as in the protocol, one third test points; a protocol asks for about
    10,000 and uses as many as there are. Metrics that decode images do not apply.

    >>> rows = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), axis=-1).reshape(-1, 2).repeat(9, axis=0)
    >>> score_codes(rows + 0.0, rows, "mig", "quick").round(1)[["metric", "representation", "score"]].values.tolist()
    [['mig', 'mean', 1.0]]
    """
    settings = adjusted(find_protocol(protocol), factor_bins, groups)
    chosen = choose_metrics(metrics, settings, strictly=True).values()
    read = read_table(codes, factors, logvars=logvars, kinds=kinds, missing=missing)
    scorer = prepare_scorer(read.grid, chosen, settings, seed, representations, bootstrap, whole_mixture, split=True)
    flags = discrete if isinstance(discrete, bool) else tuple(bool(flag) for flag in discrete)
    book = Codebook(np.arange(len(read.codes)), read.codes, read.logvars)
    place = _place(device, isinstance(read.codes, CodeTable))
    evaluation = scorer.of_codes(book, discrete=flags, correlation=correlation, place=place)
    table = score_table(scorer, evaluation, names_of(metrics), references=references, progress=progress)
    table.attrs["read"] = read.said
    return table


@dataclass(frozen=True)
class Read:
    """Codes (n, c), as an array or a table, their logvars if any, the grid whose row i has the factors of sample i, and a
    description of them."""

    codes: NDArray[np.float32] | CodeTable
    logvars: NDArray[np.float32] | None
    grid: FactorGrid
    said: str


def read_table(
    codes: Any,
    factors: Any,
    *,
    logvars: Any = None,
    kinds: Kinds | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
) -> Read:
    """The input of `score_codes`, checked and converted; the arguments are the same."""
    try:
        return _read(codes, factors, logvars, kinds, missing)
    except (FactorError, DataError) as error:
        raise ScoreError(str(error)) from error


def _place(device: str | torch.device | None, large: bool) -> torch.device | None:
    """Where blocks are worked on; None for the CPU."""
    place = torch.device("cpu") if device is None and not large else find_device(device)
    return None if place.type == "cpu" else place


def _read(codes: Any, factors: Any, logvars: Any, kinds: Kinds | None, missing: str) -> Read:
    blocks, constant = None, 0
    if is_large(codes):
        if logvars is not None:
            raise ScoreError(
                "logvars are given with sparse or memory-mapped codes; expected arrays in memory for posteriors: "
                "codes.toarray() or numpy.asarray(codes)"
            )
        # Rows and missing values of the codes themselves are looked at below; here they stand as a column of them.
        blocks, lacks, constant = _blocks(codes)
        codes = np.where(lacks, np.nan, 0.0)
    tables = {"codes": columns_of(codes, "codes"), "factors": columns_of(factors, "factors")}
    refuse_another_order(codes, factors)
    if logvars is not None:
        refuse_another_order(codes, logvars, "logvars")
        tables["logvars"] = columns_of(logvars, "logvars")
    left_out: list[str] = []
    named: dict[str, dict[str, NDArray]] = {}
    for name, given in (("codes", codes), ("factors", factors), ("logvars", logvars)):
        if isinstance(given, Mapping | pd.DataFrame):
            numbers = row_numbers(tables[name], first=name != "factors" and len(tables[name]) > 1)
            named[name] = {one: tables[name][one] for one in numbers}
            _refuse_other_rows(named.get("codes", {}), named[name], name)
            left_out += [f"column {one!r} of the {name}, which numbers or names the rows, left out" for one in numbers]
            tables[name] = {key: column for key, column in tables[name].items() if key not in numbers}
    rows = _rows(tables)
    lacking = np.zeros(rows, dtype=bool)
    for column in (column for columns in tables.values() for column in columns.values()):
        lacking |= absent(column)
    if missing == "drop":
        tables = {name: {key: as_array(one[~lacking]) for key, one in table.items()} for name, table in tables.items()}
        left_out += [f"{lacking.sum():,} of {rows:,} rows lack a value and are dropped"] if lacking.any() else []
    elif missing != "refuse":
        raise ScoreError(f"missing is {missing!r}; expected refuse or drop")
    else:
        for name, columns in tables.items():
            remedy = 'leave such rows out, or have them dropped: missing="drop", --drop-missing on the command line'
            refuse_absent(columns, name.rstrip("s"), remedy)
    means: Any = _numbers(tables["codes"], "codes")
    spread = _numbers(tables["logvars"], "logvars") if "logvars" in tables else None
    if spread is not None and spread.shape != means.shape:
        raise ScoreError(f"logvars have shape {spread.shape} and codes {means.shape}; expected the same")
    names, columns = list(tables["codes"]), tables["factors"]
    if blocks is None:
        constant = int((means == means[0]).all(axis=0).sum())
    else:
        means = blocks.take(np.flatnonzero(~lacking)) if lacking.any() else blocks
        constant = _blocks(means)[2] if lacking.any() else constant
        names = [f"code_{number}" for number in range(means.shape[1])]
    told = list(kind_by_name(list(columns), kinds).values())
    grid = labelled_grid("factors", list(columns), told, list(columns.values()))
    left_out += [f"factor {one.name} has a single value and is not scored" for one in grid.factors if one.size == 1]
    shown = ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} … {names[-1]}"
    said = [
        f"{len(means):,} rows",
        f"{len(names):,} code{'s' * (len(names) != 1)}: {shown}",
        *([f"{constant:,} of them never var{'y' if constant > 1 else 'ies'}"] if constant else []),
        f"factors: {in_words(grid.factors)}",
        *left_out,
    ]
    return Read(means, spread, grid, "; ".join(said))


def _refuse_other_rows(codes: Mapping[str, NDArray], others: Mapping[str, NDArray], name: str) -> None:
    """Refuse columns of two tables that name the same rows in another order."""
    for (head, mine), (other, theirs) in product(codes.items(), others.items()):
        texts = mine.dtype.kind == theirs.dtype.kind == "U"
        same = (head == other or texts) and np.array_equal(np.sort(mine), np.sort(theirs))
        if same and not np.array_equal(mine, theirs):
            raise ScoreError(
                f"the column {head!r} of the codes and {other!r} of the {name} name the same rows in another order, and rows "
                "are matched by position; sort both tables by these columns, or, where positions do match, leave them out"
            )


def _blocks(codes: Any) -> tuple[CodeTable, NDArray[np.bool_], int]:
    """Sparse or memory-mapped codes as a table, the rows that lack a value, and how many codes never vary."""
    table = CodeTable(codes, single=True)
    if 0 in table.shape or table.dtype.kind not in "biuf":
        raise ScoreError(
            f"codes have shape {table.shape} and type {table.dtype}; expected real numbers, a row for each sample"
        )
    lacks, constant = np.zeros(len(table), dtype=bool), 0
    for part in following(partition(table), "reading"):
        block = table.block(*part)
        constant += block.constant
        bad = np.flatnonzero(~np.isfinite(block.values))
        if not len(bad):
            continue
        rows = bad % block.height if block.where is None else block.where[0][bad]
        if not (absent := np.isnan(block.values[bad])).all():
            raise ScoreError(
                f"codes have a number that is not finite, first in row {rows[~absent].min()}; leave such samples out"
            )
        lacks[rows] = True
    return table, lacks, constant


def _rows(tables: Mapping[str, Mapping[str, NDArray]]) -> int:
    """The number of rows, which must be the same for all columns."""
    for name, what in (("codes", "code"), ("factors", "factor")):
        if not tables[name]:
            raise ScoreError(f"{name} have no columns; expected a row for each sample, a column for each {what}")
    rows = len(next(iter(tables["codes"].values())))
    for name, table in tables.items():
        for key, column in table.items():
            if len(column) != rows:
                turned = len(column) == len(tables["codes"]) or len(table) == rows
                raise ScoreError(
                    f"{name}: {key} has {len(column):,} values; expected one for each of {rows:,} samples"
                    + (": rows are samples, so turn what has them in columns, codes.T or factors.T" if turned else "")
                )
    return rows


def _numbers(columns: Mapping[str, NDArray], name: str) -> NDArray[np.float32]:
    array = read_numbers(columns, name)
    if len(array) < _FEWEST:
        raise ScoreError(
            f"{name} have {len(array)} rows; expected {_FEWEST} or more, and thousands for scores to trust"
        )
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ScoreError(f"{name} have a number that is not finite, first in row {bad}; leave such samples out")
    return array.astype(np.float32)
