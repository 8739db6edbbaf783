"""Informativeness, RMIG and JEMMIG of codes that are class numbers, exactly (Do & Tran 2020, section 3.1).

A class number is a function of the image, so q(z_i|x) is 1 for one class: I(x; z_i) = H(z_i), and I(z_i; y_k) follows from the
counts of classes and factors among the points. Codes that are not class numbers are left out. With q(z_i|x) at hand, such
as a softmax, `hackle.metrics.discrete_information` and `discrete_factor_information` take the probabilities themselves.
"""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np

from hackle.information.factor_information import discrete_factor_information, discrete_information
from hackle.information.posterior import label_tables
from hackle.metrics.checks import check_mask
from hackle.metrics.jemmig import jemmig_of
from hackle.metrics.metric import Evaluation, Metric, Row
from hackle.metrics.rmig import rmig_of


def _compute(e: Evaluation) -> dict[str, SupportsFloat]:
    chosen = e.codes[:, check_mask(e.discrete, e.codes.shape[1], "discrete")]
    classes = np.stack([np.unique(column, return_inverse=True)[1] for column in chosen.T], axis=1)
    tables = label_tables(classes)
    information = discrete_factor_information(tables, e.factors, kinds="categorical")
    return {
        "class_rmig": rmig_of(e, information),
        "class_jemmig": jemmig_of(e, information),
        "class_informativeness_mean": float(discrete_information(tables).mean()),
    }


CLASS_CODES = Metric(
    "class_codes",
    _compute,
    (
        Row("class_rmig", "RMIG of class numbers", "RMIG, classes"),
        Row("class_jemmig", "JEMMIG of class numbers", "JEMMIG, classes", better="lower"),
        Row("class_informativeness_mean", "mean I(z_i, x) of class numbers (nats)", "I(z_i, x), classes", 0.0, None),
    ),
    needs=("factors", "class numbers"),
    on="means",
    slow=True,
)
