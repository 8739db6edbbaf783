"""The BetaVAE score against its objective, known cases and its known failure."""

import numpy as np
import pytest
import references
from samples import imperfect, make_sample, values

from hackle.metrics import MetricError, beta_vae_score, code_scale, factor_vae_score


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_exact_minimum(seed):
    s = make_sample(imperfect, group_size=8, seed=seed)
    predicted = references.softmax_predictions(s.differences, s.held, s.test_differences)
    found = beta_vae_score(s.differences, s.held, test=(s.test_differences, s.test_held))
    assert found == pytest.approx(np.mean(predicted == s.test_held), abs=1.01 / len(s.test_held))


def test_without_test_points_the_training_points_are_scored():
    s = make_sample(imperfect, group_size=8)
    assert beta_vae_score(s.differences, s.held) == beta_vae_score(s.differences, s.held, test=(s.differences, s.held))


def one_factor_missing(factors, rng):
    """Codes for the first three of four factors, and a collapsed fourth."""
    codes = values(factors) + 0.01 * rng.normal(size=factors.shape)
    codes[:, 3] = 0.01 * rng.normal(size=len(factors))
    return codes


@pytest.mark.parametrize("classifier", ["logistic", "adagrad"])
def test_the_score_is_perfect_although_a_factor_is_missing_and_the_factor_vae_score_is_not(classifier):
    """Kim & Mnih 2018, §4 and Fig. 3."""
    s = make_sample(one_factor_missing, groups=1_500, group_size=128)
    test = (s.test_differences, s.test_held)
    assert beta_vae_score(s.differences, s.held, test=test, classifier=classifier) == 1.0
    votes = factor_vae_score(s.groups, s.held, code_scale(s.codes), test=(s.test_groups, s.test_held))
    assert votes == pytest.approx(0.75, abs=0.05)


def test_adagrad_is_reproducible_and_near_the_exact_minimum():
    s = make_sample(imperfect, group_size=32)
    test = (s.test_differences, s.test_held)
    first = beta_vae_score(s.differences, s.held, test=test, classifier="adagrad", seed=3)
    assert first == beta_vae_score(s.differences, s.held, test=test, classifier="adagrad", seed=3)
    assert first == pytest.approx(beta_vae_score(s.differences, s.held, test=test), abs=0.1)


def test_chance_is_one_in_the_number_of_factors():
    rng = np.random.default_rng(0)
    points, held = rng.random((2_000, 3)), rng.integers(4, size=2_000)
    assert beta_vae_score(points[:1_000], held[:1_000], test=(points[1_000:], held[1_000:])) == pytest.approx(
        0.25, abs=0.06
    )


def test_wrong_arguments_are_refused():
    s = make_sample(imperfect, rows=50, groups=20, group_size=4)
    with pytest.raises(MetricError, match="expected one of logistic, adagrad"):
        beta_vae_score(s.differences, s.held, classifier="svm")
    with pytest.raises(MetricError, match="names 5 factors for 20 groups"):
        beta_vae_score(s.differences, s.held[:5])
    with pytest.raises(MetricError, match="test differences have 2 codes"):
        beta_vae_score(s.differences, s.held, test=(s.differences[:, :2], s.held))
    with pytest.raises(MetricError, match="divide the codes by their standard deviation"):
        beta_vae_score(s.differences * 1e6, s.held)
    with pytest.raises(MetricError, match="same factor is held"):
        beta_vae_score(s.differences, np.zeros_like(s.held))
    with pytest.raises(MetricError, match="iterations is -1"):
        beta_vae_score(s.differences, s.held, classifier="adagrad", iterations=-1)
