"""Which scores that are asked for the stored runs of a study lack, and which of these runs can still be scored.

Weights are needed for that. A group of runs that stack is scored again as a whole or not at all: with the weights of the best
run alone, a score would be known of that one only, and comparisons between settings would compare chosen runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hackle.core.factors import scored_factors
from hackle.core.records import record_hash
from hackle.core.types import Architecture, HackleError, Run
from hackle.datasets import load
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import METRICS, choose_metrics
from hackle.store import Store
from hackle.train.fleet import group


@dataclass(frozen=True)
class Lacking:
    """Runs stored as done without scores that are asked for and fit, by hash, each with the metrics by protocol."""

    scores: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def of(self, runs: AbstractSet[str]) -> Lacking:
        """What these runs lack."""
        return Lacking({key: names for key, names in self.scores.items() if key in runs})

    def in_whole_groups(self, runs: Mapping[str, Run], with_weights: AbstractSet[str]) -> Lacking:
        """What can be scored: the part of groups of which every run that lacks something has its weights."""
        groups = [self.scores.keys() & {record_hash(run) for run in members} for members in group(runs.values())]
        return self.of({key for keys in groups if keys <= with_weights for key in keys})

    def __str__(self) -> str:
        """How many runs lack what, as the beginning of a sentence."""
        names: dict[str, dict[str, None]] = {}
        for one in self.scores.values():
            for protocol, metrics in one.items():
                names.setdefault(protocol, {}).update(dict.fromkeys(metrics))
        what = "; ".join(f"{', '.join(metrics)} of {protocol}" for protocol, metrics in names.items())
        count = f"{len(self.scores):,} stored run{'s lack' if len(self.scores) > 1 else ' lacks'}"
        return f"{count} scores that you ask for: {what}"


def lacking_scores(
    runs: Mapping[str, Run],
    store: Store,
    protocols: Sequence[Protocol],
    metrics: Sequence[str],
    root: str | Path | None,
) -> Lacking:
    """What the stored ones among these runs, by hash, lack."""
    known = store.known()
    done = {key: run for key, run in runs.items() if known.get(key) == "done"}
    if not done or not metrics:
        return Lacking()
    scores = store.tables().scores
    found = scores.groupby(["protocol", "scoring_seed", "metric"], observed=True)["run"].agg(set).to_dict()
    has_factors = cache(lambda dataset: _has_factors(dataset, root))
    lacking: dict[str, dict[str, list[str]]] = {}
    for protocol in protocols:
        for name in choose_metrics(metrics, protocol):
            have = found.get((protocol.name, protocol.seed, METRICS[name].row or name), set())
            for key in done.keys() - have:
                if _fits(name, done[key], has_factors):
                    lacking.setdefault(key, {}).setdefault(protocol.name, []).append(name)
    return Lacking(lacking)


def _fits(name: str, run: Run, has_factors: Callable[[str], bool]) -> bool:
    """Whether a metric can be computed for a run. Of a data set that is not here it is taken to."""
    metric = METRICS[name]
    if "model" in metric.needs and not isinstance(run.architecture, Architecture):
        return False
    if name == "whole_misjed" and run.latents < 2:
        return False
    return "factors" not in metric.needs or has_factors(run.dataset)


def _has_factors(dataset: str, root: str | Path | None) -> bool:
    try:
        return bool(scored_factors(load(dataset, root).factors))
    except HackleError:
        return True
