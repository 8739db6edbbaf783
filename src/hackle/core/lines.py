"""The line of the user's code at which something went wrong, for one-line messages."""

from __future__ import annotations

import inspect
import os
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

_HACKLE = str(Path(__file__).parents[1])
_PACKAGES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Where Python and its packages are installed."""


def line_of(error: BaseException) -> str:
    """The last line of the user's code, else of a package other than PyTorch, that led to an error; "" if there is
    none.

    >>> try:
    ...     int("three")
    ... except ValueError as error:
    ...     line_of(error).endswith('line 2: `int("three")`')
    True
    """
    return _shown(traceback.extract_tb(error.__traceback__))


def line_above(frame: FrameType | None) -> str:
    """The same for the calls that led to a frame."""
    return _shown(traceback.extract_stack(frame))


def line_of_definition(function: Any) -> str:
    """Where a function begins; its name where it has no source, such as one typed at a prompt.

    >>> line_of_definition(line_of).endswith(": `def line_of(error: BaseException) -> str:`")
    True
    """
    whole = inspect.unwrap(getattr(function, "func", function))
    try:
        lines, number = inspect.getsourcelines(whole)
        return as_line(inspect.getsourcefile(whole) or "", number, lines[0])
    except (TypeError, OSError):
        return getattr(function, "__name__", repr(function))


def _shown(frames: Iterable[traceback.FrameSummary]) -> str:
    outside = [one for one in frames if not one.filename.startswith((_HACKLE + os.sep, "<frozen"))]
    own = [one for one in outside if not one.filename.startswith(_PACKAGES)]
    others = [one for one in outside if f"{os.sep}torch{os.sep}" not in one.filename]
    if not (own or others):
        return ""
    last = (own or others)[-1]
    return as_line(last.filename, last.lineno or 0, last.line or "")


def as_line(path: str, number: int, source: str) -> str:
    """A file, a line number and the line itself as one line; the path is relative if it lies below the current folder.

    >>> as_line("/nowhere/my.py", 3, "  return loss ")
    '/nowhere/my.py, line 3: `return loss`'
    """
    here = os.path.relpath(path) if os.path.isabs(path) else path
    shown = path if here.startswith(os.pardir) else here
    return f"{shown}, line {number}: `{source.strip()}`"
