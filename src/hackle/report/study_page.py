"""The page of a study: what its runs say about the papers' claims, every figure and every score, in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from hackle.claims import CLAIMS, Judgement, as_frame, judge
from hackle.core.commit import full_version, in_words
from hackle.core.errors import HackleError
from hackle.core.papers import PAPERS
from hackle.core.processes import import_matplotlib, safe_path
from hackle.figures import FIGURES, words
from hackle.figures.chart import Chart
from hackle.figures.files import svg
from hackle.report import study_sections as sections
from hackle.report.html import render
from hackle.report.own_studies import own_studies
from hackle.report.study_abstract import abstract, limits
from hackle.report.study_commands import command_lines
from hackle.report.study_figures import figure_data
from hackle.report.study_scores import score_data
from hackle.store.tables import Tables, differing_sources

_MOST_ROWS = 200
"""The most rows shown in the tables of failed and missing runs."""


class ReportError(HackleError):
    """A report on a paper that hackle does not know."""


def write_study_page(
    tables: Tables,
    path: str | Path,
    *,
    judged: Sequence[Judgement] | None = None,
    papers: Sequence[str] = (),
    title: str = "",
    folder: str = "DIR",
    workers: int = 1,
    command: str = "",
    own_claims: str = "",
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write the page of a table of results to `path`.

    judged: the results of `hackle.claims.judge`, also shown beside the figures; computed here if not given. papers:
    only these, all if empty. folder: the study's folder, for the commands. workers: processes that draw; with more than
    one, a script needs `if __name__ == "__main__"`, since they are spawned. command: the command that writes the page, which
    it names. own_claims: where claims of your own are, as `hackle claims --claims` takes it, for the commands. tell: called
    with how many parts of the work are done, and of how many.
    """
    for paper in papers:
        if paper not in _papers():
            raise ReportError(f"no paper {paper!r}; there are {', '.join(_papers())}")
    # Before anything is judged and drawn, which takes minutes: it reads study.json, which may be damaged.
    commands = command_lines(tables, folder, own_claims, command)
    wanted = [item for item in FIGURES.values() if not papers or item.paper in papers]
    ones_own = [] if papers else own_studies(tables)
    judged = judge(tables) if judged is None else judged
    by_claim, verdicts = {judgement.claim.id: judgement for judgement in judged}, as_frame(judged)
    charts = {item.id: chart for item, chart in ones_own}
    # Each figure is made, and drawn if it shows something: those that do not count as drawn.
    work = 2 * len(wanted) + len(ones_own)
    for done, item in enumerate(wanted):
        tell(done, work)
        charts[item.id] = item(tables, by_claim)
    full = {name: chart for name, chart in charts.items() if chart.panels}
    with drawing(full, workers) as waiting:
        scores, numbers = score_data(tables), figure_data(full, tables)
        for done, _ in enumerate(as_completed(waiting.values()), start=1):
            tell(work - len(full) + done, work)
        drawn = {name: one.result() for name, one in waiting.items()}
    if papers:
        verdicts = verdicts[verdicts["paper"].isin(list(papers))]
    # The papers of the runs' own studies first.
    own = set(tables.runs["study"])
    shown = [paper for paper in sorted(_papers(), key=lambda name: name not in own) if not papers or paper in papers]
    claims = sections.Claims.of(verdicts, shown)
    figures = [sections.PaperFigures.of(paper, wanted, charts, drawn, claims) for paper in shown]
    page = render(
        "study.html",
        title=title or _title(tables),
        written=f"{datetime.now(UTC):%d %B %Y}".lstrip("0"),
        version=in_words(full_version()),
        command=command,
        abstract=abstract(tables, claims),
        limits=limits(tables, claims),
        protocols=sections.protocols(tables),
        facts=sections.facts(tables),
        claims=claims,
        kinds=sections.KINDS,
        own=[sections.Figure(item, chart, drawn.get(item.id, "")) for item, chart in ones_own],
        drawn=[paper for paper in figures if paper.figures],
        undrawn=[paper for paper in figures if not paper.figures],
        failed=sections.failed_runs(tables),
        short=sections.missing_seeds(tables),
        most=_MOST_ROWS,
        scores=scores,
        numbers=numbers,
        commands=commands,
        versions=[in_words(one) for one in sorted(set(map(str, tables.runs["version"])))],
        sources=differing_sources(tables.runs),
        devices=sorted(set(filter(None, map(str, tables.runs["device"])))),
    )
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path


def _papers() -> list[str]:
    """The papers, and any others named by the user's own claims and figures."""
    return list(dict.fromkeys([*PAPERS, *(part.paper for part in (*CLAIMS.values(), *FIGURES.values()))]))


def _title(tables: Tables) -> str:
    names = [str(name) for name in dict.fromkeys(tables.runs["study"]) if str(name)]
    return f"Study report: {words.listing(names)}" if names else "Study report"


@contextmanager
def drawing(charts: dict[str, Chart], workers: int = 1) -> Iterator[dict[str, Future[str]]]:
    """A future drawing of every chart, made by several processes or by one thread."""
    dots = {name: sum(len(panel.points) for panel in chart.panels) for name, chart in charts.items()}
    # The slowest first, so that no process is left alone with one at the end.
    order = sorted(charts, key=lambda name: -dots[name] - 500 * len(charts[name].panels))
    with ExitStack() as open_pool:
        # Processes start with the pool and with the first task.
        with safe_path():
            pool = (
                ProcessPoolExecutor(workers, get_context("spawn"), import_matplotlib)
                if workers > 1
                else ThreadPoolExecutor(1)
            )
            open_pool.enter_context(pool)
            waiting = {name: pool.submit(svg, charts[name], name) for name in order}
        yield waiting
