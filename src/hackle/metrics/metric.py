"""What a metric is: one record that says what it computes, which scores it gives, what it needs and how to read it.

Each module of this folder that computes a score declares its `Metric`; `METRICS` collects them all. Your own metric is
a `Metric`, or a function of arrays such as `def strongest(codes, factors)`, in a file or module of yours.

A metric sees an `Evaluation`: the arrays of one representation, by name. `hackle.scoring` builds one from a model.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.code_table import is_large
from hackle.core.factors import FactorGrid, Kind, scored_factors
from hackle.core.lines import line_of_definition
from hackle.core.parts import Found, PartError, Parts, source_file, source_hash
from hackle.metrics.checks import MetricError, check_codes
from hackle.metrics.needs import FactorNeed, Need, Subject, lacks

if TYPE_CHECKING:
    import torch

    from hackle.information import FactorInformation, Quantised
    from hackle.metrics.likelihood import Autoencoder
    from hackle.metrics.mig import BinnedInformation

Codes = NDArray[np.float32]
Labels = NDArray[np.int64]
Values = NDArray[np.float64]
Posterior = tuple[Codes, Codes]
"""Means and logvars, each (n, c)."""
Part = Literal["groups", "test_groups", "pairs", "test_pairs", "exposure", "interventions"]
"""The parts of a plan other than independent points."""


class Evaluation(Protocol):
    """The arrays that metrics see: one representation of the images of one plan.

    grid: the data set's factors. protocol: the `hackle.scoring.protocol.Protocol`, whose fields are the metrics'
    arguments. seed: of the draws. correlation: σ of the posteriors' noise. discrete: which codes are class numbers.
    codes, factors: of the training points, (n, c) and (n, f), with the factors that are observed and vary; test: both
    for the test points. A continuous factor appears as the number of its bin, one of `grid.bins`. values, test_values:
    the factors with real numbers instead; kinds: the kind of each factor, (f,). posteriors, test_posteriors: means and
    logvars, if the model has them; everything: those of every image of the plan. coverage: the fraction of the data
    set's images that are in the plan. mixture: the posteriors that make up q(z), or None for those evaluated.
    binned_information: what the codes of the training points, cut into the protocol's bins, say about the factors.
    quantised: the posteriors of the training points, cut into the protocol's bins, with the factors' labels.
    factor_information, sampled_factor_information: I(z_i; y_k), quantised and sampled. device: where heavy sums run:
    the model's, if that is an accelerator. place: where codes without a model, which may be a `CodeTable`, are worked on,
    block by block; None for the CPU. groups: the codes (g, size, c) of "groups" or "test_groups" and the factor held in
    each; of "interventions", whose groups are the same images with one factor set to one value. differences:
    the mean absolute difference (g, c) between the halves of "pairs" or "test_pairs" and the factor held in each.
    exposed: codes and values of points of combinations that were trained on, for fitting ("train") and testing ("seen"),
    and of those left out; unseen: which of the latter's values are of classes that no image of the training has, (n, f);
    variances: of the factors over the whole grid, (f,). decoding: the model and the given number of test images, or of
    images of combinations seen or left out. every_image: the model and a part of the data set's images at a time.
    """

    seed: int
    correlation: float
    discrete: bool | tuple[bool, ...]
    place: torch.device | None

    @property
    def grid(self) -> FactorGrid: ...
    @property
    def protocol(self) -> Any: ...
    @property
    def codes(self) -> Codes: ...
    @property
    def factors(self) -> Labels: ...
    @property
    def test(self) -> tuple[Codes, Labels]: ...
    @property
    def kinds(self) -> tuple[Kind, ...]: ...
    @property
    def values(self) -> Values: ...
    @property
    def test_values(self) -> Values: ...
    @property
    def has_posteriors(self) -> bool: ...
    @property
    def posteriors(self) -> Posterior: ...
    @property
    def test_posteriors(self) -> Posterior: ...
    @property
    def everything(self) -> Posterior: ...
    @property
    def coverage(self) -> float: ...
    @property
    def mixture(self) -> Posterior | None: ...
    @property
    def binned_information(self) -> BinnedInformation: ...
    @property
    def quantised(self) -> Quantised: ...
    @property
    def factor_information(self) -> FactorInformation: ...
    @property
    def sampled_factor_information(self) -> FactorInformation: ...
    @property
    def device(self) -> torch.device | None: ...

    def groups(self, part: Part) -> tuple[Codes, Labels]: ...
    def differences(self, part: Part) -> tuple[Codes, Labels]: ...
    @property
    def variances(self) -> Values: ...
    @property
    def unseen(self) -> NDArray[np.bool_]: ...

    def exposed(self, part: Literal["train", "seen", "left_out"]) -> tuple[Codes, Values]: ...
    def decoding(
        self, images: int = 1000, of: Literal["test", "seen", "left_out"] = "test"
    ) -> tuple[Autoencoder, NDArray[np.uint8]]: ...
    def every_image(self) -> Iterator[tuple[Autoencoder, NDArray[np.uint8]]]: ...


Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Row:
    """A score that a metric gives: its name in tables, its long and short label in figures, and its bounds, if any.

    A star in the name stands for a number that the protocol chooses; a star in the labels is the same number. better:
    which direction is better, where it is not the metric's.
    """

    name: str
    label: str
    short: str
    low: float | None = 0.0
    high: float | None = 1.0
    better: Better | None = None


@dataclass(frozen=True)
class PerFactor:
    """A score together with its value for each factor, by name. `float(…)` of it is the score."""

    score: float
    factors: Mapping[str, float]

    def __float__(self) -> float:
        return self.score


def per_factor(e: Evaluation, score: float, values: ArrayLike, among: Sequence[int] | None = None) -> PerFactor:
    """A score with the values (f,) of the factors that vary in the sample, `among` the scored factors at these positions."""
    columns, numbers = scored_factors(e.grid), np.asarray(values, float)
    places = list(range(len(columns)) if among is None else among)
    # Numbers of a continuous factor can vary within a bin: metrics that see bins then leave it out, others do not.
    for table in (e.factors, e.values) if len(numbers) < len(places) else ():
        varying = [place for place in places if np.ptp(table[:, place]) > 0]
        places = varying if len(varying) == len(numbers) else places
    pairs = zip((e.grid.names[columns[place]] for place in places), numbers.tolist(), strict=True)
    return PerFactor(float(score), {name: value for name, value in pairs if not math.isnan(value)})


Compute = Callable[[Any], SupportsFloat | Mapping[str, SupportsFloat]]


@dataclass(frozen=True)
class Metric:
    """A metric by its name: how it is computed, what it needs and what it gives.

    compute: a function of an `Evaluation` that gives a score, or several by the names of the rows. A `PerFactor` is a
    score that also has a value for each factor.

    rows: what it gives; the first is always present and stands for the metric. better: which direction is better.
    needs: what data set and model must have; a metric that needs factors has references. on: "codes" (means and samples
    alike), "means" alone, or "posterior". continuous: whether it reads the real numbers of continuous factors or their
    bins. slow: left out of "all", because it takes minutes. parts: what it reads of the plan besides independent
    points. remedy: the option of `hackle score` that helps if its estimates are saturated; empty if none does. origin:
    where a user's metric comes from; empty for hackle's own.
    """

    name: str
    compute: Compute
    rows: tuple[Row, ...]
    better: Better = "higher"
    needs: tuple[Need, ...] = ("factors",)
    on: Literal["codes", "means", "posterior"] = "codes"
    continuous: Literal["bins", "values"] = "bins"
    slow: bool = False
    parts: tuple[Part, ...] = ()
    remedy: str = ""
    origin: str = ""

    def missing(self, subject: Subject) -> str:
        """What it needs and the subject does not have, in words; "" if it applies."""
        needs: tuple[Need, ...] = (*self.needs, "posteriors") if self.on == "posterior" else self.needs
        return next((words for need in needs if (words := lacks(need, subject))), "")

    @property
    def has_reference(self) -> bool:
        """Whether it compares codes with factors, so that perfect codes show how high it can get."""
        return any(need in get_args(FactorNeed) for need in self.needs)

    def gives(self, score: str) -> bool:
        """Whether one of its rows has this name."""
        return any(fnmatchcase(score, row.name) for row in self.rows)

    def better_of(self, score: str) -> Better:
        """Which direction is better for the score of this name."""
        row = next((row for row in self.rows if fnmatchcase(score, row.name)), None)
        return (row and row.better) or self.better


WHOLE_MIXTURE = "--whole-mixture"
"""The remedy of metrics that average q(z) over `Evaluation.mixture`."""
EVERY_PART: tuple[Part, ...] = ("groups", "test_groups", "pairs", "test_pairs")
"""For metrics that read every image of a plan that is a draw of the data."""


def _order(found: Found[Metric]) -> tuple[bool, int, str]:
    """Fast metrics first; those of codes before those of posteriors."""
    return found.part.slow, ("codes", "means", "posterior").index(found.part.on), found.name


def own_metric(name: str, thing: Any) -> Metric | None:
    """A metric from a user's function; `name` is its row's name, or a `path.py:name` that ends in it.

    Arguments are matched by name, see `ARGUMENTS`; a function with two other arguments gets codes and factors.
    """
    short = name.rpartition(":")[2].rpartition(".")[2]
    if not callable(thing) or isinstance(thing, type):
        return None
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError as error:
        raise PartError(f"{name} does not say what its arguments are; expected {_EXPECTED}") from error
    required = [
        "evaluation" if "Evaluation" in str(one.annotation) else one.name
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if len(required) == 2 and not set(required) <= ARGUMENTS.keys():
        required = ["codes", "factors"]
    if not required or not set(required) <= ARGUMENTS.keys():
        raise PartError(f"{name} takes {', '.join(required) or 'no arguments'}; expected {_EXPECTED}")

    def compute(evaluation: Evaluation) -> SupportsFloat | dict[str, SupportsFloat]:
        scores: Any = thing(*(ARGUMENTS[one](evaluation) for one in required))
        if not isinstance(scores, Mapping):
            return _number(short, thing, scores)
        return {
            key if key.startswith(short) else f"{short}_{key}": _number(short, thing, value)
            for key, value in scores.items()
        }

    label = short.replace("_", " ")
    rows = Row(short, label, short, None, None), Row(f"{short}_*", f"{label} *", f"{short}_*", None, None)
    of_factors = {"factors", "test_factors", "values", "test_values", "kinds"} & set(required)
    needs: tuple[Need, ...] = ("factors",) if of_factors else ()
    of_posteriors = bool({"means", "logvars"} & set(required))
    return Metric(short, compute, rows, needs=needs, on="posterior" if of_posteriors else "codes", origin=origin(thing))


def _number(name: str, thing: Any, value: Any) -> SupportsFloat:
    """The score from a user's function as a float; if it is not a number, a `MetricError` names the function."""
    if isinstance(value, PerFactor):
        return value
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        shape = f" of shape {value.shape}" if hasattr(value, "shape") else ""
        raise MetricError(
            f"{name} returned a value of type {type(value).__name__}{shape}; expected a number, or several by name "
            f"({line_of_definition(thing)})"
        ) from error


def origin(thing: Any) -> str:
    """The file that a user's function or metric comes from and the hash of its source, in words."""
    thing = thing.compute if isinstance(thing, Metric) else thing
    path: Path | None = source_file(thing)
    return "given as a function" if path is None else f"of {path}, source {source_hash(thing)}"


ARGUMENTS: dict[str, Callable[[Evaluation], Any]] = {
    "codes": lambda e: check_codes(e.codes) if is_large(e.codes) else e.codes,
    "factors": lambda e: e.factors,
    "test_codes": lambda e: check_codes(e.test[0]) if is_large(e.test[0]) else e.test[0],
    "test_factors": lambda e: e.test[1],
    "values": lambda e: e.values,
    "test_values": lambda e: e.test_values,
    "kinds": lambda e: e.kinds,
    "means": lambda e: e.posteriors[0],
    "logvars": lambda e: e.posteriors[1],
    "seed": lambda e: e.seed,
    "evaluation": lambda e: e,
}
"""What a user's function may ask for, by the names of its arguments."""
_EXPECTED = f"a function of codes and factors, or of some of {', '.join(ARGUMENTS)}"

METRICS: Parts[Metric] = Parts(
    "metric", ("hackle.metrics.*",), lambda thing: isinstance(thing, Metric), adopt=own_metric, order=_order
)
"""Every metric by name."""


@cache
def row_of(score: str) -> tuple[Metric, Row] | None:
    """The metric that gives a score and the row that describes it; None for a score of a user's metric."""
    for metric in METRICS.values():
        for row in metric.rows:
            if fnmatchcase(score, row.name):
                number = score[row.name.index("*") :] if "*" in row.name else ""
                label, short = (text.replace("*", number) for text in (row.label, row.short))
                return metric, Row(score, label, short, row.low, row.high, row.better)
    return None


def known_rows() -> Sequence[Row]:
    """The rows of every metric, in order."""
    return [row for metric in METRICS.values() for row in metric.rows]
