"""The terms that a fleet's runs log: running sums of each, and which of them broke.

A row holds the terms of its run's method in their order, then the total, then zeros up to the width of the method with
the most: so it is the same whatever runs are beside it, but for the zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from hackle.core.triton_shim import on_triton
from hackle.kernels import Term, note_terms
from hackle.train.blocks import Block


class Terms:
    """The terms of every phase, kept in a fleet's state as `sum/…` and `broken/…`."""

    def __init__(self, state: dict[str, Tensor], blocks: Sequence[Block]) -> None:
        self._state, self._blocks = state, blocks
        self._shapes: dict[int, list[dict[str, torch.Size]]] = {}

    def note(self, position: int, losses: Sequence[Mapping[str, Any]]) -> Tensor:
        """Add each block's terms to their running sums and freeze the runs whose loss is not finite. Returns which go on,
        (m, 1)."""
        self._shapes[position] = [
            {name: value.shape[1:] for name, value in of_block["terms"].items()} for of_block in losses
        ]
        widths = [1 + sum(shape.numel() for shape in shapes.values()) for shapes in self._shapes[position]]
        given = [
            [value.detach().reshape(len(block), -1) for value in (*of_block["terms"].values(), of_block["total"])]
            for block, of_block in zip(self._blocks, losses, strict=True)
        ]
        failed_at, width = self._state["failed_at"], max(widths)
        if on_triton(*(value for columns in given for value in columns), dtypes=(torch.float32,)):
            sums, broken = self._widened(position, width, torch.float32)
            terms = []
            for block, columns in zip(self._blocks, given, strict=True):
                starts = accumulate((value.shape[1] for value in columns[:-1]), initial=0)
                terms += [Term(value, block.rows, start) for value, start in zip(columns, starts, strict=True)]
            return note_terms(terms, sums, broken, failed_at, self._state["step"])
        rows = []
        for columns, own in zip(given, widths, strict=True):
            if own < width:
                columns.append(columns[-1].new_zeros(len(columns[-1]), width - own))
            rows.append(torch.cat(columns, dim=1))
        values = rows[0] if len(rows) == 1 else torch.cat(rows)
        # Zero times a number that is not finite is NaN, which is unequal to zero.
        bad = (values * 0 != 0) & (failed_at < 0)[:, None]
        sums, broken = self._widened(position, width, values.dtype)
        sums += values
        broken |= bad
        torch.where(bad.any(1), self._state["step"], failed_at, out=failed_at)
        return (failed_at < 0)[:, None]

    def _widened(self, position: int, width: int, dtype: torch.dtype) -> list[Tensor]:
        """The sums and marks of a phase, with room for so many columns. A checkpoint may come from a fleet of other methods,
        with more or fewer zeros at the end of each row."""
        failed_at = self._state["failed_at"]
        for kind, of_kind in (("sum", dtype), ("broken", torch.bool)):
            name = f"{kind}/{position}"
            before = self._state.get(name)
            if before is None or before.shape != (len(failed_at), width):
                self._state[name] = torch.zeros(len(failed_at), width, dtype=of_kind, device=failed_at.device)
                if before is not None:
                    kept = min(before.shape[1], width)
                    self._state[name][:, :kept] = before[:, :kept]
        return [self._state[f"{kind}/{position}"] for kind in ("sum", "broken")]

    def _named(self, kind: str) -> Iterator[tuple[Block, str, Tensor]]:
        """Each term of each block with its columns, shaped like the term, on the CPU."""
        for position, by_block in self._shapes.items():
            whole = self._state[f"{kind}/{position}"].cpu()
            for block, shapes in zip(self._blocks, by_block, strict=True):
                start = 0
                for name, shape in shapes.items():
                    piece = whole[block.rows, start : start + shape.numel()]
                    start += shape.numel()
                    yield block, name, piece.reshape(len(block), *shape)

    def averages(self) -> list[dict[str, list[float] | float]]:
        """Each run's mean terms since the last call; resets the sums."""
        count = max(1, int(self._state["averaged"]))
        averages: list[dict[str, list[float] | float]] = [{} for _ in self._state["failed_at"]]
        for block, name, value in self._named("sum"):
            for row, mean in zip(averages[block.rows], (value / count).tolist(), strict=True):
                row[name] = mean
        for position in self._shapes:
            self._state[f"sum/{position}"].zero_()
        self._state["averaged"].zero_()
        return averages

    def broken(self, row: int) -> list[str]:
        """The terms that were not finite when a run failed."""
        return [
            name
            for block, name, marks in self._named("broken")
            if block.rows.start <= row < block.rows.stop and bool(marks[row - block.rows.start].any())
        ]
