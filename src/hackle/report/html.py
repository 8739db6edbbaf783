"""Pages from templates: one file each without outside links, light and dark, readable on a phone.

Python computes what is shown; the templates in `templates/` lay it out and escape all values.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd

from hackle.claims.reasons import chance_in_words
from hackle.core.palette import style_sheet
from hackle.core.papers import paper_named
from hackle.core.terminal import plain
from hackle.figures import words
from hackle.report.claim_words import missing, reason

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """The text of a template with these values, without control characters: they may be anyone's."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    # Training and studies import this package but write no page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hackle.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: plain(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {"number": number, "listing": words.listing, "reason": reason, "missing": missing}
    environment.globals |= {
        "asset": asset,
        "chance": chance_in_words,
        "counted": words.counted,
        "dataset": words.dataset,
        "interval": interval,
        "palette": style_sheet,
        "paper_named": paper_named,
    }
    return environment


def asset(path: str) -> str:
    """The text of a style sheet or script of hackle; `path` is relative to the package."""
    return files("hackle").joinpath(path).read_text(encoding="utf-8")


def number(value: float | str | None, digits: int = 3) -> str:
    """A number for a table: three digits, empty for None.

    >>> number(-0.12345), number(12345.6), number(None), number("high")
    ('−0.123', '12,346', '', 'high')
    """
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return ""
    return (f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}").replace("-", "−")


def interval(low: float, high: float) -> str:
    """An interval to follow its number, empty if there is none."""
    return "" if pd.isna(low) or pd.isna(high) else f" [{number(low)}, {number(high)}]"
