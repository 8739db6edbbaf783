"""Formulas of the documentation's site as MathML, which browsers draw by themselves: nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

_CODE = re.compile(r"(<(?:pre|code)\b.*?</(?:pre|code)>)", re.DOTALL)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)


def _drawn(formula: re.Match[str]) -> str:
    display, inline = formula.groups()
    return convert(unescape(display or inline).strip(), display="block" if display else "inline")


def on_page_content(html: str, **_: Any) -> str:
    """A page with its formulas drawn; code is left alone. MkDocs calls this for each page."""
    texts = _CODE.split(html)
    # Every second part is what the pattern found.
    return "".join(text if number % 2 else _FORMULA.sub(_drawn, text) for number, text in enumerate(texts))
