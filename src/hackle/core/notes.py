"""Notes: sentences beside a score for people, each ending in a code for programs. No program reads their English.

A score may have several notes, a line each: `I(z; x) is estimated at 9.10 nats … [saturated]`.
"""

from __future__ import annotations

import re

CODE = re.compile(r" \[([a-z][a-z0-9-]*)\]$")
"""The code at the end of a note."""


def with_code(text: str, code: str) -> str:
    """A note as one line that ends in its code.

    >>> with_code("an estimate at its limit", "saturated")
    'an estimate at its limit [saturated]'
    """
    return f"{' '.join(text.split())} [{code}]"


def note_codes(text: str) -> tuple[str, ...]:
    """The codes of all lines, without repeats.

    >>> note_codes("one thing [saturated]\\nanother [own]\\nand in no words of ours")
    ('saturated', 'own')
    """
    return tuple(dict.fromkeys(match[1] for line in text.splitlines() if (match := CODE.search(line))))


def warning_code(category: type[Warning]) -> str:
    """The code of a warning's class: its attribute `code`, else its name.

    >>> warning_code(UserWarning), warning_code(RuntimeWarning)
    ('user', 'runtime')
    """
    hyphenated = re.sub(r"(?<!^)(?=[A-Z])", "-", category.__name__.removesuffix("Warning")).lower()
    return getattr(category, "code", "") or hyphenated or "warning"


def raised(score: float | None, note: str | None) -> str:
    """The note that a metric raised an error in place of this score, "" where none did.

    >>> raised(float("nan"), "cut into 20 bins [bins]\\nno score: strongest raised ValueError: far [raised]")
    'no score: strongest raised ValueError: far [raised]'
    >>> raised(0.5, "no reference: strongest raised ValueError: far [raised]")
    ''
    """
    there = score is not None and score == score
    lines = [] if there else (note or "").splitlines()
    return next((line for line in lines if note_codes(line) == ("raised",)), "")
