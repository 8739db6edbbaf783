"""How far a command is: a bar on a terminal, a line now and then in a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hackle.core.terminal import Terminal

_FIRST, _EVERY = 2.0, 10.0
"""Seconds until the first line in a file, so that short work writes none, and between lines."""


@contextmanager
def told(verb: str, first: float = _FIRST, every: float = _EVERY) -> Iterator[Callable[..., None]]:
    """A function to call with what is done, of how much, and what is next, which is shown on stderr with the time left.

    Nothing is shown before the first call, when it is not known how much there is. Where stderr is a file or a pipe, a line
    is written after `first` seconds, and then one every few seconds.
    """
    console = Terminal(stderr=True)
    if not console.is_terminal:
        yield _lines(console, verb, first, every)
        return
    counts = TextColumn("{task.completed}/{task.total} {task.description}", markup=False)
    columns = (TextColumn(verb), BarColumn(bar_width=20), counts, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)
        yield lambda done, total, what="": bar.update(task, completed=done, total=total, description=what, visible=True)


def _lines(console: Terminal, verb: str, first: float, every: float) -> Callable[..., None]:
    due = time.monotonic() + first

    def tell(done: int, total: int, what: str = "") -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + every
        line = f"{verb} {done}/{total} {what}".rstrip()
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return tell
