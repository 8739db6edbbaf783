"""Conditions that say which runs a claim is about: their defaults, and them in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hackle.core.design import REGIMES, USUAL, as_column
from hackle.core.method import Method, about
from hackle.core.parts import parts_of

Condition = Mapping[str, Any]
"""What some runs have in common: the value, or a tuple of values, of columns of the table of runs."""


def several(value: Any) -> tuple[Any, ...]:
    """The values that a condition allows: those of a tuple, or the one.

    >>> several("vae"), several(("vae", "beta-vae"))
    (('vae',), ('vae', 'beta-vae'))
    """
    return value if isinstance(value, tuple) else (value,)


def complete(condition: Condition) -> dict[str, Any]:
    """The condition with its defaults filled in, such as uncorrelated noise and the method's usual networks and pairs."""
    usual = about(parts_of("method").get(condition.get("method", "")) or Method)
    regimes = {name: value for name, value in usual.run_fields.items() if name in REGIMES}
    return as_columns({**USUAL, "architecture": usual.architecture, **regimes, **condition})


def as_columns(condition: Condition) -> dict[str, Any]:
    """The condition with regimes in the words of the table."""
    return {
        key: tuple(map(as_column, value)) if isinstance(value, tuple) else as_column(value)
        for key, value in condition.items()
    }


def describe(condition: Condition) -> str:
    """A condition in words.

    >>> describe({"method": "vae", "dataset": "dsprites", "correlation": 0.9})
    'vae on dsprites, correlation 0.9'
    """
    words = lambda value: " or ".join(str(one) or "none" for one in several(value))  # noqa: E731
    shown = as_columns({key: value for key, value in condition.items() if key not in ("method", "dataset")})
    rest = [f"{key} {words(value)}" for key, value in shown.items()]
    start = words(condition.get("method", "any method"))
    if "dataset" in condition:
        start += f" on {words(condition['dataset'])}"
    return ", ".join([start, *rest])
