"""Scoring: one plan, one encoding, every metric that fits, each beside the ceiling of perfect codes.

Codes are scored as posterior means and as samples of the posterior; metrics of posteriors see means and logvars. Many models
are scored on one plan by several processes, while the next model is being encoded.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from hackle.core.factors import FactorGrid
from hackle.core.notes import warning_code, with_code
from hackle.core.types import Dataset
from hackle.datasets import found
from hackle.information.discrete import bin_codes, discrete_mutual_information
from hackle.information.posterior import PosteriorError
from hackle.metrics import informativeness
from hackle.metrics.checks import MetricError
from hackle.scoring.encode import Codebook, Encoder, encode_images
from hackle.scoring.evaluation import Evaluation
from hackle.scoring.plan import Plan, PlanSizes, draw_plan, rows_of, scored_factors
from hackle.scoring.protocol import Protocol
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import METRICS, Metric, ScoreError, choose_metrics, named_metrics
from hackle.train.model import Model

__all__ = ["METRICS", "ScoreError", "choose_metrics", "quick_scores", "score", "score_many"]

Representation = Literal["mean", "sampled"]
PERFECT_LOGVAR = 2 * np.log(0.01)
"""Perfect posteriors, for ceilings: means at the standardised factors, standard deviation 0.01."""
_COLUMNS = (
    *("metric", "representation", "score", "ceiling", "low", "high"),
    *("better", "protocol", "seed", "seconds", "note"),
)


def perfect_codebook(grid: FactorGrid, index: NDArray[np.int64]) -> Codebook:
    """Codes that are the factors themselves, standardised, with narrow posteriors: what ceilings are computed from."""
    factors = rows_of(grid, index).astype(np.float32)
    # A rare value may be absent from a plan of few images; its factor then is a constant code.
    deviations = factors.std(axis=0)
    means = (factors - factors.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return Codebook(index, means, np.full_like(means, PERFECT_LOGVAR))


def _compute(metric: Metric, evaluation: Evaluation, name: str) -> tuple[dict[str, float], float, str]:
    """A metric's scores by name, the seconds they took and what it warned of."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = metric.compute(evaluation)
    said = [
        with_code(str(warning.message), warning_code(warning.category))
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
    scores = found if isinstance(found, dict) else {name: found}
    seconds = time.perf_counter() - started
    return {key: float(value) for key, value in scores.items()}, seconds, "\n".join(dict.fromkeys(said))


def _intervals(metric: Metric, evaluation: Evaluation, name: str, bootstrap: int) -> dict[str, tuple[float, float]]:
    """Percentile intervals (95%) of a metric over plans resampled from the plan."""
    rng = np.random.default_rng([evaluation.seed, 5])
    draws = [_compute(metric, evaluation.resampled(rng), name)[0] for _ in range(bootstrap)]
    if not draws:
        return {}
    return {key: tuple(np.percentile([draw[key] for draw in draws], [2.5, 97.5])) for key in draws[0]}


@dataclass(frozen=True)
class Scoring:
    """Everything about scoring that models share, small enough to send to another process."""

    grid: FactorGrid
    plan: Plan
    images: NDArray[np.int64]
    protocol: Protocol
    names: tuple[str, ...]
    seed: int
    representations: tuple[Representation, ...]
    bootstrap: int = 0
    whole_mixture: bool = False

    def ceilings(self, names: Iterable[str]) -> dict[str, float]:
        """What perfect codes score under those of these metrics that fit; nothing where no factor is observed."""
        if not scored_factors(self.grid):
            return {}
        perfect = perfect_codebook(self.grid, self.images)
        evaluation = Evaluation(self.grid, self.plan, self.protocol, perfect, perfect, seed=self.seed)
        found: dict[str, float] = {}
        for name in names:
            if METRICS[name].ceiling and METRICS[name].fits(evaluation):
                found |= _compute(METRICS[name], evaluation, name)[0]
        return found

    def evaluations(self, evaluation: Evaluation) -> dict[Representation, Evaluation]:
        """The representations to score: a codebook without posteriors has no samples."""
        found: dict[Representation, Evaluation] = {"mean": evaluation}
        if evaluation.posterior.has_posterior and "sampled" in self.representations:
            codebook = evaluation.posterior.sampled(evaluation.correlation, self.seed)
            found["sampled"] = replace(evaluation, codebook=codebook)
        return found

    def rows(self, name: str, evaluations: Mapping[Representation, Evaluation]) -> list[dict[str, Any]]:
        """The rows of one metric, none where it does not fit; NaN with a note where it refuses these codes."""
        metric, mean = METRICS[name], evaluations["mean"]
        if not metric.fits(mean):
            return []
        scored: Mapping[str, Evaluation] = {"posterior": mean}
        if metric.on != "posterior":
            allowed = {"mean"} if metric.on == "means" else evaluations.keys()
            scored = {key: evaluations[key] for key in self.representations if key in allowed & evaluations.keys()}
        found = []
        for representation, evaluation in scored.items():
            try:
                scores, seconds, note = _compute(metric, evaluation, name)
                intervals = _intervals(metric, evaluation, name, self.bootstrap)
            except (MetricError, PosteriorError) as refusal:
                # Codes that one metric cannot take may be fine for the others.
                scores, seconds, note = (
                    {metric.row or name: float("nan")},
                    0.0,
                    with_code(f"no score: {refusal}", "refused"),
                )
                intervals = {}
            for key, value in scores.items():
                low, high = intervals.get(key, (float("nan"), float("nan")))
                row = {"metric": key, "representation": representation, "score": value, "low": low, "high": high}
                found.append({**row, "better": metric.better, "seconds": seconds, "note": note})
        return found

    def table(self, rows: Sequence[dict[str, Any]], ceilings: Mapping[str, float]) -> pd.DataFrame:
        """The rows as the table that users get."""
        table = pd.DataFrame(rows, columns=list(_COLUMNS))
        ceiling = [ceilings.get(name, float("nan")) for name in table["metric"]]
        return table.assign(ceiling=ceiling, protocol=self.protocol.name, seed=self.seed)

    def evaluation(self, model: Model | Encoder, dataset: Dataset, posterior: Codebook) -> Evaluation:
        """What metrics see of a model whose codes of the plan's images, and perhaps of others, are known."""
        common = {"seed": self.seed, "whole_mixture": self.whole_mixture, "dataset": dataset}
        shared = (self.grid, self.plan, self.protocol, posterior, posterior)
        if not isinstance(model, Model):
            return Evaluation(*shared, **common)
        discrete = model.run.method.discrete(model.run)
        return Evaluation(*shared, discrete, float(model.run.correlation), model=model, **common)


def prepare_scoring(
    grid: FactorGrid,
    metrics: str | Iterable[str] = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    bootstrap: int = 0,
    whole_mixture: bool = False,
    draw: Callable[[FactorGrid, PlanSizes, int], Plan] = draw_plan,
) -> Scoring:
    """Draw the plan of a protocol and settle what is computed on it. The other arguments are those of `score`.

    Groups and pairs, which are most of a plan's images, are dropped where no metric reads them, once all is drawn: the other
    draws do not change. A mixture of the whole plan keeps them.
    """
    wanted: tuple[Any, ...] = (representations,) if isinstance(representations, str) else tuple(representations)
    if unknown := [name for name in wanted if name not in get_args(Representation)]:
        raise ScoreError(f"no representation {unknown[0]!r}; there are {', '.join(get_args(Representation))}")
    settings = find_protocol(protocol)
    seed += settings.seed
    plan = draw(grid, settings.sizes, seed)
    names = tuple(choose_metrics(metrics, settings))
    if not whole_mixture:
        read = {"train", "test", *(part for name in names for part in METRICS[name].parts)}
        plan = plan._replace(**{part: None for part in plan._fields if part not in read})
    return Scoring(grid, plan, plan.images, settings, names, seed, wanted, bootstrap, whole_mixture)


def settle_names(metrics: str | Iterable[str], protocol: str | Protocol) -> tuple[str, ...]:
    """The names asked for, once it is sure that the protocol gives each of them."""
    names, settings = named_metrics(metrics), find_protocol(protocol)
    for name in names:
        if name != "all" and settings.metrics and name not in settings.metrics:
            raise ScoreError(
                f"the protocol {settings.name} does not give {name}: it is for {', '.join(settings.metrics)} alone; leave "
                f"{name} out or choose another protocol, such as locatello2019"
            )
    return names


def _refuse_misfits(names: Iterable[str], scoring: Scoring, evaluation: Evaluation) -> None:
    """What is asked for by name must fit; of "all", something must."""
    for name in names:
        if name != "all" and (need := METRICS[name].lacks(evaluation)):
            raise ScoreError(f"{name} needs {need}; leave {name} out, or ask for all, which takes what fits")
    if "mean" not in scoring.representations and not evaluation.posterior.has_posterior:
        raise ScoreError(
            "samples need posteriors; this encoder gives codes only, which are scored as representation mean"
        )
    if not any(METRICS[name].fits(evaluation) for name in scoring.names):
        reasons = dict.fromkeys(f"{name} needs {METRICS[name].lacks(evaluation)}" for name in scoring.names)
        raise ScoreError(f"nothing to score: {'; '.join(reasons) or 'no metric is named'}")


def encode_plan(model: Model | Encoder, dataset: Dataset, scoring: Scoring, progress: bool = False) -> Codebook:
    """The codes of the plan's images, each encoded once."""
    return encode_images(model, dataset, scoring.images, seed=scoring.seed, progress=progress)


def code_informations(evaluation: Evaluation) -> dict[str, NDArray]:
    """What a model's codes say of the data and of each factor, for figures.

    `mutual_information` (l, f): of each code's mean with each factor, in equal-width bins. `informativeness` (l,): I(x; z_i)
    of each code's posterior.
    """
    found: dict[str, NDArray] = {}
    if scored_factors(evaluation.grid):
        binned = bin_codes(evaluation.codes, evaluation.protocol.bins)
        found["mutual_information"] = discrete_mutual_information(binned, evaluation.factors)
    if evaluation.posterior.has_posterior:
        # What informations refuse is said where they are scores.
        with warnings.catch_warnings(), suppress(PosteriorError):
            # Posteriors beyond the bins are said of the scores that suffer from them.
            warnings.simplefilter("ignore")
            found["informativeness"] = informativeness(*evaluation.posteriors, bins=evaluation.protocol.posterior_bins)
    return found


def _bar(what: str, shown: bool) -> Progress:
    columns = (
        TextColumn(what),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total} {task.description}"),
    )
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True, quiet=not shown))


def _found_model(model: Any, trust: bool) -> Model | Encoder:
    """The model, or the one in the run folder of this path."""
    if isinstance(model, str | Path):
        return Model.load(Path(model), trust=trust)
    if not isinstance(model, Model) and not callable(model):
        raise ScoreError(
            f"the model is of type {type(model).__name__}; expected a Model, a run's folder, or a function from uint8 "
            "images (n, h, w, c) to codes (n, c)"
        )
    return model


def score(
    model: Model | Encoder | str | Path,
    dataset: Dataset | str | Path,
    metrics: str | Iterable[str] = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    *,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    ceilings: bool = True,
    bootstrap: int = 0,
    whole_mixture: bool = False,
    progress: bool = False,
    trust: bool = False,
) -> pd.DataFrame:
    """Score a model, or any function from uint8 images to codes, with every metric that fits.

    model: may also be a run's folder; `trust` imports what its record names, as in `Model.load`. dataset: or its name, as `hackle.load` takes it.
    metrics: "all", which leaves out what does not fit, or names of `METRICS` as a list or separated by commas, which must
    fit: one that does not raises `ScoreError`. protocol: a name of `PROTOCOLS` or one of your own. Each image of the plan is
    encoded once. representations: codes are posterior means, samples of the posterior, or both. ceilings: also score perfect
    codes on the same plan. bootstrap: resamplings for 95% intervals; 0 gives none.
    whole_mixture: sampled informations use every image of the plan as their mixture, not just those evaluated: slower, and
    worth it where a note says that an estimate is saturated.

    The table has a row per score and representation: metric, representation, score, ceiling, low, high, better (higher,
    lower or neither), protocol, seed, seconds and note (a line for each thing that an estimator warned of, such as saturation).
    A metric that refuses these codes has the score NaN, and its note says why.
    """
    model, dataset, names = _found_model(model, trust), found(dataset), settle_names(metrics, protocol)
    scoring = prepare_scoring(dataset.factors, names, protocol, seed, representations, bootstrap, whole_mixture)
    evaluation = scoring.evaluation(model, dataset, encode_plan(model, dataset, scoring, progress))
    return table_of(scoring, evaluation, names, ceilings=ceilings, progress=progress)


def table_of(
    scoring: Scoring, evaluation: Evaluation, names: Sequence[str], *, ceilings: bool, progress: bool
) -> pd.DataFrame:
    """The table of one evaluation; metrics that are asked for by name must fit it."""
    _refuse_misfits(names, scoring, evaluation)
    evaluations = scoring.evaluations(evaluation)
    rows: list[dict[str, Any]] = []
    best: dict[str, float] = {}
    with _bar("scoring", progress) as bar:
        task = bar.add_task("", total=len(scoring.names))
        for name in scoring.names:
            bar.update(task, description=name)
            rows += scoring.rows(name, evaluations)
            if ceilings and METRICS[name].fits(evaluations["mean"]):
                best |= scoring.ceilings([name])
            bar.advance(task)
    return scoring.table(rows, best)


def quick_scores(model: Model | Encoder, dataset: Dataset, seed: int = 0) -> dict[str, float]:
    """A few scores by name that take about a second, for curves of a model in training: `hackle.fit(…, scores=quick_scores)`.

    They are those of posterior means under the protocol "quick": MIG, DCI, FactorVAE score, Gaussian total correlation and,
    where the encoder gives posteriors, RMIG and modularity. So few images make them rough; every call sees the same ones.
    """
    if not scored_factors(dataset.factors):
        raise ScoreError(f"{dataset.name} has no observed factor with more than one value")
    table = score(model, dataset, protocol="quick", seed=seed, representations=("mean",), ceilings=False)
    return dict(zip(table["metric"], table["score"], strict=True))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """So many threads in this process's libraries. Where processes fill the cores, threads that wait for each other by
    busy-waiting take the cores from them."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)


def _start_worker() -> None:
    """One thread for each process: with one pool of threads per process and library they would all wait for each other."""
    torch.set_num_threads(1)
    threadpool_limits(1)


def _rows_job(
    scoring: Scoring,
    names: Sequence[str],
    posterior: Codebook,
    discrete: bool | tuple[bool, ...],
    correlation: float,
) -> list[dict[str, Any]]:
    shared = (scoring.grid, scoring.plan, scoring.protocol, posterior, posterior)
    evaluations = scoring.evaluations(Evaluation(*shared, discrete, correlation, scoring.seed, scoring.whole_mixture))
    return [row for name in names for row in scoring.rows(name, evaluations)]


def score_many(
    models: Sequence[Model],
    dataset: Dataset,
    metrics: str | Iterable[str] = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    *,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    ceilings: bool = True,
    workers: int | None = None,
    progress: bool = False,
) -> Iterator[pd.DataFrame]:
    """The table that `score` gives for each model in turn, all on one plan.

    While `workers` processes (as many as there are cores, if not said) compute metrics of models already encoded, the
    next model is encoded; metrics that run best on the model's accelerator stay in this process.
    """
    names = settle_names(metrics, protocol)
    scoring = prepare_scoring(dataset.factors, names, protocol, seed, representations)
    here = [name for name in scoring.names if METRICS[name].heavy or "model" in METRICS[name].needs]
    there = [name for name in scoring.names if name not in here]
    count = workers or os.cpu_count() or 1
    on_device = any(model.device.type != "cpu" for model in models)
    with (
        _threads(1 if on_device else torch.get_num_threads()),
        # The plan travels with each job: as an argument of the workers' start it would make them start one after another.
        ProcessPoolExecutor(count, get_context("spawn"), _start_worker) as pool,
        _bar("models", progress) as bar,
    ):
        task = bar.add_task("", total=len(models))
        best = [pool.submit(scoring.ceilings, (name,)) for name in scoring.names] if ceilings else []
        waiting = []
        for model in models:
            evaluation = scoring.evaluation(model, dataset, encode_plan(model, dataset, scoring))
            _refuse_misfits(names, scoring, evaluation)
            sent = (evaluation.posterior, evaluation.discrete, evaluation.correlation)
            job = pool.submit(_rows_job, scoring, there, *sent)
            evaluations = scoring.evaluations(evaluation)
            waiting.append((job, [row for name in here for row in scoring.rows(name, evaluations)]))
        top = {key: value for part in best for key, value in part.result().items()}
        for job, own in waiting:
            yield scoring.table(job.result() + own, top)
            bar.advance(task)
