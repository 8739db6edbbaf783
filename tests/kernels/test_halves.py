"""Means and logvars as halves of a layer's outputs: values, gradients and second derivatives, and what does not change."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import vmap

from hackle.kernels import halves

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def random(*shape: int, device: str, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(device, dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_halves_and_their_gradient_are_those_of_a_split(device: str, dtype: torch.dtype) -> None:
    whole = random(3, 7, 10, device=device, dtype=dtype).requires_grad_()
    weights = [random(3, 7, 5, device=device), -random(3, 7, 5, device=device)]
    found = vmap(halves)(whole)
    expected = whole[..., :5], whole[..., 5:]
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours.float(), theirs.float())
    totals = [
        sum((half.float() * weight).sum() for half, weight in zip(both, weights, strict=True))
        for both in (found, expected)
    ]
    gradients = [torch.autograd.grad(total, whole)[0] for total in totals]  # type: ignore[arg-type]
    assert gradients[0].dtype == dtype
    assert torch.equal(*gradients)


@pytest.mark.parametrize("device", DEVICES)
def test_one_half_alone_has_a_gradient_and_it_can_be_differentiated_again(device: str) -> None:
    whole = random(4, 6, device=device).requires_grad_()
    (first,) = torch.autograd.grad(halves(whole)[0].pow(3).sum(), whole, create_graph=True)
    torch.testing.assert_close(first[:, :3], 3 * whole[:, :3].square())
    assert first[:, 3:].count_nonzero() == 0
    (second,) = torch.autograd.grad(first.sum(), whole)
    torch.testing.assert_close(second[:, :3], 6 * whole[:, :3])
