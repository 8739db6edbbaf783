"""Formulas of the documentation's site as MathML, which browsers draw by themselves: nothing is loaded from elsewhere.

Browsers do not break MathML into lines, so a long formula is cut at the relations, sums and wide spaces that stand outside
all brackets. Its pieces flow like words: side by side on a wide page, one below the other on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

SHORT = 24
"""A formula with no more signs than this is never cut: it fits on a phone."""
# What the extension pymdownx.arithmatex makes of $…$ and $$…$$, before Markdown takes their signs for its own, with the
# brackets and stops that belong to a formula among words.
_FORMULA = re.compile(
    r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>|(\(?)<span class="arithmatex">\\\((.+?)\\\)</span>([-,.;:?)\]]*)',
    re.DOTALL,
)
LONG = 36
"""A piece with more signs than this is cut inside its brackets, too."""
LEAST = 5
"""No piece has fewer signs than this: the left side of an equation stays with what it equals."""
_SIGNS = set("=<>≤≥≈∝∼→←≔+−-")
_OPEN, _CLOSE, _BARS = set("([{⟨⌊"), set(")]}⟩⌋"), set("|‖")


def _sign(element: Element) -> str:
    """The sign that an element is, with or without an exponent; "" if it is none."""
    first = element[0] if element.tag in ("msup", "msub", "msubsup") else element
    return (first.text or "").strip() if first.tag == "mo" else ""


def pieces(row: Iterable[Element], level: int = 0) -> list[list[Element]]:
    """The elements of a formula in the groups that stay on one line: a sign begins a group, a wide space ends one.

    Signs inside of more brackets than `level` do not count, unless the group would be long.
    """
    found: list[list[Element]] = [[]]
    depth, in_bars = 0, False
    for element in row:
        sign, last = _sign(element), found[-1][-1] if found[-1] else None
        depth -= sign in _CLOSE
        if last is not None and depth <= level:
            # A sign after a sign is a number's: x = -1.
            begins = sign in _SIGNS and _sign(last) not in _SIGNS | _OPEN | {","} and _length(found[-1]) >= LEAST
            wide = last.tag == "mspace" and last.get("width") in ("1em", "2em")
            words = element.tag == "mtext" and len((element.text or "").split()) > 1
            if words or (not in_bars and (begins or wide)):
                found.append([])
                if begins:
                    # At the start of a group a browser would take + and − as signs of a number and set them close.
                    element.set("form", "infix")
        found[-1].append(element)
        depth += sign in _OPEN
        in_bars ^= depth <= level and sign in _BARS
    if level == 2:
        return found
    return [part for group in found for part in (pieces(group, level + 1) if _length(group) > LONG else [group])]


def _named(element: Element) -> bool:
    """Whether an element is a function's name, such as log, with or without an exponent."""
    first = element[0] if element.tag in ("msup", "msub", "msubsup") else element
    return first.tag == "mi" and len((first.text or "").strip()) > 1


def _space_functions(row: Element) -> None:
    """Thin spaces between a function's name and letters or numbers beside it, which a browser sets close: log p, 2 cos t."""
    children = list(row)
    for place, (before, after) in reversed(list(enumerate(pairwise(children), start=1))):
        signs = _sign(before), _sign(after)
        left = _named(before) and (not signs[1] or signs[1] not in _OPEN | _CLOSE | _SIGNS | {",", "|"})
        right = _named(after) and (not signs[0] or signs[0] in _CLOSE)
        if (left or right) and "mspace" not in (before.tag, after.tag):
            row.insert(place, Element("mspace", {"width": "0.167em"}))


def _length(elements: Iterable[Element]) -> int:
    return sum(len("".join(element.itertext())) for element in elements)


def drawn(latex: str, *, display: bool, opening: str = "", closing: str = "") -> str:
    """A formula as MathML, in pieces if it is long. The signs that open and close it stay with it in every line."""
    try:
        made = convert_to_element(latex, display="block" if display else "inline")
    except Exception as error:
        raise ValueError(f"the formula {latex!r} cannot be drawn: {type(error).__name__}") from error
    for element in made.iter():
        # The converter writes signs as entities: &#x0003D;.
        element.text = unescape(element.text) if element.text else None
        for before, after in pairwise(element):
            if _sign(before) in _OPEN and _sign(after) in _SIGNS:
                after.set("form", "prefix")
        if element.tag == "mo" and element.text in _BARS:
            element.attrib.setdefault("stretchy", "false")
    for element in [element for element in made.iter() if element.tag == "mrow"]:
        _space_functions(element)
    row = made[0]
    groups = pieces(row) if _length(row) > SHORT else [list(row)]
    if len(groups) == 1:
        whole = tostring(made, encoding="unicode")
        return f'<span class="formula">{whole}</span>' if display else _kept(opening, whole, closing)
    parts = []
    for group in groups:
        part = Element("math", {"displaystyle": "true"} if display else {})
        part.extend(group)
        parts.append(tostring(part, encoding="unicode"))
    parts[0], parts[-1] = _kept(opening, parts[0], ""), _kept("", parts[-1], closing)
    return f'<span class="{"formula" if display else "pieces"}">{"<wbr>".join(parts)}</span>'


def _kept(opening: str, formula: str, closing: str) -> str:
    """A formula that no line separates from its bracket or stop."""
    return f'<span class="whole">{opening}{formula}{closing}</span>' if opening or closing else formula


def _replaced(formula: re.Match[str]) -> str:
    display, opening, inline, closing = formula.groups()
    if display is not None:
        return drawn(unescape(display).strip(), display=True)
    return drawn(unescape(inline).strip(), display=False, opening=opening, closing=closing)


def on_page_content(html: str, **_: Any) -> str:
    """A page with its formulas drawn. MkDocs calls this for each page."""
    return _FORMULA.sub(_replaced, html)
