"""What is known of many runs, as tables: the contract between those who store results and those who read them.

`Outcome` is everything that is kept of one run. `Tables` is everything that is kept of many: claims, figures and reports are
functions of it alone, so that they can be drawn again without a model, and tested on tables made up for the purpose.
"""

from __future__ import annotations

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
