"""Where each parameter of a network stands in the flat row that a fleet keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor, nn

from hackle.core.types import RunError
from hackle.nets.layers import Blocks, Down, Linear, Up

ROUNDING = (Linear, Blocks)
"""Layers that use their parameters in the dtype of their inputs. A fleet that computes in bfloat16 keeps these
parameters in bfloat16 too, written as the optimiser updates them, so that no step rounds them again."""
COPIED = (Down, Up)
"""Layers whose weights stay float32, so that their gradients are, while the products take a rounded copy, `rounded`."""


@dataclass(frozen=True)
class Layout:
    """The position of each parameter of one network in a flat row.

    Each starts at a multiple of 16 numbers, so that kernels can load it in wide words; the gaps hold zeros. `rounded` names
    the parameters that layers use in the dtype of their inputs, `copied` those of which they use a copy in it, `decayed`
    those that weight decay applies to: a layer's parameters that are called weights and have two axes or more, except a
    normalisation's.
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    rounded: frozenset[str]
    copied: frozenset[str]
    decayed: frozenset[str]

    @classmethod
    def of(cls, network: nn.Module) -> Layout:
        if held := [name for name, _ in network.named_buffers()]:
            raise RunError(
                f"the network holds buffers ({', '.join(held)}); expected none: they, such as the running averages of batch "
                "normalisation, would carry state from one batch to the next. Use layer normalisation, or "
                "hackle.nets.normalisation.BatchNorm; keep constants as plain numbers"
            )
        named = dict(network.named_parameters())
        rounding = [
            f"{prefix}.{name}".lstrip(".")
            for prefix, module in network.named_modules()
            if isinstance(module, ROUNDING)
            for name, _ in module.named_parameters(recurse=False)
        ]
        copied = {
            f"{prefix}.weight".lstrip(".") for prefix, part in network.named_modules() if isinstance(part, COPIED)
        }
        gains = {
            f"{prefix}.weight".lstrip(".") for prefix, part in network.named_modules() if isinstance(part, nn.LayerNorm)
        }
        decayed = {name for name, value in named.items() if name.endswith("weight") and value.dim() > 1} - gains
        return cls(
            tuple(named),
            tuple(value.shape for value in named.values()),
            frozenset(rounding),
            frozenset(copied & named.keys()),
            frozenset(decayed),
        )

    @property
    def starts(self) -> dict[str, int]:
        """The column at which each parameter begins."""
        lengths = [shape.numel() + -shape.numel() % 16 for shape in self.shapes]
        return dict(zip(self.names, accumulate([0, *lengths[:-1]]), strict=True))

    @property
    def width(self) -> int:
        """The length of a row."""
        return sum(shape.numel() + -shape.numel() % 16 for shape in self.shapes)

    def write(self, network: nn.Module, row: Tensor) -> None:
        """Put the parameters of a network like the layout's into a row of zeros."""
        for start, shape, value in zip(self.starts.values(), self.shapes, network.parameters(), strict=True):
            row[start : start + shape.numel()].unflatten(0, shape or (1,)).copy_(value.detach())

    def unflatten(self, rows: Tensor, rounded: Tensor | None = None) -> dict[str, Tensor]:
        """(m, p) to each parameter (m, *shape), or (p,) to each (*shape): views, of `rounded` where a layer rounds. Beside
        a parameter that is copied stands its copy."""
        parameters = {}
        for (name, start), shape in zip(self.starts.items(), self.shapes, strict=True):
            sources = {name: rounded if rounded is not None and name in self.rounded else rows}
            if rounded is not None and name in self.copied:
                sources[name.removesuffix("weight") + "rounded"] = rounded
            for key, source in sources.items():
                parameters[key] = source.narrow(-1, start, shape.numel()).unflatten(-1, shape or (1,))
        return parameters
