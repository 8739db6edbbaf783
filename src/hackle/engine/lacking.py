"""Which scores that are asked for the stored runs of a study lack: a stored run is not scored again, and the user is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from hackle.datasets import load
from hackle.evaluation import METRICS, choose_metrics
from hackle.plans import scored_factors
from hackle.protocols import Protocol
from hackle.store import Store
from hackle.types import Architecture, HackleError, Run


def lacking_scores(
    runs: Mapping[str, Run],
    store: Store,
    protocols: Sequence[Protocol],
    metrics: Sequence[str],
    root: str | Path | None,
    with_weights: set[str],
) -> str:
    """One line on the runs, by hash, that are stored as done without scores that are asked for and fit; "" where none is."""
    done = {key: run for key, run in runs.items() if store.known().get(key) == "done"}
    if not done or not metrics:
        return ""
    scores = store.tables().scores
    found = scores.groupby(["protocol", "scoring_seed", "metric"], observed=True)["run"].agg(set).to_dict()
    has_factors = cache(lambda dataset: _has_factors(dataset, root))
    lacking: dict[str, list[str]] = {}
    incomplete: set[str] = set()
    for protocol in protocols:
        for name in choose_metrics(metrics, protocol):
            have = found.get((protocol.name, protocol.seed, METRICS[name].row or name), set())
            without = {key for key in done.keys() - have if _fits(name, done[key], has_factors)}
            if without:
                lacking.setdefault(protocol.name, []).append(name)
                incomplete |= without
    if not incomplete:
        return ""
    what = "; ".join(f"{', '.join(dict.fromkeys(names))} of {protocol}" for protocol, names in lacking.items())
    kept = len(incomplete & with_weights)
    count = f"{len(incomplete):,} stored run{'s lack' if len(incomplete) > 1 else ' lacks'}"
    return (
        f"{count} scores that you ask for: {what}. A stored run is not scored again; for a table with all of them start the "
        "study with another --out"
        + (
            f", or use `hackle score` on the {kept:,} of these whose weights are in {store.folder / 'runs'}"
            if kept
            else ""
        )
    )


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
