"""Consistency of two models' codes: swaps, flips, bends and noise, and codes without a partner."""

import numpy as np
import pytest

from hackle.information import PosteriorError
from hackle.metrics.consistency import consistency

N = 1500


def model(seed: int = 0, noise: int = 0):
    """Three independent codes of different precision and some of pure noise."""
    rng = np.random.default_rng(seed)
    means = np.column_stack([rng.normal(size=(N, 3)), np.zeros((N, noise))])
    return means, np.tile([-6.0, -4.0, -2.0] + [0.0] * noise, (N, 1))


def test_a_model_agrees_with_itself():
    found = consistency(model(), model())
    assert found.score == pytest.approx(1.0)
    assert found.ordering == pytest.approx(1.0)
    assert found.pairs.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert found.informative == (3, 3)


def test_swaps_flips_bends_and_noise_codes_do_not_matter():
    means, logvars = model()
    other = np.column_stack([np.zeros(N), -means[:, 2], np.tanh(means[:, 0]) * 2, means[:, 1]])
    other_logvars = np.column_stack([np.zeros(N), logvars[:, [2, 0, 1]]])
    found = consistency((means, logvars), (other, other_logvars))
    assert found.score == pytest.approx(1.0, abs=1e-3)
    assert found.pairs.tolist() == [[0, 2], [1, 3], [2, 1]]
    np.testing.assert_allclose(found.agreement, 1.0)
    assert found.informative == (3, 3)


def test_swapping_the_models_transposes_the_pairs():
    first, second = model(), model(seed=1)
    one, other = consistency(first, second), consistency(second, first)
    assert one.score == pytest.approx(other.score)
    assert sorted(one.pairs.tolist()) == sorted(other.pairs[:, ::-1].tolist())


def test_independent_models_do_not_agree():
    assert consistency(model(0), model(1)).score < 0.1


def test_an_informative_code_without_a_partner_costs_its_weight():
    means, logvars = model()
    whole = consistency((means, logvars), (means, logvars))
    part = consistency((means, logvars), (means[:, :2], logvars[:, :2]))
    assert whole.score == pytest.approx(1.0)
    from hackle.metrics.informativeness import informativeness

    lost = informativeness(means, logvars)
    assert part.score == pytest.approx(1 - lost[2] / (2 * lost[:2].sum() + lost[2]), abs=1e-9)


def test_a_rotated_model_agrees_less_the_further_it_turns():
    means, logvars = model()
    scores = []
    for angle in (0.0, 0.2, 0.4, np.pi / 4):
        turn = np.eye(3)
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        scores.append(consistency((means, logvars), (means @ turn, logvars)).score)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.9


def test_reversed_informativeness_reverses_the_ordering():
    means, logvars = model()
    found = consistency((means, logvars), (means, logvars[:, ::-1]))
    assert found.ordering == pytest.approx(-1.0)


def test_models_of_noise_score_zero_and_have_no_ordering():
    silent = (np.zeros((10, 2)), np.zeros((10, 2)))
    found = consistency(silent, silent)
    assert found.score == 0.0
    assert np.isnan(found.ordering)
    assert found.informative == (0, 0)


def test_different_points_are_refused():
    with pytest.raises(PosteriorError, match="expected the same points"):
        consistency(model(), (np.zeros((5, 2)), np.zeros((5, 2))))
