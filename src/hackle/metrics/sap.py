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
import torch
from numpy.typing import NDArray

from hackle.core.code_table import partition
from hackle.core.columns import Kinds, TableLike
from hackle.core.progress import bar, following
from hackle.information.entries import Device, Entries, Scale, correlations
from hackle.metrics.checks import MetricError, TestPair, check_ranges, check_table_split, standardise
from hackle.metrics.metric import Evaluation, Metric, Row, per_factor
from hackle.metrics.mig import top_two_gap
from hackle.metrics.predictors.single_machines import SortedCodes, fit_single_machines


def sap_score(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    C: float = 0.01,
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> float:
    """The mean gap, 0 to 1, between the two best single codes for each factor: codes (n, c), factors (n, f).

    `codes` may be a SciPy sparse matrix or a memory-mapped array, which are read in blocks. `test` holds the codes and
    factors on which accuracy is measured; without it, the training rows are used. `C` is the SVM's inverse penalty. `kinds`
    gives the factors' kinds, which are otherwise guessed. `device` is where the machines are fitted, by default the CPU;
    `progress` shows a bar with the time left.

    >>> grid = np.stack(np.meshgrid(np.arange(2), np.arange(2)), axis=-1).reshape(-1, 2)
    >>> sap_score(np.repeat(grid, 5, axis=0) * 1.0, np.repeat(grid, 5, axis=0))
    0.5
    """
    matrix = sap_matrix(codes, factors, test=test, C=C, kinds=kinds, device=device, progress=progress)
    return float(top_two_gap(matrix).mean()) if len(matrix) else 0.0


def sap_matrix(
    codes: TableLike,
    factors: TableLike,
    *,
    test: TestPair | None = None,
    C: float = 0.01,
    kinds: Kinds | None = None,
    device: Device = None,
    progress: bool = False,
) -> NDArray[np.float64]:
    """S_jk for every code that varies and every factor with more than one value; arguments as for `sap_score`."""
    if not C > 0:
        raise MetricError(f"C is {C}; expected a positive number, the usual protocol has 0.01")
    split = check_table_split(codes, factors, test, kinds)
    numbers, _ = standardise(split.numbers, split.numbers)
    known = [torch.from_numpy(np.ascontiguousarray(one.T)).to(device) for one in (split.factors, split.test_factors)]
    matrix = np.empty((split.codes.shape[1], split.factors.shape[1]))
    with bar(progress):
        kept = check_ranges(split.codes, device).varying
        if split.test_codes is not split.codes:
            check_ranges(split.test_codes, device, "test codes")
        for part in following(partition(split.codes, split.test_codes), "machines"):
            entries = Entries(split.codes.block(*part), device)
            tested = entries if split.test_codes is split.codes else Entries(split.test_codes.block(*part), device)
            scale = Scale.of(entries)
            train, held_out = scale.apply(entries), scale.apply(tested)
            ordered = SortedCodes(entries, *train)
            for k, continuous in enumerate(split.continuous):
                if continuous:
                    column = correlations(entries, *train, torch.from_numpy(numbers[:, k].copy()).to(device)) ** 2
                else:
                    size = int(split.factors[:, k].max()) + 1
                    machines = fit_single_machines(ordered, known[0][k], size, C)
                    column = machines.accuracies(tested, *held_out, known[1][k])
                matrix[slice(*part), k] = column.cpu().numpy()
    return matrix[kept]


def _compute(e: Evaluation) -> SupportsFloat:
    matrix = sap_matrix(e.codes, e.values, test=(e.test[0], e.test_values), kinds=e.kinds, device=e.place)
    return per_factor(e, (gaps := top_two_gap(matrix)).mean(), gaps) if len(matrix) else 0.0


SAP = Metric(
    "sap",
    _compute,
    (Row("sap", "SAP", "SAP"),),
    continuous="values",
)
