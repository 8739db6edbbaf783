"""Towers: the chains of the module's docstring, on kernels written with PyTorch in float64, against layer by layer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad, vmap

from hackle.kernels import down, down_layer, taps, tower, up, up_layer

SLOPE, LAST = 0.2, 0.3
PLANS = [
    (False, (2, 3, 4)),
    (True, (4, 3, 2)),
    (False, (1, 2)),
    (False, (3, 4, 2)),
    (True, (2, 4, 2, 3)),
    (True, (2, 1)),
    (False, (1, 3, 2, 4)),
]


def exact(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


class Kernels:
    """What `hackle.kernels.triton_convolution` promises, in PyTorch, with a note of what was asked for."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def add_all(self, several: list[Tensor]) -> list[Tensor]:
        self.calls.append("sums")
        return [parts.sum(1) for parts in several]

    def taps_in_parts(self, x: Tensor, y: Tensor) -> Tensor:
        self.calls.append("taps")
        return torch.stack([taps(exact(x[:, part]), exact(y[:, part])) for part in (slice(0, 1), slice(1, None))], 1)

    def gated(self, grad: Tensor, output: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        grad = torch.where(output > 0, grad, slope * grad)
        return grad, exact(grad).flatten(1, 3)

    def down(self, x: Tensor, weight: Tensor, *more: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
        values, sums = self._finish("down", down(exact(x), exact(weight)), *more, **options)
        return values.to(x.dtype), sums

    def up(self, x: Tensor, weight: Tensor, *more: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
        values, sums = self._finish("up", up(exact(x), exact(weight)), *more, **options)
        return values.to(x.dtype), sums

    def takes_taps_along(self, images: Tensor, features: int) -> bool:
        return images.shape[-1] < 3

    def down_with_taps(self, x: Tensor, weight: Tensor, gate: Tensor, slope: float) -> tuple[Tensor, ...]:
        values, sums = self.down(x, weight, slope=slope, gate=gate)
        assert sums is not None
        return values, exact(x).flatten(1, 3), sums, self.taps_in_parts(x, gate)

    def up_to_taps(
        self, y: Tensor, weight: Tensor, gate: Tensor, slope: float, images: Tensor
    ) -> tuple[Tensor, Tensor]:
        values, sums = self.up(y, weight, slope=slope, gate=gate)
        assert sums is not None
        self.calls.append("stored nothing")
        return sums, self.taps_in_parts(images, values)

    def _finish(
        self,
        name: str,
        values: Tensor,
        bias: Tensor | None = None,
        slope: float = 1.0,
        gate: Tensor | None = None,
        sums: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        self.calls.append(name)
        assert values.dim() == 5
        if bias is not None:
            values = F.leaky_relu(values + bias[:, None, None, None], slope)
        if gate is None:
            return values, None
        values = torch.where(gate > 0, values, slope * values)
        return values, values.flatten(1, 3) if sums else None


class Tiles:
    """What `hackle.kernels.tiles` promises, by these kernels, for layers of any shape."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels

    def take(self, like: Tensor, images: tuple[int, ...], fine: Tensor, wide: Tensor) -> bool:
        assert (images[-1], fine.shape[-1]) == (fine.shape[-2], wide.shape[-2])
        assert images[-3:-1] in [(side, side) for side in (4, 8, 16, 32)]
        return True

    def down_two(
        self, images: Tensor, fine: Tensor, first: Tensor, wide: Tensor, second: Tensor, *slopes: float
    ) -> Tensor:
        between = self.kernels.down(images, fine, first, slopes[0])[0]
        return self.kernels.down(between, wide, second, slopes[1])[0]

    def down_two_back(
        self, images: Tensor, fine: Tensor, first: Tensor, wide: Tensor, grad: Tensor, slope: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        between = self.kernels.down(images, fine, first, slope)[0]
        sums, of_fine = self.kernels.up_to_taps(grad, wide, between, slope, images)
        return of_fine, sums, self.kernels.taps_in_parts(between, grad)

    def up_two(
        self, small: Tensor, wide: Tensor, first: Tensor, fine: Tensor, second: Tensor, *slopes: float
    ) -> tuple[Tensor, Tensor]:
        big = self.kernels.up(small, wide, first, slopes[0])[0]
        return big, self.kernels.up(big, fine, second, slopes[1])[0]

    def up_two_back(
        self, grad: Tensor, fine: Tensor, big: Tensor, wide: Tensor, small: Tensor, slope: float, small_slope: float
    ) -> tuple[Tensor, ...]:
        back, own, sums, of_fine = self.kernels.down_with_taps(grad, fine, big, slope)
        of_small, small_sums = self.kernels.down(back, wide, slope=small_slope, gate=small)
        assert small_sums is not None
        return of_small, own, of_fine, sums, self.kernels.taps_in_parts(back, small), small_sums


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kernels]:
    """Makes towers run on these kernels from here on; `tiled`: the two layers beside the images on one."""

    def install(*, tiled: bool = False) -> Kernels:
        found = Kernels()
        module = sys.modules["hackle.kernels.tower"]
        monkeypatch.setattr(module, "on_triton", lambda images: True)
        monkeypatch.setattr(module, "triton_convolution", found)
        monkeypatch.setattr(module, "add_all", found.add_all)
        if tiled:
            monkeypatch.setattr(module, "tiles", Tiles(found))
        return found

    return install


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def arguments(upward: bool, plan: tuple[int, ...], models: int = 2) -> list[Tensor]:
    """Images, weights and biases of stacked towers."""
    layers = list(pairwise(plan))
    side = 2 if upward else 2 ** (len(layers) + 1)
    weights = [random(models, 4, 4, *(layer[::-1] if upward else layer), seed=i) for i, layer in enumerate(layers)]
    biases = [random(models, outputs, seed=9) for _, outputs in layers]
    return [random(models, 3, side, side, plan[0]), *weights, *biases]


def apply(upward: bool, x: Tensor, *parameters: Tensor, last: float = LAST) -> Tensor:
    half = len(parameters) // 2
    pairs = list(zip(parameters[:half], parameters[half:], strict=True))
    return tower(x, pairs, upward=upward, slope=SLOPE, last_slope=last)


def by_layers(upward: bool, x: Tensor, *parameters: Tensor, last: float = LAST) -> Tensor:
    """The layers one by one, each an operator that is differentiated twice in its own test."""
    half, layer = len(parameters) // 2, up_layer if upward else down_layer
    for number, (weight, bias) in enumerate(zip(parameters[:half], parameters[half:], strict=True), 1):
        x = layer(x, weight, bias, last if number == half else SLOPE)
    return x


def penalty(upward: bool, x: Tensor, *parameters: Tensor) -> Tensor:
    """A function of the gradient in the images, whose own start depends on the parameters."""
    gradient = grad(lambda images: apply(upward, images, *parameters).square().sum())(x)
    return (gradient.flatten(1).square().sum(1).sqrt() - 1).square().mean()


def derivatives(function: Callable[..., Tensor], given: list[Tensor], wanted: slice) -> list[Tensor]:
    chosen = range(*wanted.indices(len(given)))
    given = [value.clone().requires_grad_(position in chosen) for position, value in enumerate(given)]
    output = function(*given)
    found = torch.autograd.grad(output.square().sum(), given[wanted], allow_unused=True)
    return [output.detach(), *(torch.zeros(()) if value is None else value for value in found)]


def close(found: list[Tensor], expected: list[Tensor]) -> None:
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("upward", "plan"), PLANS)
@pytest.mark.parametrize("wanted", [slice(0, None), slice(1, None), slice(0, 1)])
def test_off_cuda_values_and_gradients_are_those_of_the_layers(
    upward: bool, plan: tuple[int, ...], wanted: slice
) -> None:
    given = arguments(upward, plan)
    expected = derivatives(vmap(partial(by_layers, upward)), given, wanted)
    close(derivatives(vmap(partial(apply, upward)), given, wanted), expected)
    first = [value[:1] for value in given]
    expected = derivatives(lambda *one: by_layers(upward, *(value[0] for value in one)), first, wanted)
    close(derivatives(lambda *one: apply(upward, *(value[0] for value in one)), first, wanted), expected)


@pytest.mark.parametrize(("upward", "plan"), [(False, (2, 3, 4)), (True, (4, 3, 2))])
def test_off_cuda_gradients_can_be_differentiated_again(upward: bool, plan: tuple[int, ...]) -> None:
    given = [value[0] for value in arguments(upward, plan)]

    def twice(function: Any) -> list[Tensor]:
        leaves = [value.clone().requires_grad_() for value in given]
        found = torch.autograd.grad(function(upward, *leaves).square().sum(), leaves, create_graph=True)
        total = torch.stack([value.square().sum() for value in found]).sum()
        return list(torch.autograd.grad(total, leaves, materialize_grads=True))

    close(twice(apply), twice(by_layers))


@pytest.mark.parametrize(("upward", "plan"), PLANS)
@pytest.mark.parametrize("wanted", [slice(0, None), slice(1, None), slice(0, 1)])
@pytest.mark.parametrize("last", [LAST, 1.0])
@pytest.mark.parametrize("tiled", [False, True])
def test_values_and_gradients(
    upward: bool, plan: tuple[int, ...], wanted: slice, last: float, tiled: bool, kernels: Any
) -> None:
    given = arguments(upward, plan)
    mapped = vmap(partial(apply, upward, last=last))
    expected = derivatives(mapped, given, wanted)
    kernels(tiled=tiled)
    close(derivatives(mapped, given, wanted), expected)
    alone = [value[1] for value in given]
    ours = derivatives(partial(apply, upward, last=last), alone, wanted)
    close(ours, [value[1] for value in expected])


@pytest.mark.parametrize(("upward", "plan"), PLANS)
@pytest.mark.parametrize("tiled", [False, True])
def test_gradients_of_a_gradient_penalty(upward: bool, plan: tuple[int, ...], tiled: bool, kernels: Any) -> None:
    given = arguments(upward, plan)
    parameters = slice(1, None)
    mapped = vmap(partial(penalty, upward))
    expected = derivatives(mapped, given, parameters)
    kernels(tiled=tiled)
    close(derivatives(mapped, given, parameters), expected)
    for model in range(2):
        ours = derivatives(partial(penalty, upward), [value[model] for value in given], parameters)
        close(ours, [value[model] for value in expected])


def test_weights_in_another_dtype_get_second_derivatives_too(kernels: Any) -> None:
    """Images in bfloat16, weights in float32: the rounded weights are what is multiplied, the others what is learnt."""
    x, *parameters = [value.float() for value in arguments(False, (2, 3, 4))]
    rounded = [value.to(torch.bfloat16).float() for value in parameters[:2]] + parameters[2:]
    expected = derivatives(vmap(partial(penalty, False)), [x, *rounded], slice(1, None))
    kernels()
    found = derivatives(vmap(partial(penalty, False)), [x.bfloat16(), *parameters], slice(1, None))
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert a.dtype == torch.float32
        # Gates and gradients are rounded to eight bits at each of two layers.
        assert (a - b).norm() <= 0.05 * b.norm()


@pytest.mark.parametrize("upward", [False, True])
def test_weights_that_are_rounded_already_are_those_that_are_multiplied(upward: bool, kernels: Any) -> None:
    """As the tower rounds them itself, with the same gradients in the weights that were rounded."""
    x, *parameters = [value.float() for value in arguments(upward, (3, 4, 2))]
    given = [x.bfloat16(), *parameters]
    copies = [value.bfloat16() for value in parameters[:2]]
    kernels()

    def with_copies(x: Tensor, *parameters: Tensor) -> Tensor:
        def one(x: Tensor, parameters: tuple[Tensor, ...], rounded: list[Tensor]) -> Tensor:
            pairs = list(zip(parameters[:2], parameters[2:], strict=True))
            return tower(x, pairs, upward=upward, slope=SLOPE, last_slope=LAST, rounded=rounded)

        return vmap(one)(x, parameters, copies)

    for wanted in (slice(1, None), slice(0, None)):
        found = derivatives(with_copies, given, wanted)
        expected = derivatives(vmap(partial(apply, upward)), given, wanted)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert torch.equal(with_copies(x.bfloat16(), *(2 * value for value in parameters[:2]), *parameters[2:]), found[0])


def test_the_gradient_in_images_alone_takes_no_others(kernels: Any) -> None:
    x, *parameters = arguments(False, (2, 3, 4))
    asked = kernels()
    vmap(grad(lambda x, *parameters: apply(False, x, *parameters).sum()))(x, *parameters)
    assert asked.calls == ["down", "down", "up", "up"]


@pytest.mark.parametrize("of_images", [True, False])
def test_the_gradient_before_images_is_stored_only_for_them(of_images: bool, kernels: Any) -> None:
    asked = kernels()
    derivatives(vmap(partial(apply, False)), arguments(False, (2, 3, 4)), slice(0 if of_images else 1, None))
    assert ("stored nothing" in asked.calls) is not of_images


def test_gradients_of_parameters_are_not_differentiated_again(kernels: Any) -> None:
    kernels()
    given = [value[0].requires_grad_() for value in arguments(False, (2, 3))]
    (first,) = torch.autograd.grad(apply(False, *given).square().sum(), given[1], create_graph=True)
    with pytest.raises(RuntimeError, match="only the gradient in its images can"):
        torch.autograd.grad(first.square().sum(), given[1])
