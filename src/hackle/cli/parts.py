"""`hackle parts`: every method, architecture, data set, metric, protocol, preset, study, claim and figure, and its origin."""

from __future__ import annotations

from tyro.conf import Positional

from hackle.cli.words import plain_table, table_console
from hackle.core.parts import HOMES, PartError, nearest, parts_of


def parts_command(kind: Positional[str | None] = None) -> None:
    """List every part of hackle and of installed packages, with where it comes from.

    Your own parts need no installation: name them as path.py:name wherever a built-in name is accepted.

    Args:
        kind: Only parts of this kind, such as metric; all kinds if not given.
    """
    chosen = list(HOMES) if kind is None else [kind.removesuffix("s")]
    if kind is not None and chosen[0] not in HOMES:
        raise PartError(f"no kind of part {kind!r}; {nearest(kind, HOMES)}")
    table = plain_table("kind", "name", "origin", left=3)
    for name in chosen:
        for part in parts_of(name).found.values():
            table.add_row(name, part.name, part.origin)
    table_console().print(table)
