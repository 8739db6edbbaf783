"""Unfairness of downstream predictions (Locatello et al. 2019, On the Fairness of Disentangled Representations).

A classifier learns the target factor t from the codes. Then a sensitive factor s ≠ t is set, in the same images, to each
of its values a, and the distribution of what is predicted should not change:

    unfairness(t, s) = mean over a of TV( p(ŷ_t), p(ŷ_t | do(v_s = a)) ),   TV = ½ Σ |·|,   p(ŷ_t) the average over a
    score            = mean over t of the mean over s ≠ t

At 0 predictions ignore what they should; a prediction that copies a sensitive factor of K values has 1 − 1/K. Lower is
better. As in disentanglement_lib, the classifier is boosted trees on 10,000 rows (see `predictors.trees`) and 100
images have their factors set. They are the same for every value, so a predictor that ignores s scores exactly 0; fresh
images would add a floor of 0.25 for 40 classes and 32 values. Here they are also the same for every target and every sensitive
factor, so that each is encoded once. A continuous target is cut into bins, a continuous sensitive factor set to the middle
value of each bin.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import Kinds, TableLike, columns_of
from hackle.core.factors import scored_factors
from hackle.metrics.checks import (
    MetricError,
    check_choice,
    check_codes,
    check_held,
    check_matrix,
    check_split,
    standardise,
)
from hackle.metrics.downstream import CLASSIFIERS
from hackle.metrics.metric import Evaluation, Metric, Row


class NotSetWarning(UserWarning):
    """Factors that no image has at every value, so that nothing is known of their influence."""

    code = "not-set"


def unfairness(
    codes: TableLike,
    factors: TableLike,
    interventions: ArrayLike,
    held: ArrayLike,
    *,
    classifier: str = "gbt",
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> float:
    """The mean unfairness, 0 to 1, of predicting each factor (n, f) from codes (n, c); lower is better.

    `interventions` (g, r, c) are the codes of the same r images, in each group with one factor set to one value; `held`
    (g,) is the column of that factor. `classifier` is "gbt" or "logistic-cv". `kinds` gives the factors' kinds, which
    are otherwise guessed; continuous ones are cut into `factor_bins` bins.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2).repeat(9, axis=0)
    >>> images = np.random.default_rng(0).integers(0, 2, size=(20, 2))
    >>> groups = [np.insert(images[:, 1:], 0, a, axis=1) for a in (0, 1)]
    >>> groups += [np.insert(images[:, :1], 1, a, axis=1) for a in (0, 1)]
    >>> unfairness(grid * 1.0, grid, np.array(groups) * 1.0, [0, 0, 1, 1], classifier="logistic-cv")
    0.0
    """
    matrix = unfairness_matrix(
        codes, factors, interventions, held, classifier=classifier, kinds=kinds, factor_bins=factor_bins
    )
    known = ~np.isnan(matrix)
    if not known.any():
        raise MetricError("no factor is set while another is predicted; expected interventions on a second factor")
    return float(np.mean([row[there].mean() for row, there in zip(matrix, known, strict=True) if there.any()]))


def unfairness_matrix(
    codes: TableLike,
    factors: TableLike,
    interventions: ArrayLike,
    held: ArrayLike,
    *,
    classifier: str = "gbt",
    kinds: Kinds | None = None,
    factor_bins: int = 20,
) -> NDArray[np.float64]:
    """Each target's (row's) unfairness to each sensitive factor (column), (f, f); NaN where a factor is not set, on the
    diagonal, and for a target with a single value. Arguments as for `unfairness`."""
    check_choice(classifier, CLASSIFIERS, "classifier")
    split = check_split(codes, factors, None, kinds, factor_bins)
    groups = check_codes(interventions, "interventions", "g r c")
    sensitive, names = check_held(held, len(groups)), list(columns_of(factors, "factors"))
    if groups.shape[2] != split.codes.shape[1]:
        raise MetricError(f"interventions have {groups.shape[2]} codes, the training rows {split.codes.shape[1]}")
    if sensitive.min() < 0 or sensitive.max() >= len(names):
        raise MetricError(
            f"held goes from {sensitive.min()} to {sensitive.max()}; expected columns 0 to {len(names) - 1}"
        )
    train, changed = standardise(split.codes, groups.reshape(-1, groups.shape[2]))
    matrix = np.full((len(names), len(names)), np.nan)
    for name, classes in zip(split.names, split.factors.T, strict=True):
        target = names.index(name)
        # Codes that never vary predict the same whatever is set.
        predicted = CLASSIFIERS[classifier](train, classes, changed) if train.shape[1] else np.zeros(len(changed), int)
        counts = np.stack(
            [np.bincount(one, minlength=classes.max() + 1) for one in predicted.reshape(groups.shape[:2])]
        )
        for factor in set(sensitive.tolist()) - {target}:
            matrix[target, factor] = unfairness_from_counts(counts[sensitive == factor].T)
    return matrix


def unfairness_from_counts(counts: ArrayLike) -> float:
    """The mean over values of the sensitive factor, as often as each occurs, of their total variations.

    >>> round(unfairness_from_counts([[0, 100], [100, 100]]), 4)
    0.2222
    """
    matrix = check_matrix(counts, "counts")
    return float(total_variations(matrix) @ matrix.sum(axis=0) / matrix.sum())


def total_variations(counts: ArrayLike) -> NDArray[np.float64]:
    """TV(p(ŷ), p(ŷ | a)) of each value a of a sensitive factor, (k,), from counts (predicted, k).

    >>> total_variations([[0, 100], [100, 100]]).round(4)
    array([0.3333, 0.1667])
    """
    matrix = check_matrix(counts, "counts")
    if not matrix.any(axis=0).all():
        raise MetricError("a value of the sensitive factor has no predictions; expected a column of counts for each")
    overall = matrix.sum(axis=1, keepdims=True) / matrix.sum()
    return 0.5 * np.abs(matrix / matrix.sum(axis=0) - overall).sum(axis=0)


def _compute(e: Evaluation) -> float:
    columns = scored_factors(e.grid)
    codes, held = e.groups("interventions")
    if lacking := [e.grid.names[column] for column in columns if column not in held]:
        words = f"no image exists at every value of {', '.join(lacking)}; predictions' dependence on them is not known"
        warnings.warn(words, NotSetWarning, stacklevel=2)
    return unfairness(e.codes, e.factors, codes, np.searchsorted(columns, held), kinds="categorical")


UNFAIRNESS = Metric(
    "unfairness",
    _compute,
    (Row("unfairness", "unfairness", "Unfairness"),),
    better="lower",
    needs=("two factors", "interventions"),
    on="means",
    slow=True,
    parts=("interventions",),
)
