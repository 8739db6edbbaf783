"""A claim of a paper as a statistical test on a table of results.

A claim says that an effect lies in a region: above 0.3, below 0, between −0.1 and 0.1. The bounds are the smallest
effect of interest, so that with enough runs every claim is decided.

    holds            the 95% interval lies inside the region, and the test of an effect outside it rejects
    does not hold    the 95% interval lies outside the region, and the test of an effect inside it rejects
    undecided        neither, or runs are missing; the reason says which and how many runs it would take

The tests are one-sided t tests against the bounds; a region with two bounds needs both (two one-sided tests).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hackle.claims.conditions import describe, several
from hackle.claims.measures import Measure
from hackle.claims.statistics import LEVEL, Estimate, Units, mean_of
from hackle.claims.stratum import Stratum, without_stand_ins
from hackle.claims.view import Data, View
from hackle.core.parts import is_reference
from hackle.store.tables import Tables


@dataclass(frozen=True)
class Region:
    """Where a claim says that its effect lies: above `low` and below `high`."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"above {self.low:g}"
        if math.isinf(self.low):
            return f"below {self.high:g}"
        return f"between {self.low:g} and {self.high:g}"

    def chances(self, estimate: Estimate) -> tuple[float, float]:
        """The p-values under the hypotheses that the effect lies outside, and that it lies inside."""
        low = [estimate.chance_above(self.low), estimate.chance_below(self.low)] if math.isfinite(self.low) else None
        high = (
            [estimate.chance_below(self.high), estimate.chance_above(self.high)] if math.isfinite(self.high) else None
        )
        sides = [side for side in (low, high) if side is not None]
        return max(side[0] for side in sides), min(1.0, len(sides) * min(side[1] for side in sides))

    def distance(self, effect: float) -> float:
        """The distance from an effect to the nearest bound."""
        return min(abs(effect - bound) for bound in (self.low, self.high) if math.isfinite(bound))

    def contains(self, low: float, high: float) -> bool:
        return low > self.low and high < self.high

    def excludes(self, low: float, high: float) -> bool:
        return high < self.low or low > self.high


def _without(lacking: Mapping[str, set[str]]) -> tuple[str, ...]:
    """The methods that data sets lack, in words.

    >>> _without({"dsprites": set(), "cars3d": {"vae"}}), _without({"dsprites": {"vae"}, "cars3d": {"vae"}})
    (('vae on cars3d',), ('vae',))
    """
    methods = sorted(set().union(*lacking.values()))
    places = {method: [name for name, absent in lacking.items() if method in absent] for method in methods}
    return tuple(
        method if len(names) == len(lacking) else f"{method} on {' and '.join(names)}"
        for method, names in places.items()
    )


@dataclass(frozen=True)
class Evidence:
    """What a table says about a claim.

    effect, low, high: the effect and its 95% interval, NaN without an estimate. p: the p-value if the true effect lies
    outside the claim's region; against: the same if it lies inside. runs: how many were used; runs_needed, seeds_needed:
    about how many would decide with 80% power, and of how many seeds each, None if no reasonable number would. strata:
    each stratum's effect and number of seeds; datasets: of a stratum that takes several data sets together, those of which
    runs were used; estimates: the estimates of strata with at least two seeds. missing: what the table does not have, in
    words. without: methods that a condition names beside others and of which no run was used, or none on some of the data
    sets, in words.
    borrowed: whether some of the runs are from other studies, which may have trained differently. steps, precisions,
    protocol: how the runs were trained and scored. beside: other estimates of the same effect, which decide nothing.
    instead: what was measured in place of the claim's own measure or data set, in words; empty if those were. places: the
    positions of the runs in the table, as bytes.
    """

    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    against: float = math.nan
    runs: int = 0
    runs_needed: int | None = None
    seeds_needed: int | None = None
    strata: dict[str, tuple[float, int]] = field(default_factory=dict)
    datasets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    borrowed: bool = False
    steps: tuple[int, ...] = ()
    precisions: tuple[str, ...] = ()
    protocol: str = ""
    estimate: Estimate | None = None
    estimates: dict[str, Estimate] = field(default_factory=dict)
    beside: dict[str, Estimate] = field(default_factory=dict)
    instead: str = ""
    places: bytes = b""

    @property
    def parts(self) -> int:
        """How many strata have runs; one that takes data sets together counts as many times as there are data sets."""
        return sum(max(1, len(self.datasets.get(name, ()))) for name in self.strata)

    @property
    def beside_in_words(self) -> str:
        """The other estimates with their intervals.

        >>> Evidence(beside={"by sampling": Estimate(0.5, 0.0, 4, 5)}).beside_in_words
        'by sampling it is 0.5 [0.5, 0.5]'
        """
        intervals = ((words, part.effect, *part.interval()) for words, part in self.beside.items())
        return "; ".join(f"{words} it is {value:.3g} [{low:.3g}, {high:.3g}]" for words, value, low, high in intervals)

    @property
    def made(self) -> str:
        """How the runs were trained and scored, in words.

        >>> Evidence(steps=(50_000, 100_000), precisions=("bfloat16",), protocol="kim2018").made
        '50,000 to 100,000 steps, bfloat16, protocol kim2018'
        """
        ends = " to ".join(f"{number:,}" for number in dict.fromkeys((*self.steps[:1], *self.steps[-1:])))
        parts = [f"{ends} steps" if ends else "", " and ".join(self.precisions)]
        return ", ".join(part for part in (*parts, f"protocol {self.protocol}" if self.protocol else "") if part)


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper and how to test it.

    name, paper, where: its name within the paper, the paper, and the figure, table or section. statement: the sentence
    in our words. effect: what is measured, in words. region: where the claim says that the effect lies. paper_effect:
    what the paper reports, if it gives a number. combine: whether the mean of the strata must lie in the region, or
    every stratum. least_strata: how many strata are needed to judge. seeds: how many the paper trained, or how many we
    suggest. runs_per_seed: runs per stratum and seed in the paper's design, if there are more than conditions. study:
    the study whose runs it is about, if not the paper's.
    beside: other ways to estimate the same effect, in words and as measures, where the answer depends on the estimator:
    they are shown with the verdict and not tested. instead: what is measured, in words and as a measure of the same scale,
    where no run has the scores of the claim's own measure; the verdict then says so. stand_ins: of data sets without any
    runs, those that take their place where they have some; the verdict says so, too.
    """

    name: str
    paper: str
    where: str
    statement: str
    effect: str
    region: Region
    measure: Measure
    strata: tuple[Stratum, ...]
    combine: Literal["mean", "every"] = "mean"
    least_strata: int = 1
    seeds: int = 10
    runs_per_seed: int = 0
    paper_effect: float | None = None
    study: str = ""
    beside: tuple[tuple[str, Measure], ...] = ()
    instead: tuple[str, Measure] | None = None
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.paper}.{self.name}"

    @property
    def parts(self) -> int:
        """The number of strata; one that takes data sets together counts as many times as it names data sets."""
        return sum(max(1, len(stratum.datasets)) for stratum in self.strata)

    @property
    def command(self) -> str:
        """The command that makes the runs it needs, with the seeds of the paper."""
        return self.command_with(self.seeds)

    def command_with(self, seeds: int) -> str:
        """The command that makes its runs with so many seeds, and with the data sets, methods, strengths and slow metrics that
        it reads. A study in a file of one's own decides data sets, methods and strengths itself."""
        study = self.study or self.paper
        words = [f"hackle study run {shlex.quote(study)} --out DIR --seeds {seeds}"]
        conditions = [condition for stratum in self.strata for condition in stratum.conditions]
        own = study.endswith(".py") or is_reference(study)
        for option, key in (("datasets", "dataset"), ("methods", "method"), ("strengths", "strength")):
            if own or not all(key in condition for condition in conditions):
                continue
            named = {one: None for part in conditions for one in several(part[key])}
            words.append(f"--{option} {shlex.quote(','.join(_named(key, named)))}")
        slow = dict.fromkeys(metric for score in self.measure.scores if (metric := _slow_metric(score)))
        if slow:
            words.append(f"--metrics {','.join(['all', *slow])}")
        return " ".join(words)

    @property
    def needs(self) -> str:
        """The runs and scores it is judged on, in words."""
        parts = dict.fromkeys(describe(condition) for stratum in self.strata for condition in stratum.conditions)
        read = [
            *self.measure.scores,
            *(f"curve {term}" for term in self.measure.curves),
            *(f"array {name}" for name in self.measure.arrays),
        ]
        return f"{'; '.join(parts)}. Reads {', '.join(read)}. {self.seeds} seeds each"

    def missing(self, tables: Tables | View) -> tuple[str, ...]:
        """What the table is missing, in words; empty if each stratum has runs and everything that is read of them."""
        data = _view(tables).of(self.study or self.paper)
        claim = self._standing_in(data)
        return tuple(dict.fromkeys(word for stratum in claim.strata for word in claim._lacks(data, stratum)))

    def _lacks(self, data: Data, stratum: Stratum) -> list[str]:
        read = self.measure.scores, self.measure.curves, self.measure.arrays
        return [word for condition in stratum.conditions for word in data.lacks(condition, *read)]

    def test(self, tables: Tables | View) -> Evidence:
        """What the table says about this claim alone, without correction for other claims."""
        data = _view(tables).of(self.study or self.paper)
        claim = self._standing_in(data)
        evidence = claim._tested(data)
        if evidence.estimate is not None or self.instead is None:
            return evidence
        words, measure = self.instead
        other = replace(claim, measure=measure, instead=None)._tested(data)
        return evidence if other.estimate is None else replace(other, instead=_and(words, other.instead))

    def _standing_in(self, data: Data) -> Claim:
        """The claim with each data set of which there are no runs replaced by its stand-in, if that has some."""
        claim = replace(self, stand_ins={})
        for own, other in self.stand_ins.items():
            meant = [
                condition
                for stratum in self.strata
                for condition in stratum.conditions
                if own in several(condition.get("dataset", ()))
            ]
            has = {
                name: any(data.datasets({**condition, "dataset": name}) for condition in meant) for name in (own, other)
            }
            if has[other] and not has[own]:
                strata = tuple(stratum.on(other, own) for stratum in claim.strata)
                claim = replace(claim, strata=strata, stand_ins={**claim.stand_ins, own: other})
        return claim

    def _tested(self, data: Data) -> Evidence:
        """The evidence by the claim's own measure."""
        data.read.clear()
        units: dict[str, Units] = {}
        datasets: dict[str, tuple[str, ...]] = {}
        missing: list[str] = []
        used: dict[str, set[str]] = {}
        lacking: dict[str, set[str]] = {}
        for stratum in self.strata:
            lacks, before = self._lacks(data, stratum), len(data.read)
            measured = None if lacks else self.measure.compute(data, stratum.conditions)
            missing += lacks
            if measured is not None and measured.seeds and np.isfinite(measured.values).all():
                units[stratum.name] = measured
                for dataset, methods in data.methods_read(before).items():
                    used.setdefault(dataset, set()).update(methods)
                    lacking.setdefault(dataset, set()).update(stratum.methods)
                if len(stratum.datasets) > 1:
                    datasets[stratum.name] = self._compared(data, stratum, data.design_read("dataset", before))
                continue
            del data.read[before:]
            if not lacks:
                least = f", which needs at least {self.measure.least}" if self.measure.least else ""
                missing.append(f"too few runs of {stratum.name}{least}")
        borrowed = any(
            data.borrows(condition)
            for stratum in self.strata
            if stratum.name in units
            for condition in stratum.conditions
        )
        usable = {name: part for name, part in units.items() if part.seeds > 1}
        # A run shared by several strata counts once.
        runs = min(round(sum(part.seeds * part.runs_per_seed for part in units.values())), len(data.places_read()))
        read = data.design_read("dataset")
        strata = {name: (float(part.values.mean()), part.seeds) for name, part in units.items()}
        estimates = {name: mean_of([part]) for name, part in usable.items()}
        about = Evidence(
            runs=runs,
            strata=strata,
            datasets=datasets,
            missing=tuple(dict.fromkeys(missing)),
            without=_without({name: methods - used[name] for name, methods in lacking.items()}),
            borrowed=borrowed,
            steps=data.design_read("steps"),
            precisions=data.design_read("precision"),
            protocol=data.protocol or "" if units else "",
            estimates=estimates,
            instead=_and(*(f"{other} in place of {own}" for own, other in self.stand_ins.items() if other in read)),
            places=data.places_read().tobytes(),
        )
        if len(usable) < max(1, self.least_strata):
            return replace(about, runs_needed=self._planned(units), seeds_needed=self.seeds)
        estimate, p, against, deciding = self._judged(list(usable.values()))
        low, high = estimate.interval()
        evidence = replace(about, effect=estimate.effect, low=low, high=high, p=p, against=against, estimate=estimate)
        evidence = replace(evidence, beside=self._beside(data, [list(usable)[place] for place in deciding]))
        return self.with_need(evidence)

    def _compared(self, data: Data, stratum: Stratum, read: Sequence[str]) -> tuple[str, ...]:
        """Of the data sets that were read of a stratum those of which no condition that takes several lacks runs."""
        several_of = [condition for condition in stratum.conditions if isinstance(condition.get("dataset"), tuple)]
        have = [data.datasets(condition, self.measure.scores) for condition in several_of]
        return without_stand_ins(name for name in read if all(name in names for names in have))

    def _judged(self, strata: Sequence[Units]) -> tuple[Estimate, float, float, list[int]]:
        """The deciding estimate and its p-values, and of which strata it is: the mean of all, or that which supports the claim
        least."""
        if self.combine == "mean":
            estimate = mean_of(strata)
            return estimate, *self.region.chances(estimate), list(range(len(strata)))
        estimates = [mean_of([part]) for part in strata]
        chances = [self.region.chances(estimate) for estimate in estimates]
        weakest = max(range(len(estimates)), key=lambda i: (chances[i][0], -chances[i][1]))
        # One stratum can refute a claim about every stratum; supporting it takes all of them.
        p = chances[weakest][0] if len(strata) == len(self.strata) else 1.0
        return estimates[weakest], p, min(1.0, len(strata) * chances[weakest][1]), [weakest]

    def _beside(self, data: Data, names: Sequence[str]) -> dict[str, Estimate]:
        """The effect by the other measures, of those that the strata with these names, which decide, allow."""
        strata = [stratum for stratum in self.strata if stratum.name in names]
        intervals = {}
        for words, measure in self.beside:
            units = [measure.compute(data, stratum.conditions) for stratum in strata]
            known = [part for part in units if part is not None and part.seeds > 1 and np.isfinite(part.values).all()]
            if len(known) == len(strata):
                intervals[words] = mean_of(known)
        return intervals

    def _planned(self, units: dict[str, Units]) -> int:
        """The number of runs in the design with the suggested number of seeds."""
        known = [part.runs_per_seed for part in units.values()]
        least = max(len(stratum.conditions) for stratum in self.strata)
        each = self.runs_per_seed or (round(np.mean(known)) if known else least)
        return self.seeds * each * len(self.strata)

    def with_need(self, evidence: Evidence, level: float = LEVEL) -> Evidence:
        """With about how many runs, of how many seeds, would decide at this level if the effect and its spread are as
        estimated; None if no reasonable number would. The interval must decide too; it is a one-sided test at half of
        `LEVEL`. Where what is said of every stratum seems to hold, those without runs need as many as the others.
        """
        if evidence.estimate is None:
            return evidence
        distance = self.region.distance(evidence.effect)
        seeds = evidence.estimate.seeds_needed(distance, min(level, LEVEL / 2))
        if seeds is None:
            return replace(evidence, runs_needed=None, seeds_needed=None)
        seeds_now = sum(count for _, count in evidence.strata.values())
        strata = len(evidence.strata)
        if self.lacks_strata(evidence) and self.region.contains(evidence.effect, evidence.effect):
            seeds, strata = max(seeds, math.ceil(seeds_now / strata)), len(self.strata)
        return replace(evidence, runs_needed=math.ceil(evidence.runs / seeds_now * seeds * strata), seeds_needed=seeds)

    def lacks_strata(self, evidence: Evidence) -> bool:
        """Whether it is about every stratum and some have no estimate: then it can be refuted, but not hold."""
        return self.combine == "every" and len(evidence.estimates) < len(self.strata)


def _and(*parts: str) -> str:
    return ", and by ".join(filter(None, parts))


def _named(key: str, values: Iterable[Any]) -> Iterable[str]:
    """The values of a column that conditions name, as words of a command."""
    if key == "strength":
        return (f"{value:g}" for value in sorted(values))
    return without_stand_ins(values)


def _slow_metric(score: str) -> str | None:
    """The metric behind a score, if studies compute it only on request."""
    from hackle.metrics.metric import row_of

    known = row_of(score)
    return known[0].name if known is not None and known[0].slow else None


def _view(tables: Tables | View) -> View:
    return tables if isinstance(tables, View) else View(tables)
