"""One plan and the metrics that are computed on it, for one model or many: rows of scores, and references beside them.

Codes are scored as posterior means and as samples of the posterior; metrics of posteriors see means and logvars.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.notes import warning_code, with_code
from hackle.core.types import Dataset
from hackle.information import PosteriorError
from hackle.metrics.checks import MetricError
from hackle.metrics.metric import Metric, Subject
from hackle.scoring.encode import Codebook, Encoder, ModuleEncoder
from hackle.scoring.evaluation import EncodedPlan
from hackle.scoring.plan import Plan, PlanSizes, draw_plan, values_of
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import ScoreError
from hackle.train.model import Model
from hackle.train.size import is_out_of_memory

Representation = Literal["mean", "sampled"]
Watch = Callable[[Metric], Any]
"""Called before each metric is computed."""
PERFECT_LOGVAR = 2 * np.log(0.01)
"""Perfect posteriors, for references: means at the standardised factors, standard deviation 0.01."""
_COLUMNS = (
    *("metric", "representation", "score", "reference", "low", "high"),
    *("better", "protocol", "seed", "seconds", "note"),
)
_NAN = float("nan")


def perfect_codebook(grid: FactorGrid, index: NDArray[np.int64]) -> Codebook:
    """Codes that are the factors themselves, standardised, with narrow posteriors: what references are computed from."""
    factors = values_of(grid, index).astype(np.float32)
    # A rare value may be absent from a plan of few images; its factor then is a constant code.
    deviations = factors.std(axis=0)
    means = (factors - factors.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return Codebook(index, means, np.full_like(means, PERFECT_LOGVAR))


@dataclass(frozen=True)
class Computed:
    """What one metric gave: its scores by name, their 95% intervals, the seconds that they took, and notes."""

    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    seconds: float
    note: str


def compute(metric: Metric, evaluation: EncodedPlan, bootstrap: int = 0) -> Computed:
    """A metric of an evaluation, with NaN and a note in place of a score that it refuses to give these codes.

    Any error of a metric of one's own is such a refusal.
    """
    said = [with_code(f"{metric.name} is a metric {metric.origin}", "own")] if metric.origin else []
    said += _cut(metric, evaluation)
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores = _scores(metric, evaluation)
        seconds = time.perf_counter() - started
        intervals = _intervals(metric, evaluation, bootstrap)
    except Exception as error:
        # Codes that one metric cannot take may be fine for the others.
        refused = isinstance(error, MetricError | PosteriorError)
        if not refused and (not metric.origin or is_out_of_memory(error)):
            raise
        said.append(with_code(f"no score: {error}", "refused") if refused else _raised(metric, error))
        return Computed({metric.rows[0].name: _NAN}, {}, 0.0, "\n".join(said))
    said += [
        with_code(str(warning.message), warning_code(warning.category))
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
    return Computed(scores, intervals, seconds, "\n".join(dict.fromkeys(said)))


def _cut(metric: Metric, evaluation: EncodedPlan) -> list[str]:
    """The note that a metric sees continuous factors as bins."""
    grid = evaluation.grid
    names = [grid.names[column] for column in scored_factors(grid) if grid.kinds[column] == "continuous"]
    if not names or metric.continuous == "values" or not metric.has_reference:
        return []
    held = "images that share a bin count as sharing a value: " if metric.parts else ""
    return [with_code(f"{held}continuous factors ({', '.join(names)}) are cut into {grid.bins} bins", "bins")]


def _scores(metric: Metric, evaluation: EncodedPlan) -> dict[str, float]:
    found = metric.compute(evaluation)
    scores = found if isinstance(found, Mapping) else {metric.name: found}
    return {key: float(value) for key, value in scores.items()}


def _intervals(metric: Metric, evaluation: EncodedPlan, bootstrap: int) -> dict[str, tuple[float, float]]:
    """Percentile intervals (95%) of a metric over plans resampled from the plan."""
    rng = np.random.default_rng([evaluation.seed, 5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [_scores(metric, evaluation.resampled(rng)) for _ in range(bootstrap)]
    if not draws:
        return {}
    return {key: tuple(np.percentile([draw[key] for draw in draws], [2.5, 97.5])) for key in draws[0]}


def _raised(metric: Metric, error: Exception) -> str:
    """The note on a metric of one's own that failed, with the line of its own file where it did."""
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename in metric.origin), frames[-1])
    words = f"no score: {metric.name} raised {type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
    return with_code(words, "raised")


@dataclass(frozen=True)
class Scorer:
    """Everything about scoring that models share: the plan, the images that it names, the protocol and the metrics."""

    grid: FactorGrid
    plan: Plan
    images: NDArray[np.int64]
    protocol: Protocol
    metrics: tuple[Metric, ...]
    seed: int
    representations: tuple[Representation, ...]
    bootstrap: int = 0
    whole_mixture: bool = False

    def evaluation(self, model: Model | ModuleEncoder | Encoder, dataset: Dataset, posterior: Codebook) -> EncodedPlan:
        """What metrics see of a model whose codes of the plan's images, and perhaps of others, are known."""
        if not isinstance(model, Model):
            return self.of_codes(posterior, dataset=dataset)
        discrete, correlation = model.run.method.discrete(model.run), float(model.run.correlation)
        return self.of_codes(posterior, discrete=discrete, correlation=correlation, model=model, dataset=dataset)

    def of_codes(self, posterior: Codebook, **known: Any) -> EncodedPlan:
        """What metrics see of codes, and of what else is known of them."""
        shared = (self.grid, self.plan, self.protocol, posterior, posterior)
        return EncodedPlan(*shared, seed=self.seed, whole_mixture=self.whole_mixture, **known)

    def rows(self, evaluation: EncodedPlan, watch: Watch = lambda _: None) -> list[dict[str, Any]]:
        """The rows of every metric that fits, of each representation that there is and that it takes."""
        there: dict[str, EncodedPlan] = {"posterior": evaluation, "mean": evaluation}
        if evaluation.has_posteriors and "sampled" in self.representations:
            there["sampled"] = evaluation.sampled()
        taken = {"codes": self.representations, "means": ("mean",), "posterior": ("posterior",)}
        found = []
        for metric in self.fitting(evaluation.subject):
            watch(metric)
            wanted = [key for key in taken[metric.on] if key in there and key in ("posterior", *self.representations)]
            for representation in wanted:
                one = there[representation]
                computed = compute(metric, one, self.bootstrap)
                for key, value in computed.scores.items():
                    low, high = computed.intervals.get(key, (_NAN, _NAN))
                    row = {"metric": key, "representation": representation, "score": value, "low": low, "high": high}
                    found.append({**row, "better": metric.better, "seconds": computed.seconds, "note": computed.note})
        return found

    def references(self, metrics: Iterable[Metric], watch: Watch = lambda _: None) -> dict[str, float]:
        """What perfect codes score under those of these metrics that fit; nothing where no factor is observed."""
        if not scored_factors(self.grid):
            return {}
        evaluation = self.of_codes(perfect_codebook(self.grid, self.images))
        found: dict[str, float] = {}
        for metric in metrics:
            if metric.has_reference and not metric.missing(evaluation.subject):
                watch(metric)
                found |= compute(metric, evaluation).scores
        return found

    def fitting(self, subject: Subject) -> list[Metric]:
        """The metrics for which data set and model have what it takes."""
        return [metric for metric in self.metrics if not metric.missing(subject)]

    def table(self, rows: Sequence[dict[str, Any]], references: Mapping[str, float]) -> pd.DataFrame:
        """The rows as the table that users get."""
        table = pd.DataFrame(rows, columns=list(_COLUMNS))
        reference = [references.get(name, _NAN) for name in table["metric"]]
        return table.assign(reference=reference, protocol=self.protocol.name, seed=self.seed)


def prepare_scorer(
    grid: FactorGrid,
    metrics: Iterable[Metric],
    protocol: Protocol,
    seed: int = 0,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    bootstrap: int = 0,
    whole_mixture: bool = False,
    draw: Callable[[FactorGrid, PlanSizes, int], Plan] = draw_plan,
) -> Scorer:
    """Draw the plan of a protocol and settle what is computed on it. The other arguments are those of `hackle.score`.

    Groups and pairs, which are most of a plan's images, are dropped where no metric reads them, once all is drawn: the other
    draws do not change. A mixture of the whole plan keeps them.
    """
    wanted: tuple[Any, ...] = (representations,) if isinstance(representations, str) else tuple(representations)
    if unknown := [name for name in wanted if name not in get_args(Representation)]:
        raise ScoreError(f"no representation {unknown[0]!r}; there are {', '.join(get_args(Representation))}")
    metrics, seed = tuple(metrics), seed + protocol.seed
    grid = grid.with_bins(protocol.factor_bins)
    plan = draw(grid, protocol.sizes, seed)
    if not whole_mixture:
        read = {"train", "test", *(part for metric in metrics for part in metric.parts)}
        plan = plan._replace(**{part: None for part in plan._fields if part not in read})
    return Scorer(grid, plan, plan.images, protocol, metrics, seed, wanted, bootstrap, whole_mixture)
