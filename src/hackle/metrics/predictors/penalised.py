"""What L1-penalised linear machines of many codes minimise: F(w) = λ |w|₁ + C Σ s², see `predictors.large_linear`."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hackle.metrics.predictors.standardised import StandardisedCodes

_TALL = 4
"""Of a Lasso with so many times as many rows as codes, or more, the Hessian is far from singular wherever it starts."""


class Problem(NamedTuple):
    """What is minimised: codes, targets (n,), `hinge` for the SVM, whose targets are ±1, and C."""

    codes: StandardisedCodes
    targets: Tensor
    hinge: bool
    cost: float

    @property
    def is_tall(self) -> bool:
        """Whether this is a Lasso, in which all rows count, of many more rows than codes: it needs no path of penalties."""
        return not self.hinge and self.codes.shape[0] >= _TALL * self.codes.shape[1]

    def outputs(self, weights: Tensor) -> Tensor:
        return self.codes.times(weights[:-1]) + weights[-1]

    def rest(self, outputs: Tensor) -> Tensor:
        """What is missing to the targets, (n,): slacks with the sign of the targets, 0 in rows that cost nothing."""
        missing = self.targets - outputs
        return torch.where(self.targets * missing > 0, missing, 0.0) if self.hinge else missing

    def slope(self, rest: Tensor) -> Tensor:
        """The derivative of the loss by the weights, (c' + 1,); the Lasso has no intercept, which would be 0."""
        pulled = torch.cat([self.codes.transposed_times(rest), rest.sum()[None] * self.hinge])
        return -2 * self.cost * pulled

    def value(self, penalty: float, weights: Tensor, rest: Tensor) -> float:
        return float(penalty * weights.abs().sum() + self.cost * (rest @ rest))

    def gap(self, penalty: float, value: float, rest: Tensor, slope: Tensor) -> float:
        """The distance of F from the value of the dual problem at the best multiple of 2 C s that is allowed."""
        along, square = 2 * self.cost * float(self.targets @ rest), float(rest @ rest)
        if square == 0:
            return value
        largest = float(slope.abs().max())
        scale = min(along / (2 * self.cost * square), penalty / largest if largest > 0 else math.inf)
        return value - (scale * along - scale**2 * self.cost * square)
