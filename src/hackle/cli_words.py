"""What the verbs of the command line share: running a function on words, and guessing what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tyro


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is not known.

    >>> nearest("trian", ["train", "score"])
    'did you mean train?'
    """
    names = list(known)
    near = difflib.get_close_matches(word, names, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def run_command(function: Callable[..., Any], name: str, words: Sequence[str]) -> Any:
    """Call a function with the options that the words give it; its docstring is the help text."""
    return tyro.cli(function, prog=f"hackle {name}", args=list(words))
