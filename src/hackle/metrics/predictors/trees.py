"""Gradient-boosted trees (Friedman 2001) with scikit-learn's default settings, grown by LightGBM's histograms.

Each of 100 rounds grows one regression tree of depth 3 for every class k on the residuals r_k = 1[y = k] − p_k, splitting
where the squared residuals decrease most, and gives leaf l the step

    0.1 · (K − 1)/K · Σ_l r_k / Σ_l |r_k| (1 − |r_k|).

That is what scikit-learn's GradientBoostingClassifier does, and as there, a code's importance is its share of the
decrease in squared residuals. LightGBM's own objective would choose splits by second-order gain instead, which gives
other importances; so it is given residuals with unit curvature, and the steps are computed here. Two classes need no
special case: their two trees mirror each other.

One departure makes this some thirty times as fast: splits lie between 63 quantiles of each code, not between all of its
values. With far more noise than signal, scikit-learn's exact splits memorise single rows, which these cannot; a coarse
histogram keeps the importances closest.

Regression has one tree per round on the residuals y − ŷ, starting from the mean of y; each leaf steps by 0.1 times its
mean residual, as in scikit-learn's GradientBoostingRegressor. Here LightGBM's own objective, squared error, is
equivalent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hackle.metrics.checks import Classes, Table

if TYPE_CHECKING:
    from lightgbm import Booster

A = TypeVar("A")
B = TypeVar("B")
_ROUNDS = 100
_RATE = 0.1
_LEAVES = 8
_ROWS = 512
"""Rows whose probabilities are computed at once; those of all classes stay in the processor's cache."""
_SETTINGS = {
    "objective": "none",
    "max_depth": 3,
    "num_leaves": _LEAVES,
    "max_bin": 63,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.5,  # with unit curvature, half a row
    "feature_pre_filter": False,
    # Sums run in a fixed order. Trees are so small that threads would wait for each other more than they work; whoever has
    # several factors to predict gives each a thread.
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


class Tree(NamedTuple):
    """Nodes, root first: rows whose code is at most the threshold go left. A child below zero is a leaf, −1 the first.

    A tree without nodes is one leaf."""

    code: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]

    def leaves(self, columns: Table) -> NDArray[np.uint8]:
        """The leaf of each row, (n,), of codes as columns (c, n)."""
        return self._below(0, columns) if self.code else np.zeros(columns.shape[1], dtype=np.uint8)

    def _below(self, node: int, columns: Table) -> NDArray[np.uint8]:
        left, right = (
            np.uint8(-1 - child) if child < 0 else self._below(child, columns)
            for child in (self.left[node], self.right[node])
        )
        # A choice by bits, which processors make for 64 rows at once, as `np.where` does not.
        goes_left = np.negative((columns[self.code[node]] <= self.threshold[node]).view(np.uint8))
        return ((left ^ right) & goes_left) ^ right


class BoostedTrees(NamedTuple):
    """A fitted classifier of codes."""

    rounds: list[list[tuple[Tree, NDArray[np.float64]]]]
    """In each round a tree for every class, with the steps of its leaves."""
    start: NDArray[np.float64]
    """The logarithm of each class's frequency, (k,), to which the trees add."""
    importance: NDArray[np.float64]
    """Each code's share, (c,), of the decrease in squared residuals; zeros if nothing was split."""

    def predict(self, codes: Table) -> Classes:
        """The predicted class of each row, (n,)."""
        columns = np.ascontiguousarray(codes.T)
        scores = np.repeat(self.start[:, None], len(codes), axis=1)
        for grown in self.rounds:
            for score, (tree, step) in zip(scores, grown, strict=True):
                score += step.take(tree.leaves(columns))
        return np.argmax(scores, axis=0)


def fit_boosted_trees(codes: Table, classes: Classes) -> BoostedTrees:
    """Trees that predict classes 0 … k − 1, all of which occur, k ≥ 2, from codes (n, c)."""
    import lightgbm

    n, count = len(classes), int(classes.max()) + 1
    settings = {**_SETTINGS, "num_class": count}
    booster = lightgbm.Booster(settings, lightgbm.Dataset(codes, label=classes, params=settings))
    start = np.log(np.bincount(classes) / n)
    scores = np.repeat(start[:, None], n, axis=1)
    columns = np.ascontiguousarray(codes.T)
    surplus, curvature = np.empty((count, n)), np.ones(n * count, dtype=np.float32)
    rounds = []
    for index in range(_ROUNDS):
        _surplus(scores, classes, surplus)
        gradient = surplus.astype(np.float32).ravel()
        if booster.update(fobj=lambda _scores, _data, gradient=gradient: (gradient, curvature)):
            break
        grown = []
        for tree, score, own in zip(_trees_of(booster, index), scores, surplus, strict=True):
            leaves, size = tree.leaves(columns).astype(np.intp), np.abs(own)
            total, weight = (np.bincount(leaves, each, _LEAVES) for each in (own, size * (1 - size)))
            mean = np.divide(-total, weight, out=np.zeros_like(total), where=weight > 1e-150)
            step = _RATE * (count - 1) / count * mean
            score += step.take(leaves)
            grown.append((tree, step))
        rounds.append(grown)
    return BoostedTrees(rounds, start, _shares(booster))


def _surplus(scores: Table, classes: Classes, out: Table) -> None:
    """What the probabilities (k, n) exceed those of the right classes by, −r, in place."""
    for first in range(0, len(classes), _ROWS):
        part = slice(first, first + _ROWS)
        own = out[:, part]
        np.subtract(scores[:, part], scores[:, part].max(axis=0), out=own)
        np.exp(own, out=own)
        own /= own.sum(axis=0)
    out[classes, np.arange(len(classes))] -= 1.0


def _trees_of(booster: Booster, index: int) -> Iterator[Tree]:
    """The trees of one round, read from LightGBM's description of them."""
    for text in booster.model_to_string(num_iteration=1, start_iteration=index).split("\nTree=")[1:]:
        lines = (line.partition("=") for line in text.split("\n\n", 1)[0].split("\n"))
        fields = {name: values.split() for name, _, values in lines}
        code, left, right = (
            [int(value) for value in fields.get(name, ())] for name in ("split_feature", "left_child", "right_child")
        )
        yield Tree(code, [float(value) for value in fields.get("threshold", ())], left, right)


class RegressionTrees(NamedTuple):
    """A fitted regression on codes."""

    booster: Booster
    importance: NDArray[np.float64]
    """Each code's share, (c,), of the decrease in squared residuals; zeros if nothing was split."""

    def predict(self, codes: Table) -> NDArray[np.float64]:
        """The predicted number of each row, (n,)."""
        return np.asarray(self.booster.predict(codes), dtype=np.float64)


def fit_regression_trees(codes: Table, values: NDArray[np.float64]) -> RegressionTrees:
    """Trees that predict real numbers (n,) from codes (n, c)."""
    import lightgbm

    settings = {**_SETTINGS, "objective": "regression", "learning_rate": _RATE}
    booster = lightgbm.train(settings, lightgbm.Dataset(codes, label=values, params=settings), num_boost_round=_ROUNDS)
    return RegressionTrees(booster, _shares(booster))


def side_by_side(fit: Callable[[A], B], given: Iterable[A]) -> list[B]:
    """`fit` of each argument, by as many threads as PyTorch has: one in a study's workers, one per core elsewhere."""
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return list(pool.map(fit, given))


def _shares(booster: Booster) -> NDArray[np.float64]:
    gain = booster.feature_importance("gain")
    return gain / gain.sum() if gain.sum() > 0 else np.zeros(len(gain))
