"""The runs that reasons are drawn from: of a study, of a setting, and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.claims.measures import without_noise
from hackle.claims.view import View
from hackle.figures.words import FACTORS, listing
from hackle.metrics import agreement
from hackle.metrics.mig import top_two_gap
from hackle.store.tables import Tables

STUDY, DATA, COLOUR, NOISE, ROOMS = "locatello2019", "dsprites", "color-dsprites", "noisy-dsprites", "rooms3d"
Reason = tuple[bool, tuple[str, ...], str]
"""Whether the table bears it out, the claims and figures that it explains, and the sentence."""


def runs_of(tables: Tables, study: str) -> Any:
    """The finished runs of a study on dSprites with the usual networks, by hash."""
    runs: Any = tables.runs
    runs = runs[runs["study"].eq(study) & runs["dataset"].eq(DATA) & runs["status"].eq("done")]
    return runs[runs["architecture"].eq("convolutional")].set_index("run")


def stored(tables: Tables, runs: Any, metric: str, protocol: str) -> Any:
    """A score of each run under a protocol."""
    scores: Any = tables.scores
    scores = scores[scores["metric"].eq(metric) & scores["protocol"].eq(protocol) & scores["run"].isin(runs.index)]
    return scores.groupby(scores["run"].astype(str))["score"].mean().reindex(runs.index)


def of_factors(tables: Tables, runs: Any, metric: str, protocol: str) -> Any:
    """What a metric gives each factor, or code (columns), of each run (rows)."""
    rows: Any = tables.per_factor(metric)
    rows = rows[rows["protocol"].eq(protocol) & rows["run"].isin(runs.index)]
    table = rows.groupby([rows["run"].astype(str), rows["factor"].astype(str)])["score"].mean().unstack()
    return table.reindex(runs.index)


def offset(codes: NDArray[Any]) -> float:
    """What the KL divergence to the prior has from the means of the codes (n, c) over all images, Σ_j (mean of μ_j)² / 2: it
    tells nothing of an image. The rest is that of codes shifted to a mean of 0.

    >>> offset(np.array([[1.0, 3.0], [1.0, 1.0]]))
    2.5
    """
    return float((np.asarray(codes, float).mean(axis=0) ** 2).sum() / 2)


def numbers(values: Iterable[float], digits: int = 2) -> str:
    """Numbers as one phrase.

    >>> numbers([0.123, 4.5, 6])
    '0.12, 4.50 and 6.00'
    """
    return listing(f"{value:.{digits}f}" for value in values)


class Sweep:
    """A study's own runs on a data set, as claims take them: means of a setting, and agreement of scores over models."""

    def __init__(self, tables: Tables, dataset: str = DATA, study: str = STUDY) -> None:
        self.dataset = dataset
        data = View(tables).of(study)
        every: Any = tables.runs.drop_duplicates("run").set_index("run").loc[data.runs.index[data.own]]
        every = every[every["dataset"].eq(dataset)]
        # β-TCVAE with β = 1 is the β-VAE with β = 1, which counts once.
        self.runs: Any = every[~(every["method"].eq("beta-tcvae") & every["strength"].eq(1.0))]
        scores: Any = tables.scores
        scores = scores[scores["run"].isin(every.index) & scores["protocol"].eq(data.protocol)]
        scores = scores[scores["representation"].ne("sampled")]
        table: Any = scores.pivot_table("score", "run", "metric", observed=True).reindex(every.index)
        self.scores: Any = table.reindex(self.runs.index)
        self._by_method = {str(name): table.loc[part.index] for name, part in every.groupby("method", observed=True)}
        self._tables = tables

    def of(self, method: str, strength: float) -> Any:
        """The runs of a setting, by their hashes."""
        return self.runs.index[self.runs["method"].eq(method) & self.runs["strength"].eq(strength)]

    def gaps(self, method: str, strength: float) -> Any:
        """By factor, the gap between the two codes that say most about it, as a share of its entropy; mean over runs."""
        names, sizes = zip(*FACTORS[self.dataset], strict=True)
        information, own = self._tables.array("mutual_information"), self._tables.array("informativeness")
        rows = [top_two_gap(without_noise(information[run], own[run])) for run in self.of(method, strength)]
        return pd.DataFrame(rows, columns=list(names)).mean() / np.log(sizes)

    def mean(self, method: str, strength: float, score: str) -> float:
        return float(self.scores.loc[self.of(method, strength), score].mean())

    def agreement(self, one: str, other: str) -> float:
        """Spearman's rank correlation of two scores over all models that have both."""
        return _agreement(self.scores, one, other)

    def within(self, one: str, other: str) -> dict[str, float]:
        """The same within each method, over its strengths and seeds."""
        return {method: _agreement(scores, one, other) for method, scores in self._by_method.items()}

    def means(self, score: str) -> Any:
        """The mean over seeds of each method and strength."""
        return self.scores[score].groupby([self.runs["method"].astype(str), self.runs["strength"]]).mean()

    def training(self, method: str, strength: float, part: float) -> float:
        """The reconstruction error of batches at a part of the training, mean over runs and the tenth of steps before it."""
        curve: Any = self._tables.curve("reconstruction")
        curve = curve[curve["run"].isin(self.of(method, strength))]
        end = part * curve["step"].max()
        return float(curve["value"][curve["step"].le(end) & curve["step"].gt(end - 0.1 * curve["step"].max())].mean())


def _agreement(scores: Any, one: str, other: str) -> float:
    both = scores[[one, other]].dropna()
    return float(agreement(both[one], both[other]).spearman)
