"""Where a method's extra weight vanishes it is the plain VAE, to the last bit of every gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from single import SMALL_DISCRIMINATOR, Single, small_run

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
)

WEIGHTS: list[tuple[Any, dict[str, float], dict[str, float], dict[str, Any]]] = [
    (BetaVAE, {"beta": 1.0}, {"beta": 1.5}, {}),
    (AnnealedVAE, {"gamma": 1.0}, {"gamma": 1.5}, {"c_max": 0.0}),
    (FactorVAE, {"gamma": 0.0}, {"gamma": 0.5}, SMALL_DISCRIMINATOR),
    (FactorVAEPrior, {"gamma": 0.0}, {"gamma": 0.5}, SMALL_DISCRIMINATOR),
    (BetaTCVAE, {"beta": 1.0}, {"beta": 1.5}, {}),
    (BetaTCVAE, {"beta": 1.0}, {"beta": 1.5}, {"estimator": "stratified"}),
    (BetaTCVAE, {"beta": 1.0}, {"beta": 1.5}, {"estimator": "leave-one-out"}),
    (DIPVAEI, {"diagonal": 0.0}, {"diagonal": 0.5}, {"off_diagonal": 0.0}),
    (DIPVAEII, {"diagonal": 0.0}, {"diagonal": 0.5}, {"off_diagonal": 0.0}),
]
"""Methods, the weight with which each is the VAE, one with which it is not, and what else it is made with."""
PLAIN = [method(**plain, **more) for method, plain, _, more in WEIGHTS]
OTHER = [method(**other, **more) for method, _, other, more in WEIGHTS]


def gradients(method: Any, **fields: Any) -> dict[str, torch.Tensor]:
    return Single(small_run(method, **fields), torch.float32).gradients()


@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("method", PLAIN, ids=lambda method: type(method).__name__)
def test_without_its_weight_a_method_is_the_vae(method: Any, correlation: float) -> None:
    found, expected = gradients(method, correlation=correlation), gradients(VAE(), correlation=correlation)
    assert found.keys() == expected.keys()
    for name in expected:
        assert torch.equal(found[name], expected[name]), name


@pytest.mark.parametrize("method", OTHER, ids=lambda method: type(method).__name__)
def test_with_its_weight_it_is_not(method: Any) -> None:
    found, expected = gradients(method), gradients(VAE())
    assert any(not torch.equal(found[name], expected[name]) for name in expected)


def test_the_uncorrelated_vae_is_the_textbooks() -> None:
    model = Single(small_run(VAE()), torch.float32)
    noise = model.noise()["z"]
    means, logvars = model.nets("encoder", model.images)
    output = model.nets("decoder", means + torch.exp(0.5 * logvars) * noise)
    pixels = F.binary_cross_entropy_with_logits(output, model.images, reduction="none")
    kl = 0.5 * (means.square() + logvars.exp() - logvars - 1)
    total = pixels.flatten(1).sum(1).mean() + kl.mean(0).sum()
    names = [value for name in ("encoder", "decoder") for value in model.networks[name].parameters()]
    expected = torch.autograd.grad(total, names)
    for found, gradient in zip(model.gradients().values(), expected, strict=True):
        assert torch.equal(found, gradient)


def test_a_correlated_posterior_changes_the_reconstruction_alone() -> None:
    """Yang et al., appendix B: the KL term is not rewritten."""
    plain, correlated = (Single(small_run(VAE(), correlation=value)).loss().terms for value in (0.0, 0.9))
    assert torch.equal(plain["kl"], correlated["kl"])
    assert not torch.equal(plain["reconstruction"], correlated["reconstruction"])


def test_an_unweighted_adversarial_autoencoder_only_reconstructs() -> None:
    model = Single(small_run(AdversarialAutoencoder(gamma=0.0, **SMALL_DISCRIMINATOR)), torch.float32)
    found, terms = model.gradients(), Single(small_run(VAE()), torch.float32)
    reconstruction = terms.loss().terms["reconstruction"]
    names = [value for name in ("encoder", "decoder") for value in terms.networks[name].parameters()]
    for gradient, expected in zip(found.values(), torch.autograd.grad(reconstruction, names), strict=True):
        assert torch.equal(gradient, expected)
