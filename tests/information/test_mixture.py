"""The heavy loop against SciPy's densities, one at a time."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from hackle.information.mixture import check_members, class_log_densities, mixture_log_densities
from hackle.information.posterior import PosteriorError, Posteriors
from hackle.information.sampled import SaturatedEstimateWarning
from hackle.metrics import total_information


def slow(z, points: Posteriors, codes: list[int]) -> float:
    """log (1/N) Σ q(z_S|x_n)."""
    terms = []
    for mean, logvar in zip(points.means, points.logvars, strict=True):
        scales = np.exp(0.5 * logvar[codes])
        covariance = np.outer(scales, scales) * (np.eye(len(codes)) * (1 - points.correlation) + points.correlation)
        terms.append(multivariate_normal(mean[codes], covariance).logpdf(z[codes]))  # type: ignore[arg-type]
    return float(np.asarray(logsumexp(terms))) - math.log(len(terms))


def example(correlation: float, n: int = 40, codes: int = 4, seed: int = 0) -> Posteriors:
    rng = np.random.default_rng(seed)
    return Posteriors(rng.normal(size=(n, codes)), rng.uniform(-5, 1, size=(n, codes)), correlation)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
def test_all_densities_match_scipy(correlation):
    points = example(correlation)
    z = points.draw(seed=1)[:12]
    found = mixture_log_densities(z, points, without=True, marginal=True)
    for row in range(len(z)):
        assert found.joint[row] == pytest.approx(slow(z[row], points, [0, 1, 2, 3]), abs=1e-9)
        for code in range(4):
            others = [other for other in range(4) if other != code]
            assert found.without[row, code] == pytest.approx(slow(z[row], points, others), abs=1e-9)
            assert found.marginal[row, code] == pytest.approx(slow(z[row], points, [code]), abs=1e-9)


def test_what_is_not_asked_for_is_empty():
    points = example(0.0)
    found = mixture_log_densities(points.means, points)
    assert found.without.size == found.marginal.size == 0


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_tiles_do_not_matter(monkeypatch, correlation):
    points = example(correlation)
    z = points.draw(seed=1)
    whole = mixture_log_densities(z, points, without=True, marginal=True)
    monkeypatch.setitem(__import__("hackle.information.mixture", fromlist=["_TILE"])._TILE, "cpu", 130)
    parts = mixture_log_densities(z, points, without=True, marginal=True)
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_codes_without_noise_keep_the_other_codes_exact(correlation):
    # The first code is deterministic and apart: leaving it out must give the density of the rest, to the last digits.
    rng = np.random.default_rng(5)
    means = np.column_stack([np.arange(30.0) / 10, rng.normal(size=(30, 2))])
    points = Posteriors(means, np.column_stack([np.full(30, -40.0), np.full((30, 2), -1.0)]), correlation)
    z = points.draw(seed=0)
    found = mixture_log_densities(z, points, without=True)
    rest = points.select([1, 2])
    np.testing.assert_allclose(found.without[:, 0], mixture_log_densities(z[:, 1:], rest).joint, atol=1e-6)
    own = points.log_densities(z)
    np.testing.assert_allclose(own.joint - found.joint, math.log(30), atol=1e-3)


def test_a_single_code_leaves_nothing():
    points = example(0.0, codes=1)
    assert (mixture_log_densities(points.means, points, without=True).without == 0).all()


def test_class_densities_are_mixtures_of_the_members():
    points = example(0.0, n=30, codes=2)
    labels = np.stack([np.arange(30) % 3, np.arange(30) % 2], axis=1)
    z = points.draw(seed=3)[:6]
    found = class_log_densities(z, points, labels)
    assert [part.shape for part in found] == [(6, 2, 3), (6, 2, 2)]
    for factor in range(2):
        for value in range(labels[:, factor].max() + 1):
            members = labels[:, factor] == value
            for code in range(2):
                scales = np.exp(0.5 * points.logvars[members, code])
                density = norm.pdf(z[:, code, None], points.means[members, code], scales).mean(axis=1)
                kept = density > 1e-20  # below, the cut at e^−80 of the nearest point takes over
                np.testing.assert_allclose(found[factor][kept, code, value], np.log(density[kept]), atol=1e-9)


def test_a_mixture_must_contain_the_points():
    points = example(0.0)
    subset = Posteriors(points.means[5:9], points.logvars[5:9])
    check_members(subset, points)
    with pytest.raises(PosteriorError, match="row 0 of the means and logvars is not among the mixture's 4 points"):
        check_members(points, subset)
    with pytest.raises(PosteriorError, match="4 codes but 2 in the mixture"):
        check_members(points, points.select([0, 1]))


@pytest.mark.gpu
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_gpu_and_cpu_agree(correlation):
    assert torch.cuda.is_available()
    points = example(correlation, n=500, codes=6)
    z = points.draw(seed=1)
    cpu = mixture_log_densities(z, points, without=True, marginal=True)
    gpu = mixture_log_densities(z, points, without=True, marginal=True, device="cuda")
    for one, other in zip(gpu, cpu, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    labels = np.stack([np.arange(500) % 3, np.arange(500) % 7], axis=1)
    for one, other in zip(
        class_log_densities(z, points, labels, device="cuda"), class_log_densities(z, points, labels), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1e14, 1e200])
def test_means_so_far_out_that_draws_lose_their_digits_are_refused(size):
    """A draw's own point would seem far from it, and an information could exceed ln N."""
    means = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(PosteriorError, match="standard deviations from 0"):
        total_information(means * size, np.full((20, 2), -3.0))
    with pytest.warns(SaturatedEstimateWarning):
        assert total_information(means * 1e11, np.full((20, 2), -3.0)) <= np.log(20)
