"""What choosing one of several runs by a criterion gives, compared with the best of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hackle.information.ranks import spearman

Column = Any
"""A pandas series by run; pandas' annotations do not say what indexing returns."""


class Choice(NamedTuple):
    """A choice among the runs that have both the criterion and the score."""

    runs: int
    correlation: float
    """Spearman's rank correlation of criterion and score, signed so that higher is better; NaN where one is constant."""
    chosen: str
    """The run with the best criterion; the first of several."""
    score: float
    """Its score."""
    best: float
    """The best score of these runs."""
    median: float
    """Their median: about what a random choice gives."""
    regret: float
    """How much worse the chosen run's score is than the best one, 0 or more."""


def choose(criterion: Column, score: Column, *, sign: int = 1, score_sign: int = 1) -> Choice | None:
    """The choice by a criterion, judged by a score: series of numbers by run. None if no run has both.

    The signs are −1 where lower is better.

    >>> udr, mig = pd.Series({"a": 0.3, "b": 0.8, "c": 0.5}), pd.Series({"a": 0.1, "b": 0.2, "c": 0.4})
    >>> found = choose(udr, mig)
    >>> found.chosen, found.best, round(found.regret, 6), round(found.correlation, 6)
    ('b', 0.4, 0.2, 0.5)
    """
    both: Any = pd.DataFrame({"criterion": criterion, "score": score}).astype(float).dropna()
    if both.empty:
        return None
    better, scores = sign * both["criterion"].to_numpy(), score_sign * both["score"].to_numpy()
    place = int(better.argmax())
    return Choice(
        len(both),
        spearman(better, scores),
        str(both.index[place]),
        float(score_sign * scores[place]),
        float(score_sign * scores.max()),
        float(score_sign * np.median(scores)),
        float(scores.max() - scores[place]),
    )
