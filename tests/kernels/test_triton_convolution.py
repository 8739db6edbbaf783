"""The Triton kernels on CUDA against float64 references: every layer in use, odd batches, gates, biases, splits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad, vmap

from hackle.kernels import down, down_layer, taps, tower, up, up_layer
from hackle.kernels.likelihood import bernoulli_error
from hackle.kernels.triton_sums import add_parts

pytestmark = pytest.mark.gpu

LAYERS = [
    (64, 1, 32), (64, 3, 32), (32, 32, 32), (16, 32, 64), (8, 64, 64),
    (28, 1, 64), (14, 64, 128), (16, 64, 640), (32, 5, 7), (8, 70, 20), (32, 64, 128), (16, 128, 256),
]  # fmt: skip
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 6e-3}


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator("cuda").manual_seed(seed + sum(shape))
    return torch.randn(*shape, device="cuda", generator=generator).to(dtype)


def distance(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    return float((found.detach().double() - expected.detach()).norm() / expected.detach().norm())


def exact_down(x: Tensor, weight: Tensor) -> Tensor:
    planes = [
        F.conv2d(a.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), stride=2, padding=1)
        for a, w in zip(x, weight, strict=True)
    ]
    return torch.stack(planes).permute(0, 1, 3, 4, 2)


def exact_up(y: Tensor, weight: Tensor) -> Tensor:
    filters = [w.permute(3, 2, 0, 1) for w in weight]
    planes = [
        F.conv_transpose2d(a.permute(0, 3, 1, 2), w, stride=2, padding=1) for a, w in zip(y, filters, strict=True)
    ]
    return torch.stack(planes).permute(0, 1, 3, 4, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("side", "c", "o"), LAYERS)
def test_layers_and_their_gradients(side: int, c: int, o: int, dtype: torch.dtype) -> None:
    models, batch = 3, 5
    slope = 1.0 if o == 7 else 0.2
    weight = random(models, 4, 4, c, o) / (16 * c) ** 0.5
    for layer, exact, image, channels in (
        (down_layer, exact_down, random(models, batch, side, side, c, dtype=dtype), o),
        (up_layer, exact_up, random(models, batch, side // 2, side // 2, o, dtype=dtype), c),
    ):
        bias = random(models, channels, seed=1)
        given = [image.requires_grad_(), weight.clone().requires_grad_(), bias.requires_grad_()]
        # The reference sees what the kernel sees: weights rounded to the images' dtype.
        doubled = [given[0].detach().double(), weight.to(dtype).double(), bias.detach().double()]
        doubled = [value.requires_grad_() for value in doubled]
        found = layer(*given, slope)  # type: ignore[operator]
        expected = F.leaky_relu(exact(doubled[0], doubled[1]) + doubled[2][:, None, None, None], slope)
        assert distance(found, expected.detach()) < TOLERANCE[dtype]
        signal = random(*found.shape, dtype=dtype, seed=2)
        gate = torch.where(found.detach() > 0, 1.0, slope).double()
        exact_gradients = torch.autograd.grad(
            exact(doubled[0], doubled[1]) + doubled[2][:, None, None, None], doubled, signal.double() * gate
        )
        for gradient, reference in zip(torch.autograd.grad(found, given, signal), exact_gradients, strict=True):
            assert distance(gradient, reference) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("of_images", [True, False])
@pytest.mark.parametrize(
    ("upward", "channels"),
    [
        (False, (1, 32, 32, 64, 64)), (False, (3, 20, 40)), (False, (5, 64, 32)), (False, (1, 70, 16)), (False, (1, 32)),
        (True, (64, 64, 32, 32, 1)), (True, (16, 8, 3)), (True, (16, 64, 5)), (True, (32, 70, 1)), (True, (32, 1)),
    ],
)  # fmt: skip
def test_towers_and_their_gradients(
    upward: bool, channels: tuple[int, ...], of_images: bool, dtype: torch.dtype
) -> None:
    models, batch, side = 3, 5, 4 if upward else 4 * 2 ** (len(channels) - 1)
    pairs = list(pairwise(channels))
    weights = [
        random(models, 4, 4, *(pair[::-1] if upward else pair), seed=i) / (8 * pair[0]) ** 0.5
        for i, pair in enumerate(pairs)
    ]
    biases = [random(models, pair[1], seed=i) / 4 for i, pair in enumerate(pairs)]
    given = [random(models, batch, side, side, channels[0], dtype=dtype), *weights, *biases]
    given = [value.requires_grad_(position > 0 or of_images) for position, value in enumerate(given)]
    count = len(pairs)
    last = 1.0 if upward else 0.0
    found = tower(
        given[0], list(zip(given[1 : count + 1], given[count + 1 :], strict=True)), upward=upward, last_slope=last
    )
    # Rounding between layers flips a few gates, so the reference rounds where the kernels do.
    doubled = [value.detach().double().requires_grad_() for value in given]
    image = doubled[0]
    for layer in range(count):
        weight = doubled[1 + layer] + (given[1 + layer].to(dtype).double() - doubled[1 + layer]).detach()
        image = (exact_up if upward else exact_down)(image, weight) + doubled[1 + count + layer][:, None, None, None]
        image = F.leaky_relu(image, last if layer == count - 1 else 0.0)
        image = image + (image.to(dtype).double() - image).detach()
    assert distance(found, image) < TOLERANCE[dtype]
    signal = random(*found.shape, dtype=dtype, seed=2)
    first = 0 if of_images else 1
    exact_gradients = torch.autograd.grad(image, doubled[first:], signal.double())
    for gradient, reference in zip(torch.autograd.grad(found, given[first:], signal), exact_gradients, strict=True):
        assert distance(gradient, reference) < 3 * TOLERANCE[dtype]


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_every_element_is_written_and_any_batch_works(batch: int) -> None:
    for side, c, o in LAYERS[:5]:
        x, weight = random(2, batch, side, side, c), random(2, 4, 4, c, o)
        y = random(2, batch, side // 2, side // 2, o)
        assert distance(down(x, weight), exact_down(x.double(), weight.double())) < 1e-5
        assert distance(up(y, weight), exact_up(y.double(), weight.double())) < 1e-5
        wanted = weight.double().requires_grad_()
        (expected,) = torch.autograd.grad((exact_down(x.double(), wanted) * y.double()).sum(), wanted)
        assert distance(taps(x, y), expected) < 1e-5


def test_logits_beyond_float16_are_cut_off_and_not_infinite() -> None:
    """The background that no image lights: each of four taps adds −640,000 in the first model, −60,000 in the second."""
    features = torch.full((2, 3, 32, 32, 32), 100.0, dtype=torch.bfloat16, device="cuda")
    weight = torch.tensor([-200.0, -18.75], device="cuda")[:, None, None, None, None].expand(2, 4, 4, 1, 32)
    logits = up(features, weight.contiguous())
    inside = logits[:, :, 1:-1, 1:-1].float()
    assert distance(inside[0], torch.full_like(inside[0], -4 * 65504.0).double()) < 0.004
    assert distance(inside[1], torch.full_like(inside[1], -240_000.0).double()) < 0.004
    black = torch.zeros(2, 3, 64, 64, 1, dtype=torch.uint8, device="cuda")
    assert (bernoulli_error(logits.flatten(0, 1), black.flatten(0, 1)) == 0).all()


@pytest.mark.parametrize("shape", [(3, 20_000, 1), (2, 1280, 3), (2, 100, 3), (2, 448, 10), (2, 300, 4, 4, 2, 8)])
def test_parts_of_any_width_are_added(shape: tuple[int, ...]) -> None:
    parts = random(*shape)
    assert distance(add_parts(parts), parts.double().sum(1)) < 1e-6
    assert torch.equal(add_parts(parts)[:1], add_parts(parts[:1]))


@pytest.mark.parametrize(
    ("upward", "channels"), [(False, (32, 32, 64)), (False, (1, 32, 32)), (False, (3, 32, 32)), (True, (32, 32, 1))]
)
def test_a_model_has_the_same_bits_alone_and_stacked(upward: bool, channels: tuple[int, int, int]) -> None:
    pairs = list(pairwise(channels))
    given = [random(9, 64, 16 if upward else 32, 16 if upward else 32, channels[0], dtype=torch.bfloat16)]
    given += [random(9, 4, 4, *(pair[::-1] if upward else pair)) for pair in pairs]
    given += [random(9, pair[1]) for pair in pairs]

    def all_of(values: list[Tensor]) -> list[Tensor]:
        x, *parameters = values[0], *(value.detach().requires_grad_() for value in values[1:])
        output = tower(x, list(zip(parameters[:2], parameters[2:], strict=True)), upward=upward)
        return [output, *torch.autograd.grad(output.float().square().sum(), parameters)]

    together, alone = all_of(given), all_of([value[4:5] for value in given])
    assert all(torch.equal(a[4:5], b) for a, b in zip(together, alone, strict=True))


def test_second_derivatives_under_vmap_follow_the_cpu() -> None:
    def penalty(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        def critic(image: Tensor) -> Any:
            return down_layer(down_layer(image, weight, bias, 0.2), weight, bias, 0.2).square().sum()

        return (grad(critic)(x).square().sum() - 1).square()

    weight, bias, x = random(3, 4, 4, 2, 2) / 4, random(3, 2), random(3, 2, 8, 8, 2)
    found, expected = [], []
    for device, answers in (("cuda", found), ("cpu", expected)):
        given = [value.to(device).detach().requires_grad_() for value in (weight, bias, x)]
        answers += torch.autograd.grad(vmap(penalty)(*given).sum(), given[:2])
    for a, b in zip(found, expected, strict=True):
        assert distance(a.cpu(), b.double()) < 1e-4


def norm_penalties(gradients: Tensor) -> Tensor:
    """(m, b, …) to (m,): the mean of (norm − 1)² over images."""
    return (gradients.flatten(2).square().sum(2).sqrt() - 1).square().mean(1)


def penalties(x: Tensor, *parameters: Tensor) -> Tensor:
    """The gradient penalty of the mean squares of leaky towers, (m,)."""

    def gradient(x: Tensor, *parameters: Tensor) -> Tensor:
        pairs = list(zip(parameters[::2], parameters[1::2], strict=True))
        score = grad(lambda x: tower(x, pairs, upward=False, slope=0.2, last_slope=0.2).float().square().mean())
        return score(x).float()

    return norm_penalties(vmap(gradient)(x, *parameters))


def exact_penalties(x: Tensor, dtype: torch.dtype, *parameters: Tensor) -> Tensor:
    """The same in float64, rounding each layer's result as the kernels do: a rounding may flip a gate."""
    x = x.detach().double().requires_grad_()
    image = x
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        image = F.leaky_relu(exact_down(image, weight) + bias[:, None, None, None], 0.2)
        image = image + (image.to(dtype).double() - image).detach()
    (gradient,) = torch.autograd.grad(image.square().mean((1, 2, 3, 4)).sum(), x, create_graph=True)
    return norm_penalties(gradient)


def critics(models: int, batch: int, dtype: torch.dtype) -> list[Tensor]:
    """Images, and weights and biases in turn, the weights such that rounding leaves them as they are."""
    pairs = list(pairwise((1, 32, 32, 64, 64)))
    weights = [random(models, 4, 4, *pair, seed=i) / (4 * pair[0] ** 0.5) for i, pair in enumerate(pairs)]
    biases = [random(models, pair[1], seed=i) / 4 for i, pair in enumerate(pairs)]
    given = [random(models, batch, 64, 64, 1, dtype=dtype)]
    for weight, bias in zip(weights, biases, strict=True):
        given += [weight.to(dtype).float(), bias]
    return given


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_towers_gradient_penalty_under_vmap_follows_float64(dtype: torch.dtype) -> None:
    x, *parameters = critics(3, 5, dtype)
    parameters = [value.requires_grad_() for value in parameters]
    doubled = [value.detach().double().requires_grad_() for value in parameters]
    found, expected = penalties(x, *parameters), exact_penalties(x, dtype, *doubled)
    assert distance(found, expected) < 5 * TOLERANCE[dtype]
    gradients = torch.autograd.grad(found.sum(), parameters)
    references = torch.autograd.grad(expected.sum(), doubled)
    for gradient, reference in zip(gradients, references, strict=True):
        assert distance(gradient, reference) < 5 * TOLERANCE[dtype]


def test_a_gradient_penalty_has_the_same_bits_alone_and_stacked() -> None:
    given = critics(5, 16, torch.bfloat16)

    def all_of(values: list[Tensor]) -> list[Tensor]:
        x, *parameters = (value.detach().requires_grad_() for value in values)
        found = penalties(x.detach(), *parameters)
        return [found, *torch.autograd.grad(found.sum(), parameters)]

    together, alone = all_of(given), all_of([value[3:4] for value in given])
    assert all(torch.equal(a[3:4], b) for a, b in zip(together, alone, strict=True))
