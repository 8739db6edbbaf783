"""Scores at points of a training: a field of `Run`. They say how a model develops, and change nothing in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hackle.core.errors import HackleError

MOST_POINTS, MOST_TEXT = 10_000, 1_000
"""Limits above any figure's need: records may come from anyone."""


class ScoredError(HackleError, ValueError):
    """Scores during training that cannot be taken."""


@dataclass(frozen=True)
class Scored:
    """Scores of the model at evenly spaced points of its training, the last one at its end; they join the curves."""

    points: int = 0
    """The number of points; 0 takes none."""
    metrics: str = "all"
    """Names of hackle's metrics, separated by commas; all is those that the protocol is for."""
    protocol: str = "quick"
    """The protocol that they follow."""

    def __post_init__(self) -> None:
        if type(self.points) is not int or not 0 <= self.points <= MOST_POINTS:
            raise ScoredError(f"scored.points is {self.points!r}; expected a whole number from 0 to {MOST_POINTS:,}")
        # A name of a file would run it when someone else trains the record.
        for name, allowed in (("metrics", r"[\w,\- ]+"), ("protocol", r"[\w\-@]+")):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) > MOST_TEXT or not re.fullmatch(allowed, value, re.ASCII):
                raise ScoredError(
                    f"scored.{name} is {str(value)[:40]!r}; expected names of hackle's own, such as factor_vae,true_tc of "
                    "the protocol kim2018"
                )
        if not self.points and (self.metrics, self.protocol) != (Scored.metrics, Scored.protocol):
            raise ScoredError("scored names metrics or a protocol, but no points; set scored.points, such as 10")

    def steps(self, of: int) -> frozenset[int]:
        """The steps after which scores are taken, of a training with `of` steps.

        >>> sorted(Scored(points=4).steps(10))
        [3, 5, 8, 10]
        """
        return frozenset(-(-of * point // self.points) for point in range(1, self.points + 1))
