"""Scoring a model: one plan, one encoding, every metric that applies, each with the reference score of perfect codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import nn

from hackle.core.factors import scored_factors
from hackle.core.progress import listening
from hackle.core.terminal import Terminal
from hackle.core.types import Dataset
from hackle.datasets import AnyData, dataset_of, load_of_run, warn_of_other
from hackle.datasets.pixels import say
from hackle.metrics.metric import Metric
from hackle.metrics.needs import Subject
from hackle.scoring.encode import Encoder, ModuleEncoder, encode_images
from hackle.scoring.evaluation import EncodedPlan, subject_of_run
from hackle.scoring.protocol import Protocol
from hackle.scoring.protocol import protocol as find_protocol
from hackle.scoring.registry import ScoreError, Wanted, adjusted, choose_metrics, names_of
from hackle.scoring.scorer import Representation, Scorer, prepare_scorer
from hackle.train.model import Model


def score(
    model: Model | Encoder | nn.Module | str | Path,
    dataset: AnyData | None = None,
    metrics: Wanted = "all",
    protocol: str | Protocol = "locatello2019",
    seed: int = 0,
    *,
    factor_bins: int | None = None,
    representations: Representation | Iterable[Representation] = ("mean", "sampled"),
    references: bool = True,
    bootstrap: int = 0,
    whole_mixture: bool = False,
    groups: Sequence[Sequence[int]] | str | None = None,
    progress: bool = False,
    trust: bool = False,
    channels: Literal["first", "last"] | None = None,
    value_range: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """Score a model, a plain PyTorch module, or any function from uint8 images to codes, with every metric that applies.

    model: may also be a run's folder; `trust` imports what its record names, as in `Model.load`. dataset: a data set,
    or anything that `hackle.load` takes; by default the one that a `Model` was trained on. metrics: "all", which leaves
    out those that do not apply, or names from `METRICS` as a list or separated by commas; a named metric that does not
    apply raises `ScoreError`. Your own metrics are named `path.py:name` or `module:name`, or are functions of codes and
    factors, in the list or by row name: `{"strongest": function}`. protocol: a name from `PROTOCOLS` or your own.
    factor_bins: the number of equal-width bins into which continuous factors are cut where a metric needs classes; by
    default the protocol's (20). Each image of the plan is encoded once. representations: codes are posterior means,
    samples of the posterior, or both. references: also score perfect codes on the same plan and, for small data sets,
    the codes permuted among the images. bootstrap: the number of random halves of the plan for 95% intervals; 0 gives
    none. whole_mixture: sampled mutual information uses every image of the plan as its mixture, not just those
    evaluated: slower, but worth it if a note says that an estimate is saturated. groups: codes that count as one
    representation each, such as [[0, 1], [2]], for the metrics of groups. channels, value_range: of the images that a
    module takes; by default floats (n, c, h, w) in [0, 1] of its parameters' dtype on their device. The module returns
    codes (n, c), or a pair of means and logvars; it runs in evaluation mode without gradients.

    The table has a row per score and representation: metric, representation, score, chance, reference, low, high,
    better (higher, lower or neither), protocol, seed, seconds, note (one line per remark, such as saturation, with
    its code at the end) and per_factor (the score of each factor by name, where the metric has one; else None). If a
    metric refuses these codes or fails, its score is NaN and its note says why.
    """
    settings = adjusted(find_protocol(protocol), factor_bins, groups)
    # Before a folder is read: what a file named here defines needs no trust.
    chosen, named = choose_metrics(metrics, settings, strictly=True).values(), names_of(metrics)
    encoder = _as_encoder(model, trust, channels, value_range)
    if dataset is not None:
        dataset = dataset_of(dataset)
    elif isinstance(encoder, Model):
        dataset = load_of_run(encoder.run.dataset)
    else:
        raise ScoreError(
            "no data set is given, and only a hackle.Model knows what it was trained on; name the data set"
        )
    if isinstance(encoder, Model):
        warn_of_other(dataset, encoder.run.dataset)
    if isinstance(encoder, ModuleEncoder):
        say(type(encoder.module).__name__, [f"scored on {encoder.images(dataset.shape)}"])
    if isinstance(encoder, Model):
        _check_named(named, chosen, subject_of_run(encoder.run, dataset.factors, settings))
    left_out = encoder.run.drawing.left_out if isinstance(encoder, Model) else ""
    scorer = prepare_scorer(
        dataset.factors, chosen, settings, seed, representations, bootstrap, whole_mixture, left_out=left_out
    )
    posterior = encode_images(encoder, dataset, scorer.images, seed=scorer.seed, progress=progress)
    evaluation = scorer.evaluation(encoder, dataset, posterior)
    return score_table(scorer, evaluation, named, references=references, progress=progress)


def score_table(
    scorer: Scorer, evaluation: EncodedPlan, named: Iterable[str], *, references: bool, progress: bool
) -> pd.DataFrame:
    """The table of one evaluation. Metrics requested by name must apply to it; of "all", at least one must."""
    reasons = _check_named(named, scorer.metrics, evaluation.subject)
    if "mean" not in scorer.representations and not evaluation.has_posteriors:
        raise ScoreError(
            "samples need posteriors; this encoder gives codes only, which are scored as representation mean"
        )
    if not (fitting := scorer.fitting(evaluation.subject)):
        needs = "; ".join(f"{name} needs {reason}" for name, reason in reasons.items())
        raise ScoreError(f"nothing to score: {needs or 'no metric is named'}")
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[now]}", markup=False),
    )
    console = Terminal(stderr=True, quiet=not progress)
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        best = [metric for metric in fitting if references and metric.has_reference]
        every, done = len(fitting) + len(best), -1
        task = bar.add_task("scoring", total=every, now="")
        part = bar.add_task("", total=1.0, visible=False, now="")

        def told(metric: Metric, what: str = "") -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, now=f"{done}/{every} {metric.name}{what}")
            bar.update(part, visible=False)

        def heard(what: str, fraction: float) -> None:
            if fraction == 0.0:
                bar.reset(part, visible=True, description=what)
            bar.update(part, completed=fraction, now=f"{fraction:.0%}")

        with listening(heard):
            rows = scorer.rows(evaluation, told, chance=references and scorer.split)
            top = scorer.references(best, lambda metric: told(metric, ", reference"))
        bar.update(task, completed=every, now=f"{every}/{every}")
        bar.update(part, visible=False)
    return scorer.table(rows, top)


def _check_named(named: Iterable[str], metrics: Iterable[Metric], subject: Subject) -> dict[str, str]:
    """What each metric lacks, by name; a metric requested by name must lack nothing."""
    reasons = {metric.name: metric.missing(subject) for metric in metrics}
    for name in named:
        if reasons[name]:
            raise ScoreError(f"{name} needs {reasons[name]}; leave {name} out, or ask for all, which takes what fits")
    return reasons


def quick_scores(model: Model | Encoder, dataset: Dataset, seed: int = 0, metrics: Wanted = "all") -> dict[str, float]:
    """A few scores by name in about a second, for curves during training: `hackle.fit(…, scores=quick_scores)`.

    They use posterior means under the protocol "quick": MIG, DCI, FactorVAE score, Gaussian total correlation and, if
    the encoder gives posteriors, RMIG and modularity. With so few images they are rough; every call uses the same ones.
    """
    if not scored_factors(dataset.factors):
        raise ScoreError(f"{dataset.name} has no observed factor with more than one value")
    table = score(model, dataset, metrics, "quick", seed, representations=("mean",), references=False)
    return dict(zip(table["metric"], table["score"], strict=True))


def _as_encoder(
    model: Any, trust: bool, channels: Any = None, value_range: Any = None
) -> Model | ModuleEncoder | Encoder:
    """The model itself, the one in the run folder of this path, or a module wrapped as a `ModuleEncoder`."""
    if isinstance(model, nn.Module):
        return ModuleEncoder(model, channels or "first", value_range or (0.0, 1.0))
    if channels is not None or value_range is not None:
        raise ScoreError(
            f"channels and value_range say what a plain module takes; the model is of type {type(model).__name__}, which knows"
        )
    if isinstance(model, str | Path):
        return Model.load(Path(model), trust=trust)
    if not isinstance(model, Model) and not callable(model):
        raise ScoreError(
            f"the model is of type {type(model).__name__}; expected a Model, a run's folder, an nn.Module, or a function from "
            "uint8 images (n, h, w, c) to codes (n, c)"
        )
    return model
