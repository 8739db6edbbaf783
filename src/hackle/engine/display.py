"""One line for a whole study: runs done, model-steps per second, time left, failures, and runs waiting to be scored.

The time left is that of training at the rate so far and of scoring the remaining runs, each as long as the mean so far.
Where the same workers do both, the two add up; where others score during training, the longer counts. Until the first
run has been scored, the time for scoring is unknown, and the line says that it covers training only.

On a terminal it is a bar that changes in place. In a file or a pipe it is a plain line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.progress import BarColumn, Progress, TextColumn

from hackle.core.terminal import Terminal
from hackle.train.display import LINE_SECONDS


class Display:
    """The state of a study on standard error; silent if not wanted."""

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
        """scorers: workers that score at a time. shared: whether the same workers also train."""
        self.total, self.done, self.failed, self.backlog = total, done, failed, 0
        self.to_score, self._scorers, self._shared = total - done - failed, scorers, shared
        self._scorings, self._scoring_seconds = 0, 0.0
        self._to_do, self._finished = model_steps, 0
        self._running: dict[int, int] = {}
        self._now, self._started = clock, clock()
        self._told = self._started
        self.console = Terminal(stderr=True, quiet=not shown)
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

    def __exit__(self, *error: object) -> None:
        self.update(last=True)
        self._bar.stop()

    def training(self, number: int, model_steps: int) -> None:
        """A training task has done `model_steps` model-steps in this attempt."""
        self._running[number] = model_steps

    def ended(self, number: int, model_steps: int = 0) -> None:
        """A training task has ended, successfully if `model_steps`, all that it had to do, are given."""
        told = self._running.pop(number, 0)
        self._finished += told
        self._to_do -= model_steps - told

    def scored(self, seconds: float) -> None:
        """A run has been scored in `seconds` of one worker's time."""
        self._scorings += 1
        self._scoring_seconds += seconds

    def say(self, line: str) -> None:
        self.console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)

    @property
    def rate(self) -> float:
        """Model-steps per second since the start."""
        steps = self._finished + sum(self._running.values())
        return steps / max(1e-9, self._now() - self._started)

    def _left(self) -> str:
        """The time left, in words."""
        done = self._finished + sum(self._running.values())
        to_train = self._to_do - done
        # The first steps wait for kernels to be compiled and say nothing about the rest.
        if to_train and done <= self._to_do / 10_000:
            return "starting"
        if not self._scorings:
            what = " of training" if self.to_score else ""
            return f"{_clock(to_train / self.rate)}{what} left" if self._to_do else ""
        scoring = self.to_score * self._scoring_seconds / self._scorings / self._scorers
        elapsed = self._now() - self._started
        if self._shared:
            # Time that workers have spent on scoring was not spent on training.
            elapsed = max(0.0, elapsed - self._scoring_seconds / self._scorers)
        training = to_train * elapsed / done if to_train else 0.0
        return f"{_clock(training + scoring if self._shared else max(training, scoring))} left"

    def update(self, *, last: bool = False) -> None:
        """Show the current state; as a plain line only if the previous one is old, or this is the last."""
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
