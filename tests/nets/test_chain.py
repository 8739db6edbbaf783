"""A chain computes what its layers do one after another, and names their parameters as a plain sequence does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hackle.nets.chain import Chain
from hackle.nets.layers import Down, Linear, Reshape, Up
from hackle.nets.normalisation import BatchNorm, LayerNorm, calibrate

NETWORKS = {
    "critic": (
        Down(1, 3),
        nn.LeakyReLU(0.2),
        Down(3, 4),
        nn.LeakyReLU(0.2),
        Reshape(64),
        Linear(64, 5),
        LayerNorm(5),
        nn.LeakyReLU(0.2),
    ),
    "slopes that differ": (Down(1, 3), nn.LeakyReLU(0.2), Down(3, 4), nn.ReLU(), Down(4, 2), BatchNorm(2)),
    "normalised": (Down(1, 3), nn.LeakyReLU(0.2), Down(3, 4), BatchNorm(4), nn.LeakyReLU(0.2), Up(4, 2), nn.Sigmoid()),
    "a convolution with its own slope": (Down(1, 3, slope=0.5), nn.ReLU(), BatchNorm(3), nn.ReLU()),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_chains_compute_what_sequences_do(name: str) -> None:
    torch.manual_seed(0)
    plain, chain = nn.Sequential(*NETWORKS[name]).double(), Chain(*NETWORKS[name]).double()
    assert list(plain.state_dict()) == list(chain.state_dict())
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.uniform_(0.5, 1)
    images = torch.randn(5, 16, 16, 1, dtype=torch.float64)
    parameters = [value for key, value in plain.named_parameters() if not key.endswith(("mean", "variance"))]

    def both(network: nn.Module) -> list[Tensor]:
        output = network(images)
        return [output, *torch.autograd.grad(output.square().sum(), parameters)]

    for found, expected in zip(both(chain), both(plain), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    trained = chain(images)
    calibrate(chain, images)
    torch.testing.assert_close(chain.eval()(images), trained, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(chain(images), plain.eval()(images), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.LeakyReLU(0.2), nn.LeakyReLU(0.7)])
def test_fully_connected_layers_take_their_activation_along(activation: nn.Module) -> None:
    modules = [Linear(4, 5), activation, Linear(5, 6), nn.Tanh(), activation, Linear(6, 3), activation, activation]
    row, x = Chain(*modules).double(), torch.randn(7, 4, dtype=torch.float64)
    torch.testing.assert_close(row(x), nn.Sequential(*modules)(x), rtol=0, atol=0)
    assert set(row.state_dict()) == {f"{place}.{kind}" for place in (0, 2, 5) for kind in ("weight", "bias")}
    torch.testing.assert_close(Chain()(x), x, rtol=0, atol=0)
