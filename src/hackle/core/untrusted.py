"""Files in folders that anyone may have written: read whole or refused with a reason, never from outside the folder."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from hackle.core.errors import HackleError

MOST_BYTES = 32 * 2**20
"""The size of the largest text file that is read from such a folder."""


class UntrustedError(HackleError, ValueError):
    """A file that is not read: a link out of its folder, too large, not text, or not readable."""


def file_inside(folder: Path, name: str, *, follow: bool = False) -> Path | None:
    """The file of this name in a folder; None where there is none.

    A link that leaves the folder is refused unless `follow` says that the folder is trusted: it may lead to anything that
    the reader, but not the sender, may see.
    """
    path = folder / name
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UntrustedError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        return None
    if not follow and not is_inside(folder, path):
        raise UntrustedError(
            f"{path} is a link that leaves its folder; it is followed only where the folder is trusted: --trust on the command "
            "line, trust=True in Python. Or put a copy of the file in its place"
        )
    return path


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path, which a link or a name such as ../elsewhere may be part of, leads to a place in a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def place_inside(folder: Path, name: str) -> Path:
    """Where to write the file or folder of this name in a folder. A link there, or inside it, that leads out of the
    folder is refused: something else would be overwritten through it. So is a pipe, which is written to for ever."""
    path = folder / name
    for place in (path, *(path.iterdir() if path.is_dir() else ())):
        if place.exists() and not place.is_file() and not place.is_dir():
            raise UntrustedError(f"{place} is neither a file nor a folder; nothing is written to it: delete it")
        if not is_inside(folder, place):
            raise UntrustedError(
                f"{place} is a link that leaves {folder}; nothing is written through it: delete the link"
            )
    return path


def is_text(value: Any) -> bool:
    """Whether it is text that a file can be named by and that can be written in UTF-8: without NUL or half a character."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file that `file_inside` has found."""
    try:
        if (size := path.stat().st_size) > most:
            raise UntrustedError(f"{path} has {size:,} bytes; at most {most:,} are read")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UntrustedError(f"{path} is not text in UTF-8") from error
    except OSError as error:
        raise UntrustedError(f"{path} cannot be read: {error.strerror}") from error


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """What a file of JSON holds. It may be nested as deep as Python's own parser allows."""
    text = read_text(path, most)
    try:
        return json.loads(text)
    except ValueError as error:
        raise UntrustedError(f"{path} is not JSON: {error}") from error
    except RecursionError as error:
        raise UntrustedError(f"{path} is nested too deep") from error
