"""Downstream accuracy and statistical efficiency (Locatello et al. 2019, §5.6 and appendix B).

The downstream task is to predict every factor from the codes; the accuracy on test rows is averaged over factors. Training
sets have 10, 100, 1,000 or 10,000 rows, test sets 5,000. Two classifiers:

- `"logistic-cv"`: multinomial logistic regression whose inverse penalty is the best of 10 values, 1e-4 … 1e4 on a logarithmic
  scale, by accuracy in 5-fold cross-validation; of equals the smallest. Folds are consecutive rows, so that small sets with a
  single sample of a value can be cut, too.
- `"gbt"`: gradient-boosted trees, see `hackle.metrics.trees`.

Departure: codes are standardised, as for the paper's other classifiers, so that no penalty depends on their scale.
Statistical efficiency is accuracy(100 rows) / accuracy(10,000 rows). It can exceed 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from hackle.metrics.checks import (
    Classes,
    MetricError,
    Table,
    check_choice,
    check_codes,
    check_factors,
    check_split,
    many_classes,
    standardise,
)
from hackle.metrics.metric import Evaluation, Metric, Row
from hackle.metrics.trees import fit_boosted_trees

_PENALTIES = np.logspace(-4, 4, 10)
_FOLDS = 5


def downstream_accuracy(
    train_codes: ArrayLike,
    train_factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    *,
    classifier: str = "logistic-cv",
) -> float:
    """The mean test accuracy, 0 to 1, of predicting factors (n, f) from codes (n, c).

    Constant codes are left out; if none varies the most frequent value is predicted.

    >>> grid = np.repeat(np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2), 5, axis=0)
    >>> grid = np.random.default_rng(0).permutation(grid)
    >>> downstream_accuracy(grid * 1.0, grid, grid * 1.0, grid)
    1.0
    """
    check_choice(classifier, _CLASSIFIERS, "classifier")
    split = check_split(train_codes, train_factors, (test_codes, test_factors))
    train, test = standardise(split.codes, split.test_codes)
    fit = _CLASSIFIERS[classifier] if train.shape[1] else _most_frequent
    accuracies = [
        np.mean(fit(train, classes, test) == test_classes)
        for classes, test_classes in zip(split.factors.T, split.test_factors.T, strict=True)
    ]
    return float(np.mean(accuracies))


def statistical_efficiency(
    codes: ArrayLike,
    factors: ArrayLike,
    test_codes: ArrayLike,
    test_factors: ArrayLike,
    *,
    few: int = 100,
    many: int = 10_000,
    classifier: str = "logistic-cv",
) -> float:
    """Accuracy after training on the first `few` rows, divided by that after training on the first `many`."""
    codes = check_codes(codes)
    factors = check_factors(factors, len(codes))
    if not 0 < few < many <= len(codes):
        raise MetricError(
            f"{len(codes)} training rows, few={few}, many={many}; expected 0 < few < many and at least {many} rows"
        )
    accuracies = [
        downstream_accuracy(codes[:rows], factors[:rows], test_codes, test_factors, classifier=classifier)
        for rows in (few, many)
    ]
    if accuracies[1] == 0:
        raise MetricError(
            f"no test row is predicted rightly after {many} rows, so there is no efficiency; check the factors"
        )
    return accuracies[0] / accuracies[1]


@many_classes()
def _logistic_cv(train: Table, classes: Classes, test: Table) -> Classes:
    correct = np.zeros(len(_PENALTIES))
    for fold in np.array_split(np.arange(len(train)), min(_FOLDS, len(train))):
        rest = np.delete(np.arange(len(train)), fold)
        correct += _right_by_penalty(train[rest], classes[rest], train[fold], classes[fold])
    best = _PENALTIES[correct.argmax()]
    return LogisticRegression(C=best, max_iter=10_000).fit(train, classes).predict(test)


def _right_by_penalty(train: Table, classes: Classes, test: Table, test_classes: Classes) -> np.ndarray:
    """How many test rows each penalty predicts rightly; each fit starts from the one before it."""
    if len(np.unique(classes)) == 1:
        return np.full(len(_PENALTIES), np.sum(test_classes == classes[0]))
    model = LogisticRegression(max_iter=10_000, warm_start=True)
    return np.array(
        [np.sum(model.set_params(C=c).fit(train, classes).predict(test) == test_classes) for c in _PENALTIES]
    )


def _boosted_trees(train: Table, classes: Classes, test: Table) -> Classes:
    return fit_boosted_trees(train, classes).predict(test)


def _most_frequent(train: Table, classes: Classes, test: Table) -> Classes:
    return np.full(len(test), np.bincount(classes).argmax())


_CLASSIFIERS = {"logistic-cv": _logistic_cv, "gbt": _boosted_trees}


_SIZES = (10, 100, 1_000, 10_000)


def _metric(classifier: str, short: str, words: str) -> Metric:
    """The accuracies after training on so many rows, and the efficiency where there are enough."""
    name = classifier.replace("-", "_")

    def compute(e: Evaluation) -> dict[str, float]:
        accuracy = {
            size: downstream_accuracy(e.codes[:size], e.factors[:size], *e.test, classifier=classifier)
            for size in _SIZES
            if size <= len(e.codes)
        }
        found = {f"downstream_{name}_{size}": value for size, value in accuracy.items()}
        if {100, 10_000} <= accuracy.keys():
            found[f"efficiency_{name}"] = accuracy[100] / accuracy[10_000]
        return found

    rows = [Row(f"downstream_{name}_{size}", f"accuracy {short}, {size:,}", f"{short} {size}") for size in _SIZES]
    efficiency = Row(f"efficiency_{name}", f"efficiency, {words}", f"Eff. {short}", 0.0, None)
    return Metric(f"downstream_{name}", compute, (*rows, efficiency), on="means", slow=True)


DOWNSTREAM = _metric("logistic-cv", "LR", "logistic"), _metric("gbt", "GBT", "trees")
