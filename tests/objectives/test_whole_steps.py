"""Whole steps of the methods with two players against the papers' algorithms written out in float64 with PyTorch's Adam.

They use a fleet's draws and its initial weights, and nothing else of it: which batch a player sees, in which order they learn,
whose weights move and what the other player's loss sees of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import MultivariateNormal

from hackle.core.randomness import Stream
from hackle.core.types import Adam, Run
from hackle.nets import Adversarial, Convolutional
from hackle.objectives import FactorVAE, InfoGAN, InfoWGANGP
from hackle.train.fleet import Fleet, build_networks

SHAPE, SIZE, STEPS, BATCH, LATENTS, SEED = (16, 16, 1), 32, 3, 8, 3, 3
IMAGES = (255 * torch.rand(SIZE, *SHAPE, generator=torch.Generator().manual_seed(0))).to(torch.uint8)
MAIN, SECOND = Adam(3e-3, 0.9, 0.999), Adam(1e-3, 0.5, 0.9)
Networks = dict[str, nn.Module]


def trained(run: Run) -> dict[str, Tensor]:
    fleet = Fleet([run], lambda index, stream: IMAGES[index], SIZE, SHAPE)
    for _ in range(STEPS):
        fleet.step()
    return fleet.weights(0)


def precise(run: Run) -> Networks:
    return {name: network.double() for name, network in build_networks(run, SHAPE).items()}


def optimiser(settings: Adam, *networks: nn.Module) -> torch.optim.Adam:
    parameters = [value for network in networks for value in network.parameters()]
    betas = settings.beta1, settings.beta2
    return torch.optim.Adam(parameters, settings.learning_rate, betas, settings.epsilon)


def update(player: torch.optim.Adam, loss: Tensor) -> None:
    """Only this player moves; gradients that reached the other's weights are forgotten by its own next update."""
    player.zero_grad()
    loss.backward()
    player.step()


def batch(stream: Stream) -> Tensor:
    return IMAGES[stream.integers("index", (BATCH,), SIZE)[0]].double() / 255


def correlations(sigma: float) -> Tensor:
    return (1 - sigma) * torch.eye(LATENTS, dtype=torch.float64) + sigma


@pytest.mark.parametrize("sigma", [0.0, 0.9])
def test_factor_vae_takes_algorithm_2s_steps(sigma: float) -> None:
    method = FactorVAE(7.0, discriminator_layers=3, discriminator_width=16, discriminator_optimiser=SECOND)
    run = Run(
        method,
        Convolutional(8, (4, 4)),
        seed=SEED,
        batch_size=BATCH,
        latents=LATENTS,
        correlation=sigma,
        optimiser=MAIN,
    )
    nets = precise(run)
    autoencoder = optimiser(MAIN, nets["encoder"], nets["decoder"])
    discriminator = optimiser(SECOND, nets["discriminator"])
    values, vectors = torch.linalg.eigh(correlations(sigma))
    root = vectors @ values.sqrt().diag() @ vectors.T

    def encoded(images: Tensor, stream: Stream) -> tuple[Tensor, Tensor, Tensor]:
        means, logvars = nets["encoder"](images)
        noise = stream.normal("z", (BATCH, LATENTS))[0].double() @ root
        return means, logvars, means + (logvars / 2).exp() * noise

    for step in range(STEPS):
        stream = Stream.of([SEED], step, "0/autoencoder")
        images = batch(stream)
        means, logvars, z = encoded(images, stream)
        errors = F.binary_cross_entropy_with_logits(nets["decoder"](z), images, reduction="none")
        kl = 0.5 * (means**2 + logvars.exp() - logvars - 1).sum(1)
        guess = nets["discriminator"](z).softmax(1)
        ratio = (guess[:, 0] / guess[:, 1]).log()
        update(autoencoder, (errors.sum((1, 2, 3)) + kl + 7 * ratio).mean())

        stream = Stream.of([SEED], step, "1/discriminator")
        *_, second = encoded(batch(stream), stream)
        orders = stream.permutations("permutations", BATCH, LATENTS)[0]
        permuted = torch.stack([second[orders[:, j], j] for j in range(LATENTS)], dim=1).detach()
        classes = torch.tensor([0] * BATCH + [1] * BATCH)
        update(discriminator, F.cross_entropy(nets["discriminator"](torch.cat([z.detach(), permuted])), classes))

    for name, found in trained(run).items():
        network, _, key = name.partition(".")
        expected = nets[network].get_parameter(key).detach()
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=2e-6, msg=name)


def log_q(nets: Networks, features: Tensor, codes: tuple[Tensor, Tensor], sigma: float) -> Tensor:
    """Kim & Mnih's Eq. 13 with Yang et al.'s Eq. 12 as Q."""
    means, logvars, logits = nets["recogniser"](features).split([LATENTS, LATENTS, 3], dim=1)
    deviations = (logvars / 2).exp()
    covariances = deviations[:, :, None] * correlations(sigma) * deviations[:, None, :]
    density = MultivariateNormal(means, covariances).log_prob(codes[0])
    return (density - F.cross_entropy(logits, codes[1], reduction="none")).mean()


def gan_first(nets: Networks, fake: Tensor, real: Tensor, stream: Stream) -> Tensor:
    score = nets["discriminator"](nets["trunk"](fake)).sigmoid(), nets["discriminator"](nets["trunk"](real)).sigmoid()
    return -(1 - score[0]).log().mean() - score[1].log().mean()


def wasserstein_first(nets: Networks, fake: Tensor, real: Tensor, stream: Stream) -> Tensor:
    share = stream.uniform("share", (BATCH,))[0].double()[:, None, None, None]
    between = (share * real + (1 - share) * fake).requires_grad_()
    scores = [nets["discriminator"](nets["trunk"](images)) for images in (fake, real, between)]
    (slope,) = torch.autograd.grad(scores[2].sum(), between, create_graph=True)
    return scores[0].mean() - scores[1].mean() + 10 * ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()


@pytest.mark.parametrize(
    ("method", "first", "second", "phases"),
    [
        (InfoGAN, gan_first, lambda d: -d.sigmoid().log().mean(), ("discriminator", "generator")),
        (InfoWGANGP, wasserstein_first, lambda d: -d.mean(), ("critic", "critic", "generator")),
    ],
    ids=["infogan", "infowgan-gp"],
)
def test_generator_and_discriminator_take_turns(
    method: Any, first: Callable[..., Tensor], second: Callable[[Tensor], Tensor], phases: tuple[str, ...]
) -> None:
    more = {"critic_updates": len(phases) - 1} if method is InfoWGANGP else {}
    run = Run(
        method(0.3, (3,), 2, SECOND, **more),
        Adversarial((4, 4), hidden=8, recogniser_hidden=8),
        seed=SEED,
        batch_size=BATCH,
        latents=LATENTS,
        correlation=0.9,
        optimiser=MAIN,
    )
    nets = precise(run)
    generator = optimiser(MAIN, nets["generator"])
    discriminator = optimiser(SECOND, nets["trunk"], nets["discriminator"], nets["recogniser"])
    for step in range(STEPS):
        for position, phase in enumerate(phases):
            stream = Stream.of([SEED], step, f"{position}/{phase}")
            codes = (
                2 * stream.uniform("continuous", (BATCH, LATENTS))[0].double() - 1,
                stream.integers("class0", (BATCH,), 3)[0],
            )
            noise = stream.normal("epsilon", (BATCH, 2))[0].double()
            fake = nets["generator"](torch.cat([codes[0], F.one_hot(codes[1], 3), noise], dim=1))
            if phase == "generator":
                features = nets["trunk"](fake)
                loss = second(nets["discriminator"](features)) - 0.3 * log_q(nets, features, codes, 0.9)
                update(generator, loss)
            else:
                fake = fake.detach()
                loss = first(nets, fake, batch(stream), stream)
                update(discriminator, loss - 0.3 * log_q(nets, nets["trunk"](fake), codes, 0.9))

    for name, found in trained(run).items():
        # A bias before a normalisation has no gradient but rounding errors, of which Adam makes steps.
        if name.endswith("weight"):
            network, _, key = name.partition(".")
            expected = nets[network].get_parameter(key).detach()
            torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5, msg=name)
