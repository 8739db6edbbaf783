"""What a fleet's models see in a step: images, and their partners and labels where a run has them.

Every draw is a function of a run's seed and of the step, through `Stream`: the same alone and in any stack. Without a
regime (`hackle.core.regimes`) images are drawn uniformly from all, or from those that a run does not hold out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.allocator import available_memory
from hackle.core.factors import FactorGrid, scored_factors
from hackle.core.files import human_size
from hackle.core.method import about
from hackle.core.randomness import Stream
from hackle.core.regimes import RegimeError, check_pairs, labelled_images, row_weights, training_rows
from hackle.core.types import Images, Phase, Run
from hackle.train.held_out import check_held_out, remaining
from hackle.train.partner_lists import Listed
from hackle.train.partners import MOST_CELLS, MOST_VALUES, SCALE, Complete, Cube, below, uniform

_TRIAL = 2_000
"""Pairs that are drawn before training, to see which factors change in them."""


def regime_of(run: Run) -> str:
    """The first field of a run that needs the factors of its images; "" if none does."""
    names = {
        "drawing.correlated": run.drawing.correlated,
        "drawing.left_out": run.drawing.left_out,
        "pairs.rule": "" if run.pairs.rule == "none" else run.pairs.rule,
        "labels.images": run.labels.images,
    }
    return next((f"{name} is {value!r}" for name, value in names.items() if value), "")


def check_data(run: Run, grid: FactorGrid) -> None:
    """Refuse a run that cannot be trained on images of these factors, before anything is written."""
    size, labels, told = len(grid), 0, {}
    if run.drawing.left_out:
        size = int(training_rows(grid, run.drawing.left_out).sum())
    if run.drawing.correlated:
        row_weights(grid, run.drawing)
    if run.labels.images:
        labelled = labelled_images(grid, run.labels, run.drawing.left_out)
        told["labels"], labels = len(labelled.sizes), len(labelled.index)
    if run.held_out:
        check_held_out(run.held_out, size, labels)
    if run.pairs.rule != "none":
        told["pairs"] = len(check_pairs(grid, run.pairs))
        _warn_of_still_factors(run, grid)
    if (count := told.get(about(run.method).supervision)) is not None:
        about(run.method).check_factors(run.method, run, count)


def _warn_of_still_factors(run: Run, grid: FactorGrid) -> None:
    """Draw some pairs, or refuse to; warn of factors that change in none of them, since no two images share the others."""
    law, partners = _law([run], grid, None, torch.device("cpu"))
    if law is None or partners is None:
        return
    stream, columns = Stream.of([run.seed], purpose="trial"), scored_factors(grid)
    index = law.draw(stream, _TRIAL)
    first, second = (grid.rows(each[0].numpy()) for each in (index, partners.draw(stream, index)[0]))
    able = [column for column in columns if run.pairs.rule != "laplace" or grid.kinds[column] != "categorical"]
    same = first == second
    still = [grid.names[column] for column in able if same[:, column].all() and np.ptp(first[:, column])]
    if still:
        share = same[:, list(columns)].all(axis=1).mean()
        alike = f", and in {share:.0%} of them nothing did" if share > 0 else ""
        many = [factor.name for factor in grid.factors if factor.kind == "continuous" and factor.name not in still]
        hint = f"; give {', '.join(many)} few values, such as rounded ones, if pairs are to share them" if many else ""
        warnings.warn(
            f"in {_TRIAL:,} pairs drawn as a trial {', '.join(still)} never changed{alike}, "
            f"since no two images share the values of enough other factors{hint}",
            stacklevel=2,
        )


class Kept:
    """The images of some flat indices: index i is the i-th of them."""

    def __init__(self, images: Images, index: Tensor) -> None:
        self._images, self.index = images, index
        self.on_host = getattr(images, "on_host", False)

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        return self._images(self.index[index], stream)


class Sampler:
    """Draws the batches of runs that stack. `images` and `data_size` are what they train on: index i is its i-th image."""

    def __init__(self, runs: Sequence[Run], images: Images, factors: FactorGrid | int, device: torch.device) -> None:
        run, self._whole = runs[0], images
        self._batch, self.images = run.batch_size, images
        self._labels: _Labels | None = None
        self._first: _Weighted | None = None
        self._partners: Complete | Listed | None = None
        if isinstance(factors, int):
            if asks := regime_of(run):
                raise RegimeError(f"{asks}, and the factors of these images are not known; give the fleet their grid")
            self.data_size, kept, labelled = factors, None, np.zeros(0, np.int64)
        else:
            kept = np.flatnonzero(training_rows(factors, run.drawing.left_out)) if run.drawing.left_out else None
            self.data_size = len(factors) if kept is None else len(kept)
            self._labels = _Labels(runs, images, factors, device) if run.labels.images else None
            labelled = np.zeros(0, np.int64) if self._labels is None else self._labels.index
        if kept is not None:
            self.images = Kept(images, torch.from_numpy(kept).to(device))
        held = None
        if run.held_out:
            beside = torch.from_numpy(labelled if kept is None else np.searchsorted(kept, labelled)).to(device)
            self.images = remaining(self.images, runs, self.data_size, device, beside)
            held = self.images.held.cpu().numpy() if kept is None else kept[self.images.held.cpu().numpy()]
            self.data_size -= run.held_out
        if not isinstance(factors, int):
            self._first, self._partners = _law(runs, factors, held, device)

    @property
    def label_sizes(self) -> tuple[int, ...]:
        """The number of classes of each labelled factor; empty without labels."""
        return () if self._labels is None else self._labels.sizes

    def batch(self, stream: Stream, phase: Phase) -> dict[str, Tensor]:
        """What a phase's loss sees, by the name that it has in `Step`; each (m, b, …)."""
        if not phase.needs_images:
            return {"images": torch.empty((len(stream.seeds), 0), device=stream.seeds.device)}
        if self._first is None:
            index = stream.integers("index", (self._batch,), self.data_size)
            seen = {"images": self.images(index, stream)}
        else:
            index = self._first.draw(stream, self._batch)
            seen = {"images": self._whole(index, stream)}
        if not phase.needs_supervision:
            return seen
        if self._partners is not None:
            # Images that are random themselves get noise of their own.
            apart = replace(stream, purpose=f"{stream.purpose}/partners")
            second, seen["changed"] = self._partners.draw(apart, index)
            seen["partners"] = self._whole(second, apart)
        if self._labels is not None:
            apart = replace(stream, purpose=f"{stream.purpose}/labelled")
            seen["labelled"], seen["labels"] = self._labels.draw(apart, self._batch)
        return seen


def _law(
    runs: Sequence[Run], grid: FactorGrid, held: NDArray[np.int64] | None, device: torch.device
) -> tuple[_Weighted | None, Complete | Listed | None]:
    """How first images and their partners are drawn; None where images are drawn uniformly, or have no partners.

    held: flat indices of the images that each run holds out, (m, h)."""
    run = runs[0]
    pairs, rates = run.pairs, [each.pairs.rate for each in runs]
    if pairs.rule == "none" and not run.drawing.correlated:
        return None, None
    if grid.complete and not run.drawing.correlated and not run.drawing.left_out and held is None:
        return None, Complete(pairs, grid, rates, device)
    # Runs that draw by the same weights share a table of them.
    keys = [(each.drawing.sigma, 0 if held is None else each.seed) for each in runs]
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    table = torch.tensor([number[key] for key in keys], device=device)

    weights_of = cache(lambda drawing: row_weights(grid, drawing))

    def tables() -> Iterator[NDArray[np.int64]]:
        for key in number:
            row = keys.index(key)
            weights = weights_of(runs[row].drawing).copy()
            if held is not None:
                weights[held[row]] = 0
            yield np.round(weights / weights.sum() * SCALE).astype(np.int64)

    if pairs.rule == "none":
        return _Weighted(list(tables()), table, device), None
    many = max(grid.sizes) > MOST_VALUES and pairs.rule != "laplace"
    if math.prod(size + 1 for size in grid.sizes) <= MOST_CELLS and not many:
        partners: Cube | Listed = Cube(pairs, grid, rates, tables(), table, device)
    else:
        partners = Listed(pairs, grid, tables(), table, device)
    return _Weighted(partners.firsts, table, device), partners


class _Weighted:
    """Draws images by weights: whole numbers (n,) of each table, of which each model has one."""

    def __init__(self, tables: Sequence[NDArray[np.int64]], table: Tensor, device: torch.device) -> None:
        sums = np.cumsum(np.concatenate(tables))
        edges = np.concatenate([[0], sums[len(tables[0]) - 1 :: len(tables[0])]])
        self._sums, bounds = torch.from_numpy(sums).to(device), torch.from_numpy(edges).to(device)
        self._low, self._total = bounds[table][:, None], (bounds[table + 1] - bounds[table])[:, None]
        self._before = (table * len(tables[0]))[:, None]

    def draw(self, stream: Stream, batch: int) -> Tensor:
        """Flat indices (m, b)."""
        target = self._low + below(uniform(stream, "index", batch), self._total)
        return torch.searchsorted(self._sums, target, right=True) - self._before


def _fitting(images: Images, chosen: Tensor, stream: Stream) -> Tensor:
    """The images of these flat indices, refused before they are made if they do not fit into memory."""
    # One image tells the size of all; its noise, if it has any, is its own.
    whole = 2 * len(chosen) * images(chosen[None, :1], Stream(stream.seeds, stream.step, "size")).numel()
    if chosen.device.type == "cpu" and whole > available_memory():
        raise RegimeError(
            f"labels.images is too large: to make the {len(chosen):,} labelled images that train takes {human_size(whole)} of "
            f"memory, and {human_size(available_memory())} are free; label fewer"
        )
    return images(chosen[None], stream)[0]


class _Labels:
    """The labelled images on a device: fixed ones, the same for all runs, of which each run draws with replacement."""

    def __init__(self, runs: Sequence[Run], images: Images, grid: FactorGrid, device: torch.device) -> None:
        # The share of noisy labels stacks; whatever it is, the images are the same.
        left_out = runs[0].drawing.left_out
        known = {labels: labelled_images(grid, labels, left_out) for labels in {run.labels for run in runs}}
        labelled = [known[run.labels] for run in runs]
        self.sizes, self.index, seed = labelled[0].sizes, labelled[0].index, runs[0].labels.seed
        count = labelled[0].training
        chosen = torch.from_numpy(self.index[:count]).to(device)
        self._images = _fitting(images, chosen, Stream.of([seed], purpose="labelled", device=device))
        self._classes = torch.from_numpy(np.stack([each.classes[:count] for each in labelled])).to(device)
        self._model = torch.arange(len(runs), device=device)[:, None]

    def draw(self, stream: Stream, batch: int) -> tuple[Tensor, Tensor]:
        """Images (m, b, h, w, c) and labels (m, b, f)."""
        chosen = stream.integers("index", (batch,), len(self._images))
        return self._images[chosen], self._classes[self._model, chosen]
