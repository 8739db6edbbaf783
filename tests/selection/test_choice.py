"""What a choice gives: by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from hackle.selection import choose

SCORE = pd.Series({"a": 0.1, "b": 0.5, "c": 0.3, "d": 0.9})


def test_the_chosen_run_and_what_it_costs():
    found = choose(pd.Series({"a": 1.0, "b": 4.0, "c": 3.0, "d": 2.0}), SCORE)
    assert found == (4, pytest.approx(0.4), "b", 0.5, 0.9, pytest.approx(0.4), pytest.approx(0.4))


def test_lower_is_better_for_criterion_or_score():
    cost = pd.Series({"a": 4.0, "b": 2.0, "c": 3.0, "d": 1.0})
    found = choose(cost, SCORE, sign=-1)
    assert found is not None
    assert (found.chosen, found.regret, found.correlation) == ("d", 0.0, pytest.approx(1.0))
    error = choose(-cost, SCORE, score_sign=-1)
    assert error is not None
    assert (error.chosen, error.best, error.correlation) == ("d", 0.1, pytest.approx(-1.0))
    assert error.regret == pytest.approx(0.8)


def test_runs_that_lack_one_of_the_two_are_left_out():
    found = choose(pd.Series({"a": 1.0, "b": np.nan, "d": 0.5, "e": 9.0}), SCORE)
    assert found is not None
    assert (found.runs, found.chosen, found.best) == (2, "a", 0.9)
    assert np.isnan(found.correlation)
    assert choose(pd.Series({"e": 1.0}), SCORE) is None


def test_the_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    first, second = pd.Series(rng.random(40)), pd.Series(rng.integers(5, size=40).astype(float))
    found = choose(first, second)
    assert found is not None
    assert found.correlation == pytest.approx(np.asarray(spearmanr(first, second))[0])
