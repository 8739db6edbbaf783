"""The rows of a fleet in blocks: neighbouring runs of one kind, whose losses are one computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from hackle.core.records import float_fields, with_fields
from hackle.core.types import Phase, Run
from hackle.train.errors import MethodError
from hackle.train.grouping import kind_key, stacking_key
from hackle.train.method_errors import check_phases


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring rows of a fleet whose runs are of one kind. `fields`: their float fields, each (k,)."""

    rows: slice
    runs: tuple[Run, ...]
    phases: tuple[Phase, ...]
    fields: dict[str, Tensor]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def template(self) -> Run:
        """The record that all of them share, but for seeds and float fields."""
        return self.runs[0]


def blocks_of(runs: Sequence[Run], device: torch.device) -> tuple[Block, ...]:
    """The blocks of runs that stack, in the order of the runs."""
    blocks: list[Block] = []
    for _, alike in groupby(runs, kind_key):
        members, start = tuple(alike), sum(map(len, blocks))
        rows = slice(start, start + len(members))
        blocks.append(Block(rows, members, check_phases(members[0]), stacked_fields(members, device)))
    if len({stacking_key(block.template) for block in blocks}) != 1:
        raise ValueError(
            "these runs do not stack: they differ in more than seeds, float fields and the losses of methods that share the "
            "rest; use group(runs)"
        )
    return tuple(blocks)


def stacked_fields(records: Sequence[Any], device: torch.device) -> dict[str, Tensor]:
    """The float fields of records of one class by path, each (m,)."""
    values = [float_fields(record) for record in records]
    return {
        path: torch.tensor([each[path] for each in values], dtype=torch.float32, device=device) for path in values[0]
    }


def stacked(records: Sequence[Any], device: torch.device) -> Any:
    """The first of these records with every float field replaced by the values of all, (m, 1)."""
    return with_fields(records[0], {path: value[:, None] for path, value in stacked_fields(records, device).items()})


def parted(tensors: Any, blocks: Sequence[Block]) -> list[Any]:
    """Each block's part of tensors that all rows share, (m, …) each.

    A part is a tensor of its own also where there is one block, so that the gradients that a loss adds up are added in the
    same order, and give the same bits, beside other methods and without.
    """
    leaves, form = tree_flatten(tensors)
    sizes = [len(block) for block in blocks]
    parts = [leaf.split(sizes) if len(blocks) > 1 else (leaf.view_as(leaf),) for leaf in leaves]
    return [tree_unflatten(list(mine), form) for mine in zip(*parts, strict=True)]


class UnseenMethod:
    """Stands in for a run's method where several methods share a computation."""

    def __init__(self, phase: Phase) -> None:
        vars(self)["_phase"] = phase.name

    def __getattr__(self, name: str) -> Any:
        raise MethodError(
            f"the shared part of the phase {self._phase} asks for run.method.{name}; expected nothing of the method, since "
            "runs of several methods share this part: use it in the loss"
        )
