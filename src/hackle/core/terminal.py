"""A terminal on which other people's text stays text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_DIRECTIONS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)))
_DROPPED = _CONTROLS | _DIRECTIONS
"""Control characters, which move the cursor, set a window's title or fill its clipboard, and marks that show text in another
order or on another line than it is written in: a record may hold any."""


def plain(text: str) -> str:
    """A text without them, also for pages: a command that is copied from one is pasted into a terminal.

    >>> plain("hackle claims 'a\\x03\\u202eb'")
    "hackle claims 'ab'"
    """
    return text.translate(_DROPPED)


class Terminal(Console):
    """rich's console without control characters of what is printed, in strings, texts and tables; rich's own remain. A name
    between colons is no emoji."""

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))
