"""One line for a whole study: runs done, model-steps per second, time left, failures, and what waits to be scored.

The time left is that of training at the rate so far and of scoring what is not scored yet, each run as long as the mean of
those that were. Where the same workers do both the two add up; where others score beside the training the longer counts. Until
a first run is scored nobody knows how long that takes, and the line says that it speaks of training alone.

On a terminal it is a bar that changes in place. Where the words go to a file or a pipe it is a plain line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from hackle.train.display import LINE_SECONDS


class Display:
    """The state of a study on standard error; silent where it is not wanted."""

    def __init__(
        self,
        total: int,
        done: int,
        failed: int,
        model_steps: int,
        shown: bool,
        scorers: int = 1,
        shared: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """scorers: workers that score at a time. shared: whether they are also those that train."""
        self.total, self.done, self.failed, self.backlog = total, done, failed, 0
        self.to_score, self._scorers, self._shared = total - done - failed, scorers, shared
        self._scorings, self._scoring_seconds = 0, 0.0
        self._to_do, self._finished = model_steps, 0
        self._running: dict[int, int] = {}
        self._now, self._started = clock, clock()
        self._told = self._started
        self.console = Console(stderr=True, quiet=not shown)
        columns = (
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} runs"),
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
        )
        self._plain = shown and not self.console.is_terminal
        self._bar = Progress(
            *columns, console=self.console, refresh_per_second=2, disable=not shown or not self.console.is_terminal
        )
        self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.update(last=True)
        self._bar.stop()

    def training(self, number: int, model_steps: int) -> None:
        """A training task has done so many model-steps in this attempt."""
        self._running[number] = model_steps

    def ended(self, number: int, model_steps: int = 0) -> None:
        """A training task is over; what it had to do counts as done if it succeeded."""
        told = self._running.pop(number, 0)
        self._finished += told
        self._to_do -= model_steps - told

    def scored(self, seconds: float) -> None:
        """A run has been scored in so many seconds of one worker."""
        self._scorings += 1
        self._scoring_seconds += seconds

    def say(self, line: str) -> None:
        self.console.print(f"[yellow]{line}[/yellow]", highlight=False, soft_wrap=True)

    @property
    def rate(self) -> float:
        """Model-steps per second since the start."""
        steps = self._finished + sum(self._running.values())
        return steps / max(1e-9, self._now() - self._started)

    def _left(self) -> str:
        """How long it will still take, in words."""
        done = self._finished + sum(self._running.values())
        to_train = self._to_do - done
        # The first steps wait for kernels to be compiled and say nothing of the rest.
        if to_train and done <= self._to_do / 10_000:
            return "starting"
        if not self._scorings:
            what = " of training" if self.to_score else ""
            return f"{_clock(to_train / self.rate)}{what} left" if self._to_do else ""
        scoring = self.to_score * self._scoring_seconds / self._scorings / self._scorers
        elapsed = self._now() - self._started
        if self._shared:
            # What workers have spent on scoring they have not spent on training.
            elapsed = max(0.0, elapsed - self._scoring_seconds / self._scorers)
        training = to_train * elapsed / done if to_train else 0.0
        return f"{_clock(training + scoring if self._shared else max(training, scoring))} left"

    def update(self, *, last: bool = False) -> None:
        """Show the state as it is now; as a plain line only if the one before is old, or this is the last."""
        words = [f"{self.rate:,.0f} model-steps/s"] if self._to_do else []
        words += [left] if (left := self._left()) else []
        words += [f"{self.failed} failed"] if self.failed else []
        words += [f"{self.backlog} to score"] if self.backlog else []
        ended = self.done + self.failed
        self._bar.update(self._task, completed=ended, description=" · ".join(words))
        if self._plain and (last or self._now() - self._told >= LINE_SECONDS):
            self._told = self._now()
            line = " · ".join([f"{ended:,}/{self.total:,} runs", *words])
            self.console.print(line, highlight=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    """
    >>> _clock(59.7), _clock(3720), _clock(200_000)
    ('1 min', '1 h 02 min', '2 d 7 h')
    """
    minutes = max(0, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
