"""Convolution layers in a row. On CUDA, bias, leaky ReLU and its derivative are part of the kernels, which saves most
of the memory traffic; elsewhere `hackle.kernels.host_tower` does the same by PyTorch.

Written for the downward tower, with values x₀ … x_L, weights w_l and gates a_l, 1 or the slope by the sign of x_l:

    forward              x_l = leaky(down(x_{l−1}, w_l) + b_l)
    back                 g_L = a_L ⊙ ∂x_L,   g_{l−1} = a_{l−1} ⊙ up(g_l, w_l),   ∂x₀ = up(g₁, w₁),
                         ∂w_l = taps(x_{l−1}, g_l),   ∂b_l = Σ g_l over positions
    back through ∂x₀     t₀ is given,   t_l = a_l ⊙ down(t_{l−1}, w_l),   ∂w_l = taps(t_{l−1}, g_l),   ∂(∂x_L) = t_L

The third chain is for gradient penalties. A leaky ReLU has no second derivative, so with the gates fixed the second
chain is linear in its starting value and in each weight. On CUDA only a gradient in x₀ taken alone, as by
`torch.func.grad`, can be differentiated again. In the upward tower `up` and `down` are swapped.

Where `hackle.kernels.tiles` takes the two layers beside the images, both are one kernel in each chain. The downward tower then
keeps no x₁; where it is wanted after all, it is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.triton_shim import on_triton
from hackle.kernels import tiles, triton_convolution
from hackle.kernels.branch import Branch
from hackle.kernels.convolution import down_layer, through_leaky
from hackle.kernels.host_tower import HostTower
from hackle.kernels.mapping import Stackable
from hackle.kernels.triton_sums import add_all


@dataclass(frozen=True)
class _Kind:
    """A tower without its tensors: its direction and slopes."""

    upward: bool
    slopes: tuple[float, ...]

    @property
    def layers(self) -> int:
        return len(self.slopes)

    def split(self, tensors: Sequence[Tensor]) -> tuple[list[Tensor], Sequence[Tensor], Tensor]:
        """Images and every layer's output, the weights, which are the rounded ones where there are any, and the first bias."""
        return list(tensors[: self.layers + 1]), tensors[-self.layers :], tensors[self.layers + 1]

    def tiled(self, values: Sequence[Tensor], weights: Sequence[Tensor]) -> bool:
        """Whether the two layers beside the images are one kernel; values are images and outputs, or the tower's x₀ alone."""
        if self.layers < 2:
            return False
        beside, other = (weights[-1], weights[-2]) if self.upward else (weights[0], weights[1])
        side = 2**self.layers if self.upward else 1
        *_, height, width, _ = values[0].shape
        return tiles.take(values[0], (side * height, side * width, beside.shape[-2]), beside, other)

    def results(self, x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
        """The first chain: x and every layer's output. An output that is not kept is empty."""
        if not self.tiled((x,), weights):
            return self._one_by_one([x], weights, biases, self.slopes)
        if self.upward:
            results = self._one_by_one([x], weights[:-2], biases[:-2], self.slopes[:-2])
            ends = (weights[-2], biases[-2], weights[-1], biases[-1], *self.slopes[-2:])
            return [*results, *tiles.up_two(results[-1], *ends)]
        second = tiles.down_two(x, weights[0], biases[0], weights[1], biases[1], *self.slopes[:2])
        return self._one_by_one([x, x.new_empty(len(x), 0), second], weights[2:], biases[2:], self.slopes[2:])

    def _one_by_one(
        self, results: list[Tensor], weights: Sequence[Tensor], biases: Sequence[Tensor], slopes: Sequence[float]
    ) -> list[Tensor]:
        for weight, bias, slope in zip(weights, biases, slopes, strict=True):
            results.append(self.forward(results[-1], weight, bias, slope)[0])
        return results

    def whole(self, values: list[Tensor], weights: Sequence[Tensor], first_bias: Tensor) -> list[Tensor]:
        """Images and every layer's output, those computed again that were not kept."""
        if _is_not_kept(values[1]):
            values[1] = self.forward(values[0], weights[0], first_bias, self.slopes[0])[0]
        return values

    @property
    def forward(self) -> Any:
        return triton_convolution.up if self.upward else triton_convolution.down

    @property
    def back(self) -> Any:
        return triton_convolution.down if self.upward else triton_convolution.up

    def ends_at_images(self, values: Sequence[Tensor], needs_x: bool) -> bool:
        """Whether nothing but the first layer's own gradients is wanted of the gradient in its output."""
        return not self.upward and not needs_x and triton_convolution.takes_taps_along(values[0], values[1].shape[-1])

    def taps(self, before: Tensor, behind: Tensor) -> Tensor:
        """A layer's weight gradient from the values before the layer and after it, in parts."""
        return triton_convolution.taps_in_parts(*((behind, before) if self.upward else (before, behind)))


def _is_not_kept(value: Tensor) -> bool:
    """Whether a map is the empty stand-in of one; maps of no images are empty, too, but have all their axes."""
    return value.dim() < 4


def _alone(function: Any, kind: _Kind, *arguments: Any) -> tuple[Any, ...]:
    """Apply a function of stacks to one model."""
    answers = function(kind, *(value[None] if isinstance(value, Tensor) else value for value in arguments))
    return tuple(answer[0] for answer in answers)


class _Tower(Stackable):
    """Takes weights, biases and, if there are any, the weights rounded to the images' dtype. Returns every layer's output, the
    last one being the tower's, and, where the rounded weights are needed and not given, these: rounded once, not by every
    program that loads them."""

    @staticmethod
    def forward(kind: _Kind, x: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        if x.dim() == 4:
            return _alone(_Tower.forward, kind, x, *parameters)
        weights, biases, given = (parameters[kind.layers * part : kind.layers * (part + 1)] for part in range(3))
        used = given or [weight.to(x.dtype) for weight in weights]
        results = kind.results(x, used, biases)
        return *results[1:], *(() if given or x.dtype == weights[0].dtype else used)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.kind, x, *parameters = inputs
        layers = ctx.kind.layers
        results, made, given = output[:layers], output[layers:], parameters[2 * layers :]
        ctx.save_for_backward(x, *results, parameters[layers], *parameters[:layers], *made, *given)
        ctx.mark_non_differentiable(*results[:-1], *made)
        # Otherwise zeros would be allocated for missing gradients.
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        needs_x, *needs_parameters = ctx.needs_input_grad[1:]
        given = (grads[ctx.kind.layers - 1], *ctx.saved_tensors)
        if any(needs_parameters):
            gradients: Any = _AllGradients.apply(ctx.kind, needs_x, *given)
            rounded = [None] * (len(needs_parameters) - 2 * ctx.kind.layers)
            return None, *(gradients if needs_x else (None, *gradients)), *rounded
        grad, values, weights, first_bias = given[0], *ctx.kind.split(given[1:])
        if _is_not_kept(values[1]):
            values[1] = down_layer(values[0], weights[0], first_bias, ctx.kind.slopes[0]).detach()
        gradients = _ImageGradient.apply(ctx.kind, grad, *values, *given[ctx.kind.layers + 3 :])
        return None, gradients[0], *(None for _ in needs_parameters)


class _Parts(NamedTuple):
    """What the second chain finds: the gradient in the images, if requested, and those in weights and biases, from the first
    layer to the last, in parts (m, n, …) that are still to be added."""

    of_x: list[Tensor]
    of_weights: list[Tensor]
    of_biases: list[Tensor]


def _chain(
    kind: _Kind,
    needs_x: bool,
    grad: Tensor,
    values: list[Tensor],
    weights: Sequence[Tensor],
    first_bias: Tensor,
    beside: Branch,
) -> _Parts:
    """The second chain. Nothing in it waits for the gradients of weights, which are computed beside it."""
    of_weights, of_biases = [], []
    if needs_x:
        values = kind.whole(values, weights, first_bias)
    last = kind.layers - 1
    if kind.slopes[-1] != 1.0:
        grad, sums = triton_convolution.gated(grad, values[-1], kind.slopes[-1])
        of_biases.append(sums)
    if kind.upward and kind.tiled(values, weights):
        before = kind.slopes[-3] if kind.layers > 2 else 1.0
        ends = weights[-1], values[-2], weights[-2], values[-3], kind.slopes[-2], before
        grad, own, of_fine, between, of_wide, sums = tiles.up_two_back(grad, *ends)
        of_weights += [of_fine, of_wide]
        of_biases += [between] if of_biases else [own, between]
        if kind.layers == 2:
            return _Parts([grad] if needs_x else [], of_weights[::-1], of_biases[::-1])
        of_biases.append(sums)
        last -= 2
    for layer in range(last, 0, -1):
        slope, gate = kind.slopes[layer - 1], values[layer]
        if kind.upward and triton_convolution.takes_taps_along(grad, gate.shape[-1]):
            grad, own, sums, of_weight = triton_convolution.down_with_taps(grad, weights[layer], gate, slope)
            of_weights.append(of_weight)
            of_biases += [sums] if of_biases else [own, sums]
            continue
        if not of_biases:
            of_biases.append(grad.flatten(1, 3))
        if layer == 1 and _is_not_kept(gate):
            of_fine, of_bias, of_wide = tiles.down_two_back(values[0], weights[0], first_bias, weights[1], grad, slope)
            return _Parts([], [of_fine, of_wide, *reversed(of_weights)], [of_bias, *reversed(of_biases)])
        of_weights.append(beside(kind.taps, gate, grad))
        if layer == 1 and kind.ends_at_images(values, needs_x):
            sums, of_weight = triton_convolution.up_to_taps(grad, weights[1], gate, slope, values[0])
            return _Parts([], [of_weight, *reversed(of_weights)], [sums, *reversed(of_biases)])
        grad, sums = kind.back(grad, weights[layer], slope=slope, gate=gate)
        of_biases.append(sums)
    of_weights.append(beside(kind.taps, values[0], grad))
    of_x = [kind.back(grad, weights[0])[0]] if needs_x else []
    return _Parts(of_x, of_weights[::-1], of_biases[::-1] or [grad.flatten(1, 3)])


class _AllGradients(Stackable):
    """The second chain, from the last output's gradient, for images if requested, weights and biases. The kernel that
    computes g_l also sums it for the bias. Beside images of few channels, where maps are largest, it computes the image
    side's weight gradient as well, so that a map is read once for all or, before images that need no gradient, never stored."""

    @staticmethod
    def forward(kind: _Kind, needs_x: bool, grad: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        if grad.dim() == 4:
            return _alone(_AllGradients.forward, kind, needs_x, grad, *tensors)
        values, weights, first_bias = kind.split(tensors)
        with Branch(grad) as beside:
            parts = _chain(kind, needs_x, grad, values, weights, first_bias, beside)
        return *parts.of_x, *add_all([*parts.of_weights, *parts.of_biases])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "on CUDA the gradients of a tower's weights and biases cannot be differentiated again; only the gradient in its "
            "images can, when it is taken alone: use torch.func.grad with respect to the images"
        )


class _ImageGradient(Stackable):
    """The second chain for images alone. Returns ∂x₀ and, for the third chain, g₁ … g_L."""

    @staticmethod
    def forward(kind: _Kind, grad: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        if grad.dim() == 4:
            return _alone(_ImageGradient.forward, kind, grad, *tensors)
        values, weights = tensors[: kind.layers + 1], tensors[-kind.layers :]
        # A view, since an input may not be returned as it is.
        chain = [through_leaky(grad.view_as(grad), values[-1], kind.slopes[-1])]
        for layer in reversed(range(1, kind.layers)):
            slope, gate = kind.slopes[layer - 1], values[layer]
            chain.append(kind.back(chain[-1], weights[layer], slope=slope, gate=gate, sums=False)[0])
        return kind.back(chain[-1], weights[0])[0], *reversed(chain)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.kind, _, *tensors = inputs
        layers = ctx.kind.layers
        ctx.save_for_backward(*tensors[1 : layers + 1], *tensors[-layers:], *output[1:])
        ctx.rounded = len(tensors) - 1 - 2 * layers
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        layers = ctx.kind.layers
        given = (grads[0], *ctx.saved_tensors)
        gradients = _alone(_back_through, ctx.kind, *given) if grads[0].dim() == 4 else _back_through(ctx.kind, *given)
        return None, gradients[0], *[None] * (layers + 1), *gradients[1:], *[None] * ctx.rounded


def _back_through(kind: _Kind, t: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The third chain: t_L and the gradient in each weight."""
    results, weights, gradients = (tensors[kind.layers * part : kind.layers * (part + 1)] for part in range(3))
    of_weights = []
    for layer, slope in enumerate(kind.slopes):
        of_weights.append(kind.taps(t, gradients[layer]))
        t = kind.forward(t, weights[layer], slope=slope, gate=results[layer], sums=False)[0]
    return t, *add_all(of_weights)


def tower(
    x: Tensor,
    parameters: Sequence[tuple[Tensor, Tensor]],
    *,
    upward: bool,
    slope: float = 0.0,
    last_slope: float = 0.0,
    rounded: Sequence[Tensor] = (),
) -> Tensor:
    """Layers in a row, each a weight and a bias: `down_layer`s, or upward `up_layer`s. The last has its own slope.

    rounded: the weights in the images' dtype, if they are there already; gradients are those of the weights themselves."""
    slopes = (slope,) * (len(parameters) - 1) + (last_slope,)
    weights, biases = zip(*parameters, strict=True)
    if on_triton(x):
        return _Tower.apply(_Kind(upward, slopes), x, *weights, *biases, *rounded)[len(parameters) - 1]  # type: ignore[index]
    return HostTower.apply(upward, slopes, x, *weights, *biases)[-1]  # type: ignore[index]
