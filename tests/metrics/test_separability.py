"""SEPIN, WSEPIN, INDIN and WINDIN against the slow twin and against channels whose shared information is known."""

import math

import numpy as np
import posterior_references as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from samples import channels
from scipy.special import ndtri

from hackle.information import PosteriorError, Posteriors, SaturatedEstimateWarning
from hackle.metrics.separability import (
    SeparabilityOptions,
    indin_score,
    separable_information,
    sepin_score,
    windin_score,
    wsepin_score,
)

pytestmark = pytest.mark.filterwarnings("ignore::hackle.information.SaturatedEstimateWarning")


@pytest.mark.filterwarnings("ignore::hackle.information.OutOfRangeWarning")
@settings(max_examples=15, deadline=None)
@given(
    arrays(float, (6, 3), elements=st.floats(-3, 3)),
    arrays(float, (6, 3), elements=st.floats(-4, 0)),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.integers(0, 5),
)
def test_equals_the_slow_twin_on_the_same_draws(means, logvars, correlation, seed):
    z = Posteriors(means, logvars, correlation).draw(seed)
    total = slow.sampled_information(z, means, logvars, correlation, [0, 1, 2])
    separate, independent = [], []
    for code in range(3):
        others = [other for other in range(3) if other != code]
        rest = slow.sampled_information(z, means, logvars, correlation, others)
        separate.append(total - rest)
        sigma = slow.covariance(np.zeros(3), correlation)
        given_x = -0.5 * math.log(np.linalg.det(sigma) / np.linalg.det(sigma[:2, :2]))
        independent.append(total - rest - given_x)
    found = separable_information(means, logvars, correlation=correlation, seed=seed, bins=10)
    np.testing.assert_allclose(found.separate, separate, atol=1e-8)
    np.testing.assert_allclose(found.independent, independent, atol=1e-8)
    assert found.total == pytest.approx(total, abs=1e-8)
    weights = np.array(slow.informativeness(means, logvars, 10))
    if weights.sum() > 1e-6:
        assert found.wsepin() == pytest.approx(weights @ separate / weights.sum(), abs=1e-6)
        assert found.windin() == pytest.approx(weights @ independent / weights.sum(), abs=1e-6)
    assert found.sepin(2) == pytest.approx(np.mean(sorted(separate)[-2:]), abs=1e-8)
    assert found.indin(1) == pytest.approx(max(independent), abs=1e-8)


def test_independent_channels_share_nothing():
    scales = [0.3, 0.5, 0.8]
    found = separable_information(*channels(scales, n=3000), samples=2)
    informations = -np.log(scales)
    np.testing.assert_allclose(found.separate, informations, atol=0.06)
    assert found.sepin(3) == pytest.approx(informations.mean(), abs=0.05)
    assert found.wsepin() == pytest.approx((informations**2).sum() / informations.sum(), abs=0.06)
    assert not found.saturated


def test_a_copied_channel_shares_what_a_joint_channel_cannot_add():
    # Two looks at the same mean with noise s: z = m + s·ε. Exactly I(x; z_1|z_2) = ½ ln of a ratio of Gaussian variances.
    s, n = 0.5, 3000
    mean = math.sqrt(1 - s**2) * ndtri((np.arange(n) + 0.5) / n)
    means, logvars = np.stack([mean, mean], axis=1), np.full((n, 2), 2 * math.log(s))
    joint = 0.5 * math.log(np.linalg.det(np.array([[1, 1 - s**2], [1 - s**2, 1]])) / s**4)
    found = separable_information(means, logvars, samples=2)
    assert found.total == pytest.approx(joint, abs=0.04)
    np.testing.assert_allclose(found.separate, joint + math.log(s), atol=0.04)


def test_indin_is_sepin_for_factorised_posteriors_and_less_for_correlated_ones():
    means, logvars = channels([0.4, 0.6, 0.9], n=400)
    assert sepin_score(means, logvars) == indin_score(means, logvars)
    assert wsepin_score(means, logvars) == windin_score(means, logvars)
    given_x = -0.5 * math.log(0.1 * (1 + 2 * 0.9) / (1 + 0.9))
    options = SeparabilityOptions(correlation=0.9)
    assert sepin_score(means, logvars, **options) - indin_score(means, logvars, **options) == pytest.approx(given_x)
    assert wsepin_score(means, logvars, **options) - windin_score(means, logvars, **options) == pytest.approx(given_x)


def test_correlated_noise_of_a_gaussian_aggregate_is_known_exactly():
    # q(z) = N(0, A) with A = M + S Σ S: I(x; z) = ½ ln det A / det(S Σ S), the same for blocks without a code.
    s, sigma, n = 0.6, 0.8, 4000
    rng = np.random.default_rng(0)
    noise = s**2 * np.array([[1, sigma], [sigma, 1]])
    covariance = np.array([[1.0, 0.3], [0.3, 0.8]])
    means = rng.multivariate_normal([0, 0], covariance, size=n)
    empirical = np.cov(means, rowvar=False)
    whole = 0.5 * math.log(np.linalg.det(empirical + noise) / np.linalg.det(noise))
    single = 0.5 * np.log((np.diag(empirical) + s**2) / s**2)
    found = separable_information(means, np.full((n, 2), 2 * math.log(s)), correlation=sigma, samples=2)
    assert found.total == pytest.approx(whole, abs=0.05)
    np.testing.assert_allclose(found.separate, whole - single[::-1], atol=0.05)


def test_a_collapsed_code_adds_nothing_and_changes_nothing():
    means, logvars = channels([0.4, 0.6], n=800)
    more = (np.column_stack([means, np.zeros(800)]), np.column_stack([logvars, np.zeros(800)]))
    found = separable_information(*more)
    assert found.separate[2] == pytest.approx(0.0, abs=1e-12)
    assert found.wsepin() == pytest.approx(wsepin_score(means, logvars), abs=0.06)


def test_codes_without_information_score_zero():
    found = separable_information(np.zeros((50, 3)), np.zeros((50, 3)))
    assert found.wsepin() == pytest.approx(0.0, abs=1e-12)
    assert found.sepin(2) == pytest.approx(0.0, abs=1e-12)


def test_sample_order_permutation_and_sign_matter_no_more_than_the_noise():
    means, logvars = channels([0.3, 0.5, 0.9], n=2000)
    plain = wsepin_score(means, logvars)
    order = np.random.default_rng(0).permutation(2000)
    assert wsepin_score(means[order], logvars[order]) == pytest.approx(plain, abs=0.05)
    assert wsepin_score(-means, logvars) == pytest.approx(plain, abs=0.05)
    assert wsepin_score(means[:, [2, 0, 1]], logvars[:, [2, 0, 1]]) == pytest.approx(plain, abs=0.05)


@pytest.mark.filterwarnings("error::hackle.information.SaturatedEstimateWarning")
def test_saturation_is_reported_and_a_larger_mixture_mends_it():
    means, logvars = channels([0.1, 0.1, 0.1], n=4000)
    with pytest.warns(SaturatedEstimateWarning, match="a mixture of 60 points"):
        few = separable_information(means[:60], logvars[:60])
    assert few.saturated
    assert few.ceiling == pytest.approx(math.log(60))
    assert few.sepin(3) < 1.0
    with pytest.warns(SaturatedEstimateWarning, match="a mixture of 4000 points"):
        many = separable_information(means[:60], logvars[:60], mixture=(means, logvars), samples=5)
    # Three codes of 2.3 nats: 6.9 of 8.3 is still limited, yet each one's own share is mostly visible.
    assert many.sepin(3) > 1.5


@pytest.mark.parametrize("k", [0, 4, -1])
def test_k_must_be_a_number_of_codes(k):
    with pytest.raises(PosteriorError, match=f"k is {k}; expected 1 to 3"):
        sepin_score(np.zeros((4, 3)), np.zeros((4, 3)), k)
