"""Choosing metrics: by name, your own as `path.py:name` or as functions, and those that a protocol is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hackle.core.errors import HackleError
from hackle.core.parts import PartError, is_reference
from hackle.metrics.metric import METRICS, Metric, origin, own_metric, row_of
from hackle.scoring.protocol import Protocol

__all__ = ["METRICS", "ScoreError", "Wanted", "choose_metrics"]

Wanted = str | Iterable[str | Callable[..., Any] | Metric] | Mapping[str, Callable[..., Any] | Metric]
"""Names, as a list or separated by commas; a list may also hold your own functions, a mapping gives them by row name."""


class ScoreError(HackleError):
    """Metrics that do not exist or do not apply."""


def choose_metrics(wanted: Wanted, protocol: Protocol | None = None, *, strictly: bool = False) -> dict[str, Metric]:
    """The requested metrics by name; "all" is every one that is not slow, or those that the protocol is for.

    A protocol that is for certain metrics drops all others, because a study names its metrics once for all of its
    protocols. With `strictly`, requesting another of hackle's metrics is an error, and the user's own metrics are kept.
    """
    only = protocol.metrics if protocol is not None else ()
    every = only or tuple(name for name, metric in METRICS.items() if not metric.slow)
    chosen: dict[str, Metric] = {}
    for metric in _chosen(wanted, every):
        if not only or metric.name in only or (strictly and metric.origin):
            if (known := chosen.setdefault(metric.name, metric)).origin != metric.origin:
                raise ScoreError(
                    f"two metrics are called {metric.name}, {known.origin} and {metric.origin}; rename one"
                )
        elif strictly and protocol is not None:
            raise ScoreError(
                f"the protocol {protocol.name} does not give {metric.name}: it is for {', '.join(only)} alone; leave "
                f"{metric.name} out or choose another protocol, such as locatello2019"
            )
    return chosen


def adjusted(
    settings: Protocol, factor_bins: int | None, groups: Sequence[Sequence[int]] | str | None = None
) -> Protocol:
    """The protocol with continuous factors cut into this many bins and codes in these groups; unchanged where None.

    groups: lists of codes, or in words, `0,1/2`.
    """
    if factor_bins is not None:
        if factor_bins < 2:
            raise ScoreError(f"factor_bins is {factor_bins}; expected 2 or more")
        settings = replace(settings, factor_bins=factor_bins)
    if groups is None:
        return settings
    try:
        parts = [group.split(",") for group in groups.split("/")] if isinstance(groups, str) else groups
        return replace(settings, groups=tuple(tuple(int(code) for code in group) for group in parts))
    except (TypeError, ValueError) as error:
        raise ScoreError(f"groups are {groups!r}; expected codes by number, such as 0,1/2 or [[0, 1], [2]]") from error


def names_of(wanted: Wanted) -> tuple[str, ...]:
    """The names of the metrics requested explicitly, without those that "all" stands for."""
    return tuple(metric.name for metric in _chosen(wanted, ()))


def _chosen(wanted: Wanted, every: Iterable[str]) -> Iterator[Metric]:
    parts: Any = wanted.split(",") if isinstance(wanted, str) else wanted
    for name, part in parts.items() if isinstance(parts, Mapping) else (("", part) for part in parts):
        try:
            if part == "all":
                yield from (METRICS[known] for known in every)
            elif isinstance(part, str):
                yield _named(part.strip())
            else:
                yield _own(name or getattr(part, "__name__", type(part).__name__), part)
        except PartError as error:
            raise ScoreError(str(error)) from error


def _named(name: str) -> Metric:
    if name not in METRICS and (known := row_of(name)) is not None:
        given = ", ".join(row.name for row in known[0].rows)
        raise PartError(f"{name} is a score of the metric {known[0].name}, which gives {given}: name {known[0].name}")
    metric = METRICS.find(name)
    if is_reference(name):
        return _own(name, metric)
    return metric if METRICS.found[name].origin == "hackle" else replace(metric, origin=origin(metric))


def _own(name: str, thing: Any) -> Metric:
    """A user's metric, with its origin; an error if its name or rows clash with one of hackle's."""
    metric = thing if isinstance(thing, Metric) else own_metric(name, thing)
    if metric is not None and METRICS.get(metric.name) is metric:
        return metric
    if metric is None:
        raise PartError(f"{name} is of type {type(thing).__name__}; expected a metric: a function of codes and factors")
    metric = metric if metric.origin else replace(metric, origin=origin(metric))
    if metric.name in METRICS:
        raise PartError(f"{name} would be called {metric.name}, as is a metric of hackle's; choose another name")
    for row in metric.rows:
        if (known := row_of(row.name)) is not None:
            raise PartError(f"{name} would give {row.name}, as does hackle's {known[0].name}; choose another name")
    return metric
