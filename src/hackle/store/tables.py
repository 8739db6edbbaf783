"""The results of runs as tables: the contract between the code that stores results and the code that reads them.

`Outcome` is everything that is kept of one run. `Tables` is everything that is kept of many: claims, figures and
reports depend on it alone, so that they can be made again without a model, and tested on synthetic tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.design import DESIGN
from hackle.store.records import swept_fields

Frame = Any
"""A pandas frame, typed as `Any` because pandas' annotations do not say what indexing returns."""
STORED_COLUMNS = (
    *("run", "study", "status", "reason", "dataset", "method", "strength", "architecture", "record", "sources"),
    *("version", "device", "training_seconds", "scoring_seconds", "finished"),
)
"""What is stored of a run; the other columns follow from its record. `run` is the record's hash and `record` its JSON;
`status` is done or failed, and `reason` says at which step and in which term a run failed; `sources` is JSON with a
hash of the source file of each class or function in the record that is not hackle's own, empty if there is none."""
RUN_COLUMNS = (
    *("run", "study", "status", "reason", *DESIGN),
    *STORED_COLUMNS[STORED_COLUMNS.index("record") :],
)
"""One row per run."""
_SCORED = ("metric", "representation", "score", "reference", "low", "high", "better", "protocol", "scoring_seed")
SCORE_COLUMNS = ("run", *DESIGN, *_SCORED, "seconds", "note")
"""One row per run × representation × metric × protocol, with the columns that identify the run."""
FACTOR_COLUMNS = ("run", "metric", "representation", "protocol", "scoring_seed", "factor", "score")
"""One row per score × factor, for the scores of metrics that have a value for each factor."""


@dataclass(frozen=True)
class Outcome:
    """Everything that is kept of one run.

    scores: the rows of `hackle.score`, for every protocol; `per_factor` maps factors to values, where a metric has them.
    curves: `step` and each logged term, of equal length.
    arrays: by name, `codes` (posterior means of the same images for every model of a data set, see
    `hackle.scoring.plan.kept_images`) and those of `EncodedPlan.code_informations`, such as `informativeness` (l,).
    sources: the hashes of the user's own code that the run names; None: of its files as they are now, which are read.
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
    sources: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Tables:
    """The results of many runs.

    scores has `SCORE_COLUMNS`, runs has `RUN_COLUMNS`. `curve(term)` is a frame of run, step and value; `array(name)` maps
    each run that has it to its array. `per_factor(metric)` has `FACTOR_COLUMNS`: what a metric gives
    for each factor; without a name, what every metric gives.
    """

    scores: pd.DataFrame
    runs: pd.DataFrame
    curve: Callable[[str], pd.DataFrame] = lambda term: pd.DataFrame(columns=["run", "step", "value"])
    array: Callable[[str], Mapping[str, NDArray[Any]]] = lambda name: {}
    per_factor: Callable[..., pd.DataFrame] = lambda metric="": pd.DataFrame(columns=list(FACTOR_COLUMNS))


def correlation_constant(runs: pd.DataFrame) -> NDArray[np.float64]:
    """−½ ln det Σ of each run: what correlated noise adds to any KL (Yang et al. 2020, appendix B)."""
    latents, sigma = (runs[name].to_numpy(float) for name in ("latents", "correlation"))
    return -0.5 * ((latents - 1) * np.log1p(-sigma) + np.log1p((latents - 1) * sigma))


def with_record_fields(tables: Tables) -> pd.DataFrame:
    """The table of scores with every swept field of the records (`beta`, `gamma`, `learning_rate`, …) after `strength`,
    and with `sources` where a record names classes or functions that are not hackle's own."""
    runs: Frame = tables.runs
    scores: Frame = tables.scores.copy(deep=False)
    added: Frame = swept_fields(runs, SCORE_COLUMNS)
    if (runs["sources"].astype(str) != "").any():
        added = added.assign(sources=runs["sources"].astype("category"))
    names = scores["run"].astype("category").cat
    row = pd.Index(runs["run"].astype(str)).get_indexer(names.categories)[names.codes]
    after = list(SCORE_COLUMNS).index("strength") + 1
    for place, name in enumerate(added, after):
        scores.insert(place, name, added[name].array.take(row))
    return scores


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for CSV in which no text is a formula: an apostrophe stands before one that begins like it, as names may."""
    renamed: Frame = frame.rename(columns=_as_text)
    return renamed.assign(
        **{name: renamed[name].map(_as_text) for name in renamed if renamed[name].dtype.kind not in "fiub"}
    )


def _as_text(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def named_sources(text: str) -> dict[str, str]:
    """The hashes of a run's own code, by place, of the column `sources`; `ValueError` where it holds something else."""
    named = json.loads(text or "{}")
    if not isinstance(named, dict) or not all(isinstance(source, str) for source in named.values()):
        raise ValueError(f"sources are {text!a:.60}; expected an object of texts")
    return named


def differing_sources(runs: pd.DataFrame) -> list[str]:
    """A sentence on each user-defined class or function whose source was not the same for all of these runs."""
    counts: dict[str, Counter[str]] = {}
    for text, count in runs["sources"].astype(str).value_counts().items():
        for place, source in named_sources(str(text)).items():
            counts.setdefault(place, Counter())[source] += int(count)
    return [
        f"{place} was not the same for all runs: its file had the hash "
        + ", ".join(f"{source} for {count:,} of them" for source, count in sources.most_common())
        for place, sources in sorted(counts.items())
        if len(sources) > 1
    ]
