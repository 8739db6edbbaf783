"""Which of the requested scores are missing in a study's stored runs, and which of these runs can still be scored.

That takes their weights. Runs that differ in strength and seed alone are scored again all or none: if only the best run has
its weights, only it would get the score, and comparisons between settings would compare selected runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hackle.core.errors import HackleError
from hackle.core.factors import FactorGrid
from hackle.core.notes import raised
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.datasets import load
from hackle.scoring.evaluation import subject_of_run
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import choose_metrics
from hackle.store import Store
from hackle.train.grouping import kinds


@dataclass(frozen=True)
class Lacking:
    """Runs stored as done without requested scores that fit, by hash, each with the missing metrics by protocol."""

    scores: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def of(self, runs: AbstractSet[str]) -> Lacking:
        """The missing scores of these runs."""
        return Lacking({key: names for key, names in self.scores.items() if key in runs})

    def in_whole_groups(self, runs: Mapping[str, Run], with_weights: AbstractSet[str]) -> Lacking:
        """What can be scored: the groups in which every run with missing scores has its weights."""
        groups = [self.scores.keys() & {record_hash(run) for run in members} for members in kinds(runs.values())]
        return self.of({key for keys in groups if keys <= with_weights for key in keys})

    def __str__(self) -> str:
        """How many runs lack which scores, as the beginning of a sentence."""
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
    *,
    but_raised: bool = False,
) -> Lacking:
    """Missing scores of these runs, by hash, as far as they are stored. but_raised: a score whose metric raised is
    missing, too."""
    known = store.known()
    done = {key: run for key, run in runs.items() if known.get(key) == "done"}
    if not done or not metrics:
        return Lacking()
    scores = store.tables().scores
    if but_raised:
        scores = scores[[not raised(*one) for one in zip(scores["score"], scores["note"], strict=True)]]
    groups = scores.groupby(["protocol", "scoring_seed", "metric"], observed=True)["run"]
    scored_under: dict[Any, set[str]] = {key: set(scored) for key, scored in groups}
    grid_of = cache(lambda dataset: grid_of_data(dataset, root))
    lacking: dict[str, dict[str, list[str]]] = {}
    for protocol in protocols:
        for metric in choose_metrics(metrics, protocol).values():
            stored = [
                keys
                for (*under, row), keys in scored_under.items()
                if under == [protocol.name, protocol.seed] and metric.gives(row)
            ]
            for key in done.keys() - set().union(*stored):
                if not metric.missing(subject_of_run(done[key], grid_of(done[key].dataset), protocol)):
                    lacking.setdefault(key, {}).setdefault(protocol.name, []).append(metric.name)
    return Lacking(lacking)


def grid_of_data(dataset: str, root: str | Path | None) -> FactorGrid | None:
    """The factors of a data set; None if it is not on this machine."""
    try:
        return load(dataset, root).factors
    except HackleError:
        return None
