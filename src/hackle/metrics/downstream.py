"""Downstream accuracy and statistical efficiency (Locatello et al. 2019, §5.6 and appendix B).

The downstream task is to predict every factor from the codes; the accuracy on test rows is averaged over factors. Training
sets have 10, 100, 1,000 or 10,000 rows, test sets 5,000. Two classifiers:

- `"logistic-cv"`: multinomial logistic regression whose inverse penalty is the best of 10 values, 1e-4 … 1e4 on a
  logarithmic scale, by accuracy in 5-fold cross-validation; ties go to the smallest. Folds are consecutive rows, so
  that small sets with a single sample of some value can be split as well.
- `"gbt"`: gradient-boosted trees, see `predictors.trees`.

A continuous factor is predicted by ridge regression, whose penalty is chosen in the same way by squared error, or by
boosted regression trees; in place of accuracy it has R² on the test rows, clipped at 0.

Departure: codes are standardised, as for the paper's other classifiers, so that no penalty depends on their scale.
Statistical efficiency is accuracy(100 rows) / accuracy(10,000 rows). It can exceed 1.
"""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge

from hackle.core.columns import Kinds, TableLike
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
from hackle.metrics.metric import Evaluation, Metric, Row, per_factor
from hackle.metrics.predictors.trees import fit_boosted_trees, fit_regression_trees

_PENALTIES = np.logspace(-4, 4, 10)
_FOLDS = 5


def downstream_accuracy(
    train_codes: TableLike,
    train_factors: TableLike,
    test_codes: TableLike,
    test_factors: TableLike,
    *,
    classifier: str = "logistic-cv",
    kinds: Kinds | None = None,
) -> float:
    """The mean test accuracy, 0 to 1, of predicting factors (n, f) from codes (n, c); R² where a factor is continuous.

    Constant codes are left out; if no code varies, the most frequent value is predicted. `kinds` gives the factors'
    kinds, which are otherwise guessed.

    >>> grid = np.repeat(np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2), 5, axis=0)
    >>> grid = np.random.default_rng(0).permutation(grid)
    >>> downstream_accuracy(grid * 1.0, grid, grid * 1.0, grid)
    1.0
    """
    accuracies = accuracy_per_factor(
        train_codes, train_factors, test_codes, test_factors, classifier=classifier, kinds=kinds
    )
    return float(accuracies.mean())


def accuracy_per_factor(
    train_codes: TableLike,
    train_factors: TableLike,
    test_codes: TableLike,
    test_factors: TableLike,
    *,
    classifier: str = "logistic-cv",
    kinds: Kinds | None = None,
) -> NDArray[np.float64]:
    """The test accuracy of each factor with more than one training value, (f,); arguments as for `downstream_accuracy`."""
    check_choice(classifier, CLASSIFIERS, "classifier")
    split = check_split(train_codes, train_factors, (test_codes, test_factors), kinds)
    train, test = standardise(split.codes, split.test_codes)
    accuracies = []
    for column, continuous in enumerate(split.continuous):
        if continuous:
            fit = _REGRESSORS[classifier] if train.shape[1] else _mean
            accuracies.append(_r2(fit(train, split.numbers[:, column], test), split.test_numbers[:, column]))
        else:
            fit = CLASSIFIERS[classifier] if train.shape[1] else _most_frequent
            accuracies.append(
                float(np.mean(fit(train, split.factors[:, column], test) == split.test_factors[:, column]))
            )
    return np.array(accuracies)


def statistical_efficiency(
    codes: TableLike,
    factors: TableLike,
    test_codes: TableLike,
    test_factors: TableLike,
    *,
    few: int = 100,
    many: int = 10_000,
    classifier: str = "logistic-cv",
    kinds: Kinds | None = None,
) -> float:
    """Accuracy after training on the first `few` rows, divided by that after training on the first `many`."""
    codes = check_codes(codes)
    columns = check_factors(factors, len(codes), kinds)
    if not 0 < few < many <= len(codes):
        raise MetricError(
            f"{len(codes)} training rows, few={few}, many={many}; expected 0 < few < many and at least {many} rows"
        )
    known = [column.kind for column in columns]
    accuracies = [
        downstream_accuracy(
            codes[:rows],
            {column.name: column.values[:rows] for column in columns},
            test_codes,
            test_factors,
            classifier=classifier,
            kinds=known,
        )
        for rows in (few, many)
    ]
    if accuracies[1] == 0:
        raise MetricError(
            f"no test row is predicted correctly after {many} rows, so there is no efficiency; check the factors"
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
    """How many test rows are predicted correctly with each penalty; each fit starts from the one before it."""
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


def _ridge_cv(train: Table, values: NDArray, test: Table) -> NDArray:
    errors = np.zeros(len(_PENALTIES))
    for fold in np.array_split(np.arange(len(train)), min(_FOLDS, len(train))):
        rest = np.delete(np.arange(len(train)), fold)
        fits = [Ridge(1 / c).fit(train[rest], values[rest]).predict(train[fold]) for c in _PENALTIES]
        errors += [np.sum((predicted - values[fold]) ** 2) for predicted in fits]
    return np.asarray(Ridge(1 / _PENALTIES[errors.argmin()]).fit(train, values).predict(test))


def _regression_trees(train: Table, values: NDArray, test: Table) -> NDArray:
    return fit_regression_trees(train, values).predict(test)


def _mean(train: Table, values: NDArray, test: Table) -> NDArray:
    return np.full(len(test), values.mean())


def _r2(predicted: NDArray, values: NDArray) -> float:
    """The fraction of the test rows' variance that is explained, clipped at 0."""
    total = np.sum((values - values.mean()) ** 2)
    return max(0.0, 1.0 - float(np.sum((predicted - values) ** 2) / total)) if total > 0 else 0.0


CLASSIFIERS = {"logistic-cv": _logistic_cv, "gbt": _boosted_trees}
_REGRESSORS = {"logistic-cv": _ridge_cv, "gbt": _regression_trees}


_SIZES = (10, 100, 1_000, 10_000)


def _metric(classifier: str, short: str, words: str) -> Metric:
    """The accuracy for each size of training set, and the efficiency if there are enough rows."""
    name = classifier.replace("-", "_")

    def compute(e: Evaluation) -> dict[str, SupportsFloat]:
        codes, test = check_codes(e.codes), (e.test[0], e.test_values)
        scores: dict[str, SupportsFloat] = {}
        for size in (size for size in _SIZES if size <= len(codes)):
            each = accuracy_per_factor(codes[:size], e.values[:size], *test, classifier=classifier, kinds=e.kinds)
            # A few rows may hold a single value of a factor, which then has no accuracy.
            whole = len(each) == e.values.shape[1]
            scores[f"downstream_{name}_{size}"] = per_factor(e, each.mean(), each) if whole else float(each.mean())
        few, many = (scores.get(f"downstream_{name}_{size}") for size in (100, 10_000))
        if few is not None and many is not None:
            scores[f"efficiency_{name}"] = float(few) / float(many)
        return scores

    rows = [Row(f"downstream_{name}_{size}", f"accuracy {short}, {size:,}", f"{short} {size}") for size in _SIZES]
    efficiency = Row(f"efficiency_{name}", f"efficiency, {words}", f"Eff. {short}", 0.0, None)
    return Metric(f"downstream_{name}", compute, (*rows, efficiency), on="means", continuous="values", slow=True)


DOWNSTREAM = _metric("logistic-cv", "LR", "logistic"), _metric("gbt", "GBT", "trees")
