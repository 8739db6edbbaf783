"""Quantised informations against Gaussian channels, integrals of two-component mixtures and laws of quantisation."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import entr, ndtri
from scipy.stats import norm

from hackle.information.posterior import PosteriorError, Posteriors
from hackle.information.quantised import (
    Bins,
    OutOfRangeWarning,
    bins_over,
    data_range,
    quantise,
    quantised_factor_information,
)


def channel(s: float, n: int = 4000) -> Posteriors:
    """Means at the quantiles of N(0, 1 − s²), posterior variance s²: q(z) = N(0, 1) and I(z; x) = −ln s."""
    means = math.sqrt(1 - s**2) * ndtri((np.arange(n) + 0.5) / n)
    return Posteriors(means[:, None], np.full((n, 1), 2 * math.log(s)))


@pytest.mark.parametrize("s", [0.1, 0.5, 0.9])
def test_gaussian_channel(s):
    found = quantise(channel(s), Bins(800))
    assert found.information[0] == pytest.approx(-math.log(s), abs=4e-3)
    # A.11: a quantised entropy is the differential one less the logarithm of the bin width.
    width = math.log(8 / 800)
    assert found.entropies[0] == pytest.approx(0.5 * math.log(2 * math.pi * math.e) - width, abs=4e-3)
    assert found.conditional_entropies[0] == pytest.approx(
        0.5 * math.log(2 * math.pi * math.e * s**2) - width, abs=4e-3
    )


@pytest.mark.parametrize(("distance", "s"), [(0.5, 0.5), (1.0, 0.3), (2.0, 0.2)])
def test_two_component_mixture_by_numerical_integration(distance, s):
    def density(z):
        return 0.5 * (norm.pdf(z, -distance, s) + norm.pdf(z, distance, s))

    def integrand(z):
        return -density(z) * math.log(density(z))

    entropy = 2 * quad(integrand, 0, distance + 9 * s, points=[distance], limit=200)[0]
    expected = entropy - 0.5 * math.log(2 * math.pi * math.e * s**2)
    points = Posteriors([[-distance], [distance]], np.full((2, 1), 2 * math.log(s)))
    assert quantise(points, Bins(2000)).information[0] == pytest.approx(expected, abs=1e-4)


def test_masses_are_gaussian_integrals_and_the_outermost_bins_are_open():
    masses = Bins(8).masses(*torch.tensor([[0.3], [math.log(0.25)]], dtype=torch.float64))[0].numpy()
    edges = np.array([-np.inf, -3, -2, -1, 0, 1, 2, 3, np.inf])
    np.testing.assert_allclose(masses, np.diff(norm.cdf(edges, 0.3, 0.5)), atol=1e-15)


@given(
    st.floats(-1e6, 1e6),
    st.floats(-50, 50),
    st.integers(2, 50),
)
def test_masses_sum_to_one_wherever_the_posterior_lies(mean, logvar, bins):
    masses = Bins(bins).masses(*torch.tensor([[mean], [logvar]], dtype=torch.float64)).numpy()
    assert (masses >= 0).all()
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)


def test_refining_the_bins_never_loses_information():
    rng = np.random.default_rng(0)
    points = Posteriors(rng.normal(size=(200, 3)), rng.normal(-2, 1, size=(200, 3)))
    found = [quantise(points, Bins(bins)).information for bins in (4, 8, 16, 64, 256)]
    for coarse, fine in pairwise(found):
        assert (fine >= coarse - 1e-12).all()


def test_a_collapsed_code_has_no_information():
    points = Posteriors(np.zeros((50, 1)), np.zeros((50, 1)))
    assert quantise(points, Bins()).information[0] == pytest.approx(0.0, abs=1e-12)


def test_deterministic_codes_reach_the_logarithm_of_their_values():
    means = np.repeat([-2.04, -0.04, 1.96], 10)[:, None]
    found = quantise(Posteriors(means, np.full((30, 1), -20.0)), Bins())
    assert found.information[0] == pytest.approx(math.log(3), abs=1e-12)
    assert found.conditional_entropies[0] == pytest.approx(0.0, abs=1e-9)


def test_chunks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    points = Posteriors(rng.normal(size=(50, 2)), rng.normal(size=(50, 2)))
    labels = rng.integers(3, size=(50, 2))
    whole = quantise(points, Bins(20), labels)
    monkeypatch.setattr("hackle.information.quantised._ROWS", {"cpu": 7})
    parts = quantise(points, Bins(20), labels)
    np.testing.assert_allclose(parts.masses, whole.masses, atol=1e-14)
    np.testing.assert_allclose(parts.conditional_entropies, whole.conditional_entropies, atol=1e-12)
    for one, other in zip(parts.class_masses, whole.class_masses, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_joint_masses_add_up_and_information_is_bounded_by_the_factor():
    rng = np.random.default_rng(3)
    labels = np.stack([rng.integers(4, size=400), np.zeros(400, dtype=np.int64)], axis=1)
    points = Posteriors(labels[:, :1] * 1.5 - 2.3, np.full((400, 1), -8.0))
    found = quantise(points, Bins(), labels)
    np.testing.assert_allclose(found.class_masses[0].sum(axis=1), found.masses, atol=1e-14)
    np.testing.assert_allclose(found.class_masses[0].sum(axis=2)[0], np.bincount(labels[:, 0]) / 400, atol=1e-14)
    counts = np.bincount(labels[:, 0]) / 400
    information, entropies = quantised_factor_information(found)
    assert information[0, 0] == pytest.approx(-(counts * np.log(counts)).sum(), abs=1e-9)
    assert information[0, 1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(entropies, found.entropies[:, None].repeat(2, axis=1), atol=1e-12)
    balanced, even = quantised_factor_information(found, balanced=True)
    assert balanced[0, 0] == pytest.approx(math.log(4), abs=1e-9)
    within = found.class_masses[0][0] / counts[:, None]
    assert even[0, 0] - math.log(4) == pytest.approx(entr(within).sum(axis=1).mean(), abs=1e-9)
    assert even[0, 1] == pytest.approx(entropies[0, 1])


def test_much_mass_outside_the_range_is_reported():
    means = np.linspace(-6, 6, 100)[:, None]
    with pytest.warns(OutOfRangeWarning, match=r"code 0 has 3\d% of its mass outside the quantised range \[-4, 4\]"):
        quantise(Posteriors(means, np.full((100, 1), -6.0)), Bins())
    quantise(Posteriors(means, np.full((100, 1), -6.0)), Bins(bounds=(-7.0, 7.0)))


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, True])
def test_bins_must_be_a_number_of_bins(bins):
    with pytest.raises(PosteriorError, match="bins is"):
        Bins(bins)


@pytest.mark.parametrize("bounds", [(4.0, -4.0), (0.0, 0.0), (-math.inf, 4.0)])
def test_bounds_must_be_an_interval(bounds):
    with pytest.raises(PosteriorError, match="bounds are"):
        Bins(10, bounds)


def test_the_rectangle_rule_by_hand_and_in_the_limit():
    """A.10: the density at each bin's centre, scaled so that the masses inside the range sum to one."""
    cut = Bins(10, (-4.0, 4.0), "rectangle")
    means, logvars = torch.tensor([0.3, -5.0], dtype=torch.float64), torch.tensor([-1.0, 0.5], dtype=torch.float64)
    heights = norm.pdf(np.arange(-3.6, 4, 0.8), means[:, None], np.exp(0.5 * logvars[:, None].numpy()))
    np.testing.assert_allclose(cut.masses(means, logvars), heights / heights.sum(axis=1, keepdims=True), atol=1e-12)
    far = cut.masses(torch.tensor([1e4], dtype=torch.float64), torch.tensor([-20.0], dtype=torch.float64))
    assert far[0, -1] == 1.0
    for s in (0.3, 0.9):
        exact, areas = (quantise(channel(s), Bins(400, rule=rule)) for rule in ("exact", "rectangle"))
        assert areas.information[0] == pytest.approx(exact.information[0], abs=2e-3)
        assert areas.entropies[0] == pytest.approx(exact.entropies[0], abs=2e-3)
    # A posterior far narrower than a bin is put whole into the bin with the nearest centre.
    narrow = quantise(Posteriors([[-0.1], [0.1]], [[-20.0], [-20.0]]), Bins(8, rule="rectangle"))
    assert narrow.information[0] == pytest.approx(math.log(2))
    with pytest.raises(PosteriorError, match="expected exact or rectangle"):
        Bins(8, rule="trapezoid")  # type: ignore[arg-type]


def test_the_range_of_the_data_holds_the_mass_of_every_posterior():
    """A.12: mean ± s √(2πe), at the most distant posteriors; a uniform code over it bounds every Gaussian's entropy."""
    rng = np.random.default_rng(0)
    points = Posteriors(10 * rng.normal(size=(200, 2)), rng.normal(size=(200, 2)))
    low, high = data_range(points)
    deviations = np.exp(0.5 * points.logvars)
    assert low == pytest.approx((points.means - 4.132731 * deviations).min(), abs=1e-4)
    assert high == pytest.approx((points.means + 4.132731 * deviations).max(), abs=1e-4)
    assert norm.cdf(low, points.means, deviations).max() + norm.sf(high, points.means, deviations).max() < 1e-4
    assert bins_over([points], 50, "data") == Bins(50, (low, high))
    assert (np.log(high - low) >= 0.5 * np.log(2 * math.pi * math.e * np.exp(points.logvars))).all()
    with pytest.raises(PosteriorError, match="expected a pair of numbers, or data"):
        bins_over([points], 50, "all")  # type: ignore[arg-type]
