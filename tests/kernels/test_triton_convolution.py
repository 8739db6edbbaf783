"""The Triton kernels on CUDA against float64 references: every layer in use, odd batches, gates, biases, splits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad, vmap

from hackle.kernels import down, down_layer, taps, up, up_layer

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
    return float((found.double() - expected).norm() / expected.norm())


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
        # The reference sees what the kernel sees: weights rounded to the images' number format.
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


def test_a_model_has_the_same_bits_alone_and_stacked() -> None:
    x, weight, bias = random(9, 64, 32, 32, 32, dtype=torch.bfloat16), random(9, 4, 4, 32, 32), random(9, 32)
    given = [value.requires_grad_() for value in (x, weight, bias)]

    def all_of(values: list[Tensor]) -> list[Tensor]:
        output = down_layer(values[0], values[1], values[2], 0.0)
        return [output, *torch.autograd.grad(output.float().square().sum(), values)]

    together = all_of(given)
    alone = all_of([value[4:5].detach().requires_grad_() for value in given])
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
