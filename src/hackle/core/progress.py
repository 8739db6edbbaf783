"""How far a long computation has come: a bar with the time left, or a call to whoever listens.

Scores of many codes work through blocks of columns or through the steps of a solver, deep inside functions of arrays. They
say how far they are by `advance`; whoever started them decides whether that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[str, float], None]
"""Called with what is done and the fraction of it that is complete."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Everything computed in this block tells `listener` how far it has come."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def bar(shown: bool) -> Iterator[None]:
    """A bar on stderr, with the time left, for what is computed in this block; none if not `shown` or if one is there."""
    if not shown or _listener.get() is not None:
        yield
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from hackle.core.terminal import Terminal

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, TimeRemainingColumn(), console=Terminal(stderr=True)) as shown_bar:
        tasks = {}

        def told(what: str, fraction: float) -> None:
            if what not in tasks:
                tasks[what] = shown_bar.add_task(what, total=1.0)
            shown_bar.update(tasks[what], completed=fraction)

        with listening(told):
            yield


def advance(what: str, fraction: float) -> None:
    """Say how much of `what` is done."""
    if (listener := _listener.get()) is not None:
        listener(what, fraction)


def progress(steps: Iterable[T], title: str, total: int | None = None) -> Iterable[T]:
    """The steps, one after another, with a bar on stderr if that is a terminal, removed when done; `total` is their number if
    they have no length."""
    from rich.markup import escape
    from rich.progress import track

    from hackle.core.terminal import Terminal

    console = Terminal(stderr=True)
    return track(steps, escape(title), total, console=console, transient=True, disable=not console.is_terminal)


def following(items: Iterable[T], what: str) -> Iterator[T]:
    """The items one by one, saying how many are done.

    >>> with listening(lambda what, fraction: print(what, fraction)):
    ...     for item in following("ab", "letters"):
    ...         pass
    letters 0.0
    letters 0.5
    letters 1.0
    """
    listed: Sequence[T] = list(items)
    advance(what, 0.0)
    for place, item in enumerate(listed, start=1):
        yield item
        advance(what, place / len(listed))
