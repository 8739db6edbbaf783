"""SlowVAE's cross-entropy and its three losses against closed forms, quadrature and SciPy in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import laplace, norm
from single import Single, small_run
from test_gvae import Array, Both, encoded, pair_loss

from hackle.core.types import RunError
from hackle.objectives import BetaVAE, SlowVAE
from hackle.objectives.slow_vae import laplace_cross_entropy, normal_entropy


def cross_entropy(mean: float, deviation: float, rate: float) -> float:
    given = torch.tensor([mean, 2 * math.log(deviation)], dtype=torch.float64)
    return laplace_cross_entropy(given[0], given[1], rate).item()


def kl(mean: float, deviation: float, rate: float) -> float:
    entropy = normal_entropy(torch.tensor(2 * math.log(deviation), dtype=torch.float64)).item()
    assert entropy == pytest.approx(norm(scale=deviation).entropy())
    return cross_entropy(mean, deviation, rate) - entropy


def test_values_by_hand() -> None:
    assert cross_entropy(0, 1, 1) == pytest.approx(1.49103, abs=5e-6)
    assert kl(0, 1, 1) == pytest.approx(0.07209, abs=5e-6)
    assert kl(0, 0.1, 6) == pytest.approx(0.26377, abs=5e-6)
    assert kl(1, 0.1, 6) == pytest.approx(5.78503, abs=5e-6)


def test_the_narrowest_divergence_at_no_distance() -> None:
    """Over σ it is smallest at √(π/2)/λ."""
    best = math.sqrt(math.pi / 2) / 6
    assert best == pytest.approx(0.20889, abs=5e-6)
    assert kl(0, best, 6) == pytest.approx(0.04842, abs=5e-6)
    assert kl(0, best, 6) < min(kl(0, 0.99 * best, 6), kl(0, 1.01 * best, 6))


@pytest.mark.parametrize(("mean", "deviation", "rate"), [(0.4, 0.7, 6.0), (-1.5, 0.2, 1.0), (0.01, 2.0, 3.0)])
def test_the_cross_entropy_by_quadrature_and_by_monte_carlo(mean: float, deviation: float, rate: float) -> None:
    def integrand(z: float) -> float:
        return -float(norm.pdf(z, mean, deviation) * laplace.logpdf(z, 0, 1 / rate))

    ends = mean - 12 * deviation, mean + 12 * deviation
    exact = quad(integrand, *ends, points=[0.0, mean], limit=200, epsabs=1e-12)[0]
    assert cross_entropy(mean, deviation, rate) == pytest.approx(exact, rel=1e-9)
    drawn = -laplace.logpdf(np.random.default_rng(0).normal(mean, deviation, 100_000), 0, 1 / rate)
    assert cross_entropy(mean, deviation, rate) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(100_000))


def test_tiny_deviations_leave_the_distance_and_finite_gradients() -> None:
    given = torch.tensor([[-3.0, 0.0, 2.0], [-60.0, -60.0, -60.0]], requires_grad=True)
    found = laplace_cross_entropy(given[0], given[1], 1.0)
    torch.testing.assert_close(found.detach(), torch.tensor([3.0, 0.0, 2.0]) + math.log(2))
    assert torch.isfinite(torch.autograd.grad(found.sum(), given)[0]).all()


def expected(model: Single) -> tuple[float, float]:
    """Half of each loss as the formulas have them, and the transition's divergence."""
    method: Any = model.run.method
    means, variances = encoded(model)
    deviations = np.sqrt(variances)
    _, error, both = pair_loss(model, means, variances, 0.0)

    def cross(source: int, target: int) -> Array:
        mu, sigma = means[target] - means[source], deviations[target]
        folded = sigma * np.sqrt(2 / np.pi) * np.exp(-(mu**2) / (2 * sigma**2)) + mu * (2 * norm.cdf(mu / sigma) - 1)
        return (method.rate * folded - np.log(method.rate / 2)).sum(1)

    entropies = norm(scale=deviations).entropy().sum(2)
    prior = ((means**2 + variances - np.log(variances) - 1) / 2).sum(2).mean(1)
    if method.transition == "ideal":
        transition = (cross(0, 1) - entropies[1]).mean()
        return (2 * error + method.beta * prior[0] + method.gamma * transition) / 2, transition
    if method.transition == "symmetric":
        orders = [
            2 * error + method.beta * prior[s] + method.gamma * (cross(s, t) - entropies[t]).mean()
            for s, t in ((0, 1), (1, 0))
        ]
        each = [(cross(s, t) - entropies[t]).mean() for s, t in ((0, 1), (1, 0))]
        return float(np.mean(orders)) / 2, float(np.mean(each))
    transition = (cross(1, 0) + cross(0, 1)).mean() - entropies.mean()
    return (2 * error + method.beta * both.sum() + method.gamma * transition) / 2, transition


@pytest.mark.parametrize("transition", ["released", "symmetric", "ideal"])
def test_the_loss(transition: Any) -> None:
    model = Single(small_run(SlowVAE(beta=2.0, gamma=7.0, rate=3.0, transition=transition)))
    with torch.no_grad():
        [value for value in model.networks["encoder"].parameters() if value.dim() == 2][-1].mul_(30)
    total, divergence = expected(model)
    found = model.loss()
    assert found.total.item() == pytest.approx(total, rel=1e-12)
    assert found.terms["transition"].item() == pytest.approx(divergence, rel=1e-12)
    assert found.terms.keys() == {"reconstruction", "kl", "kl_per_latent", "transition"}


@pytest.mark.parametrize("transition", ["released", "symmetric", "ideal"])
def test_without_a_transition_equal_images_make_it_the_beta_vae_of_half_the_weight(transition: Any) -> None:
    """A pair has two reconstructions and one KL to the prior. `Both` has β = 3."""
    model = Single(small_run(SlowVAE(beta=6.0, gamma=0.0, transition=transition)))
    model.given["partners"] = model.images
    both = Both(model)
    assert isinstance(both.run.method, BetaVAE)
    assert model.loss().total.item() == pytest.approx(both.loss().total.item(), rel=1e-13)
    wanted = both.gradients()
    for name, gradient in model.gradients().items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-9, atol=1e-12)


def test_the_released_loss_has_twice_the_cross_entropy_of_the_symmetric_one_and_the_same_entropy() -> None:
    found = {
        name: Single(small_run(SlowVAE(transition=name))).loss().terms["transition"].item()
        for name in ("released", "symmetric")
    }
    _, variances = encoded(Single(small_run(SlowVAE())))
    entropy = norm(scale=np.sqrt(variances)).entropy().sum(2).mean()
    assert found["released"] + entropy == pytest.approx(2 * (found["symmetric"] + entropy), rel=1e-12)


def test_a_laplace_distribution_needs_a_rate() -> None:
    with pytest.raises(RunError, match="rate of SlowVAE is 0; expected the positive rate"):
        SlowVAE(rate=0.0)
