"""Likelihood bounds of linear Gaussian models, whose log p(x) is known, and divergences in closed form."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hackle.information import PosteriorError
from hackle.metrics import METRICS
from hackle.metrics.checks import MetricError
from hackle.metrics.likelihood import (
    active_units,
    elbo,
    importance_weighted_bound,
    kl_divergence,
    reconstruction_error,
)


@dataclass
class Linear:
    """x = W z + b + N(0, I). With orthogonal columns of W the exact posterior is factorised; `widen` spoils it."""

    weights: torch.Tensor
    widen: float = 0.0
    likelihood: str = "gaussian"
    rows: list[int] = field(default_factory=list)

    def posterior(self, images):
        precision = 1 + self.weights.square().sum(0)
        means = (images.flatten(1) - 0.3) @ self.weights / precision
        return means, (self.widen - torch.log(precision)).expand_as(means)

    def output(self, z):
        self.rows.append(len(z))
        return (z @ self.weights.T + 0.3).view(-1, 3, 2)

    def log_evidence(self, images):
        covariance = self.weights @ self.weights.T + torch.eye(6, dtype=torch.float64)
        return torch.distributions.MultivariateNormal(torch.full((6,), 0.3, dtype=torch.float64), covariance).log_prob(
            images.flatten(1)
        )


def linear(widen: float = 0.0) -> Linear:
    basis = torch.linalg.qr(torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).Q
    return Linear(basis * torch.tensor([2.0, 0.5], dtype=torch.float64), widen)


IMAGES = torch.rand(5, 3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("particles", [1, 7])
def test_with_the_exact_posterior_the_bound_is_the_evidence(particles):
    model = linear()
    found = importance_weighted_bound(model, IMAGES, particles=particles)
    np.testing.assert_allclose(found, model.log_evidence(IMAGES), atol=1e-5)


def test_with_another_posterior_the_bound_rises_to_the_evidence():
    model = linear(widen=1.5)
    truth = model.log_evidence(IMAGES).numpy()
    # The averages over repeats estimate the bounds themselves, which cannot exceed the evidence.
    few, some = (
        importance_weighted_bound(model, IMAGES.repeat(400, 1, 1), particles=k).reshape(400, 5).mean(axis=0)
        for k in (1, 10)
    )
    many = importance_weighted_bound(model, IMAGES, particles=20_000, chunk=8192)
    assert (few < some).all()
    assert (some < truth).all()
    np.testing.assert_allclose(many, truth, atol=0.02)


def test_the_bound_with_one_particle_estimates_the_elbo():
    model = linear(widen=1.0)
    repeated = importance_weighted_bound(model, IMAGES.repeat(4000, 1, 1), particles=1)
    np.testing.assert_allclose(elbo(model, IMAGES, samples=4000), repeated.reshape(4000, 5).mean(axis=0), atol=0.1)


def test_elbo_is_evidence_less_the_divergence_from_the_exact_posterior():
    # KL(N(m, e^w v) ‖ N(m, v)) = ½ (e^w − w − 1) for each code; correlated noise costs −½ ln det Σ more.
    model = linear(widen=1.0)
    gap = 2 * 0.5 * (math.e - 1 - 1)
    np.testing.assert_allclose(elbo(model, IMAGES, samples=40_000), model.log_evidence(IMAGES) - gap, atol=0.05)
    correlated = linear()
    gap = -0.5 * math.log(1 - 0.8**2)
    found = elbo(correlated, IMAGES, samples=40_000, correlation=0.8)
    np.testing.assert_allclose(found, correlated.log_evidence(IMAGES) - gap, atol=0.05)


def test_the_bound_uses_the_correlated_posteriors_density():
    # The weights' variance is det(Σ)^½ det(2I − Σ⁻¹)^−½ − 1 = 0.14: a standard error of 0.003.
    model = linear()
    found = importance_weighted_bound(model, IMAGES, particles=20_000, correlation=0.3, chunk=8192)
    np.testing.assert_allclose(found, model.log_evidence(IMAGES), atol=0.015)


def test_elbo_is_minus_reconstruction_error_less_kl():
    model = linear(widen=0.5)
    means, logvars = model.posterior(IMAGES)
    total = kl_divergence(means.numpy(), logvars.numpy()).total
    error = reconstruction_error(model, IMAGES, samples=3, seed=9)
    assert elbo(model, IMAGES, samples=3, seed=9).mean() == pytest.approx(-error.mean() - total, abs=1e-9)


class Coin:
    """Every pixel has the same logit whatever z is."""

    likelihood = "bernoulli"

    def __init__(self, logit: float) -> None:
        self.logit = logit

    def posterior(self, images):
        return torch.zeros(len(images), 1), torch.zeros(len(images), 1)

    def output(self, z):
        return torch.full((len(z), 4), self.logit)


def test_bernoulli_pixels_are_summed_and_grey_ones_are_soft_targets():
    images = np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.5]])
    p = 1 / (1 + math.exp(-1.2))
    expected = [2 * math.log(p) + 2 * math.log(1 - p), 3.5 * math.log(p) + 0.5 * math.log(1 - p)]
    np.testing.assert_allclose(importance_weighted_bound(Coin(1.2), images, particles=3), expected, atol=1e-6)
    np.testing.assert_allclose(reconstruction_error(Coin(1.2), images), -np.array(expected), atol=1e-6)
    # Extreme logits do not overflow, and uint8 images are scaled.
    found = reconstruction_error(Coin(200.0), np.array([[255, 255, 255, 0]], dtype=np.uint8))
    assert found[0] == pytest.approx(200.0, abs=1e-6)


def test_chunks_do_not_matter_and_bound_the_decoder():
    model = linear(widen=1.0)
    whole = importance_weighted_bound(model, IMAGES, particles=50, chunk=10_000)
    model.rows.clear()
    np.testing.assert_allclose(importance_weighted_bound(model, IMAGES, particles=50, chunk=16), whole, atol=1e-9)
    assert max(model.rows) <= 16
    first = importance_weighted_bound(model, IMAGES[:2], particles=50)
    np.testing.assert_allclose(first, whole[:2], atol=1e-9)
    assert not np.allclose(importance_weighted_bound(model, IMAGES, particles=50, seed=1), whole)


def test_kl_divergence_in_closed_form():
    found = kl_divergence(np.ones((3, 10)), np.zeros((3, 10)))
    np.testing.assert_allclose(found.per_code, 0.5)
    assert found.total == pytest.approx(5.0)
    assert kl_divergence(np.zeros((3, 4)), np.zeros((3, 4))).total == 0.0
    # ½ (tr C + mᵀm − ln det C − c) with the full covariance.
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    expected = 0.0
    for mean, logvar in zip(means, logvars, strict=True):
        scales = np.exp(0.5 * logvar)
        covariance = np.outer(scales, scales) * (0.3 * np.eye(3) + 0.7)
        expected += 0.5 * (np.trace(covariance) + mean @ mean - np.linalg.slogdet(covariance)[1] - 3) / 6
    assert kl_divergence(means, logvars, correlation=0.7).total == pytest.approx(expected, abs=1e-12)


def test_posteriors_that_are_all_but_points_have_their_divergence():
    """½ (μ² + e^λ − λ − 1), whatever a float64 keeps of e^λ: an AnnealedVAE of large capacity ends there."""
    means, logvars = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[-80.0, 0.0], [-2e4, 0.0]])
    found = kl_divergence(means, logvars)
    assert found.per_code == pytest.approx([0.25 * (1 + 80 - 1 + 9 + 2e4 - 1), 0.0], rel=1e-14)
    assert active_units(means, logvars).tolist() == [True, False]


def test_active_units_are_those_away_from_the_prior():
    means = np.column_stack([[-1.0, 1.0], [0.0, 0.0], [0.05, -0.05], [0.0, 0.0]])
    logvars = np.column_stack([[-4.0, -4.0], [0.0, 0.0], [0.0, 0.0], [-1.0, -1.0]])
    assert active_units(means, logvars).tolist() == [True, False, False, True]
    assert active_units(means, logvars, threshold=0.001).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: importance_weighted_bound(linear(), IMAGES, particles=0), "0 draws"),
        (lambda: elbo(linear(), IMAGES, chunk=0), "chunks of 0"),
        (lambda: elbo(linear(), IMAGES, correlation=1.0), "correlation is 1.0"),
        (lambda: elbo(linear(), IMAGES * 3), "outside"),
        (lambda: elbo(linear(), torch.zeros(3)), "images have shape"),
        (lambda: elbo(Linear(linear().weights, likelihood="poisson"), IMAGES), "likelihood is 'poisson'"),
        (lambda: elbo(Coin(0.0), np.zeros((2, 5))), "the decoder gives shape"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(MetricError, match=said):
        call()


def test_bad_posteriors_are_refused():
    with pytest.raises(PosteriorError, match="means hold nan"):
        kl_divergence([[np.nan], [0.0]], [[0.0], [0.0]])


def test_the_bound_over_all_images_does_not_depend_on_the_parts_they_come_in():
    model = linear(widen=0.4)
    one = importance_weighted_bound(model, IMAGES, particles=50, seed=3)
    parts = [importance_weighted_bound(model, IMAGES[a:b], 50, seed=3, first=a) for a, b in ((0, 2), (2, 5))]
    np.testing.assert_array_equal(np.concatenate(parts), one)
    evaluation = SimpleNamespace(
        seed=3,
        correlation=0.0,
        protocol=SimpleNamespace(particles=50),
        every_image=lambda: iter([(model, IMAGES[:4]), (model, IMAGES[4:])]),
    )
    assert METRICS["whole_iwae"].compute(evaluation) == pytest.approx(one.mean(), abs=1e-12)
    evidence = model.log_evidence(IMAGES).mean()
    assert evidence - 0.1 < METRICS["whole_iwae"].compute(evaluation) < evidence + 0.1
