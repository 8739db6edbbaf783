"""The autoregressive posterior: against PyTorch's multivariate Gaussian in float64, its limit, and what is scored of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from single import SHAPE, SMALL, Single, small_run
from torch import nn
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from hackle.core.gaussian import covariance as correlated
from hackle.core.types import Run
from hackle.information.autoregressive import dependent_information
from hackle.information.posterior import PosteriorError, Posteriors
from hackle.information.sampled import SaturatedEstimateWarning, draw
from hackle.nets import Sharing
from hackle.objectives import AutoregressiveVAE, BetaVAE
from hackle.objectives.autoregressive_vae import noise_root, outputs_of, posterior_of, root_of
from hackle.objectives.vae import negative_log_likelihood
from hackle.scoring.models import score
from hackle.scoring.registry import ScoreError
from hackle.train.fleet import Fleet, build_networks
from hackle.train.held_out import held_out_images, held_out_terms
from hackle.train.model import Model
from hackle.train.record_files import ModelError


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def fresh(run: Run) -> Model:
    """The run's model before its first step."""
    return Model(run, SHAPE, dict(nn.ModuleDict(build_networks(run, SHAPE)).state_dict()))


def covariance(logvars: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    """(I − A)⁻¹ D² (I − A)⁻ᵀ, by inverting."""
    inverse = torch.linalg.inv(torch.eye(logvars.shape[-1], dtype=logvars.dtype) - coefficients)
    return inverse @ torch.diag_embed(logvars.exp()) @ inverse.transpose(-1, -2)


def some_posteriors(points: int, latents: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(points, 2 * outputs_of(latents), dtype=torch.float64, generator=generator)
    return posterior_of(draws.chunk(2, dim=-1), latents)  # type: ignore[arg-type]


def test_the_loss_is_reconstruction_and_the_divergence_of_a_full_gaussian() -> None:
    model = Single(small_run(AutoregressiveVAE(beta=3.0)))
    found = model.loss()
    means, logvars, coefficients = posterior_of(model.nets("encoder", model.images), 3)
    below = torch.ones(3, 3).tril(-1).bool()
    assert not coefficients[:, ~below].any()
    assert coefficients[:, below].all()
    posterior = MultivariateNormal(means, covariance(logvars, coefficients))
    prior = MultivariateNormal(torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64))
    kl = kl_divergence(posterior, prior).mean()
    # One latent after another, as the definition reads.
    noise, z = model.noise()["z"], torch.zeros_like(means)
    for row in range(3):
        mean = means[:, row] + (coefficients[:, row] * (z - means))[:, :row].sum(-1)
        z[:, row] = (mean + (0.5 * logvars[:, row]).exp() * noise[:, row]).detach()
    error = negative_log_likelihood(model.nets("decoder", z), model.images, "bernoulli").mean()
    close(found.terms["reconstruction"], error)
    close(found.terms["kl"], kl)
    close(found.total, error + 3 * kl)
    variances = covariance(logvars, coefficients).diagonal(dim1=1, dim2=2)
    alone = kl_divergence(Normal(means, variances.sqrt()), Normal(torch.zeros(3).double(), torch.ones(3).double()))
    close(found.terms["kl_per_latent"], alone.mean(0))


def test_without_coefficients_it_is_the_factorised_posterior() -> None:
    _, logvars, coefficients = some_posteriors(5, 4)
    root = root_of(logvars, torch.zeros_like(coefficients))
    close(root, torch.diag_embed((0.5 * logvars).exp()))
    run = small_run(AutoregressiveVAE(beta=2.0))
    model, plain = Single(run), Single(small_run(BetaVAE(beta=2.0)))
    # The head's outputs are means, logvars and coefficients: those of the factorised encoder, and zeros after them.
    ours, theirs = dict(model.networks["encoder"].named_parameters()), plain.networks["encoder"].state_dict()
    with torch.no_grad():
        for name, value in ours.items():
            value[: len(theirs[name])].copy_(theirs[name])
            value[len(theirs[name]) :] = 0
        for name, value in model.networks["decoder"].named_parameters():
            value.copy_(plain.networks["decoder"].state_dict()[name])
    model.noise = plain.noise  # type: ignore[method-assign]
    close(model.loss().total, plain.loss().total)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.9])
def test_correlated_noise_has_the_papers_covariance(sigma: float) -> None:
    root = noise_root(torch.tensor(sigma, dtype=torch.float64), torch.zeros(5, dtype=torch.float64))
    close(root @ root.T, correlated(torch.zeros(5, dtype=torch.float64), sigma))
    close(root, root.tril())


@pytest.mark.parametrize("architecture", [SMALL, Sharing(hidden=8, channels=(3, 4))])
def test_codes_are_the_marginals_and_roots_those_of_the_joint(architecture: Any) -> None:
    run = small_run(AutoregressiveVAE(), architecture=architecture, latents=4)
    model = fresh(run)
    images = np.random.default_rng(0).integers(0, 256, (6, *SHAPE), dtype=np.uint8)
    means, roots = model.covariance_root(images)
    found, logvars = model.encode(images)
    np.testing.assert_array_equal(found, means)
    np.testing.assert_allclose(np.exp(logvars), (roots @ roots.swapaxes(1, 2)).diagonal(axis1=1, axis2=2), rtol=1e-5)
    with pytest.raises(ModelError, match="independent"):
        fresh(small_run(BetaVAE())).covariance_root(images)


def test_informations_of_diagonal_roots_are_those_of_factorised_posteriors() -> None:
    means, logvars, _ = some_posteriors(200, 3)
    roots = torch.diag_embed((0.5 * logvars).exp())
    found = dependent_information(means.numpy(), roots.numpy(), seed=4)
    known = draw(Posteriors(means.numpy(), logvars.numpy()), seed=4, without=True, marginal=True)
    np.testing.assert_allclose(found.single, known.single, rtol=1e-9)
    np.testing.assert_allclose(found.conditional, known.conditional, rtol=1e-9)
    assert found.total == pytest.approx(known.total, rel=1e-9)
    np.testing.assert_allclose(found.shared, 0, atol=1e-12)
    assert found.wsepin == pytest.approx(found.windin)


def test_informations_against_a_gaussian_aggregate() -> None:
    """Means N(0, M) and one covariance C: q(z) is N(0, M + C), and every information a ratio of determinants."""
    rng = np.random.default_rng(1)
    spread, root = np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([[0.7, 0.0], [0.9, 0.5]])
    means = rng.multivariate_normal(np.zeros(2), spread, size=2_000)
    found = dependent_information(means, np.tile(root, (2_000, 1, 1)), seed=2)
    inner, outer = root @ root.T, spread + root @ root.T
    total = 0.5 * math.log(np.linalg.det(outer) / np.linalg.det(inner))
    single = 0.5 * np.log(outer.diagonal() / inner.diagonal())
    assert found.total == pytest.approx(total, abs=0.05)
    np.testing.assert_allclose(found.single, single, atol=0.05)
    np.testing.assert_allclose(found.conditional, total - single[::-1], atol=0.05)
    of_posterior = 0.5 * math.log(inner[0, 0] * inner[1, 1] / np.linalg.det(inner))
    np.testing.assert_allclose(found.shared, of_posterior, rtol=1e-9)
    aggregate = 0.5 * math.log(outer[0, 0] * outer[1, 1] / np.linalg.det(outer))
    assert found.total_correlation == pytest.approx(aggregate, abs=0.05)
    # Eq. 8: I(x; z_i | z_≠i) = I(x; z_i) − I(z_i; z_≠i) + I(z_i; z_≠i | x).
    np.testing.assert_allclose(found.conditional, found.single - aggregate + found.shared, atol=0.08)


def test_bad_posteriors_and_saturated_estimates_are_told() -> None:
    with pytest.raises(PosteriorError, match="roots"):
        dependent_information(np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(PosteriorError, match="diverged"):
        dependent_information(np.zeros((3, 2)), np.zeros((3, 2, 2)))
    with pytest.warns(SaturatedEstimateWarning, match="50 points"):
        dependent_information(np.arange(100.0).reshape(50, 2), np.tile(1e-3 * np.eye(2), (50, 1, 1)))


def test_the_bound_of_held_out_images_is_that_of_the_joint(squares: Any) -> None:
    run = small_run(AutoregressiveVAE(beta=5.0), held_out=6, correlation=0.4)
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    (bound,) = held_out_terms(fleet)
    model = fresh(run)
    held = held_out_images(run.seed, len(squares.factors), 6).numpy()
    means, roots = (
        torch.from_numpy(part).double() for part in model.covariance_root(squares.render(squares.factors.rows(held)))
    )
    prior = MultivariateNormal(torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64))
    kl = kl_divergence(MultivariateNormal(means, scale_tril=roots), prior).mean()
    assert bound["held_out_kl"] == pytest.approx(kl.item(), rel=1e-5)
    assert bound["held_out_elbo"] == pytest.approx(-bound["held_out_reconstruction"] - kl.item(), rel=1e-5)


def test_what_takes_latents_to_be_independent_is_left_out(copied_squares: Any) -> None:
    run = small_run(AutoregressiveVAE())
    model = fresh(run)
    table = score(model, copied_squares, "mig,autoregressive", "locatello2019", references=False)
    assert set(table["representation"]) == {"mean"}
    assert {"mig", "autoregressive_wsepin", "autoregressive_shared"} < set(table["metric"])
    assert np.isfinite(table["score"]).all()
    with pytest.raises(ScoreError, match="posteriors"):
        score(model, copied_squares, "kl", "locatello2019")
