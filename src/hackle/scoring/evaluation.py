"""What metrics see of a model or of codes: the arrays of one representation for each part of a plan."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hackle.core.factors import FactorGrid, Kind, scored_factors
from hackle.core.method import about
from hackle.core.types import Dataset, Run
from hackle.information import (
    FactorInformation,
    PosteriorError,
    Quantised,
    bin_codes,
    discrete_mutual_information,
    factor_information,
)
from hackle.information.factor_information import information_of_bins
from hackle.information.posterior import Posteriors, label_factors
from hackle.information.quantised import Bins, bins_over, quantise
from hackle.metrics.checks import MetricError
from hackle.metrics.correlation import correlation_matrix, sampled_correlation_matrix
from hackle.metrics.dci import dci_importance
from hackle.metrics.likelihood import kl_divergence
from hackle.metrics.metric import Codes, Labels, Part, Posterior, Values
from hackle.metrics.mig import BinnedInformation, binned_information
from hackle.metrics.misjed import misjed_of_bins
from hackle.metrics.needs import Subject, numeric_factors
from hackle.scoring.encode import Codebook, PosteriorNoise, drawn
from hackle.scoring.plan import Groups, Plan, half_of, rows_of, values_of
from hackle.scoring.protocol import Protocol
from hackle.train.model import Model

T = TypeVar("T")
_PART = 1024
"""Images that are in memory at once where all of a data set are decoded."""


@dataclass
class EncodedPlan:
    """The `hackle.metrics.Evaluation` of the images of a plan: one representation of them, and their posteriors.

    discrete: which codes are class numbers. model, dataset: for the metrics that decode images. split: no image of the
    plan is used both for training and for testing. place: where heavy sums over codes without a model run.
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
    split: bool = False
    place: torch.device | None = None

    @property
    def subject(self) -> Subject:
        """What decides which metrics apply."""
        likelihood = self.model is not None and self.model.has_likelihood and not self.autoregressive
        left_out = self.plan.exposure is not None
        known = {"autoregressive": self.autoregressive, "discrete": bool(np.any(self.discrete))}
        codes = self.posterior.width
        return Subject(self.grid, self.protocol, codes, self.has_posteriors, likelihood, left_out, **known)

    @property
    def autoregressive(self) -> bool:
        """Whether the model's latents depend on each other given the image."""
        return self.model is not None and not about(self.model.run.method).independent_given_images

    @cached_property
    def codes(self) -> Codes:
        return self.codebook.means(self.plan.train)

    @cached_property
    def factors(self) -> Labels:
        return rows_of(self.grid, self.plan.train)

    @cached_property
    def test(self) -> tuple[Codes, Labels]:
        return self.codebook.means(self.plan.test), rows_of(self.grid, self.plan.test)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.grid.kinds[column] for column in scored_factors(self.grid))

    @cached_property
    def values(self) -> Values:
        return values_of(self.grid, self.plan.train)

    @cached_property
    def test_values(self) -> Values:
        return values_of(self.grid, self.plan.test)

    @property
    def has_posteriors(self) -> bool:
        return self.posterior.has_posterior and not self.autoregressive

    def _posteriors_of(self, index: NDArray[np.int64]) -> Posterior:
        """Means and logvars. Class numbers are spread evenly over the range that metrics of posteriors cut into bins, so
        that each class has a bin of its own."""
        means, logvars = self.posterior.means(index), self.posterior.logvars(index)
        low, high = Bins().bounds
        for code in np.flatnonzero(np.broadcast_to(self.discrete, means.shape[-1:])):
            levels = self.posterior.levels(int(code))
            place = (np.searchsorted(levels, means[..., code]) + 0.5) / len(levels)
            means[..., code] = low + (high - low) * place
        return means, logvars

    @cached_property
    def posteriors(self) -> Posterior:
        return self._posteriors_of(self.plan.train)

    @property
    def test_posteriors(self) -> Posterior:
        return self._posteriors_of(self.plan.test)

    @cached_property
    def _mixed(self) -> NDArray[np.int64]:
        """The images of q(z): all that were encoded, except those that serve interventions alone."""
        if self.plan.interventions is None:
            return self.posterior.index
        others = self.plan._replace(interventions=None).images
        return np.setdiff1d(self.posterior.index, np.setdiff1d(self.plan.interventions.index, others))

    @property
    def everything(self) -> Posterior:
        return self._posteriors_of(self._mixed)

    @property
    def coverage(self) -> float:
        return len(self._mixed) / self.grid.size

    @property
    def mixture(self) -> Posterior | None:
        return self.everything if self.whole_mixture else None

    @cached_property
    def _binned(self) -> tuple[BinnedInformation, list[warnings.WarningMessage]]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            bins = self.protocol.bins
            binned = binned_information(self.codes, self.factors, bins=bins, kinds="categorical", device=self.place)
        return binned, said

    @property
    def binned_information(self) -> BinnedInformation:
        return _noted(self._binned)

    @cached_property
    def _quantised(self) -> tuple[Quantised, list[warnings.WarningMessage]]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            points, chosen = Posteriors(*self.posteriors), self.protocol
            cut = bins_over([points], chosen.posterior_bins, chosen.posterior_bounds, chosen.posterior_rule)
            labels = label_factors(self.factors, len(points), cut.count, "categorical") if self.factors.size else None
            return quantise(points, cut, labels, self.device), said

    @property
    def quantised(self) -> Quantised:
        return _noted(self._quantised)

    @property
    def factor_information(self) -> FactorInformation:
        return information_of_bins(self.quantised)

    @cached_property
    def sampled_factor_information(self) -> FactorInformation:
        """The same mutual information by sampling (Do & Tran 2020, A.10 and A.11)."""
        return factor_information(
            *self.posteriors,
            self.factors,
            estimator="sampled",
            kinds="categorical",
            **self.protocol.quantisation,
            seed=self.seed,
            device=self.device,
        )

    @property
    def device(self) -> torch.device | None:
        return self.model.device if self.model is not None and self.model.device.type != "cpu" else None

    def decoding(
        self, images: int = 1000, of: Literal["test", "seen", "left_out"] = "test"
    ) -> tuple[Model, NDArray[np.uint8]]:
        assert self.model is not None
        assert self.dataset is not None
        index = self.plan.test if of == "test" else getattr(self.plan.exposure, of)
        return self.model, self.dataset.render(self.grid.rows(index[:images]), seed=self.seed)

    def every_image(self) -> Iterator[tuple[Model, NDArray[np.uint8]]]:
        assert self.model is not None
        assert self.dataset is not None
        images = self.dataset.images_on("cpu")
        for part in torch.arange(self.grid.size).split(_PART):
            yield self.model, drawn(images, part, self.seed).numpy()

    def exposed(self, part: Literal["train", "seen", "left_out"]) -> tuple[Codes, Values]:
        index = getattr(self.plan.exposure, part)
        return self.codebook.means(index), values_of(self.grid, index)

    @property
    def unseen(self) -> NDArray[np.bool_]:
        assert self.plan.exposure is not None
        assert self.plan.trained is not None
        classes = rows_of(self.grid, self.plan.exposure.left_out)
        return np.stack([~np.isin(*both) for both in zip(classes.T, self.plan.trained, strict=True)], axis=1)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        if not self.grid.complete:
            return values_of(self.grid, np.arange(self.grid.size)).var(axis=0)
        factors = [self.grid.factors[column] for column in scored_factors(self.grid)]
        return np.array([(f.numbers if f.kind == "continuous" else np.arange(f.size)).var() for f in factors])

    def groups(self, part: Part) -> tuple[Codes, Labels]:
        groups: Groups = getattr(self.plan, part)
        return self.codebook.means(groups.index), groups.held

    def differences(self, part: Part) -> tuple[Codes, Labels]:
        pairs: Groups = getattr(self.plan, part)
        half = pairs.index.shape[1] // 2
        parts = [
            np.abs(self.codebook.means(block[:, :half]) - self.codebook.means(block[:, half:])).mean(axis=1)
            for block in np.array_split(pairs.index, max(1, len(pairs.index) // 500))
        ]
        return np.concatenate(parts), pairs.held

    def sampled(self, noise: PosteriorNoise | None = None) -> EncodedPlan:
        """The same with a sample from each image's posterior as its code."""
        return replace(self, codebook=self.posterior.sampled(self.correlation, self.seed, self.discrete, noise))

    def shuffled(self) -> EncodedPlan:
        """The same with codes and posteriors permuted among the images."""
        return replace(self, codebook=self.codebook.shuffled(self.seed), posterior=self.posterior.shuffled(self.seed))

    def halved(self, rng: np.random.Generator) -> EncodedPlan:
        """The same codes on a random half of the plan."""
        return replace(self, plan=half_of(self.grid, self.plan, self.split, rng))

    def code_informations(self) -> dict[str, NDArray]:
        """What codes say about the data and about each factor, and how they are distributed, for figures.

        `mutual_information` (l, f): of each code's mean and each factor, with equal-width bins; `posterior_information` (l,
        f): the same of its posterior. `informativeness` (l,): I(x; z_i) of each code's posterior. `kl` (l,): the mean KL of
        each code's posterior to the prior. `marginals` (l, bins): the mass of q(z_i) in equal bins of [−4, 4], whatever the
        protocol's range is, so that figures can show them together. `misjed` (l, l): MISJED of pairs, normalised.
        `correlations` (2, l, l): of draws from the posteriors, and of their means. `importance` (l, f): DCI's, of protocols
        that take the Lasso, in which it is fast and factors may be left out.
        """
        arrays: dict[str, NDArray] = {}
        scored = bool(scored_factors(self.grid))
        if scored:
            binned = bin_codes(self.codes, self.protocol.bins)
            arrays["mutual_information"] = discrete_mutual_information(binned, self.factors)
            if self.protocol.dci_predictor == "lasso" and (kept := numeric_factors(self.grid, self.protocol)):
                # Codes and factors that DCI refuses are reported with its scores.
                with suppress(MetricError):
                    arrays["importance"] = dci_importance(self.codes, self.values[:, kept], predictor="lasso").matrix
        if self.has_posteriors:
            # Posteriors that are refused or lie beyond the bins are reported with the scores that they affect.
            with warnings.catch_warnings(), suppress(PosteriorError):
                warnings.simplefilter("ignore")
                arrays["kl"] = kl_divergence(*self.posteriors).per_code
                cut, quantised = Bins(self.protocol.posterior_bins), self.quantised
                if quantised.bins != cut:
                    quantised = quantise(Posteriors(*self.posteriors), cut, device=self.device)
                arrays["informativeness"] = quantised.information
                arrays["marginals"] = quantised.masses.astype(np.float32)
                arrays["misjed"] = misjed_of_bins(quantised, self.posteriors[0], normalised=True).astype(np.float32)
                drawn = sampled_correlation_matrix(*self.posteriors, correlation=self.correlation, seed=self.seed)
                arrays["correlations"] = np.stack([drawn, correlation_matrix(self.posteriors[0])]).astype(np.float32)
                if scored:
                    arrays["posterior_information"] = self.factor_information.information
        return arrays


def _noted(known: tuple[T, list[warnings.WarningMessage]]) -> T:
    """What has been computed once, with what was said of it then, which is noted beside each score."""
    result, said = known
    for one in said:
        warnings.warn(one.message, stacklevel=3)
    return result


def subject_of_run(run: Run, grid: FactorGrid | None, protocol: Protocol) -> Subject:
    """What is known about a run's model before it is loaded, from which metrics say whether they fit."""
    method = about(run.method)
    classes = method.discrete(run.method, run)
    dependent = not method.independent_given_images
    known = {"left_out": bool(run.drawing.left_out), "autoregressive": dependent, "discrete": any(classes)}
    return Subject(grid, protocol, len(classes), not dependent, method.has_likelihood and not dependent, **known)
