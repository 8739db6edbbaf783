"""The scores that a run's record asks for at points of its training (`Run.scored`), on the posterior's means.

Every point and every run has the same plan, that of the protocol's scoring seed, so that curves change with the weights alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hackle.core.types import Dataset, Run
from hackle.scoring.encode import encode_images
from hackle.scoring.protocol import protocol
from hackle.scoring.registry import ScoreError, choose_metrics, names_of
from hackle.scoring.scorer import prepare_scorer
from hackle.train.loop import PointScores, Scores
from hackle.train.model import Model


@dataclass(frozen=True)
class _PointScorer:
    """Scores a model as a run's record says. images: how many it encodes each time."""

    scored: Callable[[Model, Dataset], Mapping[str, float]]
    images: int

    def __call__(self, model: Model, data: Dataset) -> Mapping[str, float]:
        return self.scored(model, data)


def point_scores(run: Run, dataset: Dataset) -> Scores:
    """The function that scores a model as the run's record says. Names that there are not are refused here."""
    settings = protocol(run.scored.protocol)
    chosen = choose_metrics(run.scored.metrics, settings, strictly=True)
    scorer = prepare_scorer(
        dataset.factors, chosen.values(), settings, representations="mean", left_out=run.drawing.left_out
    )

    def scores(model: Model, data: Dataset) -> Mapping[str, float]:
        evaluation = scorer.evaluation(model, data, encode_images(model, data, scorer.images, seed=scorer.seed))
        for name in names_of(run.scored.metrics):
            if missing := chosen[name].missing(evaluation.subject):
                raise ScoreError(f"{name} needs {missing}; leave {name} out of scored.metrics")
        by_name = {row["metric"]: row["score"] for row in scorer.rows(evaluation)}
        return {name: value for name, value in by_name.items() if not math.isnan(value)}

    return _PointScorer(scores, len(scorer.images))


POINTS = PointScores("hackle", point_scores)
