"""The page of a study: what its runs say of the papers' claims, every figure and every score, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path

from hackle.core.papers import PAPERS, citation
from hackle.core.types import HackleError
from hackle.figures import FIGURES, words
from hackle.figures.chart import Chart, Exhibit, Frame
from hackle.figures.files import svg
from hackle.figures.style import css_variables
from hackle.report import study_sections as sections
from hackle.report.html import page
from hackle.report.own_studies import own_studies
from hackle.report.study_scores import embedded, score_data
from hackle.store.tables import Tables

_LIGHT = (
    "--paper: #ffffff; --ink: #1b1f24; --faint: #5f6872; --line: #d9dee3; --card: #f6f8fa; --bar: #0066a1; --track: #dfe6ec; "
    "--holds: #00694c; --fails: #a8410a; --open: #5f6872; --warn: #8a5a00; --dots: none;"
)
_DARK = (
    "--paper: #14171b; --ink: #e6e9ec; --faint: #98a2ad; --line: #303841; --card: #1c2127; --bar: #64b5ee; --track: #2d3640; "
    "--holds: #3ecfa0; --fails: #f5935a; --open: #98a2ad; --warn: #e0b04c; --dots: brightness(1.5);"
)


class ReportError(HackleError):
    """A report on a paper that hackle does not know, or to a place that is taken."""


def _themes() -> str:
    light, dark = f"{_LIGHT} {css_variables('light')}", f"{_DARK} {css_variables('dark')}"
    return (
        f":root {{ {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }} "
        f":root[data-theme=light] {{ color-scheme: light; {light} }} :root[data-theme=dark] {{ color-scheme: dark; {dark} }} "
        f"@media print {{ :root, :root[data-theme] {{ color-scheme: light; {light} }} }} "
        ".drawing image { filter: var(--dots); }"
    )


def write_study_page(
    tables: Tables,
    path: str | Path,
    *,
    verdicts: Frame | None = None,
    papers: Sequence[str] = (),
    title: str = "",
    folder: str = "DIR",
    workers: int = 1,
) -> Path:
    """Write the page of a table of results to `path`.

    verdicts: those of `hackle.claims.as_frame`; judged here if not given. papers: only these, all if none is named. folder: the
    study's folder, for the commands. workers: processes that draw; with more than one, a script must have its
    `if __name__ == "__main__"`, since they are spawned.
    """
    for paper in papers:
        if paper not in PAPERS:
            raise ReportError(f"no paper {paper!r}; there are {', '.join(PAPERS)}")
    wanted = [item for item in FIGURES.values() if not papers or item.paper in papers]
    ones_own = [] if papers else own_studies(tables)
    charts = {item.id: item(tables) for item in wanted} | {item.id: chart for item, chart in ones_own}
    with drawing({name: chart for name, chart in charts.items() if chart.panels}, workers) as waiting:
        # Claims are judged while figures are drawn.
        if verdicts is None:
            from hackle.claims import as_frame, judge

            verdicts = as_frame(judge(tables))
        scores = _scores(tables)
        drawn = {name: one.result() for name, one in waiting.items()}
    if papers:
        verdicts = verdicts[verdicts["paper"].isin(list(papers))]
    title = title or _title(tables)
    # The papers of the runs' own studies first.
    own = set(tables.runs["study"])
    shown = [paper for paper in sorted(PAPERS, key=lambda name: name not in own) if not papers or paper in papers]
    body = [
        f"<h1>{escape(title)}</h1>",
        '<p class="lead">What these runs say of the papers\' claims, with every run shown and nothing left out: claims that '
        f"cannot be decided are listed as undecided, figures say what they lack. {escape(sections.protocols(tables))}</p>",
        sections.facts(tables),
        '<h2 id="claims">Claims</h2>',
        sections.claims(verdicts, shown),
        '<h2 id="figures">Figures and tables</h2>',
    ]
    for item, chart in ones_own:
        body.append(sections.exhibit(item, chart, drawn.get(item.id, "")))
    drawn_papers = [paper for paper in shown if any(item.paper == paper and item.id in drawn for item in wanted)]
    body += [_figures(paper, wanted, charts, drawn, verdicts) for paper in drawn_papers]
    if empty := [paper for paper in shown if paper not in drawn_papers]:
        body.append(
            f'<details class="absent"><summary>{words.counted(len(empty), "paper")} without anything to draw</summary>'
        )
        body += [*(_figures(paper, wanted, charts, drawn, verdicts) for paper in empty), "</details>"]
    body += ['<h2 id="runs">Failed and missing runs</h2>', sections.lost_runs(tables), *scores]
    body += ['<h2 id="commands">Commands</h2>', sections.commands(tables, folder)]
    path = Path(path)
    text = page(title, "".join(body), _themes() + _resource("study.css"), _resource("study.js"))
    path.write_text(text.replace("<body>", f"<body>{_bar(drawn_papers)}", 1), encoding="utf-8")
    return path


def _figures(
    paper: str, items: Sequence[Exhibit], charts: Mapping[str, Chart], drawn: Mapping[str, str], verdicts: Frame
) -> str:
    """The figures of a paper that were drawn, and below them those that were not."""
    mine = [item for item in items if item.paper == paper]
    seen = [item for item in mine if item.id in drawn]
    shared, kept = sections.missing_in_several([charts[item.id] for item in seen])
    shown = [sections.exhibit(item, chart, drawn[item.id], verdicts) for item, chart in zip(seen, kept, strict=True)]
    lacking = sections.absent([(item, charts[item.id]) for item in mine if item.id not in drawn])
    heading = f'<h3 class="paper" id="{paper}">{escape(citation(paper))}</h3>'
    return "".join([heading, sections.said_once(shared), *shown, lacking])


def _title(tables: Tables) -> str:
    names = [str(name) for name in dict.fromkeys(tables.runs["study"]) if str(name)]
    return f"Study report: {words.listing(names)}" if names else "Study report"


def _bar(papers: Sequence[str]) -> str:
    links = [("claims", "Claims"), *((paper, paper) for paper in papers)]
    links += [("runs", "Runs"), ("scores", "Scores"), ("commands", "Commands")]
    names = "".join(f'<a href="#{target}">{escape(name)}</a>' for target, name in links)
    button = '<button type="button" id="theme">theme: auto</button>'
    return f'<div class="bar"><nav aria-label="parts of the page">{names}{button}</nav></div>'


def _scores(tables: Tables) -> list[str]:
    return [
        '<h2 id="scores">Scores</h2><div class="scores"><p class="lead">Mean ± standard deviation over the runs of a setting; '
        f"a click on a heading sorts, the arrow shows the single runs. {escape(sections.protocols(tables))}</p>",
        '<div class="chips controls"><select id="score-dataset" aria-label="data set"><option value="">all data sets</option>'
        '</select><input type="search" id="score-find" placeholder="find a setting" aria-label="find a setting"></div>',
        '<details class="columns controls"><summary>columns</summary><fieldset id="score-columns"></fieldset></details>',
        '<div class="wide" id="score-table"><noscript>This table needs JavaScript.</noscript></div></div>',
        f'<script type="application/json" id="score-data">{embedded(score_data(tables))}</script>',
    ]


def _resource(name: str) -> str:
    return files("hackle.report").joinpath(name).read_text(encoding="utf-8")


@contextmanager
def drawing(charts: dict[str, Chart], workers: int = 1) -> Iterator[dict[str, Future[str]]]:
    """Every chart as a drawing to come: by several processes, or by a thread."""
    dots = {name: sum(len(panel.points) for panel in chart.panels) for name, chart in charts.items()}
    pool = ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else ThreadPoolExecutor(1)
    with pool:
        # The longest first, so that no process is left alone with one at the end.
        order = sorted(charts, key=lambda name: -dots[name] - 500 * len(charts[name].panels))
        yield {name: pool.submit(svg, charts[name], name) for name in order}
