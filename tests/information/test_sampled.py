"""Sampled informations: Gaussian channels, the ceiling ln N and its report, larger mixtures."""

import math
import warnings

import numpy as np
import pytest

from hackle.information.posterior import PosteriorError, Posteriors
from hackle.information.sampled import SaturatedEstimateWarning, draw, mixture_of, sampled_factor_information
from metrics.samples import channels


def test_gaussian_channels():
    scales = np.array([0.4, 0.7, 1.0 - 1e-12])
    found = draw(Posteriors(*channels(scales, 3000)), samples=2, without=True, marginal=True)
    np.testing.assert_allclose(found.single, -np.log(scales), atol=0.03)
    assert found.total == pytest.approx(-np.log(scales).sum(), abs=0.05)
    np.testing.assert_allclose(found.conditional, -np.log(scales), atol=0.05)


def test_draws_are_reproducible_and_seeds_differ():
    points = Posteriors(*channels([0.5], 100))
    assert draw(points, seed=1).total == draw(points, seed=1).total
    assert draw(points, seed=1).total != draw(points, seed=2).total


def test_no_estimate_exceeds_the_ceiling_and_saturation_is_reported():
    points = Posteriors(*channels([0.001, 0.001, 0.001], 200))
    found = draw(points, marginal=True)
    ratios = found.own.joint - found.mixed.joint
    assert (ratios <= math.log(200) + 1e-9).all()
    assert found.total == pytest.approx(math.log(200), abs=1e-6)
    assert found.saturated(found.total)
    with pytest.warns(SaturatedEstimateWarning, match=r"I\(z; x\) is estimated at 5.30 nats, where a mixture of 200"):
        found.warn("I(z; x)", found.total)


def test_an_estimate_with_room_to_grow_is_not_saturated():
    found = draw(Posteriors(*channels([0.5, 0.9], 1000)), marginal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.warn("I(z; x)", found.total)
    assert not found.saturated(found.single).any()


def test_a_larger_mixture_lifts_the_ceiling():
    scales = [0.03, 0.03]
    whole = Posteriors(*channels(scales, 20_000))
    few = Posteriors(whole.means[:100], whole.logvars[:100])
    low = draw(few, samples=3)
    high = draw(few, mixture=(whole.means, whole.logvars), samples=3)
    truth = -math.log(0.03) * 2
    assert low.ceiling == pytest.approx(math.log(100))
    assert low.total <= math.log(100) < truth
    assert high.total == pytest.approx(truth, abs=0.25)


def test_a_mixture_without_the_points_is_refused():
    points = Posteriors(*channels([0.5], 50))
    with pytest.raises(PosteriorError, match="is not among the mixture's 50 points"):
        mixture_of(points, (points.means + 1, points.logvars))


def test_factor_information_of_separated_classes_is_the_factors_entropy():
    labels = np.repeat([0, 1, 2], [10, 20, 30])[:, None]
    points = Posteriors(labels * 10.0, np.zeros((60, 1)))
    p = np.array([1, 2, 3]) / 6
    information, _ = sampled_factor_information(points, labels, samples=5)
    assert information[0, 0] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-4)
    balanced, _ = sampled_factor_information(points, labels, samples=5, balanced=True)
    assert balanced[0, 0] == pytest.approx(math.log(3), abs=1e-4)


def test_sampled_entropy_of_a_gaussian_aggregate():
    labels = np.arange(4000)[:, None] % 2
    _, entropies = sampled_factor_information(Posteriors(*channels([0.3], 4000)), labels)
    assert entropies[0, 0] == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=0.03)
