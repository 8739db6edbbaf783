"""JointVAE: the Gumbel-softmax, its KL in closed form, the loss against NumPy, its limits, and its codes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from single import SHAPE, Single, small_run

from hackle.core.gaussian import NOISELESS
from hackle.core.method import Code
from hackle.core.randomness import Stream
from hackle.core.types import RunError
from hackle.objectives import AnnealedVAE, JointVAE
from hackle.objectives.joint_vae import categorical_kl, gumbel_softmax
from hackle.studies.presets import default_run
from hackle.train.model import Model

JOINT: dict[str, Any] = {
    "gamma": 3.0,
    "categorical_gamma": 5.0,
    "capacity": 7.0,
    "categorical_capacity": 9.0,
    "capacity_steps": 100,
    "categories": (3, 2),
}


def single(**fields: Any) -> Single:
    return Single(small_run(JointVAE(**{**JOINT, **fields})))


@pytest.mark.parametrize(
    ("probabilities", "divergence"),
    [((1.0, 0.0, 0.0), math.log(3)), ((0.7, 0.2, 0.1), 0.2968), ((1 / 3, 1 / 3, 1 / 3), 0.0)],
)
def test_the_divergence_from_uniform_classes(probabilities: tuple[float, ...], divergence: float) -> None:
    # As a network would say it: a logit of −50 instead of a probability of 0.
    logits = torch.tensor([probabilities], dtype=torch.float64).log().clamp(min=-50)
    found = categorical_kl(torch.log_softmax(logits, dim=-1))
    assert found.item() == pytest.approx(divergence, abs=5e-5)


def test_relaxed_samples_name_classes_by_their_probabilities() -> None:
    """The largest entry is a class drawn by α, whatever the temperature; with a low one, the sample is nearly one-hot."""
    probabilities = torch.tensor([0.7, 0.2, 0.1])
    uniform = Stream.of([0]).uniform("noise", (40_000, 3))[0]
    uniform[0] = 0.0
    for temperature in (0.67, 0.01):
        samples = gumbel_softmax(probabilities.log().expand(40_000, 3), uniform, temperature)
        assert samples.isfinite().all()
        torch.testing.assert_close(samples.sum(-1), torch.ones(40_000))
        # Four standard errors of a frequency of 0.7 over 40,000 draws are 0.009.
        shares = torch.bincount(samples.argmax(-1), minlength=3) / 40_000
        torch.testing.assert_close(shares, probabilities, rtol=0, atol=0.01)
    assert (samples.max(-1).values > 0.99).float().mean() > 0.95


@pytest.mark.parametrize("number", [0, 40, 100, 1000])
def test_the_loss_is_its_formula(number: int) -> None:
    model = single()
    values, logvars = (part.detach().numpy() for part in model.nets("encoder", model.images))
    means, logvars, logits = values[:, :3], logvars[:, :3], np.split(values[:, 3:], [3], axis=1)
    noise = {name: value.numpy() for name, value in model.noise().items()}
    inputs, divergence = [means + np.exp(logvars / 2) * noise["z"]], 0.0
    for position, one in enumerate(logits):
        alpha = np.exp(one) / np.exp(one).sum(axis=1, keepdims=True)
        relaxed = np.exp((np.log(alpha) - np.log(-np.log(noise[f"uniform{position}"]))) / 0.67)
        inputs.append(relaxed / relaxed.sum(axis=1, keepdims=True))
        divergence += np.log(alpha.shape[1]) + (alpha * np.log(alpha)).sum(axis=1).mean()
    logit = model.nets("decoder", torch.from_numpy(np.hstack(inputs))).detach().numpy()
    error = np.maximum(logit, 0) - logit * model.images.numpy() + np.log1p(np.exp(-np.abs(logit)))
    kl = 0.5 * (means**2 + np.exp(logvars) - logvars - 1).sum(axis=1).mean()
    part = min(1.0, number / 100)
    # The categorical capacity, 9, is capped at ln 3 + ln 2.
    limits = 7 * part, min(9 * part, math.log(6))
    found = model.loss(number=number)
    expected = error.sum(axis=(1, 2, 3)).mean() + 3 * abs(kl - limits[0]) + 5 * abs(divergence - limits[1])
    assert found.total.item() == pytest.approx(expected, rel=1e-10)
    for name, value in (("kl", kl), ("categorical_kl", divergence), ("categorical_capacity", limits[1])):
        assert found.terms[name].item() == pytest.approx(value, rel=1e-6), name


def test_without_capacities_it_is_a_beta_vae_with_an_extra_kl() -> None:
    found = single(gamma=4.0, categorical_gamma=4.0, capacity=0.0, categorical_capacity=0.0).loss(number=50)
    parts = found.terms["reconstruction"] + 4 * (found.terms["kl"] + found.terms["categorical_kl"])
    torch.testing.assert_close(found.total, parts, rtol=1e-12, atol=0)


def test_without_categorical_latents_it_is_the_annealed_vae_to_the_last_bit() -> None:
    joint = single(categories=(), gamma=2.0)
    plain = Single(small_run(AnnealedVAE(c_max=7.0, gamma=2.0, iteration_threshold=100)))
    for number in (0, 60):
        for name, value in plain.gradients(number=number).items():
            assert torch.equal(joint.gradients(number=number)[name], value), name


def test_its_defaults_are_the_papers_for_dsprites() -> None:
    run = default_run("joint-vae", "dsprites")
    method: Any = run.method
    assert (method.gamma, method.categorical_gamma, method.capacity, method.categorical_capacity) == (150, 150, 40, 1.1)
    assert (method.capacity_steps, method.categories, method.temperature) == (300_000, (3,), 0.67)
    assert (run.latents, run.batch_size, run.optimiser.learning_rate) == (6, 64, 5e-4)
    assert method.at_steps(1000, 3000).capacity_steps == 100_000


def test_codes_are_means_and_then_classes() -> None:
    run = small_run(JointVAE(**JOINT))
    model = Model(run, SHAPE)
    assert model.codes == (Code(), Code(), Code(), Code("categorical", 3), Code("categorical", 2))
    images = np.random.default_rng(0).random((20, *SHAPE), dtype=np.float32)
    codes, logvars = model.encode(images)
    values, spread = (part.numpy() for part in model.networks["encoder"](torch.from_numpy(images)))
    np.testing.assert_allclose(codes[:, :3], values[:, :3], atol=1e-6)
    np.testing.assert_allclose(logvars[:, :3], spread[:, :3], atol=1e-6)
    np.testing.assert_array_equal(codes[:, 3:], np.stack([values[:, 3:6].argmax(1), values[:, 6:].argmax(1)], axis=1))
    assert (logvars[:, 3:] == NOISELESS).all()
    one_hots = np.hstack([codes[:, :3], np.eye(3)[codes[:, 3].astype(int)], np.eye(2)[codes[:, 4].astype(int)]])
    logits = model.networks["decoder"](torch.from_numpy(one_hots.astype(np.float32)))
    torch.testing.assert_close(model.output(torch.from_numpy(codes)), logits)
    np.testing.assert_array_equal(model.decode([[0, 0, 0, 7.0, -2.0]]), model.decode([[0, 0, 0, 2, 0]]))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RunError, match=r"temperature is 0.0; expected a positive number"):
        JointVAE(temperature=0.0)
    with pytest.raises(RunError, match="categories of JointVAE is"):
        JointVAE(categories=(3, 0))
    with pytest.raises(RunError, match="has no KL term of posteriors"):
        replace(small_run(JointVAE()), kl_warmup=3.0)
