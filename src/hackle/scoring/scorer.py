"""One plan and the metrics computed on it, for one model or many: rows of scores, with references.

Codes are scored as posterior means and as samples of the posterior; metrics of posteriors see means and logvars.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, SupportsFloat, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from hackle.core.code_table import SizeError
from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.left_out import training_rows
from hackle.core.method import about
from hackle.core.notes import warning_code, with_code
from hackle.core.types import Dataset
from hackle.information import PosteriorError
from hackle.metrics.checks import MetricError
from hackle.metrics.metric import Metric, PerFactor, row_of
from hackle.metrics.needs import Subject
from hackle.scoring.encode import Codebook, Encoder, ModuleEncoder, PosteriorNoise
from hackle.scoring.evaluation import EncodedPlan
from hackle.scoring.plan import (
    Plan,
    classes_among,
    draw_exposure,
    draw_plan,
    interventions,
    must_split,
    plan_note,
    split_plan,
    values_of,
)
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import ScoreError
from hackle.train.errors import is_out_of_memory
from hackle.train.model import Model

Representation = Literal["mean", "sampled"]
Watch = Callable[[Metric], Any]
"""Called before each metric is computed."""
ReferenceScores = Mapping[str, tuple[float, str]]
"""What perfect codes score, by the score's name, and a note if there is no such score."""
PERFECT_LOGVAR = 2 * np.log(0.01)
"""Perfect posteriors, for references: means at the standardised factors, standard deviation 0.01."""
_COLUMNS = (
    *("metric", "representation", "score", "chance", "reference", "low", "high"),
    *("better", "protocol", "seed", "seconds", "note", "per_factor"),
)
_NAN = float("nan")


def perfect_codebook(grid: FactorGrid, index: NDArray[np.int64]) -> Codebook:
    """Codes that are the standardised factors themselves, with narrow posteriors, from which references are computed."""
    factors = values_of(grid, index).astype(np.float32)
    # A rare value may be absent from a small plan; its factor is then a constant code.
    deviations = factors.std(axis=0)
    means = (factors - factors.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return Codebook(index, means, np.full_like(means, PERFECT_LOGVAR))


@dataclass(frozen=True)
class Computed:
    """The result of one metric: scores by name, their 95% intervals, the seconds they took, and notes, one per line.

    failure: the note that says why there is no score. factors: by name of the score, its value for each factor.
    """

    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    seconds: float
    note: str
    failure: str = ""
    factors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def compute(metric: Metric, evaluation: EncodedPlan, bootstrap: int = 0, what: str = "score") -> Computed:
    """Compute a metric; where it refuses these codes or fails, the score is NaN and a note says why.

    Codes that one metric refuses may be fine for the others. what: what notes call the score.
    """
    said = [with_code(f"{metric.name} is a metric {metric.origin}", "own")] if metric.origin else []
    said += _of_continuous(metric, evaluation)
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values = _computed(metric, evaluation)
            scores = {key: float(value) for key, value in values.items()}
    except Exception as error:
        failure = _failure(metric, what, error)
        return Computed({metric.rows[0].name: _NAN}, {}, 0.0, "\n".join([*said, failure]), failure)
    seconds = time.perf_counter() - started
    said += [
        with_code(str(warning.message), warning_code(warning.category))
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
    intervals: dict[str, tuple[float, float]] = {}
    if bootstrap:
        try:
            intervals = _intervals(metric, evaluation, scores, bootstrap)
        except Exception as error:
            said.append(_failure(metric, "interval", error))
    factors = {key: value.factors for key, value in values.items() if isinstance(value, PerFactor)}
    return Computed(scores, intervals, seconds, "\n".join(dict.fromkeys(said)), factors=factors)


def _of_continuous(metric: Metric, evaluation: EncodedPlan) -> list[str]:
    """The notes that continuous factors were cut into bins for a metric, and that their kind was guessed."""
    grid = evaluation.grid
    factors = [grid.factors[column] for column in scored_factors(grid) if grid.kinds[column] == "continuous"]
    if not factors or not metric.has_reference:
        return []
    names, guessed = (", ".join(f.name for f in factors if f.guessed or not only) for only in (False, True))
    said = [with_code(f"guessed to be continuous: {guessed}", "guessed")] if guessed else []
    if metric.continuous == "values":
        return said
    held = "images that share a bin count as sharing a value: " if metric.parts else ""
    return [*said, with_code(f"{held}continuous factors ({names}) are cut into {grid.bins} bins", "bins")]


def _computed(metric: Metric, evaluation: EncodedPlan) -> Mapping[str, SupportsFloat]:
    scores = metric.compute(evaluation)
    return scores if isinstance(scores, Mapping) else {metric.name: scores}


def _intervals(
    metric: Metric, evaluation: EncodedPlan, scores: Mapping[str, float], halves: int
) -> dict[str, tuple[float, float]]:
    """95% intervals around the scores for their mean over plans of this size, by half-sampling.

    The score of a random half of the plan, drawn without replacement, varies about its mean as the score of the plan
    does about its own: the delete-d jackknife of Shao & Wu 1989, whose factor (n − d) / d is 1 for halves. No row is
    repeated, which mutual information and nearest neighbours would take for dependence, and it does not matter if
    halves score lower or higher than the whole plan. Student's t corrects for a small number of halves.
    """
    rng = np.random.default_rng([evaluation.seed, 5])
    draws: list[Mapping[str, SupportsFloat]] = []
    failures: list[Exception] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(halves):
            try:
                draws.append(_computed(metric, evaluation.halved(rng)))
            except MetricError as error:  # Half of a few rows may be too little for a metric.
                failures.append(error)
    if len(failures) > halves / 2:
        raise failures[0]
    intervals: dict[str, tuple[float, float]] = {}
    for key, score in scores.items():
        values = np.array([float(draw[key]) for draw in draws if key in draw])
        if len(values) > 1 and np.isfinite([score, *values]).all():
            width = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1))
            known = row_of(key)
            low, high = (known[1].low, known[1].high) if known else (None, None)
            intervals[key] = (
                min(score, max(score - width, -np.inf if low is None else low)),
                max(score, min(score + width, np.inf if high is None else high)),
            )
    return intervals


def _failure(metric: Metric, what: str, error: Exception) -> str:
    """The note on why a metric gave no score: its refusal, or the error with the line that raised it.

    For a user's metric that is the last line within its own file. Out-of-memory errors are raised again.
    """
    if is_out_of_memory(error):
        raise error
    if isinstance(error, MetricError | PosteriorError | SizeError):
        return with_code(f"no {what}: {error}", "refused")
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename in metric.origin), frames[-1])
    words = f"no {what}: {metric.name} raised {type(error).__name__}: {error}"
    # The user's own file is named in full; for others the name says enough, and where they are installed stays private.
    file = place.filename if place.filename in metric.origin else Path(place.filename).name
    return with_code(f"{words} ({file}, line {place.lineno}: `{place.line}`)", "raised")


@dataclass(frozen=True)
class Scorer:
    """Everything about scoring that models share: the plan, its images, the protocol and the metrics."""

    grid: FactorGrid
    plan: Plan
    images: NDArray[np.int64]
    protocol: Protocol
    metrics: tuple[Metric, ...]
    seed: int
    representations: tuple[Representation, ...]
    bootstrap: int = 0
    whole_mixture: bool = False
    split: bool = False
    noise: PosteriorNoise = field(default_factory=PosteriorNoise, repr=False, compare=False)
    """Of the samples of posteriors: the same for every model of this plan."""

    def evaluation(self, model: Model | ModuleEncoder | Encoder, dataset: Dataset, posterior: Codebook) -> EncodedPlan:
        """What metrics see of a model, given its codes of at least the plan's images."""
        if not isinstance(model, Model):
            return self.of_codes(posterior, dataset=dataset)
        method, correlation = model.run.method, float(model.run.correlation)
        discrete = about(method).discrete(method, model.run)
        return self.of_codes(posterior, discrete=discrete, correlation=correlation, model=model, dataset=dataset)

    def of_codes(self, posterior: Codebook, **known: Any) -> EncodedPlan:
        """What metrics see of codes, with whatever else is known about them."""
        shared = (self.grid, self.plan, self.protocol, posterior, posterior)
        return EncodedPlan(*shared, seed=self.seed, whole_mixture=self.whole_mixture, split=self.split, **known)

    def rows(
        self, evaluation: EncodedPlan, watch: Watch = lambda _: None, chance: bool = False
    ) -> list[dict[str, Any]]:
        """The rows of every metric that applies, for each available representation that it takes.

        chance: also score the codes after permuting them among the images.
        """
        there: dict[str, EncodedPlan] = {"posterior": evaluation, "mean": evaluation}
        if evaluation.has_posteriors and "sampled" in self.representations:
            there["sampled"] = evaluation.sampled(self.noise)
        taken = {"codes": self.representations, "means": ("mean",), "posterior": ("posterior",)}
        scored, of_all = [], plan_note(self.grid, self.protocol.sizes, self.plan)
        for metric in self.fitting(evaluation.subject):
            watch(metric)
            wanted = [key for key in taken[metric.on] if key in there and key in ("posterior", *self.representations)]
            for representation in wanted:
                one = there[representation]
                computed = compute(metric, one, self.bootstrap)
                note = "\n".join(filter(None, (computed.note, of_all)))
                told = chance and metric.has_reference
                others = compute(metric, one.shuffled(), what="chance").scores if told else {}
                for key, value in computed.scores.items():
                    low, high = computed.intervals.get(key, (_NAN, _NAN))
                    row = {"metric": key, "representation": representation, "score": value, "low": low, "high": high}
                    row |= {"chance": others.get(key, _NAN), "per_factor": computed.factors.get(key)}
                    scored.append({**row, "better": metric.better_of(key), "seconds": computed.seconds, "note": note})
        return scored

    def references(self, metrics: Iterable[Metric], watch: Watch = lambda _: None) -> ReferenceScores:
        """What perfect codes score under those of these metrics that apply; empty if no factor is observed."""
        if not scored_factors(self.grid):
            return {}
        evaluation = self.of_codes(perfect_codebook(self.grid, self.images))
        best: dict[str, tuple[float, str]] = {}
        for metric in metrics:
            if metric.has_reference and not metric.missing(evaluation.subject):
                watch(metric)
                computed = compute(metric, evaluation, what="reference")
                best |= {name: (value, computed.failure) for name, value in computed.scores.items()}
        return best

    def fitting(self, subject: Subject) -> list[Metric]:
        """The metrics whose needs the data set and model meet."""
        return [metric for metric in self.metrics if not metric.missing(subject)]

    def table(self, rows: Sequence[dict[str, Any]], references: ReferenceScores) -> pd.DataFrame:
        """The rows as the table that users get."""
        table = pd.DataFrame([with_reference(row, references) for row in rows], columns=list(_COLUMNS))
        return table.assign(protocol=self.protocol.name, seed=self.seed)


def with_reference(row: dict[str, Any], references: ReferenceScores) -> dict[str, Any]:
    """A row of scores with its reference, and the note on why there is none."""
    reference, note = references.get(row["metric"], (_NAN, ""))
    return {**row, "reference": reference, "note": "\n".join(filter(None, (row["note"], note)))}


def prepare_scorer(
    grid: FactorGrid,
    metrics: Iterable[Metric],
    protocol: Protocol,
    seed: int = 0,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    bootstrap: int = 0,
    whole_mixture: bool = False,
    split: bool | None = None,
    left_out: str = "",
) -> Scorer:
    """Draw the plan of a protocol and fix what is computed on it. The other arguments are those of `hackle.score`.

    split: whether no image may be used both for training and for testing; by default decided by the size of the data
    set. left_out: the combinations that the models' training left out, if any (`Drawing.left_out`): the plan then has points
    of these and of the others.

    Groups and pairs, which are most of a plan's images, are dropped if no metric reads them, but only after everything
    is drawn, so that the other draws do not change. With `whole_mixture` they are kept. Interventions are drawn only if a
    metric reads them.
    """
    wanted: tuple[Any, ...] = (representations,) if isinstance(representations, str) else tuple(representations)
    if unknown := [name for name in wanted if name not in get_args(Representation)]:
        raise ScoreError(f"no representation {unknown[0]!r}; there are {', '.join(get_args(Representation))}")
    if bootstrap < 0 or bootstrap == 1:
        raise ScoreError(
            f"bootstrap is {bootstrap}; expected the number of halves, 2 or more and best 20, or 0 for none"
        )
    metrics, seed = tuple(metrics), seed + protocol.seed
    grid = grid.with_bins(protocol.factor_bins)
    split = must_split(grid, protocol.sizes) if split is None else split
    plan = (split_plan if split else draw_plan)(grid, protocol.sizes, seed)
    if left_out:
        trained = training_rows(grid, left_out)
        parts = np.flatnonzero(trained), np.flatnonzero(~trained)
        plan = plan._replace(
            exposure=draw_exposure(*parts, protocol.sizes, seed), trained=classes_among(grid, parts[0])
        )
    read = {"train", "test", "trained", *(part for metric in metrics for part in metric.parts)}
    if not whole_mixture:
        plan = plan._replace(**{part: None for part in plan._fields if part not in read})
    if "interventions" in read:
        plan = plan._replace(interventions=interventions(grid, protocol.sizes.interventions, seed))
    return Scorer(grid, plan, plan.images, protocol, metrics, seed, wanted, bootstrap, whole_mixture, split)
