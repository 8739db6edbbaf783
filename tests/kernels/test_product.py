"""Products of matrices off CUDA against float64, by both libraries."""

import pytest
import torch

from hackle.kernels import product
from hackle.kernels.convolution import up
from hackle.kernels.product import times


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("rows", [4, 500])
def test_products_of_any_size_are_those_of_float64(rows: int, biased: bool) -> None:
    generator = torch.Generator().manual_seed(rows)
    values, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((rows, 100), (300, 100), (300,)))
    assert (values.numel() * len(weight) >= product._LARGE) == (rows == 500)
    given = bias if biased else None
    exact = values.double() @ weight.double().T + (bias.double() if biased else 0)
    with torch.no_grad():
        torch.testing.assert_close(times(values, weight, given).double(), exact, rtol=1e-5, atol=1e-4)
    # With a gradient the other library multiplies.
    values.requires_grad_()
    found = times(values, weight, given)
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-4)
    (gradient,) = torch.autograd.grad(found.sum(), values)
    torch.testing.assert_close(gradient, weight.sum(0).expand_as(values), rtol=1e-5, atol=1e-4)


def test_matrices_may_be_transposed_views() -> None:
    generator = torch.Generator().manual_seed(0)
    values, weight = torch.randn(200, 400, generator=generator).T, torch.randn(200, 100, generator=generator).T
    assert values.numel() * len(weight) >= product._LARGE
    with torch.no_grad():
        found = times(values, weight)
    torch.testing.assert_close(found.double(), values.double() @ weight.double().T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("few", [1, 3])
def test_images_of_many_positions_are_those_of_float64(few: int) -> None:
    generator = torch.Generator().manual_seed(few)
    maps, weight = torch.randn(9, 32, 32, 32, generator=generator), torch.randn(4, 4, few, 32, generator=generator)
    assert weight.numel() * maps[..., 0].numel() >= product._LARGE
    with torch.no_grad():
        found = up(maps, weight)
    torch.testing.assert_close(found.double(), up(maps.double(), weight.double()), rtol=1e-5, atol=1e-4)
