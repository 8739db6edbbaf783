"""What identifies a run to people: the names and fields of its record, which are the columns of every table and report.

All of it follows from `Run`: a field that is declared there with `shown` is here, and so everywhere.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hackle.core.method import strength_of
from hackle.core.parts import name_of
from hackle.core.types import Run, shown_fields

_SHOWN = shown_fields()
_NAMED = ("dataset", "method", "strength", "architecture")
_OTHERS = tuple(name for name in _SHOWN if name not in _NAMED)
DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(Run) if each.name in _OTHERS}
"""The fields' defaults, by name; data set, method, strength and architecture have none."""
DESIGN = (*_NAMED, *_OTHERS)
"""The columns that identify a run. `method` and `architecture` are the names on the command line; `strength` is the one
weight that studies sweep, NaN where the method has none."""
CONFIGURATION = (*_NAMED, *(name for name in _OTHERS if _SHOWN[name].compared))
"""The columns in which two runs of the same experiment agree: all but the seed, the length and the like."""
USUAL = {name: default for name, default in DEFAULTS.items() if _SHOWN[name].compared and _SHOWN[name].usual}
"""Values assumed where a claim's condition or a figure's choice of runs does not mention the field."""


def design_of(run: Run) -> dict[str, Any]:
    """A run's values of `DESIGN`, by name."""
    return {
        "dataset": run.dataset,
        "method": name_of(run.method),
        "strength": strength_of(run.method),
        "architecture": name_of(run.architecture),
        # In a float field, 4 and 4.0 are the same value.
        **{
            name: float(getattr(run, name)) if isinstance(default, float) else getattr(run, name)
            for name, default in DEFAULTS.items()
        },
    }


def heading(column: str) -> str:
    """The heading of a column or of a field of a record.

    >>> heading("correlation"), heading("dataset"), heading("batch_size")
    ('σ', 'data set', 'batch size')
    """
    return (_SHOWN[column].word if column in _SHOWN else "") or column.replace("_", " ")


def in_words(column: str, value: Any) -> str:
    """A value of one of the columns as text for people.

    >>> in_words("correlation", 0.9), in_words("latents", 10), in_words("seed", 3), in_words("likelihood", "bernoulli")
    ('σ = 0.9', '10 latents', 'seed 3', 'bernoulli')
    """
    # A table's column holds floats where a value is missing.
    value = type(DEFAULTS.get(column, value))(value)
    word = heading(column)
    if isinstance(value, str):
        return value
    if not word.isascii():
        return f"{word} = {value:g}"
    if isinstance(value, int) and word.endswith("s"):
        return f"{value:,} {word if value != 1 else word.removesuffix('s')}"
    return f"{word} {value:g}" if isinstance(value, float) else f"{word} {value}"
