"""Tripod: its quantiser, kernel latent multiinformation, normalised Hessian penalty, the loss against NumPy, stages."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import norm
from single import SHAPE, SMALL, Single, small_run
from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.gaussian import NOISELESS
from hackle.core.types import RunError
from hackle.nets import MLP, Convolutional, Own, ResNet
from hackle.nets.stages import cut_decoder
from hackle.objectives import Tripod
from hackle.objectives.tripod import EPSILON, deviations, hessian_penalty, multiinformation, perturbed
from hackle.studies.presets import default_run
from hackle.train.model import Model

PIXELS = math.prod(SHAPE)


def test_there_are_twelve_levels_from_minus_one_to_one() -> None:
    method = Tripod()
    found = method.values(torch.arange(12, dtype=torch.float64))
    assert found[:2].tolist() == pytest.approx([-1, -9 / 11])
    assert found[-1] == 1
    torch.testing.assert_close(found.diff(), torch.full((11,), 2 / 11, dtype=torch.float64))
    u = torch.rand(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    quantised = method.values(method.nearest(u))
    assert (quantised - u).abs().max() <= 1 / 11 + 1e-12
    assert torch.equal(method.values(method.nearest(quantised)), quantised)


def written_out(z: Any, scale: Any) -> Any:
    """KLM, one density at a time."""
    batch, latents = z.shape
    silverman = (4 / (latents + 2)) ** (1 / (latents + 4)) * batch ** (-1 / (latents + 4))
    total = 0.0
    for i in range(batch):
        joint = [norm.logpdf(z[i], z[j], silverman * scale).sum() for j in range(batch)]
        apart = [np.logaddexp.reduce(norm.logpdf(z[i, k], z[:, k], scale[k])) for k in range(latents)]
        total += np.logaddexp.reduce(joint) - math.log(batch) - sum(apart) + latents * math.log(batch)
    return total / batch


def test_multiinformation_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, (9, 3))
    scale = u.std(axis=0) + 1e-6
    torch.testing.assert_close(deviations(torch.from_numpy(u)), torch.from_numpy(scale))
    z = np.round(u * 2) / 2
    found = multiinformation(torch.from_numpy(z), torch.from_numpy(scale))
    assert found.item() == pytest.approx(written_out(z, scale), rel=1e-10)


def test_without_silvermans_factor_in_the_marginals_independent_latents_have_some() -> None:
    """7.07 nats for 12 independent uniform latents in batches of 64, 7.14 where six of them are copies."""
    rng = np.random.default_rng(0)
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(40):
        for copied in (False, True):
            u = torch.from_numpy(rng.uniform(-1, 1, (64, 12)))
            u = torch.cat([u[:, :6], u[:, :6]], dim=1) if copied else u
            found[copied].append(multiinformation(u, deviations(u)).item())
    assert np.mean(found[False]) == pytest.approx(7.07, abs=0.05)
    assert np.mean(found[True]) == pytest.approx(7.14, abs=0.1)


@pytest.mark.parametrize(
    ("function", "share"),
    [
        (lambda z: z[..., :1] ** 2, 0.0),
        (lambda z: (z**2).sum(-1, keepdim=True), 0.0),
        (lambda z: z[..., :1] * z[..., 1:2], 1.0),
        (lambda z: z[..., :1] ** 2 + z[..., :1] * z[..., 1:2], 1 / 3),
    ],
    ids=["square", "squares", "product", "both"],
)
def test_the_penalty_is_the_share_of_the_hessian_that_mixes_latents(function: Any, share: float) -> None:
    """Every sign equally often, and as many normal draws as give their variance to a few per mille."""
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=2)), dtype=torch.float64)
    count = 400_000
    normal = torch.randn(count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    directions = torch.cat([signs.repeat(count // 4, 1), normal])[None]
    z, scale = torch.tensor([[0.3, -0.7]], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    found = hessian_penalty(function(perturbed(z, scale, directions)))
    assert found.item() == pytest.approx(share, abs=0.02)


def small(**fields: Any) -> Single:
    return Single(small_run(Tripod(**{"multiinformation": 0.2, "hessian": 0.3, "levels": 7, **fields})))


@pytest.mark.parametrize("ratio", ["batch", "image"])
def test_the_loss_is_that_of_the_paper_times_the_number_of_pixels(ratio: Any) -> None:
    model = small(ratio=ratio)
    latents = model.nets("encoder", model.images)[0].detach().numpy()
    u = np.tanh(latents)
    z, scale = 2 * np.round((u + 1) / 2 * 6) / 6 - 1, u.std(axis=0) + 1e-6

    def activations(codes: Any) -> list[Any]:
        return [stage.detach().flatten(1).numpy() for stage in model.nets("stages", torch.from_numpy(codes))]

    noise = {name: value.double().numpy() for name, value in model.noise().items()}
    penalty = 0.0
    for stage, centre in enumerate(activations(z)):
        moments = []
        for directions in (2 * noise["signs"] - 1, noise["normals"]):
            second = [
                (activations(z + step)[stage] - 2 * centre + activations(z - step)[stage]) / EPSILON**2
                for step in (EPSILON * directions[:, k] * scale for k in range(2))
            ]
            moments.append(np.var(second, axis=0).mean(axis=1))
        mixed, total = (each.mean(keepdims=True) for each in moments) if ratio == "batch" else moments
        penalty += (mixed / (total + 1e-10)).mean()
    logits = model.nets("decoder", model.nets("stages", torch.from_numpy(z))[-1]).detach().numpy()
    error = np.maximum(logits, 0) - logits * model.images.numpy() + np.log1p(np.exp(-np.abs(logits)))
    found = model.loss()
    assert found.terms["multiinformation"].item() == pytest.approx(written_out(z, scale), rel=1e-8)
    assert found.terms["hessian_penalty"].item() == pytest.approx(penalty, rel=1e-6)
    expected = PIXELS * (error.mean() + 0.2 * written_out(z, scale) + 0.3 * penalty)
    assert found.total.item() == pytest.approx(expected, rel=1e-8)
    assert penalty > 0.1


def test_its_defaults_are_the_papers_for_3d_shapes() -> None:
    method, run = Tripod(), default_run("tripod", "rooms3d")
    assert (method.multiinformation, method.hessian, method.levels, method.perturbations) == (1e-4, 1e-2, 12, 2)
    assert (run.optimiser.learning_rate, run.optimiser.weight_decay, run.batch_size) == (2e-4, 0.0, 64)


def test_without_weights_and_with_fine_levels_it_is_the_plain_autoencoder_of_tanh() -> None:
    model = small(multiinformation=0.0, hessian=0.0, levels=2_000_001)
    z = torch.tanh(model.nets("encoder", model.images)[0])
    output = model.nets("decoder", model.nets("stages", z)[-1])
    plain = F.binary_cross_entropy_with_logits(output, model.images, reduction="none").flatten(1).sum(1).mean()
    torch.testing.assert_close(model.loss().total, plain, rtol=1e-6, atol=0)
    names = [value for network in model.networks.values() for value in network.parameters()]
    for found, gradient in zip(model.gradients().values(), torch.autograd.grad(plain, names), strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-5)


def test_a_latent_that_no_longer_varies_has_finite_gradients() -> None:
    model = small()
    with torch.no_grad():
        model.networks["encoder"].get_parameter("4.linear.bias")[0] = 40.0
    assert (deviations(torch.tanh(model.nets("encoder", model.images)[0]))[0] <= 2.1e-6).all()
    assert all(gradient.isfinite().all() for gradient in model.gradients().values())


def test_codes_are_class_numbers() -> None:
    run = small_run(Tripod(levels=4))
    model = Model(run, SHAPE)
    images = np.random.default_rng(0).random((40, *SHAPE), dtype=np.float32)
    codes, logvars = model.encode(images)
    assert (logvars == NOISELESS).all()
    assert {code.classes for code in model.codes} == {4}
    latents = model.networks["encoder"](torch.from_numpy(images))[0]
    np.testing.assert_array_equal(codes, np.round((np.tanh(latents.numpy()) + 1) / 2 * 3))
    z = torch.from_numpy(2 * codes / 3 - 1)
    torch.testing.assert_close(
        model.output(torch.from_numpy(codes)), model.networks["decoder"](model.networks["stages"](z)[-1])
    )
    np.testing.assert_array_equal(model.decode([[-3.0, 1.4, 99.0]]), model.decode([[0, 1, 3]]))


def own_encoder(shape: Any, latents: int) -> Any:
    return SMALL.encoder(shape, latents)


@pytest.mark.parametrize(
    ("architecture", "shapes"),
    [
        (Convolutional(16, (2, 3, 4, 5)), [(4, 4, 5), (8, 8, 4), (16, 16, 3), (32, 32, 2)]),
        (ResNet(16, (2, 3, 4, 5)), [(4, 4, 5), (8, 8, 4), (16, 16, 3), (32, 32, 2)]),
        (MLP((6, 7)), [(6,)]),
    ],
    ids=["convolutional", "resnet", "mlp"],
)
def test_a_decoder_is_cut_where_the_paper_looks(architecture: Any, shapes: list[tuple[int, ...]]) -> None:
    """At the fully connected layers' output and at each block's, for 64-pixel images three, but not at the image."""
    decoder = architecture.decoder((64, 64, 3), 5)
    z = torch.randn(2, 5, generator=torch.Generator().manual_seed(0))
    stages, last = cut_decoder(decoder)
    outputs: tuple[Tensor, ...] = stages(z)
    assert [tuple(output.shape[1:]) for output in outputs] == shapes
    torch.testing.assert_close(last(outputs[-1]), decoder(z))
    parts = [*stages.parameters(), *last.parameters()]
    assert [id(value) for value in parts] == [id(value) for value in decoder.parameters()]


def test_what_has_no_stages_and_too_few_draws_are_refused() -> None:
    for architecture in (MLP(()), Own(own_encoder, own_encoder)):
        run = small_run(Tripod(), architecture=architecture)
        with pytest.raises(HackleError, match="without stages to look at; expected a sequence of two layers or more"):
            run.method.networks(run, SHAPE)
    with pytest.raises(RunError, match="perturbations of Tripod is 1; expected a whole number from 2"):
        Tripod(perturbations=1)
