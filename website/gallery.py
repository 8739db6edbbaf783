"""The gallery: every figure of the papers drawn from the results that come with hackle, and the page that shows them.

`python -m website.pictures figures/` draws them and writes docs/gallery.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from io import BytesIO
from itertools import groupby

import pandas as pd
from PIL import Image

from hackle.claims import judge
from hackle.core.palette import LIGHT
from hackle.core.papers import paper_named
from hackle.figures import FIGURES, Chart, Comparison, Exhibit, draw
from hackle.figures.style import settings
from hackle.figures.words import DATASETS, METHODS
from hackle.report import with_pictures
from hackle.shipped.models import cards
from hackle.store import read
from website.small_models import MODEL_DATA, shown_small, small_run

RESULTS = "hackle-2026"
INCHES = 9.3
"""The widest picture: at more than that, text is too small on a page, and panels go to the next row."""
RESOLUTIONS = (150, 120, 100)
"""Dots per inch."""


@cache
def charts() -> dict[str, Chart]:
    """Every figure of the results that come with hackle; those without runs have no panels."""
    tables = read(RESULTS)
    judged = {one.claim.id: one for one in judge(tables)}
    tables = with_pictures(tables, RESULTS)
    return {name: exhibit(tables, judged) for name, exhibit in FIGURES.items()}


def figure(name: str) -> Iterator[Image.Image]:
    """A figure as a page shows it, sharpest first; nothing if it cannot be drawn yet."""
    if charts()[name].panels:
        yield from drawn(charts()[name])


def drawn(chart: Chart) -> Iterator[Image.Image]:
    """A chart as pixels, with as many panels side by side as are readable on a page, at each of `RESOLUTIONS`."""
    from matplotlib import rc_context

    widest = max(map(len, chart.rows))
    # Rows of different lengths, such as the triangle of a matrix, mean something.
    least = 1 if len({len([panel for panel in row if panel]) for row in chart.rows}) == 1 else widest
    with rc_context(settings(LIGHT)):
        for columns in range(widest, least - 1, -1):
            shown = draw(chart if columns == widest else _narrower(chart, columns))
            if shown.get_figwidth() <= INCHES:
                break
        for resolution in RESOLUTIONS:
            buffer = BytesIO()
            shown.savefig(buffer, dpi=resolution, format="png")
            yield Image.open(buffer).convert("RGB")


def _narrower(chart: Chart, columns: int) -> Chart:
    """A chart with its rows cut to a number of panels; what panels of a row have in common is named in each row."""
    rows = [row[start : start + columns] for row in chart.rows for start in range(0, len(row), columns)]
    return replace(chart, rows=tuple(row for row in rows if any(row)))


def page() -> str:
    """docs/gallery.md."""
    made = charts()
    held = {name: exhibit for name, exhibit in FIGURES.items() if made[name].panels}
    lines = [
        "# Gallery",
        f"Every figure and table of the papers that the [results that come with hackle]"
        f"(results.md#results-that-come-with-hackle), `{RESULTS}`, can show: {len(held)} of {len(FIGURES)}. Each is drawn "
        "from the table by the same function that draws it from a study of yours ([figures](figures.md)); a click "
        "enlarges it. Below it are the claims that it is about, with the verdict on all runs of the table ([claims]"
        "(claims.md)). [What cannot be drawn yet](#not-drawn-yet) is listed with the command that makes its runs, and the "
        "[models that come with hackle](#models) are shown at the end.",
        "```python\nfrom hackle.figures import FIGURES, save\nfrom hackle.store import read\n\n"
        f'chart = FIGURES["yang2020-figure-1"](read("{RESULTS}"))\nsave(chart, "yang2020-figure-1.pdf")\n```',
        f"*Pictures and page are made by `python -m website.pictures figures/`. `hackle report {RESULTS}` shows the same "
        "with every number.*",
    ]
    for paper, exhibits in groupby(held.values(), key=lambda exhibit: exhibit.paper):
        lines += [
            f"## {paper_named(paper).citation}",
            *(part for one in exhibits for part in section(one, made[one.id])),
        ]
    lines += ["## Not drawn yet", *_not_drawn(made), "## Models", *_models()]
    return "\n\n".join(lines) + "\n"


def section(exhibit: Exhibit, chart: Chart) -> Iterator[str]:
    """A figure with its title, its caption, how to read it, what it lacks, and the claims beside it."""
    path = f"pictures/figures/{exhibit.id}.webp"
    yield f"### {exhibit.number}: {exhibit.title}"
    yield f"[![{exhibit.number} of {exhibit.paper}: {exhibit.title}]({path})]({path})"
    runs = f"{chart.runs:,} runs." if chart.runs else ""
    missing = f"Not in it: {'; '.join(chart.missing)}." if chart.missing else ""
    told = (exhibit.caption, chart.reading, runs, chart.group_sizes, *(_ended(note) for note in chart.notes), missing)
    yield f"*`{exhibit.id}`. {_plain(' '.join(part for part in told if part))}*"
    rows = [one for one in chart.comparisons if isinstance(one.here, str) or not pd.isna(one.here)]
    rows = [one for one in rows if one.verdict or not one.claim]
    if rows:
        yield "\n".join(
            ["| what is compared | paper | here | verdict |", "|---|---|---|---|", *(_compared(one) for one in rows)]
        )


def _compared(one: Comparison) -> str:
    ends = "" if pd.isna(one.low) else f" [{_number(one.low)}, {_number(one.high)}]"
    verdict = f"{one.verdict}, `{one.claim}`" if one.claim else ""
    return f"| {_cell(one.what)} | {_cell(_number(one.paper))} | {_cell(_number(one.here))}{ends} | {verdict} |"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}".replace("-", "−")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Text in which Markdown sees no marks."""
    return text.replace("_", "\\_").replace("*", "\\*").replace("\n", " ")


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _not_drawn(made: dict[str, Chart]) -> Iterator[str]:
    yield (
        "What these figures show has no runs in the table, or none whose weights were kept. The command makes them; "
        "`hackle study plan` in its place says what it costs."
    )
    for paper, exhibits in groupby(FIGURES.values(), key=lambda exhibit: exhibit.paper):
        if rows := [one for one in exhibits if not made[one.id].panels]:
            yield f"**{paper_named(paper).citation}**"
            yield "\n".join(
                ["| figure | title | lacks | study |", "|---|---|---|---|"]
                + [
                    f"| `{one.id}` | {_cell(one.title)} | {_cell('; '.join(made[one.id].missing[:2]))} | `{one.command}` |"
                    for one in rows
                ]
            )


def _models() -> Iterator[str]:
    yield (
        "The most used latents of each [trained model](models.md), one in each line, from one end of its range to the other. "
        "`hackle explore NAME` moves them."
    )
    for name, card in cards().items():
        path = f"pictures/{picture_of_model(name)}"
        dataset = DATASETS.get(card["dataset"], card["dataset"])
        title = f"{METHODS.get(card['method'], card['method'])} on {dataset}"
        told = (f"`{name}`", card["weight"], f"{card['steps']:,} steps", f"MIG {card['mig']:.2f}.")
        yield f"### {title}"
        yield f"![Traversals of {title}]({path})"
        yield f"*{', '.join(filter(None, told))}*"
    yield "### Small models"
    yield (
        "Of the other methods no model comes with hackle yet. These are small ones, trained on white squares whose place and "
        "size vary, in a minute or two each."
    )
    for name in shown_small():
        title = METHODS.get(name, name)
        yield f"![Traversals of a small model of {title}](pictures/{picture_of_model(f'{name}/{MODEL_DATA}')})"
        yield f"*[{title}](methods/{name}.md), {small_run(name).steps:,} steps.*"


def picture_of_model(name: str) -> str:
    """The picture of a model that comes with hackle: that of its method's page, or its own if it is of other data."""
    method, _, dataset = name.partition("/")
    return f"methods/{method}.webp" if dataset == MODEL_DATA else f"models/{method}-{dataset}.webp"
