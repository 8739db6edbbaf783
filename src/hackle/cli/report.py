"""`hackle report`: a study's claims, figures and scores as one page."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from hackle.cli.progress import told
from hackle.cli.words import ResultsDirectory, say, writable
from hackle.core.untrusted import place_inside


def report_command(
    directory: ResultsDirectory,
    out: Path | None = None,
    paper: tuple[str, ...] = (),
    claims: str | None = None,
    figures: str | None = None,
    figures_to: Path | None = None,
    pictures: bool = True,
    root: Path | None = None,
    open: bool = False,
    overwrite: bool = False,
    trust: bool = False,
) -> None:
    """Write a study's results as one HTML page: verdicts on claims, every figure, failed runs, scores and commands.

    Args:
        out: Where the page goes; if not given, report.html in the study's folder, or NAME.html here.
        paper: Only the claims and figures of these papers.
        claims: Also test your own claims: path.py for all in a file, path.py:name for one, separated by commas.
        figures: Also draw your own figures, named in the same way.
        figures_to: A folder to also write every figure to, as PDF, SVG and PNG.
        pictures: Draw traversals of runs whose weights were kept.
        root: The folder of data sets, for these pictures.
        open: Show the page in the browser.
        overwrite: Replace existing files.
        trust: For these pictures, import the modules outside hackle that the runs' records name, which runs their code.
    """
    from hackle.claims import CLAIMS
    from hackle.figures import FIGURES, save
    from hackle.report import with_pictures, write_study_page
    from hackle.store import read

    if claims is not None:
        CLAIMS.include(claims)
    if figures is not None:
        FIGURES.include(figures)
    tables = read(directory)
    usual = place_inside(directory, "report.html") if directory.exists() else Path(f"{directory}.html")
    target = writable(out or usual, overwrite)
    if pictures:
        tables = with_pictures(tables, directory, root, trust=trust)
    # Processes take seconds to start, which pays off with thousands of runs.
    workers = (os.cpu_count() or 1) if len(tables.runs) > 1000 else 1
    chosen = {"--paper": paper, "--claims": (claims,) if claims else (), "--figures": (figures,) if figures else ()}
    command = [
        "hackle",
        "report",
        str(directory),
        *(word for name in chosen if chosen[name] for word in (name, *chosen[name])),
    ]
    with told("drawing") as tell:
        write_study_page(
            tables,
            target,
            papers=paper,
            title="" if directory.exists() else f"Report: {directory}",
            folder=str(directory),
            workers=workers,
            command=shlex.join(command),
            own_claims=claims or "",
            tell=tell,
        )
    if figures_to is not None:
        figures_to.mkdir(parents=True, exist_ok=True)
        for name, exhibit in FIGURES.items():
            chart = exhibit(tables, judged={}) if not paper or exhibit.paper in paper else None
            if chart is not None and chart.panels:
                for kind in ("pdf", "svg", "png"):
                    save(chart, figures_to / f"{name}.{kind}", overwrite=overwrite)
    say(f"open {target.resolve()} in a browser")
    if open:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
