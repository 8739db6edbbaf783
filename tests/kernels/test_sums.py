"""Several sums over parts in one launch: values, and the same bits alone and in any stack and company."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hackle.kernels.triton_sums import add_all

pytestmark = pytest.mark.gpu

SHAPES = [
    (512, 4, 4, 1, 32), (512, 32), (16, 4, 4, 32, 8), (4, 300), (1000, 3), (600, 1), (17, 20), (9000, 2), (1, 48), (2, 1),
    *[(40, width) for width in range(1, 20)],
]  # fmt: skip


def parts(models: int) -> list[Tensor]:
    generator = torch.Generator("cuda").manual_seed(0)
    return [torch.randn(models, *shape, device="cuda", generator=generator) for shape in SHAPES]


def test_each_sum_is_that_of_float64() -> None:
    given = parts(3)
    for several, found in zip(given, add_all(given), strict=True):
        expected = several.double().sum(1)
        assert found.shape == expected.shape
        assert float((found.double() - expected).norm() / expected.norm()) < 1e-6


def test_the_order_of_a_sum_depends_on_its_own_shape_alone() -> None:
    given = parts(5)
    together = add_all(given)
    alone = add_all([several[3:4].clone() for several in given])
    for several, stacked, single in zip(given, together, alone, strict=True):
        assert torch.equal(stacked[3:4], single)
        assert torch.equal(add_all([several])[0], stacked)


def test_gradients_in_bfloat16_and_more_parts_than_one_launch_takes_are_added_in_float32() -> None:
    given = torch.randn(2, 20_000, 3, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    for several in (given, given.bfloat16()):
        found, expected = add_all([several, given[:, :5]])[0], several.double().sum(1)
        assert found.dtype == torch.float32
        assert float((found.double() - expected).norm() / expected.norm()) < 1e-5
