"""What a fleet's models see in a step: images, and their partners and labels where a run has them.

Every draw is a function of a run's seed and of the step, through `Stream`: the same alone and in any stack.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.randomness import Stream
from hackle.core.regimes import Labels, Pairs, RegimeError, labelled_images
from hackle.core.types import Images, Phase, Run
from hackle.train.held_out import remaining


class Sampler:
    """Draws the batches of runs that stack. `images` and `data_size` are what they train on: index i is its i-th image."""

    def __init__(self, runs: Sequence[Run], images: Images, factors: FactorGrid | int, device: torch.device) -> None:
        run = runs[0]
        size = factors if isinstance(factors, int) else len(factors)
        self._batch = run.batch_size
        self.images, self.data_size = images, size - run.held_out
        if run.held_out:
            self.images = remaining(images, runs, size, device)
        grid = None if isinstance(factors, int) else factors
        if run.pairs.rule != "none" and run.held_out:
            raise RegimeError("pairs and held_out are not drawn together; leave held_out at 0")
        self._pairs = _Complete(run.pairs, _known(grid, "pairs"), device) if run.pairs.rule != "none" else None
        self._labels = _Labelled(run.labels, images, _known(grid, "labels"), device) if run.labels.images else None

    @property
    def label_sizes(self) -> tuple[int, ...]:
        """The number of classes of each labelled factor; empty without labels."""
        return () if self._labels is None else self._labels.sizes

    def batch(self, stream: Stream, phase: Phase) -> dict[str, Tensor]:
        """What a phase's loss sees, by the name that it has in `Step`; each (m, b, …)."""
        if not phase.needs_images:
            return {"images": torch.empty((len(stream.seeds), 0), device=stream.seeds.device)}
        index = stream.integers("index", (self._batch,), self.data_size)
        seen = {"images": self.images(index, stream)}
        if not phase.needs_supervision:
            return seen
        if self._pairs is not None:
            apart = Stream(stream.seeds, stream.step, f"{stream.purpose}/partners")
            second, seen["changed"] = self._pairs.draw(apart, index)
            seen["partners"] = self.images(second, apart)
        if self._labels is not None:
            seen["labelled"], seen["labels"] = self._labels.draw(stream, self._batch)
        return seen


def _known(grid: FactorGrid | None, what: str) -> FactorGrid:
    if grid is None:
        raise RegimeError(f"{what} are drawn by factors, and of these images none are known; give the fleet their grid")
    return grid


class _Complete:
    """Partners in a complete grid whose rows are all equally likely: arithmetic on the values of factors."""

    def __init__(self, pairs: Pairs, grid: FactorGrid, device: torch.device) -> None:
        self._pairs, self._scored = pairs, torch.tensor(scored_factors(grid), device=device)
        self._sizes = torch.tensor(grid.sizes, device=device)
        self._strides = torch.tensor(grid.index(torch.eye(len(grid.sizes), dtype=torch.int64).numpy()), device=device)

    def draw(self, stream: Stream, index: Tensor) -> tuple[Tensor, Tensor]:
        """Flat indices of the second images (m, b), and which scored factors may have changed (m, b, f)."""
        allowed = allowed_to_change(stream, self._pairs, index.shape[1], len(self._scored))
        values = index[..., None] // self._strides % self._sizes
        words = stream.words("values", values[0].numel()).view(values.shape)
        fresh = words * self._sizes >> 32
        if self._pairs.rule == "differ":
            others = (values + 1 + (words * (self._sizes - 1) >> 32)) % self._sizes
            fresh[..., self._scored] = others[..., self._scored]
        redrawn = torch.ones_like(values, dtype=torch.bool)
        redrawn[..., self._scored] = allowed
        return (torch.where(redrawn, fresh, values) * self._strides).sum(-1), allowed


def allowed_to_change(stream: Stream, pairs: Pairs, batch: int, factors: int) -> Tensor:
    """Which of so many factors may change in each pair, bool (m, b, f): a random set of k."""
    count = torch.full((len(stream.seeds), batch), pairs.changed, device=stream.seeds.device)
    if not pairs.changed:
        count = 1 + stream.integers("count", (batch,), factors - 1)
    if pairs.rule == "lib":
        count = torch.where(stream.integers("one", (batch,), 2) == 0, 1, count)
    order = torch.argsort(stream.words("factors", batch * factors).view(*count.shape, factors), dim=-1, stable=True)
    return order.argsort(dim=-1) < count[..., None]


class _Labelled:
    """The labelled images on a device: fixed ones, of which each run draws with replacement."""

    def __init__(self, labels: Labels, images: Images, grid: FactorGrid, device: torch.device) -> None:
        found = labelled_images(grid, labels)
        self.sizes = found.sizes
        index = torch.from_numpy(found.index[: found.training]).to(device)
        self._images = images(index[None], Stream.of([labels.seed], purpose="labelled", device=device))[0]
        self._classes = torch.from_numpy(found.classes[: found.training]).to(device)

    def draw(self, stream: Stream, batch: int) -> tuple[Tensor, Tensor]:
        """Images (m, b, h, w, c) and labels (m, b, f)."""
        chosen = stream.integers("labelled", (batch,), len(self._classes))
        return self._images[chosen], self._classes[chosen]
