"""The FactorVAE score against the paper's definition, its prunings and Gini's variance."""

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import disentangled, imperfect, make_sample

from hackle.metrics import MetricError, code_scale, factor_vae_score


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 6), st.booleans())
@settings(deadline=None, max_examples=40)
def test_agrees_with_the_definition(seed, codes, size, discrete):
    rng = np.random.default_rng(seed)
    groups, test_groups = rng.normal(size=(30, size, codes)), rng.normal(size=(20, size, codes))
    held, test_held = np.append(rng.integers(0, 3, size=29), 0), rng.integers(0, 4, size=20)
    held[0] = 1
    if discrete:
        groups[:, :, 0], test_groups[:, :, 0] = np.round(groups[:, :, 0]), np.round(test_groups[:, :, 0])
    scale = rng.random(codes) * 0.5
    test, classes = (test_groups, test_held), np.arange(codes) < int(discrete)
    found = factor_vae_score(groups, held, scale, test=test, minimum_variance=0.05, discrete=classes)
    columns = (0,) if discrete else ()
    expected = references.factor_vae(groups, held, scale**2, test_groups, test_held, minimum=0.05, discrete=columns)
    assert found == pytest.approx(expected)


def test_perfect_codes_score_one_and_noise_scores_chance():
    s = make_sample(disentangled)
    assert factor_vae_score(s.groups, s.held, code_scale(s.codes), test=(s.test_groups, s.test_held)) == 1.0
    rng = np.random.default_rng(0)
    noise, held = rng.normal(size=(4_000, 8, 3)), rng.integers(4, size=4_000)
    assert factor_vae_score(noise[::2], held[::2], np.ones(3), test=(noise[1::2], held[1::2])) == pytest.approx(
        0.25, abs=0.04
    )


def test_each_protocol_prunes_its_own_codes():
    s = make_sample(disentangled)
    scale = np.array([1.0, 1.0, 1.0, 0.1])
    s = s.map_codes(lambda codes: codes * scale / code_scale(codes))
    arguments, test = (s.groups, s.held, scale), (s.test_groups, s.test_held)
    by_deviation = factor_vae_score(*arguments, test=test, minimum_variance=0.05**2)
    by_variance = factor_vae_score(*arguments, test=test)
    by_mask = factor_vae_score(*arguments, test=test, minimum_variance=0, active=[True, True, True, False])
    assert by_deviation == 1.0
    assert by_variance == by_mask == pytest.approx(1 - np.mean(s.test_held == 3), abs=0.05)


def test_a_code_at_the_threshold_votes():
    s = make_sample(disentangled)
    assert factor_vae_score(s.groups, s.held, np.ones(4), minimum_variance=1.0) == 1.0
    assert factor_vae_score(s.groups, s.held, np.ones(4), minimum_variance=1.0001) == 0.0


def test_without_active_codes_the_score_is_zero():
    s = make_sample(imperfect)
    assert factor_vae_score(s.groups, s.held, code_scale(s.codes), active=np.zeros(7, dtype=bool)) == 0.0


def test_a_constant_code_never_votes_whatever_its_scale():
    s = make_sample(disentangled)
    with_constant = s.map_codes(lambda codes: np.insert(codes, 0, 0.1, axis=1))
    scale = np.append(1e-17, code_scale(s.codes))
    assert factor_vae_score(with_constant.groups, s.held, scale, minimum_variance=0) == 1.0


def test_a_vote_that_training_never_saw_is_an_error():
    groups = np.random.default_rng(0).normal(size=(4, 5, 2))
    groups[:, :, 0] = np.arange(4)[:, None]
    test = groups[:, :, ::-1].copy()
    assert factor_vae_score(groups, [0, 0, 1, 0], [1.0, 1.0]) == 0.75
    assert factor_vae_score(groups, [0, 0, 1, 0], [1.0, 1.0], test=(test, [0, 0, 0, 0])) == 0.0


def test_scales_are_square_roots_of_the_papers_variance():
    codes = np.random.default_rng(0).integers(0, 4, size=(30, 2)) * 1.0
    expected = [references.empirical_variance(codes[:, 0]), references.gini_variance(codes[:, 1])]
    np.testing.assert_allclose(code_scale(codes, discrete=np.array([False, True])) ** 2, expected)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_size_of_codes_does_not_matter(size):
    s = make_sample(imperfect, group_size=8)
    expected = factor_vae_score(s.groups, s.held, code_scale(s.codes), minimum_variance=0)
    scale = code_scale(s.codes * size)
    np.testing.assert_allclose(scale, code_scale(s.codes) * size)
    assert factor_vae_score(s.groups * size, s.held, scale, minimum_variance=0) == expected


def test_wrong_arguments_are_refused():
    s = make_sample(imperfect, rows=50, groups=20, group_size=4)
    scale = code_scale(s.codes)
    for arguments, options, words in [
        ((s.groups[:, 0], s.held, scale), {}, r"expected \(n, L, c\)"),
        ((s.groups[:, :1], s.held, scale), {}, "hold 1 sample"),
        ((s.groups, s.held, scale[:3]), {}, "7 standard deviations"),
        ((s.groups, s.held, -scale), {}, "7 standard deviations"),
        ((s.groups, np.zeros_like(s.held), scale), {}, "same factor is held"),
        ((s.groups, s.held, scale), {"active": np.ones(7)}, "7 bools"),
        ((s.groups, s.held, scale), {"minimum_variance": -1.0}, "zero or more"),
        ((s.groups, s.held, scale), {"discrete": np.ones(3, dtype=bool)}, "7 bools"),
        ((s.groups, s.held, scale), {"test": (s.groups[:, :, :2], s.held)}, "test groups have 2 codes"),
    ]:
        with pytest.raises(MetricError, match=words):
            factor_vae_score(*arguments, **options)
