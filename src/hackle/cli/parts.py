"""`hackle parts`: every method, architecture, data set, metric, protocol, preset, study, claim and figure, and its origin."""

from __future__ import annotations

from importlib import import_module

from rich.console import Console
from tyro.conf import Positional

from hackle.cli.words import plain_table, run_command
from hackle.core.parts import KINDS, PartError, nearest

_ROOMS = ("objectives", "nets", "datasets", "scoring", "studies", "claims", "figures")
"""Whose import makes their kinds of parts known, in the order in which they are listed."""


def main(words: list[str]) -> None:
    run_command(parts_command, "parts", words)


def parts_command(kind: Positional[str | None] = None) -> None:
    """List every part of hackle and of installed packages, with where it comes from.

    Parts of your own need no installation: name them as path.py:name wherever a built-in name does.

    Args:
        kind: Only parts of this kind, such as metric; every kind if not given.
    """
    for room in _ROOMS:
        import_module(f"hackle.{room}")
    if kind is not None and kind.removesuffix("s") not in KINDS:
        raise PartError(f"no kind of part {kind!r}; {nearest(kind, KINDS)}")
    table = plain_table("kind", "name", "origin", left=3)
    for name, parts in KINDS.items():
        if kind is None or name == kind.removesuffix("s"):
            for found in parts.found.values():
                table.add_row(name, found.name, found.origin)
    Console().print(table)
