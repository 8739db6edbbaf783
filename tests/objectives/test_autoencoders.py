"""Each autoencoder's loss against its formula, in float64."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from single import SMALL_DISCRIMINATOR, Single, small_run
from torch.distributions import Bernoulli, Normal

from hackle.core.errors import HackleError
from hackle.core.gaussian import NOISELESS, correlation_divergence, log_density, reparameterise
from hackle.core.randomness import Stream
from hackle.core.types import RunError
from hackle.kernels.covariance import covariance_of_means, deviations_from_identity
from hackle.objectives import (
    DIPVAEI,
    DIPVAEII,
    VAE,
    AdversarialAutoencoder,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    FactorVAEPrior,
    InformationDropout,
)
from hackle.objectives.density_ratio import discriminate, log_density_ratio
from hackle.objectives.factor_vae import permute_latents
from hackle.objectives.vae import negative_log_likelihood


def close(found: torch.Tensor, expected: torch.Tensor | float) -> None:
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), rtol=1e-9, atol=1e-9)


def test_reconstruction_errors_are_log_likelihoods() -> None:
    """Summed over pixels, per image; soft targets count as in Kim & Mnih: x log p + (1 − x) log(1 − p)."""
    output, images = torch.randn(2, 3, 4, 4, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    binary = (images > 0).double()
    expected = -Bernoulli(logits=output).log_prob(binary).flatten(1).sum(1)
    close(negative_log_likelihood(output, binary, "bernoulli"), expected)
    soft = images.sigmoid()
    expected = -(soft * F.logsigmoid(output) + (1 - soft) * F.logsigmoid(-output)).flatten(1).sum(1)
    close(negative_log_likelihood(output, soft, "bernoulli"), expected)
    expected = -Normal(output, 1.0).log_prob(images).flatten(1).sum(1)
    close(negative_log_likelihood(output, images, "gaussian"), expected)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_vaes_terms_add_up(likelihood: Any) -> None:
    found = Single(small_run(BetaVAE(beta=3.0), likelihood=likelihood)).loss()
    close(found.total, found.terms["reconstruction"] + 3 * found.terms["kl"])
    close(found.terms["kl_per_latent"].sum(), found.terms["kl"])


@pytest.mark.parametrize(("number", "capacity"), [(0, 0.0), (25, 5.0), (50, 10.0), (80, 10.0)])
def test_annealed_capacity(number: int, capacity: float) -> None:
    method = AnnealedVAE(c_max=10.0, gamma=7.0, iteration_threshold=50)
    found = Single(small_run(method)).loss(number=number)
    close(found.terms["capacity"], capacity)
    close(found.total, found.terms["reconstruction"] + 7 * (found.terms["kl"] - capacity).abs())


def test_the_capacity_is_held_against_the_factorised_kl() -> None:
    """A correlated posterior's own KL is higher by a constant that the loss and the curves leave out."""
    method = AnnealedVAE(c_max=10.0, gamma=7.0, iteration_threshold=1)
    plain, correlated = (Single(small_run(method, correlation=sigma)).loss(number=1) for sigma in (0.0, 0.9))
    close(correlated.total - correlated.terms["reconstruction"], plain.total - plain.terms["reconstruction"])
    # The number that the documentation gives.
    assert correlation_divergence(0.9, 10).item() == pytest.approx(9.3, abs=0.05)


def test_annealing_needs_a_step() -> None:
    with pytest.raises(HackleError, match="iteration_threshold"):
        AnnealedVAE(iteration_threshold=0)


def test_covariance_of_means_is_numpys_with_no_correction() -> None:
    means = torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    close(covariance_of_means(means), torch.cov(means.T, correction=0))


def test_deviations_from_identity_count_each_pair_twice() -> None:
    matrix = torch.tensor([[2.0, 0.5, 1.0], [0.5, 1.0, 3.0], [1.0, 3.0, 0.0]])
    off_diagonal, diagonal = deviations_from_identity(matrix)
    assert off_diagonal == 2 * (0.25 + 1 + 9)
    assert diagonal == 1 + 0 + 1


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("kind", [DIPVAEI, DIPVAEII])
def test_dip_penalties(kind: Any, correlation: float) -> None:
    """Against the covariance of z written out entry by entry."""
    model = Single(small_run(kind(off_diagonal=2.0, diagonal=3.0), correlation=correlation))
    found = model.loss()
    means, logvars = model.nets("encoder", model.images)
    batch, latents = means.shape
    deviations = (0.5 * logvars).exp()
    penalty = torch.zeros((), dtype=torch.float64)
    for i, j in itertools.product(range(latents), repeat=2):
        entry = (means[:, i] * means[:, j]).mean() - means[:, i].mean() * means[:, j].mean()
        if kind is DIPVAEII:
            noise = 1.0 if i == j else correlation
            entry = entry + sum(noise * deviations[row, i] * deviations[row, j] for row in range(batch)) / batch
        penalty = penalty + (3 * (entry - 1) ** 2 if i == j else 2 * entry**2)
    close(found.total, found.terms["reconstruction"] + found.terms["kl"] + penalty)


@pytest.mark.parametrize("estimator", ["minibatch-weighted", "stratified"])
@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("density", ["posterior", "factorised"])
def test_beta_tcvae_weighs_the_total_correlation_alone(estimator: Any, correlation: float, density: Any) -> None:
    """With the batch as the data set, the total correlation is that of the exact mixture."""
    run = small_run(BetaTCVAE(beta=5.0, estimator=estimator, density=density), correlation=correlation)
    model = Single(run, data_size=run.batch_size)
    found = model.loss()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, model.noise()["z"], correlation)
    log_b = torch.log(torch.tensor(6.0, dtype=torch.float64))
    dense = correlation if density == "posterior" else 0.0
    joint = torch.stack([log_density(row, means, logvars, dense) for row in z]).logsumexp(1) - log_b
    marginals = Normal(means, (0.5 * logvars).exp()).log_prob(z.unsqueeze(1)).logsumexp(1) - log_b
    total_correlation = (joint - marginals.sum(1)).mean()
    close(found.terms["total_correlation"], total_correlation)
    close(found.total, found.terms["reconstruction"] + found.terms["kl"] + 4 * total_correlation)


def test_information_dropout_pays_for_information() -> None:
    run = small_run(InformationDropout(beta=2.0))
    model = Single(run, data_size=run.batch_size)
    found = model.loss()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, model.noise()["z"])
    own = log_density(z, means, logvars)
    mixture = torch.stack([log_density(row, means, logvars).exp().mean().log() for row in z])
    close(found.terms["information"], (own - mixture).mean())
    close(found.total, found.terms["reconstruction"] + 2 * (own - mixture).mean())


@pytest.mark.parametrize("gamma", [0.0, 3.0])
def test_equation_9_pays_for_information_and_total_correlation(gamma: float) -> None:
    run = small_run(InformationDropout(beta=2.0, gamma=gamma, estimator="minibatch-weighted"))
    model = Single(run)
    found, plain = model.loss(), Single(small_run(InformationDropout(2.0, "minibatch-weighted"))).loss()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, model.noise()["z"])
    each = Normal(means, (0.5 * logvars).exp()).log_prob(z.unsqueeze(1))
    mixture, marginals = each.sum(-1).exp().mean(1).log(), each.exp().mean(1).log()
    information = (each.sum(-1).diagonal() - mixture).mean()
    total_correlation = (mixture - marginals.sum(1)).mean()
    close(found.terms["total_correlation"], total_correlation)
    close(found.total, found.terms["reconstruction"] + 2 * information + gamma * total_correlation)
    assert (found.total == plain.total) == (gamma == 0)


def test_permuting_leaves_the_marginals_alone() -> None:
    z = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    shuffled = permute_latents(z, Stream.of([1]).permutations("permutations", 50, 4)[0])
    assert torch.equal(shuffled.sort(0).values, z.sort(0).values)
    assert not torch.equal(shuffled, z)
    order = [shuffled[:, column].argsort() for column in range(4)]
    original = [z[:, column].argsort() for column in range(4)]
    assert not torch.equal(order[0][original[0].argsort()], order[1][original[1].argsort()])


def test_log_density_ratio_of_one_and_two_logits() -> None:
    logits = torch.tensor([[2.0, -1.0], [0.5, 0.5]], dtype=torch.float64)
    probability = logits.softmax(-1)[:, 0]
    close(log_density_ratio(logits), (probability / (1 - probability)).log())
    close(log_density_ratio(logits[:, :1]), torch.logit(logits[:, 0].sigmoid()))


def test_discrimination_is_the_binary_cross_entropy() -> None:
    real, fake = torch.tensor([[2.0, -1.0, 3.0], [-0.5, 0.25, -4.0]], dtype=torch.float64)
    found = discriminate(lambda name, *inputs: inputs[0], real[:, None], fake[:, None])
    logits, labels = torch.cat([real, fake]), torch.tensor([1.0, 1, 1, 0, 0, 0], dtype=torch.float64)
    close(found.total, F.binary_cross_entropy_with_logits(logits, labels))
    close(found.terms["discriminator_accuracy"], ((logits > 0) == (labels > 0)).double().mean())


@pytest.mark.parametrize("logits", [1, 2])
def test_factor_vae_follows_algorithm_2(logits: int) -> None:
    method = FactorVAE(gamma=4.0, discriminator_logits=logits, **SMALL_DISCRIMINATOR)
    model = Single(small_run(method, correlation=0.5))
    found = model.loss()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, model.noise()["z"], 0.5)
    ratio = log_density_ratio(model.nets("discriminator", z))
    close(found.total, found.terms["reconstruction"] + found.terms["kl"] + 4 * ratio.mean())
    assert torch.equal(found.carry["z"], z)
    assert not found.carry["z"].requires_grad

    learned = model.loss(phase=1, carry=dict(found.carry))
    noise = model.noise(1)
    second = reparameterise(means, logvars, noise["z"], 0.5)
    shuffled = torch.stack([second[noise["permutations"][:, k], k] for k in range(3)], dim=1)
    fake = log_density_ratio(model.nets("discriminator", shuffled))
    close(learned.total, 0.5 * (F.softplus(-ratio).mean() + F.softplus(fake).mean()))


@pytest.mark.parametrize("kind", [FactorVAEPrior, AdversarialAutoencoder])
def test_discriminators_against_the_prior(kind: Any) -> None:
    """Kim & Mnih, Eq. 12 keeps the KL of the VAE, Eq. 7 does not."""
    model = Single(small_run(kind(gamma=4.0, **SMALL_DISCRIMINATOR)))
    found = model.loss()
    means, logvars = model.nets("encoder", model.images)
    z = reparameterise(means, logvars, model.noise()["z"])
    ratio = log_density_ratio(model.nets("discriminator", z))
    kl = found.terms["kl"] if kind is FactorVAEPrior else 0
    close(found.total, found.terms["reconstruction"] + kl + 4 * ratio.mean())
    learned = model.loss(phase=1, carry=dict(found.carry))
    fake = log_density_ratio(model.nets("discriminator", model.noise(1)["prior"]))
    close(learned.total, 0.5 * (F.softplus(-ratio).mean() + F.softplus(fake).mean()))


def test_a_deterministic_adversarial_autoencoder_has_no_noise() -> None:
    model = Single(small_run(AdversarialAutoencoder(deterministic=True, **SMALL_DISCRIMINATOR)))
    means, logvars = model.run.method.encode(model.nets, model.run, model.images)
    assert torch.equal(model.loss().carry["z"], means)
    assert torch.equal(logvars, torch.full_like(means, NOISELESS))


def test_discriminators_have_one_or_two_logits() -> None:
    with pytest.raises(HackleError, match="expected 1 or 2"):
        FactorVAE(discriminator_logits=3)


@pytest.mark.parametrize("field", ["discriminator_layers", "discriminator_width"])
def test_discriminators_have_a_hidden_layer(field: str) -> None:
    kinds: tuple[Any, ...] = (FactorVAE, FactorVAEPrior, AdversarialAutoencoder)
    for kind in kinds:
        with pytest.raises(RunError, match=f"{field} of {kind.__name__} is 0; expected a whole number from 1"):
            kind(**{field: 0})
        assert getattr(kind(**{field: 1}), field) == 1


def test_decoded_images_are_the_pixels_means() -> None:
    for likelihood, mean in (("bernoulli", torch.sigmoid), ("gaussian", lambda output: output.clamp(0, 1))):
        model = Single(small_run(VAE(), likelihood=likelihood))
        z = torch.randn(4, 3, dtype=torch.float64)
        close(model.run.method.decode(model.nets, model.run, z), mean(model.nets("decoder", z)))
