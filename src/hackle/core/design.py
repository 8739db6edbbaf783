"""What identifies a run to people: the names and fields of its record, which are the columns of every table and report.

All of it follows from `Run`: a field that is declared there with `shown` is here, and so everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from hackle.core.method import strength_of
from hackle.core.parts import name_of
from hackle.core.records import is_record
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.core.types import Run, shown_fields

_SHOWN = shown_fields()
_NAMED = ("dataset", "method", "strength", "architecture")
_OTHERS = tuple(name for name in _SHOWN if name not in _NAMED)
REGIMES: dict[str, type] = {"drawing": Drawing, "pairs": Pairs, "labels": Labels}
"""What a run's data give beside single images, which tables show in words, such as `rule resample, changed 1`."""
DEFAULTS: dict[str, Any] = {
    **{each.name: each.default for each in fields(Run) if each.name in _OTHERS},
    **dict.fromkeys(REGIMES, ""),
}
"""The fields' defaults, by name; data set, method, strength and architecture have none."""
DESIGN = (*_NAMED, *_OTHERS, *REGIMES)
"""The columns that identify a run. `method` and `architecture` are the names on the command line; `strength` is the one
weight that studies sweep, NaN where the method has none."""
CONFIGURATION = (*_NAMED, *(name for name in _OTHERS if _SHOWN[name].compared), *REGIMES)
"""The columns in which two runs of the same experiment agree: all but the seed, the length and the like."""
USUAL = {
    name: default
    for name, default in DEFAULTS.items()
    if name in REGIMES or (_SHOWN[name].compared and _SHOWN[name].usual)
}
"""Values assumed where a claim's condition or a figure's choice of runs does not mention the field."""


def design_of(run: Run) -> dict[str, Any]:
    """A run's values of `DESIGN`, by name."""
    return {
        "dataset": run.dataset,
        "method": name_of(run.method),
        "strength": strength_of(run.method),
        "architecture": architecture_name(run.architecture),
        # In a float field, 4 and 4.0 are the same value.
        **{
            name: float(getattr(run, name)) if isinstance(default, float) else as_column(getattr(run, name))
            for name, default in DEFAULTS.items()
        },
    }


def architecture_name(architecture: Any) -> str:
    """What tables call an architecture: its name and, if they are not the usual ones, its initial weights."""
    how = getattr(architecture, "initialisation", "glorot")
    return name_of(architecture) if how == "glorot" else f"{name_of(architecture)} ({how})"


def as_column(value: Any) -> Any:
    """A value of a field of `Run` as tables have it: a regime in words, everything else as it is.

    >>> as_column(Pairs("resample", changed=1)), as_column(Pairs()), as_column(10)
    ('rule resample, changed 1', '', 10)
    """
    return regime_in_words(type(value), asdict(value)) if is_record(value) else value


def regime_in_words(regime: type, values: Mapping[str, Any]) -> str:
    """The fields of a regime that differ from its defaults, in words; empty if none does.

    >>> regime_in_words(Drawing, {"correlated": "x~y", "sigma": 0.4, "left_out": ""})
    'correlated x~y, sigma 0.4'
    """
    return ", ".join(
        f"{each.name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"
        for each in fields(regime)
        if (value := values.get(each.name, each.default)) != each.default
    )


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
    >>> in_words("labels", "images 100, kind noisy")
    'labels (images 100, kind noisy)'
    """
    # A table's column holds floats where a value is missing.
    value = type(DEFAULTS.get(column, value))(value)
    word = heading(column)
    if column in REGIMES and value:
        return f"{word} ({value})"
    if isinstance(value, str):
        return value
    if not word.isascii():
        return f"{word} = {value:g}"
    if isinstance(value, int) and word.endswith("s"):
        return f"{value:,} {word if value != 1 else word.removesuffix('s')}"
    return f"{word} {value:g}" if isinstance(value, float) else f"{word} {value}"
