"""The convolution triad against PyTorch's own convolutions in float64, and each operator's gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import vmap

from hackle.kernels import down, down_layer, taps, up, up_layer


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def planes(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2)


SHAPES = [(1, 2, 1, 1), (3, 4, 1, 5), (2, 8, 3, 4), (5, 14, 3, 2), (2, 4, 6, 3)]


@pytest.mark.parametrize(("batch", "side", "inputs", "outputs"), SHAPES)
def test_down_is_the_stride_2_convolution(batch: int, side: int, inputs: int, outputs: int) -> None:
    x, weight = random(batch, side, side, inputs), random(4, 4, inputs, outputs)
    expected = F.conv2d(planes(x), weight.permute(3, 2, 0, 1), stride=2, padding=1).permute(0, 2, 3, 1)
    torch.testing.assert_close(down(x, weight), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("batch", "side", "inputs", "outputs"), SHAPES)
def test_up_is_the_stride_2_transposed_convolution(batch: int, side: int, inputs: int, outputs: int) -> None:
    y, weight = random(batch, side // 2, side // 2, outputs), random(4, 4, inputs, outputs)
    expected = F.conv_transpose2d(planes(y), weight.permute(3, 2, 0, 1), stride=2, padding=1).permute(0, 2, 3, 1)
    torch.testing.assert_close(up(y, weight), expected, rtol=1e-12, atol=1e-12)


def test_down_at_one_pixel_is_the_sum_it_should_be() -> None:
    """Output (1, 0) sees rows 1 … 4 and columns −1 … 2 of the image, column −1 being zero."""
    x, weight = random(1, 6, 6, 2), random(4, 4, 2, 3)
    expected = torch.einsum("ijc,ijco->o", x[0, 1:5, 0:3], weight[:, 1:])
    torch.testing.assert_close(down(x, weight)[0, 1, 0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("batch", "side", "inputs", "outputs"), SHAPES)
def test_the_three_are_adjoint(batch: int, side: int, inputs: int, outputs: int) -> None:
    """⟨down(x, w), y⟩ = ⟨x, up(y, w)⟩ = ⟨w, taps(x, y)⟩."""
    x, weight = random(batch, side, side, inputs), random(4, 4, inputs, outputs)
    y = random(batch, side // 2, side // 2, outputs, seed=1)
    expected = (down(x, weight) * y).sum()
    torch.testing.assert_close((x * up(y, weight)).sum(), expected, rtol=1e-12, atol=1e-10)
    torch.testing.assert_close((weight * taps(x, y)).sum(), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("operator", [down, up, taps])
def test_first_and_second_derivatives(operator: object) -> None:
    x, weight, y = random(2, 4, 4, 2), random(4, 4, 2, 1), random(2, 2, 2, 1)
    arguments = {down: (x, weight), up: (y, weight), taps: (x, y)}[operator]  # type: ignore[index]
    arguments = tuple(value.requires_grad_() for value in arguments)
    assert gradcheck(operator, arguments)  # type: ignore[arg-type]
    assert gradgradcheck(operator, arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("operator", [down, up, taps])
@pytest.mark.parametrize("models", [1, 3])
def test_mapped_over_models_equals_each_alone(operator: object, models: int) -> None:
    x, weight, y = random(models, 3, 4, 4, 2), random(models, 4, 4, 2, 5), random(models, 3, 2, 2, 5)
    first, second = {down: (x, weight), up: (y, weight), taps: (x, y)}[operator]  # type: ignore[index]
    stacked = vmap(operator)(first, second)  # type: ignore[arg-type]
    for model in range(models):
        assert torch.equal(stacked[model], operator(first[model], second[model]))  # type: ignore[operator]
    assert torch.equal(operator(first, second), stacked)  # type: ignore[operator]


def test_mapped_over_models_that_share_their_images() -> None:
    x, weight = random(3, 4, 4, 2), random(2, 4, 4, 2, 5)
    stacked = vmap(down, in_dims=(None, 0))(x, weight)
    for model in range(2):
        assert torch.equal(stacked[model], down(x, weight[model]))


def test_gradients_under_vmap_equal_each_alone() -> None:
    x, weight = random(2, 3, 8, 8, 1), random(2, 4, 4, 1, 2)

    def energy(image: Tensor, filters: Tensor) -> Tensor:
        gradient = torch.func.grad(lambda value: down(value, filters).square().sum())(image)
        return gradient.square().sum()

    stacked = weight.clone().requires_grad_()
    vmap(energy)(x, stacked).sum().backward()
    for model in range(2):
        alone = weight[model].clone().requires_grad_()
        energy(x[model], alone).backward()
        assert stacked.grad is not None
        torch.testing.assert_close(stacked.grad[model], alone.grad, rtol=1e-12, atol=1e-12)


def test_odd_sides_are_refused() -> None:
    with pytest.raises(ValueError, match="must be even"):
        down(random(1, 7, 7, 1), random(4, 4, 1, 1))


@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("layer", [down_layer, up_layer])
def test_layers_are_operator_bias_and_leaky_relu(layer: Callable[..., Tensor], slope: float) -> None:
    images, weight = (
        (random(2, 4, 4, 3), random(4, 4, 3, 2)) if layer is down_layer else (random(2, 2, 2, 2), random(4, 4, 3, 2))
    )
    operator = down if layer is down_layer else up
    bias = random(2 if layer is down_layer else 3)
    torch.testing.assert_close(layer(images, weight, bias, slope), F.leaky_relu(operator(images, weight) + bias, slope))
    arguments = [value.requires_grad_() for value in (images, weight, bias)]
    assert gradcheck(lambda *given: layer(*given, slope), arguments)
    assert gradgradcheck(lambda *given: layer(*given, slope), arguments)


def test_stacked_layers_have_biases_of_their_own() -> None:
    x, weight, bias = random(3, 2, 4, 4, 2), random(3, 4, 4, 2, 5), random(3, 5)
    stacked = vmap(lambda x, weight, bias: down_layer(x, weight, bias, 0.0))(x, weight, bias)
    for model in range(3):
        torch.testing.assert_close(stacked[model], down_layer(x[model], weight[model], bias[model], 0.0))


def test_images_in_bfloat16_leave_weight_gradients_in_float32() -> None:
    x = random(2, 4, 4, 3).to(torch.bfloat16).requires_grad_()
    weight, bias = random(4, 4, 3, 2).float().requires_grad_(), random(2).float().requires_grad_()
    output = down_layer(x, weight, bias, 0.0)
    assert output.dtype == torch.bfloat16
    gradients = torch.autograd.grad(output.float().sum(), (x, weight, bias))
    assert [gradient.dtype for gradient in gradients] == [torch.bfloat16, torch.float32, torch.float32]
