"""The progress bar for long operations: on standard error, only in a terminal, removed when done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")


def progress(steps: Iterable[T], title: str, total: int | None = None) -> Iterable[T]:
    """The steps, one after another, with a progress bar; `total` is their number if they have no length."""
    console = Console(stderr=True)
    return track(steps, title, total, console=console, transient=True, disable=not console.is_terminal)
