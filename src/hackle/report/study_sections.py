"""The parts of a study's page: summary, claims, figures, runs that failed or are missing, and commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd

from hackle.core.papers import citation
from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Exhibit, Frame
from hackle.figures.selection import CONFIGURATION
from hackle.report.study_commands import command_lines
from hackle.store.tables import Tables, setting_numbers, telling_fields

_CLASS = {"holds": "holds", "does not hold": "fails", "undecided": "open", "no runs": "none"}
_HOW_TO_READ = (
    "Below each claim is what was measured for it; at the right the measured effect with its 95% interval, and where the claim "
    "says that it lies. A claim holds where the interval lies within that region, and does not hold where it lies outside, if "
    "p ≤ 0.05 after Holm's correction over all claims tested; otherwise it is undecided. A click opens a claim."
)


def facts(tables: Tables) -> str:
    """What the table holds, in a few numbers."""
    runs: Frame = tables.runs
    failed = int((runs["status"] == "failed").sum())
    settings = len(np.unique(setting_numbers(runs))) if len(runs) else 0
    steps = sorted(int(value) for value in runs["steps"].unique())
    shown = [
        _counted(len(runs) - failed, "run done", "runs done"),
        (f"{failed:,}", "failed"),
        _counted(settings, "setting"),
        _counted(runs["seed"].nunique(), "seed"),
        (f"{steps[-1]:,}" if len(steps) == 1 else f"{steps[0]:,} – {steps[-1]:,}" if steps else "–", "steps"),
        _counted(len(tables.scores), "score"),
    ]
    hours = float(np.nansum(runs["training_seconds"].to_numpy(float))) / 3600
    if hours >= 0.05:
        shown.append((f"{hours:,.1f}", "hours of training, summed"))
    return f'<ul class="facts">{"".join(f"<li><b>{value}</b><span>{name}</span></li>" for value, name in shown)}</ul>'


def protocols(tables: Tables, most: int = 4) -> str:
    """By which protocols the runs were scored, in a sentence, the one with most scores first."""
    names = [str(name) for name, count in tables.scores["protocol"].value_counts().items() if count]
    if not names:
        return "No scores."
    shown = names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return f"Scored by the protocol{'s' if len(names) > 1 else ''} {words.listing(shown)}."


def _counted(count: int, noun: str, nouns: str = "") -> tuple[str, str]:
    value, name = words.counted(count, noun, nouns).split(" ", 1)
    return value, name


def number(value: float | str | None, digits: int = 3) -> str:
    """A number for a table: three digits, nothing for none."""
    if isinstance(value, str):
        return escape(value)
    if value is None or pd.isna(value):
        return ""
    return f"{value:.{digits}g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}".replace("-", "−")


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f" [{number(low)}, {number(high)}]"


def claims(verdicts: Frame, papers: Sequence[str]) -> str:
    """The verdict on every claim, paper by paper; `verdicts` are those of `hackle.claims.as_frame`. Claims of which the table
    has no run at all are folded away behind their number, and so are papers of which it has none."""
    verdicts = verdicts.assign(fate=list(map(words.fate, verdicts["verdict"], verdicts["runs"])))
    counts = verdicts["fate"].value_counts()
    chips = "".join(
        f'<button type="button" aria-pressed="false" data-verdict-filter="{name}">'
        f'<span class="verdict {kind}">{name}</span> {counts.get(name, 0)}</button>'
        for name, kind in _CLASS.items()
    )
    parts = [
        f'<p class="lead">{_HOW_TO_READ}</p><div class="chips" role="group" aria-label="show one verdict">{chips}</div>'
    ]
    known = set(verdicts.loc[verdicts["runs"] > 0, "paper"])
    for paper in (paper for paper in papers if paper in known):
        rows = verdicts[verdicts["paper"] == paper].to_dict("records")
        tally = words.tally(row["fate"] for row in rows)
        tested, untested = [row for row in rows if row["runs"]], [row for row in rows if not row["runs"]]
        parts.append(f'<h3 class="paper">{escape(citation(paper))}<small>{tally}</small></h3>')
        parts.append(_claim_list(tested))
        if untested:
            count = words.counted(len(untested), "claim")
            parts.append(f'<details class="absent untested"><summary>{count} without any run</summary>')
            parts.append(f"{_claim_list(untested)}</details>")
    unknown = [paper for paper in papers if paper not in known]
    if unknown:
        count = words.counted(int(verdicts["paper"].isin(unknown).sum()), "claim")
        parts.append(
            f'<details class="absent untested"><summary>{count} of {words.counted(len(unknown), "paper")} without any run: '
            f"{escape(words.listing(unknown))}</summary>"
        )
        for paper in unknown:
            parts.append(f'<h3 class="paper">{escape(citation(paper))}</h3>')
            parts.append(_claim_list(verdicts[verdicts["paper"] == paper].to_dict("records")))
        parts.append("</details>")
    return "".join(parts)


def _claim_list(rows: Sequence[dict]) -> str:
    return f'<div class="claims">{"".join(map(_claim, rows))}</div>' if rows else ""


def _claim(row: dict) -> str:
    effect = f"{number(row['value'])}{_interval(row['low'], row['high'])}" if not pd.isna(row["value"]) else ""
    needed = row["runs_needed"]
    enough = "" if needed is None or pd.isna(needed) else f"; about {int(needed):,} decide"
    entries = [
        ("where", f"{row['where']} ({row['claim']})"),
        ("found", row["reason"]),
        ("paper reports", number(row["paper_value"]) if not pd.isna(row["paper_value"] or np.nan) else ""),
        ("runs", f"{int(row['runs']):,}{enough}"),
        ("p", _chances(row)),
        ("missing", row["missing"]),
        ("to decide it", row["command"]),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{escape(str(text))}</dd>" for name, text in entries if text)
    return (
        f'<details id="claim-{escape(row["claim"])}" data-verdict="{row["fate"]}"><summary>'
        f'<span class="verdict {_CLASS[row["fate"]]}">{row["fate"]}</span>'
        f'<span class="statement">{escape(row["statement"])}<small>{escape(row["effect"])}</small></span>'
        f'<span class="effect">{effect}<small>claimed {escape(row["claimed"])}</small></span></summary>'
        f"<dl>{listed}</dl></details>"
    )


def _chances(row: dict) -> str:
    if pd.isna(row["p_corrected"]):
        return ""
    return f"for {number(row['p_corrected'], 2)}, against {number(row['against_corrected'], 2)} (Holm, over all claims tested)"


def exhibit(item: Exhibit, chart: Chart, drawing: str, verdicts: Frame | None = None) -> str:
    """A figure with its caption, what the paper reports beside what was found, and what is missing."""
    reading = " ".join(part for part in (chart.reading, chart.group_sizes) if part)
    shown = f"{words.counted(chart.runs, 'point')} shown." if chart.runs else ""
    natural = re.search(r"max-width: (\d+)px", drawing)
    width = f' style="flex-basis: {natural.group(1)}px"' if natural else ""
    parts = [
        f'<section class="exhibit" id="{item.id}"><h3>{escape(item.number)}. {escape(item.title)}</h3>',
        f'<p>{escape(item.caption)}</p><div class="beside">',
        f'<div class="drawing" role="img" aria-label="{escape(item.title)}. {escape(item.caption)}"{width}>{drawing}</div>',
        _compared(chart.comparisons),
        f'</div><p class="reading">{escape(reading)} {shown}</p>',
        listed(chart.notes, ""),
        listed(chart.missing, "missing", "Missing: "),
        _numbers(chart),
        _related(item, verdicts),
        "</section>",
    ]
    return "".join(parts)


def missing_in_several(charts: Sequence[Chart]) -> tuple[list[str], list[Chart]]:
    """What more than one of the charts lacks, to be said once, and the charts without it."""
    counts = Counter(line for chart in charts for line in chart.missing)
    shared = [line for line, count in counts.items() if count > 1]
    kept = [replace(chart, missing=tuple(line for line in chart.missing if line not in shared)) for chart in charts]
    return shared, kept


def said_once(lines: Sequence[str]) -> str:
    """What several of a paper's figures lack, above them."""
    return f'<div class="exhibit">Missing in several of these figures:{listed(lines, "missing")}</div>' if lines else ""


def _compared(comparisons: Sequence[Comparison]) -> str:
    comparisons = [one for one in comparisons if isinstance(one.here, str) or not pd.isna(one.here)]
    if not comparisons:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one.what)}</td><td>{number(one.paper)}</td>"
        f"<td>{number(one.here)}{_interval(one.low, one.high)}</td><td class=number>{f'{one.n:,}' if one.n else ''}</td></tr>"
        for one in comparisons
    )
    return (
        '<div class="wide"><table><thead><tr><th scope=col></th><th scope=col>paper</th><th scope=col>here</th>'
        f"<th scope=col>n</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def listed(lines: Sequence[str], kind: str, before: str = "", most: int = 8) -> str:
    if not lines:
        return ""
    shown = [f"<li>{before}{escape(line)}</li>" for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"<li>{before}{len(lines) - most} more of the kind</li>")
    return f'<ul class="{kind}">{"".join(shown)}</ul>'


def _numbers(chart: Chart, most: int = 60) -> str:
    """The middles that are drawn, for those who cannot see the drawing."""
    parts = [
        panel.summary.assign(panel=panel.title, place=_places(panel)) for panel in chart.panels if len(panel.summary)
    ]
    if not parts or sum(map(len, parts)) > most:
        return ""
    together: Frame = pd.concat(parts)
    rows = "".join(
        f"<tr><td>{escape(str(row.panel))}</td><td>{escape(str(row.place))}</td><td>{escape(str(row.series))}</td>"
        f"<td class=number>{number(row.y)}{_interval(row.low, row.high)}</td><td class=number>{int(row.n)}</td></tr>"
        for row in together.itertuples()
    )
    return (
        "<details><summary>numbers</summary><div class=wide><table><thead><tr><th scope=col>panel</th><th scope=col>at</th>"
        "<th scope=col>series</th><th scope=col>middle</th><th scope=col>n</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _places(panel) -> list[str]:
    names = panel.x.ticks
    return [names[int(x)] if names else number(float(x)) for x in panel.summary["x"]]


def _related(item: Exhibit, verdicts: Frame | None) -> str:
    if verdicts is None or not len(verdicts):
        return ""
    named = [
        row
        for row in verdicts[verdicts["paper"] == item.paper].to_dict("records")
        if item.number in _numbers_named(str(row["where"]))
    ]
    links = ", ".join(
        f'<a href="#claim-{escape(row["claim"])}">{escape(row["claim"].split(".", 1)[-1])}</a> '
        f"({words.fate(row['verdict'], row['runs'])})"
        for row in named
    )
    return f'<p class="also">Claims: {links}</p>' if links else ""


def _numbers_named(where: str) -> set[str]:
    """The figures and tables that a claim's place names.

    >>> sorted(_numbers_named("Figures 1 and 5, Table 2"))
    ['Figure 1', 'Figure 5', 'Table 2']
    """
    found = set()
    for kind, numbers in re.findall(r"(Figure|Table|Appendix)s?\s+([A-Z]?[\d.]*(?:\s*(?:,|and|to)\s*[\d.]+)*)", where):
        parts = re.findall(r"[A-Z]?[\d.]*\d|[A-Z]", numbers)
        if " to " in numbers and len(parts) == 2 and all(part.isdigit() for part in parts):
            parts = [str(value) for value in range(int(parts[0]), int(parts[1]) + 1)]
        found |= {f"{kind} {part}" for part in parts}
    return found


def absent(items: Sequence[tuple[Exhibit, Chart]]) -> str:
    """The figures that could not be drawn, what they lack and how to get it."""
    if not items:
        return ""
    rows = "".join(
        f"<tr><td>{escape(item.number)}. {escape(item.title)}</td><td>{escape('; '.join(chart.missing[:3]) or item.needs)}</td>"
        f"<td><code>{escape(item.command)}</code></td></tr>"
        for item, chart in items
    )
    count = words.counted(len(items), "figure or table", "figures and tables")
    return (
        f'<details class="absent"><summary>{count} not drawn for want of runs</summary>'
        '<div class="wide"><table><thead><tr><th scope=col>figure</th><th scope=col>missing</th><th scope=col>command</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div></details>"
    )


def lost_runs(tables: Tables, most: int = 200) -> str:
    """Runs that failed, with the reason, and settings with fewer seeds than the others of their study."""
    runs: Frame = tables.runs
    failed = runs[runs["status"] == "failed"]
    parts = ["<h3>Failed</h3>"]
    if len(failed):
        names = [name for name, lost in zip(setting_names(runs), runs["status"] == "failed", strict=True) if lost]
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td class=number>{row['seed']}</td><td>{escape(str(row['reason']))}</td>"
            f"<td><code>{escape(str(row['run']))}</code></td></tr>"
            for name, row in zip(names[:most], failed.head(most).to_dict("records"), strict=True)
        )
        more = f"<p>{len(failed) - most:,} more.</p>" if len(failed) > most else ""
        parts.append(
            '<div class="wide"><table class="sortable"><thead><tr><th scope=col>run</th><th scope=col>seed</th>'
            f"<th scope=col>reason</th><th scope=col>hash</th></tr></thead><tbody>{rows}</tbody></table></div>{more}"
        )
    else:
        parts.append("<p>None.</p>")
    short = missing_seeds(tables)
    parts.append("<h3>Missing seeds</h3>")
    if short:
        lines = "".join(
            f"<tr><td>{escape(setting)}</td><td class=number>{have}</td><td class=number>{want}</td></tr>"
            for setting, have, want in short[:most]
        )
        parts.append(
            '<div class="wide"><table class="sortable"><thead><tr><th scope=col>setting</th><th scope=col>seeds done</th>'
            f"<th scope=col>seeds of its study</th></tr></thead><tbody>{lines}</tbody></table></div>"
        )
    else:
        parts.append("<p>None: every setting has as many seeds as the others of its study.</p>")
    return "".join(parts)


def missing_seeds(tables: Tables) -> list[tuple[str, int, int]]:
    """Settings with fewer seeds done than the fullest setting of their study: name, seeds done, seeds of the fullest."""
    runs: Frame = tables.runs
    if not len(runs):
        return []
    done = runs.assign(good=(runs["status"] == "done").astype(int), number=setting_numbers(runs))
    by = done.groupby(["study", "number"], observed=True)
    have = by.agg(good=("good", "sum"), planned=("seed", "nunique")).reset_index()
    # A study's design has the same number of seeds for every setting; failed runs count as wanted.
    have["want"] = have.groupby("study", observed=True)["planned"].transform("max")
    named = dict(zip(done["number"], setting_names(runs), strict=True))
    return [
        (named[row.number], int(row.good), int(row.want)) for row in have.itertuples() if int(row.good) < int(row.want)
    ]


def setting_names(runs: Frame) -> list[str]:
    """The setting of each run in words, with the fields of its record that tell it from others of the same words."""
    fields = telling_fields(runs, (*CONFIGURATION, "steps"))
    rows = zip(runs.to_dict("records"), fields.to_dict("records"), strict=True)
    return [
        ", ".join([_setting(row), *(f"{words.setting(str(name))} {value}" for name, value in more.items())])
        for row, more in rows
    ]


def _setting(row: dict) -> str:
    parts = [f"{words.method(str(row['method']), row['strength'])} on {words.dataset(str(row['dataset']))}"]
    if row["architecture"] != "convolutional":
        parts.append(words.architecture(str(row["architecture"])))
    if row["correlation"]:
        parts.append(f"σ = {row['correlation']:g}")
    parts.append(f"{row['latents']} latents")
    return ", ".join(parts)


def commands(tables: Tables, folder: str) -> str:
    """What to type to get these runs, verdicts and this page again."""
    versions = sorted(set(map(str, tables.runs["version"]))) if len(tables.runs) else []
    devices = sorted(set(filter(None, map(str, tables.runs["device"])))) if len(tables.runs) else []
    made = (
        f"<p>hackle {escape(words.listing(versions))}{f' on {escape(words.listing(devices))}' if devices else ''}.</p>"
        if versions
        else ""
    )
    return f"<pre>{escape(chr(10).join(command_lines(tables, folder)))}</pre>{made}"
