"""What a call of a study has done, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Summary:
    """The outcome of a study. trained and scored: in this call. failures: hash and reason of each run that failed.

    left: runs that are not stored, because the time was over. to_score: how many of these are trained.
    lacking: a line on runs stored earlier without scores that were asked for and without weights, "" where there are none.
    unscored: how many of the failed runs are trained, and have their weights. raised: each metric that raised an error in this
    call, in how many runs, and its note in the first of them.
    """

    folder: Path
    total: int
    done: int
    failed: int
    trained: int
    scored: int
    seconds: float
    failures: tuple[tuple[str, str], ...] = ()
    lacking: str = ""
    unscored: int = 0
    raised: tuple[tuple[str, int, str], ...] = ()
    to_score: int = 0

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed

    def __str__(self) -> str:
        lines = [
            f"{self.done:,} of {self.total:,} runs done, {self.failed:,} failed; in {self.seconds:,.0f} s "
            f"{self.trained:,} were trained and {self.scored:,} scored"
        ]
        if self.left:
            trained = f", {self.to_score:,} of them trained" if self.to_score else ""
            runs = "1 run is" if self.left == 1 else f"{self.left:,} runs are"
            lines.append(f"the time is over, and {runs} left{trained}")
        lines += [f"failed: {run}: {reason}" for run, reason in self.failures[:5]]
        lines += [f"… and {len(self.failures) - 5:,} more"] if len(self.failures) > 5 else []
        if self.unscored:
            lines.append(
                f"{self.unscored:,} of the failed runs are trained and their weights kept: --retry-failed scores them without "
                "training"
            )
        lines += [
            f"{metric} has no score in {count:,} of the runs, whose weights are kept; once it is mended, --retry-failed scores "
            f"them again: {note}"
            for metric, count, note in self.raised
        ]
        lines += [self.lacking] if self.lacking else []
        return "\n".join(lines)
