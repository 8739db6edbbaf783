"""InfoGAN and InfoWGAN-GP: losses against their formulas, the gradient penalty, codes, calibration."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from single import SHAPE, Single, small_run
from torch import Tensor, nn
from torch.distributions import MultivariateNormal

from hackle.core.errors import HackleError
from hackle.core.gaussian import NOISELESS, covariance
from hackle.core.records import to_json
from hackle.core.types import Adam, Run, RunError
from hackle.kernels import down
from hackle.nets import Adversarial
from hackle.objectives import InfoGAN, InfoWGANGP
from hackle.objectives.infogan import DEGENERATE, MONITORED_STEPS, draw_latents
from hackle.objectives.infowgan_gp import gradient_penalty
from hackle.train.fleet import Fleet

SMALL = Adversarial(channels=(3, 4), hidden=8, recogniser_hidden=6)
CODES: dict[str, Any] = {"categories": (3, 2), "noise": 4, "information": 0.3}


def gan_run(kind: Any, **fields: Any) -> Run:
    return small_run(kind(**CODES), **{"architecture": SMALL, "optimiser": Adam(1e-3, 0.5), **fields})


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_latents_follow_their_priors() -> None:
    model = Single(gan_run(InfoGAN, batch_size=3000))
    latents = draw_latents(model.noise(), model.run)
    rows = latents.rows((3, 2))
    assert rows.shape == (3000, 3 + 3 + 2 + 4)
    continuous, first, second, noise = rows.split([3, 3, 2, 4], dim=1)
    assert -1 <= continuous.min() < -0.99
    assert 0.99 < continuous.max() <= 1
    for one_hot in (first, second):
        assert torch.equal(one_hot.sum(1), torch.ones(3000, dtype=torch.float64))
        # Three standard errors of a frequency over 3,000 draws are 0.026.
        torch.testing.assert_close(
            one_hot.mean(0), torch.full_like(one_hot[0], 1 / one_hot.shape[1]), rtol=0, atol=0.03
        )
    assert abs(noise.std() - 1) < 0.03


def log_q(model: Single, images: Tensor, phase: int) -> Tensor:
    """Eq. 13 written out with PyTorch's distributions."""
    latents = draw_latents(model.noise(phase), model.run)
    outputs = model.nets("recogniser", model.nets("trunk", images))
    means, logvars, first, second = outputs.split([3, 3, 3, 2], dim=1)
    density = MultivariateNormal(means, covariance(logvars, model.run.correlation)).log_prob(latents.continuous)
    for logits, classes in zip((first, second), latents.classes, strict=True):
        density = density - F.cross_entropy(logits, classes, reduction="none")
    return density.mean()


def generated(model: Single, phase: int) -> Tensor:
    return model.nets("generator", draw_latents(model.noise(phase), model.run).rows((3, 2)))


def critic(model: Single, images: Tensor) -> Tensor:
    return model.nets("discriminator", model.nets("trunk", images))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_infogan_losses(correlation: float) -> None:
    model = Single(gan_run(InfoGAN, correlation=correlation))
    images = generated(model, 0)
    labels = torch.ones(6, dtype=torch.float64)
    expected = (
        F.binary_cross_entropy_with_logits(critic(model, model.images), labels)
        + F.binary_cross_entropy_with_logits(critic(model, images), 0 * labels)
        - 0.3 * log_q(model, images, 0)
    )
    close(model.loss(0).total, expected)
    images = generated(model, 1)
    adversarial = F.binary_cross_entropy_with_logits(critic(model, images), labels)
    close(model.loss(1).total, adversarial - 0.3 * log_q(model, images, 1))
    close(model.loss(1).terms["information"], log_q(model, images, 1))


def test_infowgan_losses() -> None:
    model = Single(gan_run(InfoWGANGP))
    last_critic, generator = 4, 5
    images = generated(model, last_critic).detach()
    share = model.noise(last_critic)["share"][:, None, None, None]
    between = (share * model.images + (1 - share) * images).requires_grad_()
    (gradient,) = torch.autograd.grad(critic(model, between).sum(), between, create_graph=True)
    norms = gradient.flatten(1).norm(dim=1)
    expected = (
        critic(model, images).mean()
        - critic(model, model.images).mean()
        + 10 * ((norms - 1) ** 2).mean()
        - 0.3 * log_q(model, images, last_critic)
    )
    close(model.loss(last_critic).total, expected)
    learning = [*model.networks["trunk"].parameters(), *model.networks["discriminator"].parameters()]
    for found, wanted in zip(
        torch.autograd.grad(model.loss(last_critic).total, learning),
        torch.autograd.grad(expected, learning),
        strict=True,
    ):
        close(found, wanted)
    images = generated(model, generator)
    close(model.loss(generator).total, -critic(model, images).mean() - 0.3 * log_q(model, images, generator))


def test_the_discriminators_update_leaves_the_generator_alone() -> None:
    for kind in (InfoGAN, InfoWGANGP):
        model = Single(gan_run(kind))
        loss = model.loss(0).total
        parameters = list(model.networks["generator"].parameters())
        assert all(g is None for g in torch.autograd.grad(loss, parameters, allow_unused=True))


def test_gradient_penalty_of_a_linear_critic() -> None:
    """D(x) = ⟨a, x⟩ has gradient a everywhere: the penalty is (‖a‖ − 1)² and its own gradient 2 (‖a‖ − 1) a / ‖a‖."""
    slope = torch.randn(4, 4, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    images = torch.rand(5, 4, 4, 1, dtype=torch.float64)
    penalty = gradient_penalty(lambda x: (x * slope).flatten(1).sum(1), images)
    norm = slope.detach().norm()
    close(penalty.detach(), (norm - 1) ** 2)
    (gradient,) = torch.autograd.grad(penalty, slope)
    close(gradient, 2 * (norm - 1) * slope.detach() / norm)


def test_gradient_penalty_through_the_convolution_kernels() -> None:
    """Its gradient in the weights, a second derivative, against PyTorch's own convolution; mapped over models too."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(2, 4, 4, 1, 3, dtype=torch.float64, generator=generator)
    images = torch.rand(2, 5, 8, 8, 1, dtype=torch.float64, generator=generator)

    def penalty(weight: Tensor, x: Tensor) -> Tensor:
        return gradient_penalty(lambda value: F.softplus(down(value, weight)).flatten(1).sum(1), x)

    def reference(weight: Tensor, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        filters = weight.permute(3, 2, 0, 1)
        score = F.softplus(F.conv2d(x.permute(0, 3, 1, 2), filters, stride=2, padding=1)).sum()
        (gradient,) = torch.autograd.grad(score, x, create_graph=True)
        return ((gradient.flatten(1).norm(dim=1) - 1) ** 2).mean()

    stacked = weights.clone().requires_grad_()
    values = torch.func.vmap(penalty)(stacked, images)
    (found,) = torch.autograd.grad(values.sum(), stacked)
    for row in range(2):
        weight = weights[row].clone().requires_grad_()
        expected = reference(weight, images[row])
        close(values[row], expected)
        close(found[row], torch.autograd.grad(expected, weight)[0])


def test_a_flat_critic_has_a_finite_penalty() -> None:
    slope = torch.zeros(4, requires_grad=True)
    penalty = gradient_penalty(lambda x: (x.flatten(1)[:, :4] * slope).sum(1), torch.rand(3, 4, 4, 1))
    assert penalty == 1
    assert torch.isfinite(torch.autograd.grad(penalty, slope)[0]).all()


def test_a_step_has_as_many_critic_updates_as_asked() -> None:
    method = InfoWGANGP(critic_updates=3, **CODES)
    assert [phase.name for phase in method.phases(gan_run(InfoGAN))] == ["critic"] * 3 + ["generator"]
    with pytest.raises(HackleError, match="critic_updates"):
        InfoWGANGP(critic_updates=0)


def trained(run: Run, squares: Any, steps: int = 2) -> Fleet:
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    for _ in range(steps):
        fleet.step()
    return fleet


def networks_of(fleet: Fleet) -> dict[str, nn.Module]:
    networks = fleet.runs[0].method.networks(fleet.runs[0], SHAPE)
    nn.ModuleDict(networks).load_state_dict(fleet.weights(0))
    for network in networks.values():
        network.eval()
    return networks


@pytest.mark.parametrize("kind", [InfoGAN, InfoWGANGP])
def test_training_leaves_stored_moments_and_calibration_sets_them(kind: Any, squares: Any) -> None:
    run = gan_run(kind)
    networks = networks_of(trained(run, squares))
    moments = {
        f"{name}.{key}": value
        for name, network in networks.items()
        for key, value in network.named_parameters()
        if key.endswith((".mean", ".variance"))
    }
    assert moments
    for key, value in moments.items():
        assert torch.equal(value, torch.full_like(value, key.endswith("variance"))), key
    images = squares.images_on("cpu")
    run.method.calibrate(networks, run, images, len(squares.factors))
    first = {key: value.clone() for key, value in moments.items()}
    assert all(not torch.equal(value, torch.full_like(value, key.endswith("variance"))) for key, value in first.items())
    run.method.calibrate(networks, run, images, len(squares.factors))
    assert all(torch.equal(value, first[key]) for key, value in moments.items())


@pytest.mark.parametrize("kind", [InfoGAN, InfoWGANGP])
def test_calibrated_codes_and_images_depend_on_their_own_row_alone(kind: Any, squares: Any) -> None:
    run = gan_run(kind)
    networks = networks_of(trained(run, squares))
    run.method.calibrate(networks, run, squares.images_on("cpu"), len(squares.factors))

    def nets(name: str, *inputs: Tensor) -> Any:
        return networks[name](*inputs)

    images = torch.from_numpy(squares.render(squares.factors.rows(range(8)))).float() / 255
    with torch.no_grad():
        means, logvars = run.method.encode(nets, run, images)
        assert means.shape == logvars.shape == (8, 5)
        alone, _ = run.method.encode(nets, run, images[3:4])
        torch.testing.assert_close(alone, means[3:4])
        assert run.method.discrete(run) == (False, False, False, True, True)
        classes = means[:, 3:]
        assert torch.equal(classes, classes.round())
        assert (logvars[:, 3:] == NOISELESS).all()
        assert (classes >= 0).all()
        assert (classes[:, 0] < 3).all()
        assert (classes[:, 1] < 2).all()
        decoded = run.method.decode(nets, run, means)
        torch.testing.assert_close(decoded[2:3], run.method.decode(nets, run, means[2:3]))
        quiet = torch.cat([means, torch.zeros(8, 4)], dim=1)
        assert torch.equal(run.method.decode(nets, run, quiet), decoded)
        noisy = torch.cat([means, torch.ones(8, 4)], dim=1)
        assert not torch.equal(run.method.decode(nets, run, noisy), decoded)
        with pytest.raises(HackleError, match="expected 5 codes, or 5 codes and 4 of noise"):
            run.method.decode(nets, run, means[:, :4])


def test_codes_without_noise_or_classes(squares: Any) -> None:
    run = small_run(InfoGAN(categories=(), noise=0), architecture=SMALL, optimiser=Adam(1e-3, 0.5))
    fleet = trained(run, squares)
    assert run.method.discrete(run) == (False, False, False)
    assert all(torch.isfinite(value).all() for value in fleet.weights(0).values())


@pytest.mark.parametrize("kind", [InfoGAN, InfoWGANGP])
def test_codes_that_cannot_be_drawn_are_refused(kind: Any) -> None:
    for categories in ((0,), (3, -1), (2.5,), 10):
        with pytest.raises(RunError, match=r"categories of .*expected a tuple of whole numbers from 1"):
            kind(categories=categories)
    with pytest.raises(RunError, match=r"noise of .* is -1; expected a whole number from 0"):
        kind(noise=-1)


def blind(fleet: Fleet, row: int) -> None:
    """Give one model a discriminator that takes every image for a real one, and all a share that is nearly too small."""
    starts = fleet.layouts["discriminator"].starts
    fleet.state["weights/discriminator"][row, starts["0.bias"]] = 1e4
    fleet.state["weights/monitor"][:, 0] = 0.105


def test_a_model_whose_discriminator_degenerates_stops_and_the_others_go_on() -> None:
    runs = [gan_run(partial(InfoGAN, stops_early=True), seed=seed) for seed in range(2)]
    images = torch.randint(0, 256, (20, *SHAPE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    fleet = Fleet(runs, lambda index, stream: images[index], 20, SHAPE)
    blind(fleet, 0)
    shares = []
    while (share := fleet.weights(0)["monitor.recognised"].item()) >= DEGENERATE:
        shares.append(share)
        fleet.step()
    # The mean forgets: after n blind steps 0.99ⁿ is left of what it began with.
    assert len(shares) == math.ceil(math.log(DEGENERATE / 0.105) / math.log(1 - 1 / MONITORED_STEPS)) == 5
    stopped, other = fleet.weights(0), fleet.weights(1)
    fleet.step()
    assert all(torch.equal(value, stopped[name]) for name, value in fleet.weights(0).items())
    assert not torch.equal(fleet.weights(1)["generator.0.weight"], other["generator.0.weight"])
    assert other["monitor.recognised"].item() > DEGENERATE


def test_watching_for_the_degenerate_changes_nothing_until_it_stops() -> None:
    plain = gan_run(InfoGAN)
    watched = gan_run(partial(InfoGAN, stops_early=True))
    images = torch.randint(0, 256, (20, *SHAPE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    fleets = [Fleet([run], lambda index, stream: images[index], 20, SHAPE) for run in (plain, watched)]
    for _ in range(5):
        for fleet in fleets:
            fleet.step()
    first, second = (fleet.weights(0) for fleet in fleets)
    assert second.keys() - first.keys() == {"monitor.recognised"}
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    assert "stops_early" not in to_json(plain)["method"]
