"""What metrics see: the arrays of one representation, by their places in a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import hackle.metrics as metrics
from hackle.core.factors import FactorGrid
from hackle.core.types import Dataset
from hackle.scoring.encode import Codebook
from hackle.scoring.plan import Groups, Plan, rows_of
from hackle.scoring.protocol import Protocol
from hackle.train.model import Model


@dataclass
class Evaluation:
    """The arrays that metrics see: one representation of the images of one plan.

    discrete: which codes are class numbers. model and dataset serve the metrics that decode images.
    """

    grid: FactorGrid
    plan: Plan
    protocol: Protocol
    codebook: Codebook
    posterior: Codebook
    discrete: bool | tuple[bool, ...] = False
    correlation: float = 0.0
    seed: int = 0
    whole_mixture: bool = False
    model: Model | None = None
    dataset: Dataset | None = None

    @cached_property
    def codes(self) -> NDArray[np.float32]:
        return self.codebook.means(self.plan.train)

    @cached_property
    def factors(self) -> NDArray[np.int64]:
        return rows_of(self.grid, self.plan.train)

    @cached_property
    def test(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        return self.codebook.means(self.plan.test), rows_of(self.grid, self.plan.test)

    @cached_property
    def posteriors(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.posterior.means(self.plan.train), self.posterior.logvars(self.plan.train)

    @cached_property
    def factor_information(self) -> metrics.FactorInformation:
        return metrics.factor_information(*self.posteriors, self.factors, bins=self.protocol.posterior_bins)

    @cached_property
    def sampled_factor_information(self) -> metrics.FactorInformation:
        """The same informations by sampling (Do & Tran 2020, A.10 and A.11)."""
        return metrics.factor_information(
            *self.posteriors,
            self.factors,
            estimator="sampled",
            bins=self.protocol.posterior_bins,
            seed=self.seed,
            device=self.device,
        )

    @property
    def everything(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The posteriors of every image of the plan."""
        return self.posterior.means(self.posterior.index), self.posterior.logvars(self.posterior.index)

    @property
    def mixture(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """The posteriors that mixtures are made of where not those evaluated."""
        return self.everything if self.whole_mixture else None

    @property
    def device(self) -> torch.device | None:
        """Where heavy sums run: beside the model, if that is on an accelerator."""
        return self.model.device if self.model is not None and self.model.device.type != "cpu" else None

    def decoding(self, images: int = 1000) -> tuple[Model, NDArray[np.uint8]]:
        """The model and the first images of the test part."""
        assert self.model is not None
        assert self.dataset is not None
        return self.model, self.dataset.render(self.grid.rows(self.plan.test[:images]), seed=self.seed)

    def groups(self, groups: Groups | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Codes (g, size, c) of groups and the factor each holds."""
        assert groups is not None
        return self.codebook.means(groups.index), groups.held

    def differences(self, pairs: Groups | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Mean absolute difference (g, c) between the halves of pair groups and the factor each holds."""
        assert pairs is not None
        half = pairs.index.shape[1] // 2
        parts = [
            np.abs(self.codebook.means(block[:, :half]) - self.codebook.means(block[:, half:])).mean(axis=1)
            for block in np.array_split(pairs.index, max(1, len(pairs.index) // 500))
        ]
        return np.concatenate(parts), pairs.held

    def resampled(self, rng: np.random.Generator) -> Evaluation:
        """The same codes with every part of the plan drawn again from itself, with replacement."""

        def again(part: Any) -> Any:
            if part is None:
                return None
            if isinstance(part, Groups):
                chosen = rng.integers(len(part.held), size=len(part.held))
                return Groups(part.index[chosen], part.held[chosen])
            return part[rng.integers(len(part), size=len(part))]

        return replace(self, plan=Plan(*(again(part) for part in self.plan)))
