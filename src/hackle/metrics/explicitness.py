"""Explicitness (Ridgeway & Mozer 2018), as Locatello et al. 2019, appendix B, compute it.

For each value of a factor, a logistic regression (scikit-learn's default penalty, L2 with C = 1) on standardised codes
separates it from the other values. The test probabilities of a row are scaled to sum to 1 over the values, as
scikit-learn's `predict_proba` does, and each value's area under the ROC curve is computed. The score is the mean over
values, then over factors. It needs classes, so a continuous factor is cut into equal-width bins. It is at most 1;
chance is 0.5, the score when every code is constant.

A value that occurs in none or in all of the test rows has no ROC curve and is left out. Departure: regressions are fitted
to the minimum itself, whereas scikit-learn's solver stops near it, where areas differ by up to some 1e-4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp

from hackle.core.columns import Kinds, TableLike
from hackle.metrics.checks import Classes, MetricError, Table, TestPair, check_split, standardise
from hackle.metrics.metric import Evaluation, Metric, PerFactor, Row, per_factor
from hackle.metrics.predictors.logistic import LogisticDesign


def explicitness_score(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> float:
    """The mean area under the ROC curve, 0 to 1, of reading the factors (n, f) from the codes (n, c).

    `test` holds the codes and factors on which areas are computed; without it, the training rows are used. `kinds`
    gives the factors' kinds, which are otherwise guessed; continuous factors are cut into `factor_bins` bins.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2)
    >>> explicitness_score(np.repeat(grid, 5, axis=0) * 1.0, np.repeat(grid, 5, axis=0))
    1.0
    """
    return float(explicitness_per_factor(codes, factors, test=test, kinds=kinds, factor_bins=factor_bins).mean())


def explicitness_per_factor(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> NDArray[np.float64]:
    """The mean area of each factor with more than one training value, (f,); arguments as for `explicitness_score`."""
    split = check_split(codes, factors, test, kinds, factor_bins)
    train, held_out = standardise(split.codes, split.test_codes)
    design = LogisticDesign(train) if train.shape[1] else None
    areas = np.empty(split.factors.shape[1])
    for column, (classes, test_classes) in enumerate(zip(split.factors.T, split.test_factors.T, strict=True)):
        values = [v for v in range(classes.max() + 1) if 0 < np.sum(test_classes == v) < len(test_classes)]
        if not values:
            raise MetricError(
                f"the test rows hold no training value of scored factor {column} beside another value, so no ROC curve "
                "exists; expected test rows with at least two of its values"
            )
        positive = test_classes[:, None] == np.array(values)
        areas[column] = roc_areas(_log_probabilities(design, classes, held_out)[:, values], positive).mean()
    return areas


def roc_areas(scores: Table, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The area under each column's ROC curve: the probability that a positive row outscores a negative one (ties: ½).

    >>> roc_areas(np.array([[0.1], [0.4], [0.8], [0.4]]), np.array([[False], [True], [True], [False]]))
    array([0.875])
    """
    areas = np.empty(scores.shape[1])
    for column, (values, own) in enumerate(zip(scores.T, positive.T, strict=True)):
        mine, others = values[own], np.sort(values[~own])
        below, up_to = (np.searchsorted(others, mine, side=side).sum() for side in ("left", "right"))
        areas[column] = (below + up_to) / (2 * len(mine) * len(others))
    return areas


def _log_probabilities(design: LogisticDesign | None, classes: Classes, held_out: Table) -> Table:
    """One column for each class: the log of its probability, which does not underflow where the probability would."""
    if design is None:
        return np.zeros((len(held_out), classes.max() + 1))
    # For two values one classifier is enough: the other is its mirror image.
    binary = classes.max() == 1
    weights, intercepts = design.fit(classes, np.arange(1 if binary else 0, classes.max() + 1))
    logits = held_out @ weights.T + intercepts
    scores = log_expit(np.hstack([-logits, logits]) if binary else logits)
    return scores - logsumexp(scores, axis=1, keepdims=True)


def _compute(e: Evaluation) -> PerFactor:
    areas = explicitness_per_factor(e.codes, e.factors, test=e.test, kinds="categorical")
    return per_factor(e, areas.mean(), areas)


EXPLICITNESS = Metric(
    "explicitness",
    _compute,
    (Row("explicitness", "explicitness", "Explicitness"),),
)
