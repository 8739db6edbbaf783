"""The terms that a fleet's runs log: running sums of each, and which of them broke.

A row holds the terms of its run's method in their order, then the total, then zeros up to the width of the method with
the most: so it is the same whatever runs are beside it, but for the zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

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
        rows = []
        for block, of_block, width in zip(self._blocks, losses, widths, strict=True):
            given = (*of_block["terms"].values(), of_block["total"])
            columns = [value.detach().reshape(len(block), -1) for value in given]
            if width < max(widths):
                columns.append(columns[-1].new_zeros(len(block), max(widths) - width))
            rows.append(torch.cat(columns, dim=1))
        values = rows[0] if len(rows) == 1 else torch.cat(rows)
        failed_at = self._state["failed_at"]
        # Zero times a number that is not finite is NaN, which is unequal to zero.
        bad = (values * 0 != 0) & (failed_at < 0)[:, None]
        for kind, like in (("sum", values), ("broken", bad)):
            self._widen(f"{kind}/{position}", like)
        self._state[f"sum/{position}"] += values
        self._state[f"broken/{position}"] |= bad
        torch.where(bad.any(1), self._state["step"], failed_at, out=failed_at)
        return (failed_at < 0)[:, None]

    def _widen(self, name: str, like: Tensor) -> None:
        """Make room for as many columns as these values have. A checkpoint may come from a fleet of other methods, with more
        or fewer zeros at the end of each row."""
        before = self._state.get(name)
        if before is None or before.shape != like.shape:
            self._state[name] = torch.zeros_like(like)
            if before is not None:
                width = min(before.shape[1], like.shape[1])
                self._state[name][:, :width] = before[:, :width]

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
        found: list[dict[str, list[float] | float]] = [{} for _ in self._state["failed_at"]]
        for block, name, value in self._named("sum"):
            for row, mean in zip(found[block.rows], (value / count).tolist(), strict=True):
                row[name] = mean
        for position in self._shapes:
            self._state[f"sum/{position}"].zero_()
        self._state["averaged"].zero_()
        return found

    def broken(self, row: int) -> list[str]:
        """The terms that were not finite when a run failed."""
        return [
            name
            for block, name, marks in self._named("broken")
            if block.rows.start <= row < block.rows.stop and bool(marks[row - block.rows.start].any())
        ]
