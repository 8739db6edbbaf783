"""Layers against PyTorch's own in float64."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.kernels.normalisation import EPSILON
from hackle.nets.discriminator import latent_discriminator
from hackle.nets.layers import Blocks, Down, DownTower, Linear, Same, Three
from hackle.nets.normalisation import BatchNorm, calibrate


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def planes(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2)


@pytest.mark.parametrize(("transposed", "before"), [(False, 1), (True, 2)])
def test_same_convolution(transposed: bool, before: int) -> None:
    layer = Same(3, 5, transposed=transposed).double()
    x = random(2, 7, 7, 3)
    padded = F.pad(planes(x), (before, 3 - before, before, 3 - before))
    expected = F.conv2d(padded, layer.weight.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)
    torch.testing.assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)


def test_transposed_same_convolution_is_the_adjoint() -> None:
    """The transposed layer with the same filters, turned round, is the gradient of the other in its input."""
    layer, adjoint = Same(3, 5).double(), Same(5, 3, transposed=True).double()
    with torch.no_grad():
        adjoint.weight.copy_(layer.weight.flip(0, 1).transpose(2, 3))
    x, y = random(2, 6, 6, 3).requires_grad_(), random(2, 6, 6, 5)
    (gradient,) = torch.autograd.grad((layer(x) * y).sum(), x)
    torch.testing.assert_close(adjoint(y), gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("side", [4, 7, 16])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_three_by_three_convolution_and_its_gradients(side: int, slope: float) -> None:
    layer, x, y = Three(3, 5, slope=slope).double(), random(2, side, side, 3).requires_grad_(), random(2, side, side, 5)
    with torch.no_grad():
        layer.bias.copy_(random(5))
    expected = F.conv2d(planes(x), layer.weight.permute(3, 2, 0, 1), layer.bias, padding=1).permute(0, 2, 3, 1)
    expected = expected.relu() if slope == 0 else expected
    torch.testing.assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)
    leaves = (x, layer.weight, layer.bias)
    found, wanted = (torch.autograd.grad((values * y).sum(), leaves) for values in (layer(x), expected))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


def test_blocks_are_layers_side_by_side() -> None:
    blocks, x = Blocks(3, 4, 2).double(), random(5, 3, 4)
    for block in range(3):
        expected = x[:, block] @ blocks.weight[block] + blocks.bias[block]
        torch.testing.assert_close(blocks(x)[:, block], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("dtypes", "used"), [
    ((torch.bfloat16, torch.bfloat16), 2), ((torch.bfloat16, None), 0), ((torch.float64, torch.float64), 0), ((None, None), 0),
])  # fmt: skip
def test_a_tower_takes_rounded_weights_of_all_its_layers_or_of_none(
    monkeypatch: pytest.MonkeyPatch, dtypes: tuple[torch.dtype | None, ...], used: int
) -> None:
    given: list[tuple[Tensor, ...]] = []
    monkeypatch.setattr("hackle.nets.layers.tower", lambda *_, rounded, **__: given.append(tuple(rounded)))
    layers = DownTower(1, (2, 2))
    copies = [None if dtype is None else layer.weight.to(dtype) for layer, dtype in zip(layers, dtypes, strict=True)]
    for layer, copy in zip(layers, copies, strict=True):
        if copy is not None:
            layer.rounded = copy
    layers(random(1, 8, 8, 1).to(torch.bfloat16))
    ((*taken,),) = given
    assert len(taken) == used
    assert all(one is copy for one, copy in zip(taken, copies, strict=False))


def test_initial_weights_have_the_stated_spread() -> None:
    torch.manual_seed(0)
    bounds = {
        Linear(300, 500): math.sqrt(6 / 800),
        Down(8, 16): math.sqrt(6 / (16 * 24)),
        Down(8, 16, blocks=10): math.sqrt(6 / (16 * 24)),
        Same(8, 16): math.sqrt(6 / (16 * 24)),
        Three(16, 24): math.sqrt(6 / (9 * 40)),
        Blocks(10, 30, 50): math.sqrt(6 / 80),
    }
    for layer, bound in bounds.items():
        weight, bias = layer.weight, layer.bias
        assert isinstance(weight, Tensor)
        assert isinstance(bias, Tensor)
        assert weight.abs().max() <= bound
        # A uniform on ±bound has standard deviation bound/√3; 2,048 or more weights hold it to 5 %.
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert not bias.any()
    he = Linear(300, 500, he=True).weight
    assert he.std().item() == pytest.approx(math.sqrt(2 / 300), rel=0.02)


@pytest.mark.parametrize(("layers", "width", "logits"), [(6, 1000, 2), (5, 1000, 1), (1, 7, 2)])
def test_latent_discriminator_has_the_papers_layers(layers: int, width: int, logits: int) -> None:
    network = latent_discriminator(10, layers, width, logits)
    linears = [module for module in network.modules() if isinstance(module, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linears] == [
        (10, width),
        *[(width, width)] * (layers - 1),
        (width, logits),
    ]
    slopes = [module.negative_slope for module in network.modules() if isinstance(module, nn.LeakyReLU)]
    assert slopes == [0.2] * layers


@pytest.mark.parametrize("shape", [(9, 4), (3, 5, 5, 4)])
def test_batch_normalisation_in_training(shape: tuple[int, ...]) -> None:
    layer, x = BatchNorm(4).double(), random(*shape)
    with torch.no_grad():
        layer.weight.copy_(random(4))
        layer.bias.copy_(random(4, 1)[:, 0])
    axes = x.movedim(-1, 1)
    expected = F.batch_norm(axes, None, None, layer.weight, layer.bias, training=True, eps=EPSILON).movedim(1, -1)
    torch.testing.assert_close(layer(x), expected, rtol=1e-10, atol=1e-10)


def test_calibrated_networks_treat_each_row_by_itself() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(Linear(3, 5), BatchNorm(5), nn.ReLU(), Linear(5, 4), BatchNorm(4)).double()
    x = random(50, 3)
    trained = network.train()(x)
    network.eval()
    calibrate(network, x)
    assert not network.training
    torch.testing.assert_close(network(x), trained, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(network(x[7:8]), network(x)[7:8], rtol=1e-12, atol=1e-12)
