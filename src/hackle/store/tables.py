"""What is known of many runs, as tables: the contract between those who store results and those who read them.

`Outcome` is everything that is kept of one run. `Tables` is everything that is kept of many: claims, figures and reports are
functions of it alone, so that they can be drawn again without a model, and tested on tables made up for the purpose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

RUN_COLUMNS = (
    *("run", "study", "status", "reason", "dataset", "method", "strength", "architecture", "seed", "steps"),
    *("batch_size", "latents", "likelihood", "correlation", "precision", "record"),
    *("version", "device", "training_seconds", "scoring_seconds", "finished"),
)
"""One row per run. `run` is the record's hash, `record` its JSON; `method` and `architecture` are the names on the command
line; `strength` is the one weight that studies sweep (NaN where the method has none); `status` is done or failed, and
`reason` says at which step and in which term a run failed."""

SCORE_COLUMNS = (
    *("run", "dataset", "method", "strength", "architecture", "seed", "steps", "batch_size", "latents"),
    *("likelihood", "correlation", "precision"),
    *("metric", "representation", "score", "ceiling", "low", "high", "better", "protocol", "scoring_seed"),
    *("seconds", "note"),
)
"""One row per run × representation × metric × protocol, with what identifies the run beside it."""


@dataclass(frozen=True)
class Outcome:
    """Everything that is kept of one run.

    scores: the rows of `hackle.score`, of every protocol. curves: `step` and each logged term, equally long.
    arrays: by name, `codes` (means of the same 512 images for every model of a data set), `informativeness` (l,),
    `mutual_information` (l, f).
    """

    run: Any
    status: Literal["done", "failed"]
    reason: str = ""
    scores: Sequence[Mapping[str, Any]] = ()
    curves: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    device: str = ""
    training_seconds: float = float("nan")
    scoring_seconds: float = float("nan")


@dataclass(frozen=True)
class Tables:
    """The results of many runs.

    scores has `SCORE_COLUMNS`, runs has `RUN_COLUMNS`. `curve(term)` is a frame of run, step and value; `array(name)` maps
    each run that has it to its array.
    """

    scores: pd.DataFrame
    runs: pd.DataFrame
    curve: Callable[[str], pd.DataFrame] = lambda term: pd.DataFrame(columns=["run", "step", "value"])
    array: Callable[[str], Mapping[str, NDArray[Any]]] = lambda name: {}


def correlation_constant(runs: pd.DataFrame) -> NDArray[np.float64]:
    """−½ ln det Σ of each run, by which correlated noise raises the KL whatever was learnt (Yang et al. 2020, appendix B)."""
    latents, sigma = (runs[name].to_numpy(float) for name in ("latents", "correlation"))
    return -0.5 * ((latents - 1) * np.log1p(-sigma) + np.log1p((latents - 1) * sigma))


_DESIGN = [name for name in SCORE_COLUMNS[1 : SCORE_COLUMNS.index("metric")] if name != "seed"]
_SEED = re.compile(r'"seed": ?\d+')


def setting_numbers(runs: pd.DataFrame) -> NDArray[np.int64]:
    """The number of each run's setting: runs whose records differ in their seed alone have the same, counted from 0."""
    # A record says all that the columns say; tables made up without records have the columns.
    parts = runs[_DESIGN].assign(record=_without_seed(runs))
    return parts.groupby([*_DESIGN, "record"], dropna=False, observed=True, sort=False).ngroup().to_numpy(np.int64)


def telling_fields(runs: pd.DataFrame, known: Sequence[str]) -> pd.DataFrame:
    """The fields of the records that tell settings apart which agree in the columns `known`, a column each.

    A column has the field's own name where one field has it, else its path, `optimiser.learning_rate`; words for lists.
    """
    rows: Any = runs[list(known)].assign(record=_without_seed(runs))
    fields = {text: _fields(json.loads(text)) for text in rows["record"].unique()}
    kinds = rows.drop_duplicates()
    alike = kinds.groupby(list(known), dropna=False, observed=True, sort=False).ngroup()
    several = alike.duplicated(keep=False)
    texts, alike = kinds["record"][several], alike[several]

    def tells(path: str) -> bool:
        values = texts.map(lambda text: str(fields[text].get(path)))
        return bool((values.groupby(alike).nunique() > 1).any())

    paths = [path for path in dict.fromkeys(path for text in texts for path in fields[text]) if tells(path)]
    ends = [path.rsplit(".", 1)[-1] for path in paths]
    columns = {
        end if ends.count(end) == 1 and end not in known else path: rows["record"].map(
            lambda text, path=path: fields[text].get(path)
        )
        for path, end in zip(paths, ends, strict=True)
    }
    return pd.DataFrame(columns, index=runs.index, dtype=object)


def _without_seed(runs: pd.DataFrame) -> pd.Series:
    return runs["record"].astype(str).str.replace(_SEED, '"seed": 0', regex=True)


def _fields(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Every field of a record and of the records in it, by dotted path."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= _fields(value, f"{before}{name}.")
        else:
            found[before + name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return found
