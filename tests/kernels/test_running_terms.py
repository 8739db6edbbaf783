"""What the kernel notes of a fleet's losses is what PyTorch does on the CPU: sums, marks, failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from hackle.train.terms import Terms

pytestmark = pytest.mark.gpu

SIZES = (2, 1, 4)
"""The models of three blocks, whose methods log one, no and two terms beside the total."""


class Noted:
    """Blocks of models on a device and the state in which their terms are noted."""

    def __init__(self, device: str) -> None:
        ends = torch.tensor(SIZES).cumsum(0).tolist()
        blocks = [Rows(end - size, end) for size, end in zip(SIZES, ends, strict=True)]
        self.state = {
            "failed_at": torch.full((sum(SIZES),), -1, device=device),
            "step": torch.zeros((), dtype=torch.int64, device=device),
        }
        self.terms = Terms(self.state, blocks)  # type: ignore[arg-type]

    def note(self, losses: list[dict[str, Any]]) -> Tensor:
        alive = self.terms.note(0, losses)
        self.state["step"] += 1
        return alive.cpu()


class Rows(SimpleNamespace):
    def __init__(self, start: int, stop: int) -> None:
        super().__init__(rows=slice(start, stop))

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start


def losses(step: int, device: str) -> list[dict[str, Any]]:
    """At step 1 a term of model 0 and the total of model 4 are not finite, at step 2 another term of model 4."""
    generator = torch.Generator().manual_seed(step)
    drawn = [
        {"terms": {"kl": torch.randn(2, generator=generator)}, "total": torch.randn(2, generator=generator)},
        {"terms": {}, "total": torch.randn(1, generator=generator)},
        {
            "terms": {
                "each": torch.randn(4, 5, generator=generator),
                "grid": torch.randn(4, 2, 2, generator=generator),
            },
            "total": torch.randn(4, generator=generator),
        },
    ]
    if step == 1:
        drawn[0]["terms"]["kl"][0], drawn[2]["total"][1] = torch.nan, -torch.inf
    if step == 2:
        drawn[2]["terms"]["grid"][1, 0, 1] = torch.inf
    return [
        {"terms": {name: value.to(device) for name, value in of_block["terms"].items()}, "total": of_block["total"].to(device)}
        for of_block in drawn
    ]  # fmt: skip


def test_sums_marks_and_failures_are_those_of_the_cpu() -> None:
    here, there = Noted("cpu"), Noted("cuda")
    for step in range(4):
        assert torch.equal(here.note(losses(step, "cpu")), there.note(losses(step, "cuda")))
    assert here.state["failed_at"].tolist() == [1, -1, -1, -1, 1, -1, -1]
    assert here.state.keys() == there.state.keys()
    for name, value in here.state.items():
        found = there.state[name].cpu()
        assert found.dtype == value.dtype
        assert torch.equal(found.nan_to_num(7.0) if found.is_floating_point() else found,
                           value.nan_to_num(7.0) if value.is_floating_point() else value), name  # fmt: skip
    assert there.terms.broken(0) == ["kl"]
    assert there.terms.broken(4) == []
