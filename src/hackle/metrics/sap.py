"""SAP score (Kumar et al. 2018), as Locatello et al. 2019, appendix B, compute it.

S_jk is the test accuracy of a linear SVM (squared hinge, one-vs-rest, C = 0.01, balanced class weights) that
predicts factor k from code j alone, standardised. The score is the mean over factors of the largest S_jk minus the second
largest. For a continuous factor S_jk is the squared correlation of code and factor over the training rows, which is the R² of
the linear regression of the factor on the code, as Kumar et al. define it.

Constant codes are left out; with a single code the gap is S itself. If every code is constant, the score is 0. A linear
function of one code cannot single out a class in the middle of its range, so even a perfect code of a factor with many
values scores far below 1 in the discrete variant.
"""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from hackle.core.columns import Kinds, TableLike
from hackle.metrics.checks import MetricError, TestPair, check_split, many_classes, standardise
from hackle.metrics.metric import Evaluation, Metric, Row, per_factor
from hackle.metrics.mig import top_two_gap


def sap_score(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    C: float = 0.01,
    kinds: Kinds | None = None,
) -> float:
    """The mean gap, 0 to 1, between the two best single codes for each factor: codes (n, c), factors (n, f).

    `test` holds the codes and factors on which accuracy is measured; without it, the training rows are used. `C` is
    the SVM's inverse penalty. `kinds` gives the factors' kinds, which are otherwise guessed.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2)
    >>> sap_score(np.repeat(grid, 5, axis=0) * 1.0, np.repeat(grid, 5, axis=0))
    0.5
    """
    matrix = sap_matrix(codes, factors, test=test, C=C, kinds=kinds)
    return float(top_two_gap(matrix).mean()) if len(matrix) else 0.0


@many_classes()
def sap_matrix(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    C: float = 0.01,
    kinds: Kinds | None = None,
) -> NDArray[np.float64]:
    """S_jk for every code that varies and every factor with more than one value; arguments as for `sap_score`."""
    if not C > 0:
        raise MetricError(f"C is {C}; expected a positive number, the usual protocol has 0.01")
    split = check_split(codes, factors, test, kinds)
    train, held_out = standardise(split.codes, split.test_codes)
    matrix = np.empty((train.shape[1], split.factors.shape[1]))
    numbers, _ = standardise(split.numbers, split.numbers)
    for j, k in np.ndindex(matrix.shape):
        if split.continuous[k]:
            matrix[j, k] = np.mean(train[:, j] * numbers[:, k]) ** 2
            continue
        machine = LinearSVC(C=C, class_weight="balanced", max_iter=10_000)
        machine.fit(train[:, j : j + 1], split.factors[:, k])
        matrix[j, k] = np.mean(machine.predict(held_out[:, j : j + 1]) == split.test_factors[:, k])
    return matrix


def _compute(e: Evaluation) -> SupportsFloat:
    matrix = sap_matrix(e.codes, e.values, test=(e.test[0], e.test_values), kinds=e.kinds)
    return per_factor(e, (gaps := top_two_gap(matrix)).mean(), gaps) if len(matrix) else 0.0


SAP = Metric(
    "sap",
    _compute,
    (Row("sap", "SAP", "SAP"),),
    continuous="values",
)
