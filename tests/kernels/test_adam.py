"""Adam for stacks of models against PyTorch's, row by row."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from hackle.core.types import Adam
from hackle.kernels import Rows, adam_step

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SHAPES = {0: (4, 4, 3, 7), 336: (7,), 352: (33, 50)}
WIDTH = 352 + 1664
SETTINGS = [(3e-3, 0.7, 0.99, 1e-4), (1e-4, 0.9, 0.999, 1e-8)]


def stacked() -> Adam:
    columns = zip(*SETTINGS, strict=True)
    return Adam(*(torch.tensor(column)[:, None] for column in columns))  # type: ignore[arg-type]


def on(device: str, settings: Adam) -> Adam:
    fields: Any = (settings.learning_rate, settings.beta1, settings.beta2, settings.epsilon)
    return Adam(*(value.to(device) for value in fields))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_row_follows_pytorchs_adam(device: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(2, WIDTH, generator=generator)
    references = [weights[row].clone().requires_grad_() for row in range(2)]
    optimisers = [
        torch.optim.Adam([reference], lr=rate, betas=(beta1, beta2), eps=epsilon)
        for reference, (rate, beta1, beta2, epsilon) in zip(references, SETTINGS, strict=True)
    ]
    start = weights.to(device)
    rows = Rows(start.clone(), torch.zeros_like(start), torch.zeros_like(start), start.to(torch.bfloat16))
    updates = torch.zeros((), dtype=torch.int64, device=device)
    for _ in range(10):
        gradients = {at: torch.randn(2, *shape, generator=generator).to(dtype) for at, shape in SHAPES.items()}
        flat = torch.zeros(2, WIDTH)
        for at, gradient in gradients.items():
            flat[:, at : at + gradient[0].numel()] = gradient.flatten(1).float()
        alive = torch.ones(2, 1, dtype=torch.bool, device=device)
        given = [(at, gradient.to(device)) for at, gradient in gradients.items()]
        adam_step(rows, given, updates, on(device, stacked()), alive)
        for row in range(2):
            references[row].grad = flat[row]
            optimisers[row].step()
    for row in range(2):
        torch.testing.assert_close(rows.weights[row].cpu(), references[row].detach(), rtol=1e-5, atol=1e-6)
    assert rows.rounded is not None
    for at, shape in SHAPES.items():
        columns = slice(at, at + torch.Size(shape).numel())
        assert torch.equal(rows.rounded[:, columns], rows.weights[:, columns].to(torch.bfloat16))


@pytest.mark.parametrize("device", DEVICES)
def test_weights_decay_and_gradients_are_clipped_as_by_pytorchs_adamw_in_float64(device: str) -> None:
    """Each row has its own decay and limit, of which the second has none; of the parameters, only the marked ones decay."""
    decays, limits = (0.3, 0.0), (0.5, 0.0)
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(2, WIDTH, generator=generator)
    references: list[dict[int, torch.Tensor]] = []
    optimisers = []
    for row, (rate, beta1, beta2, epsilon) in enumerate(SETTINGS):
        flat = weights[row].double()
        parts = {at: flat[at : at + torch.Size(shape).numel()].clone() for at, shape in SHAPES.items()}
        groups = [{"params": [part], "weight_decay": decays[row] if at else 0.0} for at, part in parts.items()]
        optimisers.append(torch.optim.AdamW(groups, lr=rate, betas=(beta1, beta2), eps=epsilon))
        references.append(parts)
    start = weights.to(device)
    rows = Rows(start.clone(), torch.zeros_like(start), torch.zeros_like(start), start.to(torch.bfloat16))
    settings: Any = on(device, stacked())
    for name, values in (("weight_decay", decays), ("clip_value", limits)):
        object.__setattr__(settings, name, torch.tensor(values, device=device)[:, None])
    updates = torch.zeros((), dtype=torch.int64, device=device)
    alive = torch.ones(2, 1, dtype=torch.bool, device=device)
    for _ in range(10):
        gradients = {at: torch.randn(2, *shape, generator=generator) for at, shape in SHAPES.items()}
        given = [(at, gradient.to(device)) for at, gradient in gradients.items()]
        adam_step(rows, given, updates, settings, alive, limited=True, decayed={336, 352})
        for row, parts in enumerate(references):
            for at, part in parts.items():
                part.grad = gradients[at][row].flatten().double()
            if limits[row]:
                torch.nn.utils.clip_grad_value_(parts.values(), limits[row])
            optimisers[row].step()
    for row, parts in enumerate(references):
        for at, part in parts.items():
            columns = slice(at, at + len(part))
            torch.testing.assert_close(rows.weights[row, columns].cpu().double(), part, rtol=1e-5, atol=1e-6)
            assert rows.rounded is not None
            assert torch.equal(rows.rounded[row, columns], rows.weights[row, columns].to(torch.bfloat16))


@pytest.mark.parametrize("device", DEVICES)
def test_a_row_that_is_not_alive_keeps_its_weights_whatever_its_gradient(device: str) -> None:
    start = torch.randn(2, 64, generator=torch.Generator().manual_seed(1)).to(device)
    rows = Rows(start.clone(), torch.zeros_like(start), torch.zeros_like(start))
    gradient = torch.full((2, 64), torch.nan, device=device)
    gradient[1] = 1.0
    alive = torch.tensor([[False], [True]], device=device)
    settings: Any = on(device, stacked())
    object.__setattr__(settings, "weight_decay", torch.full((2, 1), 0.5, device=device))
    adam_step(rows, [(0, gradient)], torch.zeros((), dtype=torch.int64, device=device), settings, alive, decayed={0})
    assert torch.equal(rows.weights[0], start[0])
    assert not torch.equal(rows.weights[1], start[1])


@pytest.mark.parametrize("device", DEVICES)
def test_many_parameters_are_updated_as_one_at_a_time_and_gaps_stay_zero(device: str) -> None:
    """More than one launch takes, of all widths, in both dtypes and some at odd addresses; alone and stacked."""
    generator = torch.Generator().manual_seed(3)
    widths = [*range(1, 36), 1000, 4096, 5000]
    starts = [0]
    for width in widths:
        starts.append(starts[-1] + width + -width % 16)
    start = torch.zeros(2, starts[-1])
    given: list[tuple[int, Tensor]] = []
    for number, (at, width) in enumerate(zip(starts, widths, strict=False)):
        start[:, at : at + width] = torch.randn(2, width, generator=generator)
        gradient = torch.randn(2, width, generator=generator).to(device, [torch.float32, torch.bfloat16][number % 2])
        if number % 5 == 0:
            gradient = torch.cat([gradient.new_zeros(1), gradient.flatten()])[1:].view(2, width)
        given.append((at, gradient))

    def updated(chosen: slice, calls: list[list[tuple[int, Tensor]]]) -> list[Tensor]:
        own: Any = on(device, stacked())
        settings = Adam(*(value[chosen] for value in (own.learning_rate, own.beta1, own.beta2, own.epsilon)))
        first = start[chosen].to(device)
        rows = Rows(first.clone(), torch.zeros_like(first), torch.zeros_like(first), first.to(torch.bfloat16))
        for call in calls:
            updates = torch.full((), 4, dtype=torch.int64, device=device)
            alive = torch.ones(len(first), 1, dtype=torch.bool, device=device)
            adam_step(rows, [(at, gradient[chosen]) for at, gradient in call], updates, settings, alive)
            assert updates == 5
        return [value.cpu() for value in rows if value is not None]

    together = updated(slice(None), [given])
    one_by_one = updated(slice(None), [[each] for each in given])
    alone = updated(slice(1, 2), [given])
    for whole, single, own in zip(together, one_by_one, alone, strict=True):
        assert torch.equal(whole, single)
        assert torch.equal(whole[1:], own)
    for at, width, end in zip(starts, widths, starts[1:], strict=False):
        assert together[0][:, at : at + width].ne(start[:, at : at + width]).any()
        assert all(value[:, at + width : end].count_nonzero() == 0 for value in together)


def test_off_cuda_a_row_has_the_same_bits_alone_and_in_a_stack_and_columns_without_gradient_stay() -> None:
    shapes = {
        0: (5,),
        16: (7, 3),
        64: (20, 30),
        672: (1,),
    }  # Columns 48 to 63 belong to a parameter that does not train.
    generator = torch.Generator().manual_seed(2)
    start = torch.randn(2, 688, generator=generator)
    gradients = [(at, torch.randn(2, *shape, generator=generator)) for at, shape in shapes.items()]

    def updated(chosen: slice) -> Tensor:
        """Weights and moments of some of the rows after three updates."""
        own: Any = stacked()
        settings = Adam(*(value[chosen] for value in (own.learning_rate, own.beta1, own.beta2, own.epsilon)))
        rows = Rows(start[chosen].clone(), torch.ones_like(start[chosen]), torch.ones_like(start[chosen]))
        given = [(at, gradient[chosen]) for at, gradient in gradients]
        updates = torch.tensor(0)
        for _ in range(3):
            alive = torch.ones(len(start[chosen]), 1, dtype=torch.bool)
            adam_step(rows, given, updates, settings, alive, decayed={64})
        assert updates == 3
        return torch.stack(rows[:3])

    together = updated(slice(None))
    assert torch.equal(together[1:, :, 48:64], torch.ones(2, 2, 16))
    assert torch.equal(together, torch.cat([updated(slice(0, 1)), updated(slice(1, 2))], dim=1))
