"""A study's limit of time: which fleets can be expected to end within it, and when training has to end so that what is trained
is scored.

A fleet is expected to train at the rate, in model-steps per second, that the fleets of its group had in this call, or all
fleets where its group had none. Where nothing is known yet it begins: at the limit it leaves a checkpoint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MARGIN = 1.1
"""Fleets are expected to take a tenth longer than their rate says."""
_LAST_SECONDS, _LAST_SHARE = 30.0, 0.05
"""Before the end, so many seconds, or this share of the whole time if that is less, are for writing checkpoints."""


@dataclass
class _Fleet:
    """A fleet that has begun. ended: infinity while it trains."""

    group: str
    runs: int
    begun: float
    steps: int = 0
    ended: float = math.inf


class TimeLimit:
    """What is left of a study's time. Without minutes there is no end."""

    def __init__(self, minutes: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        seconds = math.inf if minutes is None else 60 * minutes
        self._now, self._end = clock, clock() + seconds
        self._closing = min(_LAST_SECONDS, _LAST_SHARE * seconds)
        self._fleets: dict[int, _Fleet] = {}
        self._scorings, self._scoring_seconds = 0, 0.0
        self.scorers = 1
        """Runs that are scored at a time."""

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self._end - self._now()

    def begin(self, number: int, group: str, runs: int) -> None:
        """A fleet of so many runs begins to train."""
        self._fleets[number] = _Fleet(group, runs, self._now())

    def tell(self, number: int, model_steps: int) -> None:
        """A fleet has taken so many model-steps."""
        self._fleets[number].steps = model_steps

    def end(self, number: int) -> None:
        """A task has ended; fleets are among them."""
        if number in self._fleets:
            self._fleets[number].ended = self._now()

    def scored(self, seconds: float) -> None:
        """A run has been scored in `seconds` of one worker's time."""
        self._scorings += 1
        self._scoring_seconds += seconds

    def scoring(self, runs: int) -> float:
        """Seconds that so many runs take to be scored, as long as the mean so far; 0 before the first."""
        return math.ceil(runs / self.scorers) * self._scoring_seconds / max(1, self._scorings)

    def rate(self, group: str) -> float | None:
        """Model-steps per second of a fleet of this group, or of any where it has had none; None if there was none at all."""
        told = [fleet for fleet in self._fleets.values() if fleet.steps]
        alike = [fleet for fleet in told if fleet.group == group] or told
        seconds = sum(min(fleet.ended, self._now()) - fleet.begun for fleet in alike)
        return sum(fleet.steps for fleet in alike) / seconds if seconds > 0 else None

    def fitting(self, group: str, steps: Sequence[int], waiting: int = 0) -> int:
        """How many runs of a fleet, each with so many steps left, can be expected to be trained and scored in time: all, the
        first of them but not fewer than half, whose rate would be another, or none.

        waiting: runs that are trained and wait to be scored, which goes on beside the training.
        """
        rate = self.rate(group)
        if rate is None or self._end == math.inf:
            return len(steps)
        training = sum(fleet.runs for fleet in self._fleets.values() if fleet.ended == math.inf)
        for count in range(len(steps), (len(steps) - 1) // 2, -1):
            until_trained = max(_MARGIN * sum(steps[:count]) / rate, self.scoring(waiting))
            if until_trained + self.scoring(training + count) + self._closing <= self.left:
                return count
        return 0

    def ends_training(self, waiting: int) -> bool:
        """Whether the time left is what it takes to write checkpoints and score what waits for it."""
        return self.left <= self._closing + self.scoring(waiting)
