"""The site's formulas: every one of them is drawn, long ones in pieces, and code that has dollars in it is left alone."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from markdown import markdown

from website import formulas

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def drawn(text: str) -> str:
    extensions = ["tables", "pymdownx.superfences", "pymdownx.arithmatex"]
    page = markdown(text, extensions=extensions, extension_configs={"pymdownx.arithmatex": {"generic": True}})
    return formulas.on_page_content(page)


def test_formulas_become_mathml_and_code_stays() -> None:
    page = drawn("$q(z) < 1$ and\n\n$$\\sum_j z_j$$\n\n```sh\necho $HOME $PATH\n```\n\n`$x$`")
    assert page.count("<math") == 2
    assert page.count('display="block"') == 1
    assert "<mo><</mo>" in unescape(page)
    assert re.sub("<.*?>", "", page).endswith("echo $HOME $PATH\n\n$x$")


def test_underscores_of_a_formula_are_no_emphasis() -> None:
    page = drawn(r"$\text{UDR}_{ij} = \max_a R_{ab}$")
    assert "<em" not in page
    assert page.count("<msub>") == 3


def test_brackets_and_stops_stay_with_their_formula() -> None:
    short = drawn("as ($n + 1$), and $n$ too")
    assert short.count('<span class="whole">(<math') == 1
    assert short.count("</math>),</span>") == 1
    assert short.count('class="whole"') == 1
    long = drawn(r"as ($E[-\log p(x|z)] + \beta \, \mathrm{KL}(q(z|x) \parallel p(z))$).")
    assert '<span class="pieces"><span class="whole">(<math' in long
    assert long.count("</math>).</span></span>") == 1


@pytest.mark.parametrize(
    ("latex", "spaces"),
    [(r"\log p", 1), (r"2\cos t", 2), (r"\log(p)", 0), (r"-\ln 20", 1), (r"\sin^3 t", 1), (r"x y + 3", 0)],
)
def test_a_functions_name_stands_apart_from_letters_and_numbers(latex: str, spaces: int) -> None:
    assert formulas.drawn(latex, display=False).count('<mspace width="0.167em"') == spaces


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"a = b + c", ["a=b+c"]),
        (
            r"E[-\log p(x|z)] + \beta \, \mathrm{KL}(q(z|x) \parallel p(z))",
            ["E[−logp(x|z)]", "+βKL(q(z|x)∥p(z))"],
        ),
        (
            r"\text{score} = |aaaaaaa - bbbbbbb| + (ccccc - ddddd)^2 - e",
            ["score", "=|aaaaaaa−bbbbbbb|", "+(ccccc−ddddd)2", "−e"],
        ),
        (
            r"\delta = abcdefghijklm, \qquad \tau = -nopqrstuvwxyz",
            ["δ=abcdefghijklm,", "τ=−nopqrstuvwxyz"],
        ),
    ],
    ids=["short", "sum", "bars and brackets", "wide space"],
)
def test_long_formulas_are_cut_at_signs_outside_of_brackets(latex: str, parts: list[str]) -> None:
    found = re.findall(r"<math.*?</math>", formulas.drawn(latex, display=True))
    assert [unescape(re.sub("<.*?>", "", part)).replace(" ", "") for part in found] == parts


def test_a_formula_that_cannot_be_drawn_is_named() -> None:
    with pytest.raises(ValueError, match=r"left\( x.* cannot be drawn"):
        formulas.drawn(r"\left( x", display=False)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_no_formula_of_a_page_stays_behind(path: Path) -> None:
    text = re.sub(r"<(pre|code)\b.*?</\1>", "", drawn(path.read_text(encoding="utf-8")), flags=re.DOTALL)
    assert "$" not in text
    assert "arithmatex" not in text
    # A command that the converter does not know is left as its name.
    assert not re.findall(r"<m[ion]>\\", text)
