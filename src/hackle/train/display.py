"""The progress of training: a bar on a terminal, and a plain line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import torch
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from hackle.core.terminal import Terminal
from hackle.core.types import Run
from hackle.train.loop import Watch

LONG_RUN_SECONDS = 30 * 60
LINE_SECONDS = 30.0
"""Seconds between two lines where there is no terminal to draw a bar on."""


class Lines:
    """A line on a fleet's progress about every half minute, for logs."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._name, self._first, self._steps, self._losses = "", 0, 0, ""
        self._started = self._said = clock()

    def begin(self, name: str, first: int, steps: int) -> None:
        """A fleet of this name begins at step `first` of `steps`."""
        self._name, self._first, self._steps, self._losses = name, first, steps, ""
        self._started = self._said = self._clock()

    def point(self, losses: str) -> None:
        self._losses = losses

    def step(self, step: int) -> None:
        now = self._clock()
        if now - self._said < LINE_SECONDS:
            return
        self._said = now
        rate = (step - self._first) / (now - self._started)
        minutes, seconds = divmod(round((self._steps - step) / rate), 60)
        parts = (
            f"{self._name} step {step:,}/{self._steps:,}",
            f"{rate:,.1f} steps/s",
            f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left",
            self._losses,
        )
        self._say(" · ".join(part for part in parts if part))


class _Losses(ProgressColumn):
    """The end of the bar's line. On a narrow terminal this is cut, but not the steps and the time left."""

    def render(self, task: Task) -> Text:
        return Text(f"left {task.fields['losses']}", no_wrap=True, overflow="ellipsis")


@contextmanager
def shown(progress: bool, device: torch.device, *, kept: bool = True) -> Iterator[Watch]:
    """A bar for the fleet in training, and lines above it; without a terminal only lines, and the bar at the end.

    kept: whether there is a folder, in which a run that is stopped leaves a checkpoint.
    """
    console = Terminal(stderr=True, quiet=not progress)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} · {task.fields[rate]} ·"),
        TimeRemainingColumn(compact=True),
        _Losses(),
    )
    lines = Lines(lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    bar = Progress(*columns, console=console, refresh_per_second=4, disable=not progress)
    with ExitStack() as opened:
        task = bar.add_task("", total=1, rate="", losses="", visible=False)

        def begin(runs: Sequence[Run], step: int) -> None:
            methods = {type(run.method).__name__ for run in runs}
            name = f"{methods.pop() if len(methods) == 1 else f'{len(methods)} methods'} × {len(runs)}"
            if not bar.live.is_started:
                # Not before: the end of a bar that showed nothing is an empty line.
                opened.enter_context(bar)
            bar.reset(task, total=runs[0].steps, completed=step, description=name, rate="", losses="", visible=True)
            lines.begin(name, step, runs[0].steps)

        def say(line: str) -> None:
            console.print(f"[yellow]{escape(line)}[/yellow]", highlight=False, soft_wrap=True)

        def point(step: int, rate: float, terms: Mapping[str, list[float] | float]) -> None:
            losses = " ".join(
                f"{name.replace('_', ' ')} {value:.4g}"
                for name, value in list(terms.items())[:3]
                if isinstance(value, float)
            )
            bar.update(task, completed=step, rate=f"{rate:,.1f}/s", losses=losses)
            lines.point(losses)

        def early(steps: int, seconds: float) -> None:
            if seconds > LONG_RUN_SECONDS:
                say(
                    f"{steps:,} steps will take about {seconds / 3600:.1f} hours on this {device.type.upper()}; "
                    f"{'Ctrl-C leaves a checkpoint' if kept else 'nothing of them will be kept, as no folder (out) is given'}, "
                    "fewer --steps or a GPU shorten it"
                )

        watch = Watch(begin=begin, early=early, point=point, say=say)
        yield watch if console.is_terminal else replace(watch, step=lines.step)
