"""Disentanglement, completeness and informativeness (Eastwood & Williams 2018).

A predictor of each factor from all codes, standardised unless it says otherwise, gives the importance R_ij ≥ 0 of code i for
factor j. With p_i· = R_i· / Σ_j R_ij and p_·j = R_·j / Σ_i R_ij,

    disentanglement  D = Σ_i ρ_i (1 − H_K(p_i·)),      ρ_i = Σ_j R_ij / Σ_ij R_ij,  entropy in base K, the number of factors
    completeness     C = (1/K) Σ_j (1 − H_d(p_·j)),    entropy in base d, the number of codes
    informativeness  mean over factors of how well they are predicted on test rows

(Locatello et al. 2019, appendix B). Rows or columns of zeros contribute 0. With a single factor, every code with
non-zero importance has disentanglement 1; with a single code, every predicted factor has completeness 1. Predictors:

- `"l1-svm"`: Locatello et al. 2019: linear SVM, L1 penalty, C = 1, see `predictors.linear`. R_ij is the mean of |w_i|
  over the one-vs-rest SVMs of factor j (the paper does not say how classes are combined; a mean does not favour
  factors with many values).
- `"gbt"`: disentanglement_lib: gradient-boosted trees, see `predictors.trees`.
- `"random-forest"`: scikit-learn's default forest, seed 0.
- `"lasso"`: |w_i| of a Lasso with α = 0.002 (Do & Tran 2020, §4) on the factor's numbers, standardised. Their order
  matters, so leave out categorical factors.
- `"raw-lasso"`: the same on codes and factors as they are, which must be what Do & Tran did: the weights of their Figure 23,
  8.8 and 9.5 for x and y and 1.6 for scale, are the deviations of 32, 32 and 6 equally frequent numbers, and a code of
  noise, whose mean hardly varies, has 60.8. A factor with more values counts more, and so do codes that vary little.

The first three classify. A continuous factor, standardised, is predicted by a regression of the same family: the Lasso
for the SVM, boosted regression trees, a regression forest. Informativeness is the test accuracy of a classifier; for a
regression it is 1 − RMSE / RMSE of the training mean, clipped at 0 (one minus Eastwood & Williams' error). Weights of
an SVM and of a Lasso are not on the same scale: if there are factors of both kinds, every column of R is divided by its
sum. Constant codes are left out and not counted in d; if every code is constant, D = C = 0 and informativeness is that
of predicting the most frequent class or the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, SupportsFloat

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso

from hackle.core.code_table import CodeTable
from hackle.core.columns import Kinds, TableLike
from hackle.core.progress import advance, bar
from hackle.information.entries import Device
from hackle.metrics.checks import (
    Classes,
    MetricError,
    Table,
    TestPair,
    centred,
    check_choice,
    check_codes,
    check_matrix,
    check_ranges,
    check_split,
    check_table,
    check_table_split,
    many_classes,
    standardise,
)
from hackle.metrics.metric import Evaluation, Metric, Row, per_factor
from hackle.metrics.needs import numeric_factors
from hackle.metrics.predictors.large_linear import Fitted, fit_large_lassos, fit_large_machines
from hackle.metrics.predictors.linear import fit_l1_machines, fit_machines_of_several
from hackle.metrics.predictors.standardised import StandardisedCodes
from hackle.metrics.predictors.trees import fit_boosted_trees, fit_regression_trees, side_by_side

FEW_CODES = 32
"""Up to so many codes, linear predictors are fitted by methods that hold the Hessian, or scikit-learn's: faster for few."""
TOGETHER = 8
"""Of so many tables machines are solved together: more hold no more than a cache does, and take no less time for each."""
_ALPHA = 0.002
"""The Lasso's penalty (Do & Tran 2020)."""


class DCIScores(NamedTuple):
    """The three scores, each between 0 and 1."""

    disentanglement: float
    completeness: float
    informativeness: float


class Importance(NamedTuple):
    """The importance matrix (c, f) and each factor's informativeness (f,).

    Rows are the codes that vary, columns the factors with more than one value.
    """

    matrix: NDArray[np.float64]
    informativeness: NDArray[np.float64]


def dci_scores(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    predictor: str = "l1-svm",
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> DCIScores:
    """Disentanglement, completeness and informativeness of codes (n, c) and factors (n, f).

    `codes` may be a SciPy sparse matrix or a memory-mapped array, of any size for the predictors "l1-svm" and "lasso".
    `test` holds the codes and factors on which informativeness is measured; without it, the training rows are used.
    `kinds` gives the factors' kinds, which are otherwise guessed. `device` is where linear predictors of many codes are
    fitted, by default the CPU; `progress` shows a bar with the time left.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2)
    >>> dci_scores(np.repeat(grid, 5, axis=0) * 1.0, np.repeat(grid, 5, axis=0))
    DCIScores(disentanglement=1.0, completeness=1.0, informativeness=1.0)
    """
    return _of_importance(
        dci_importance(codes, factors, test=test, predictor=predictor, kinds=kinds, device=device, progress=progress)
    )


def _of_importance(importance: Importance) -> DCIScores:
    disentanglement, completeness = dci_from_importance(importance.matrix) if len(importance.matrix) else (0.0, 0.0)
    return DCIScores(disentanglement, completeness, float(importance.informativeness.mean()))


def dci_from_importance(importance: ArrayLike) -> tuple[float, float]:
    """Disentanglement and completeness of an importance matrix (c, f) with non-negative entries.

    >>> disentanglement, completeness = dci_from_importance([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> disentanglement, round(completeness, 6)
    (1.0, 0.5)
    """
    matrix = check_matrix(importance, "importances")
    total = matrix.sum()
    if total == 0:
        return 0.0, 0.0
    weights = matrix.sum(axis=1) / total
    return float(weights @ disentanglement_per_code(matrix)), float(completeness_per_factor(matrix).mean())


def disentanglement_per_code(importance: ArrayLike) -> NDArray[np.float64]:
    """1 − H(row) in base f for each row of an importance matrix (c, f); 0 for a row of zeros."""
    return _concentration(check_matrix(importance, "importances"))


def completeness_per_factor(importance: ArrayLike) -> NDArray[np.float64]:
    """1 − H(column) in base c for each column of an importance matrix (c, f); 0 for a column of zeros."""
    return _concentration(check_matrix(importance, "importances").T)


def dci_importance(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    predictor: str = "l1-svm",
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> Importance:
    """The importance matrix behind the scores; arguments as for `dci_scores`."""
    check_choice(predictor, _REGRESSORS, "predictor")
    if predictor in ("l1-svm", "lasso") and (table := check_table(codes)).shape[1] > FEW_CODES:
        with bar(progress):
            return _large_importance(table, factors, test, kinds, predictor == "lasso", device)
    split = check_split(codes, factors, test, kinds)
    prepared = centred if predictor == "raw-lasso" else standardise
    train, held_out = prepared(split.codes, split.test_codes)
    numbers, test_numbers = prepared(split.numbers, split.test_numbers)
    regressed = split.continuous | (predictor not in _CLASSIFIERS)

    def fitted(column: int) -> tuple[NDArray, float]:
        """The importance of each code for a factor, and how well it is predicted."""
        if regressed[column]:
            fit = _REGRESSORS[predictor] if train.shape[1] else _mean
            importance, predicted = fit(train, numbers[:, column], held_out)
            return importance, _regression_score(predicted, test_numbers[:, column])
        fit = _CLASSIFIERS[predictor] if train.shape[1] else _most_frequent
        importance, predicted = fit(train, split.factors[:, column], held_out)
        return importance, float(np.mean(predicted == split.test_factors[:, column]))

    columns = range(len(regressed))
    several = side_by_side(fitted, columns) if predictor == "gbt" else [fitted(column) for column in columns]
    return _joined(several, regressed)


def disentanglement_of_several(
    tables: Sequence[TableLike], factors: TableLike, *, kinds: Kinds | None = None
) -> list[float]:
    """Disentanglement of each of several tables of codes (n, c) of the same images, by "l1-svm": what `dci_scores` gives, up
    to rounding, sooner, since the machines of several tables are solved together."""
    checked = [check_codes(table) for table in tables]
    labels = check_split(checked[0], factors, None, kinds) if checked else None
    if labels is None or labels.continuous.any() or max(table.shape[1] for table in checked) > FEW_CODES:
        return [dci_scores(table, factors, kinds=kinds).disentanglement for table in tables]
    standardised = [standardise(table, table)[0] for table in checked]
    scores = np.zeros(len(tables))
    for width in {table.shape[1] for table in standardised} - {0}:
        places = [place for place, table in enumerate(standardised) if table.shape[1] == width]
        for start in range(0, len(places), TOGETHER):
            block = places[start : start + TOGETHER]
            several = fit_machines_of_several([standardised[place] for place in block], labels.factors)
            for place, machines in zip(block, several, strict=True):
                importance = np.stack([np.abs(one.weights).mean(axis=0) for one in machines], axis=-1)
                scores[place] = dci_from_importance(importance)[0]
    return scores.tolist()


def _joined(several: Sequence[tuple[NDArray, float]], regressed: NDArray[np.bool_]) -> Importance:
    """The importances (c,) and scores of all factors; on one scale, if some of them are classified and others regressed."""
    matrix, informativeness = (np.stack(parts, axis=-1) for parts in zip(*several, strict=True))
    if regressed.any() and not regressed.all():
        sums = matrix.sum(axis=0)
        matrix = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return Importance(matrix, informativeness)


def _large_importance(
    codes: CodeTable, factors: TableLike, test: TestPair | None, kinds: Kinds | None, lasso: bool, device: Device
) -> Importance:
    """The same from the linear predictors of `predictors.large_linear`, in blocks."""
    split = check_table_split(codes, factors, test, kinds)
    kept = check_ranges(split.codes, device).varying
    if split.test_codes is not split.codes:
        check_ranges(split.test_codes, device, "test codes")
    train = StandardisedCodes(split.codes, kept, device)
    held_out = (
        train if split.test_codes is split.codes else StandardisedCodes(split.test_codes, kept, device, like=train)
    )
    numbers, test_numbers = standardise(split.numbers, split.test_numbers)
    regressed = split.continuous | lasso
    # Two classes share a machine, the second against the first, as in `predictors.linear`.
    positive = [[1] if (size := int(of.max()) + 1) == 2 else list(range(size)) for of in split.factors.T]
    machines = [(k, one) for k, classes in enumerate(positive) if not regressed[k] for one in classes]
    lassos = [(k, -1) for k in np.flatnonzero(regressed).tolist()]
    count = len(machines) + len(lassos)
    fits: dict[tuple[int, int], tuple[NDArray, NDArray]] = {}

    def fitted(tasks: list[tuple[int, int]], targets: list[NDArray], fit: Callable[..., list[Fitted]]) -> None:
        if not tasks:
            return
        report = partial(_report, len(fits), len(tasks), count)
        for task, one in zip(
            tasks, fit(train, torch.from_numpy(np.stack(targets)).to(device), report=report), strict=True
        ):
            predicted = held_out.times(one.weights) + one.intercept
            fits[task] = one.weights.abs().cpu().numpy(), predicted.cpu().numpy()

    fitted(machines, [np.where(split.factors[:, k] == one, 1.0, -1.0) for k, one in machines], fit_large_machines)
    fitted(lassos, [numbers[:, k] for k, _ in lassos], partial(fit_large_lassos, alpha=_ALPHA))
    several = []
    for k, classes in enumerate(positive):
        if regressed[k]:
            weights, predicted = fits[k, -1]
            several.append((weights, _regression_score(predicted, test_numbers[:, k])))
            continue
        weights, decisions = (np.stack(parts) for parts in zip(*(fits[k, one] for one in classes), strict=True))
        best = decisions.argmax(axis=0) if len(classes) > 1 else (decisions[0] > 0).astype(np.int64)
        several.append((weights.mean(axis=0), float(np.mean(best == split.test_factors[:, k]))))
    return _joined(several, regressed)


def _report(place: int, width: int, count: int, fraction: float) -> None:
    advance("linear machines", (place + width * fraction) / count)


def _regression_score(predicted: NDArray, values: NDArray) -> float:
    """1 − RMSE / RMSE of the training mean (which is 0 in centred numbers), clipped at 0."""
    reference = np.sqrt(np.mean(values**2))
    if reference == 0:
        raise MetricError("a factor does not vary in the test rows; expected at least two values of it there")
    return max(0.0, 1.0 - float(np.sqrt(np.mean((predicted - values) ** 2)) / reference))


def _concentration(matrix: Table) -> NDArray[np.float64]:
    """One minus the normalised entropy of each row."""
    sums = matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropy = -(shares * logs).sum(axis=1) / np.log(max(matrix.shape[1], 2))
    return np.where(sums[:, 0] > 0, np.clip(1.0 - entropy, 0.0, 1.0), 0.0)


def _l1_svm(train: Table, classes: Classes, held_out: Table) -> tuple[NDArray, Classes]:
    machines = fit_l1_machines(train, classes)
    return np.abs(machines.weights).mean(axis=0), machines.predict(held_out)


def _boosted_trees(train: Table, classes: Classes, held_out: Table) -> tuple[NDArray, Classes]:
    trees = fit_boosted_trees(train, classes)
    return trees.importance, trees.predict(held_out)


@many_classes()
def _random_forest(train: Table, classes: Classes, held_out: Table) -> tuple[NDArray, Classes]:
    forest = RandomForestClassifier(random_state=0).fit(train, classes)
    return forest.feature_importances_, forest.predict(held_out)


def _most_frequent(train: Table, classes: Classes, held_out: Table) -> tuple[NDArray, Classes]:
    return np.zeros(train.shape[1]), np.full(len(held_out), np.bincount(classes).argmax())


def _lasso(train: Table, values: NDArray, held_out: Table) -> tuple[NDArray, NDArray]:
    lasso = Lasso(alpha=_ALPHA, tol=1e-6, max_iter=10_000).fit(train, values)
    return np.abs(lasso.coef_), np.asarray(lasso.predict(held_out))


def _regression_trees(train: Table, values: NDArray, held_out: Table) -> tuple[NDArray, NDArray]:
    trees = fit_regression_trees(train, values)
    return trees.importance, trees.predict(held_out)


def _regression_forest(train: Table, values: NDArray, held_out: Table) -> tuple[NDArray, NDArray]:
    forest = RandomForestRegressor(random_state=0).fit(train, values)
    return forest.feature_importances_, forest.predict(held_out)


def _mean(train: Table, values: NDArray, held_out: Table) -> tuple[NDArray, NDArray]:
    return np.zeros(train.shape[1]), np.zeros(len(held_out))


_CLASSIFIERS = {"l1-svm": _l1_svm, "gbt": _boosted_trees, "random-forest": _random_forest}
_REGRESSORS = {
    "l1-svm": _lasso,
    "gbt": _regression_trees,
    "random-forest": _regression_forest,
    "lasso": _lasso,
    "raw-lasso": _lasso,
}


def _compute(e: Evaluation) -> dict[str, SupportsFloat]:
    kept = numeric_factors(e.grid, e.protocol)
    test, kinds = (e.test[0], e.test_values[:, kept]), [e.kinds[place] for place in kept]
    settings = {"predictor": e.protocol.dci_predictor, "kinds": kinds, "device": e.place}
    importance = dci_importance(e.codes, e.values[:, kept], test=test, **settings)
    scores, shares = _of_importance(importance), np.zeros(importance.matrix.shape[1])
    if len(importance.matrix):
        shares = completeness_per_factor(importance.matrix)
    return {
        "dci_disentanglement": scores.disentanglement,
        "dci_completeness": per_factor(e, scores.completeness, shares, kept),
        "dci_informativeness": per_factor(e, scores.informativeness, importance.informativeness, kept),
    }


DCI = Metric(
    "dci",
    _compute,
    (
        Row("dci_disentanglement", "DCI disentanglement", "DCI"),
        Row("dci_completeness", "DCI completeness", "DCI compl."),
        Row("dci_informativeness", "DCI informativeness", "DCI inform.", None, 1.0),
    ),
    needs=("a numeric factor",),
    continuous="values",
)
