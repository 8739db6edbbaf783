"""The page docs/replication.md: what the papers say, what the runs of hackle-2026 give, and why the two differ.

Everything on it is made here from the table and the claims; `python -m benchmarks.ship results` writes it. Reasons for a
difference are sentences of `benchmarks.reasons`, in which numbers are filled in from the table too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from benchmarks.reasons import NONE, reasons
from hackle.claims import Judgement
from hackle.core.papers import PAPERS
from hackle.figures import FIGURES, Chart, Comparison, words
from hackle.store.tables import Tables

_INTRODUCTION = """\
# Replication

*Written by `python -m benchmarks.ship results` from the results that come with hackle; a test writes it again and compares.*

{count} statements of {papers} papers are [claims](claims.md), each a statistical test. The table
[`hackle-2026`](results.md#results-that-come-with-hackle) has {runs} runs, {failed}, of {datasets}, {steps}. On them {tally}.
"""
_ENDING = """\
## How to read it, and how to make it again

*Ours* is the effect that the claim is about, with its 95% interval over seeds; *claimed* is the region in which it
must lie, which is hackle's reading of the sentence, since most papers argue from plots. *Paper* is the number that
the paper prints, where it prints one. A claim is decided when the interval lies on one side of the bound and the
test, corrected over all {tested} claims that can be tested here, agrees; an asterisk marks claims that use runs of
other studies than the paper's own. See [how a claim is tested](claims.md#how-a-claim-is-tested).

```console
$ hackle claims hackle-2026 --reasons         # the verdicts, with what each still needs
$ python -m benchmarks.ship results           # in the repository: this page, the verdicts and the scores, from the table
```
"""
_FEW = 5
"""The most strata of which each is named."""


def replication_page(tables: Tables, judged: Sequence[Judgement]) -> str:
    """The whole page, from a table and the verdicts on it."""
    known = reasons(tables)
    tested = [one for one in judged if one.evidence.runs]
    parts = [_introduction(tables, judged), _what_holds(tested), _what_does_not(tested, known), _what_is_open(judged)]
    for paper in dict.fromkeys(one.claim.paper for one in tested):
        parts += _of_paper(paper, [one for one in tested if one.claim.paper == paper], tables, known)
    parts += [_without_runs(judged), _ENDING.format(tested=max(one.tested for one in judged))]
    return "\n".join(parts)


def number(value: float) -> str:
    """Three digits, without an exponent.

    >>> number(0.12345), number(-1234.5), number(0.0)
    ('0.123', '-1,234', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 1e-4 else "0"


def interval(value: float, low: float, high: float) -> str:
    """A number with its interval, if it has one."""
    return f"{number(value)} [{number(low)}, {number(high)}]" if low == low else number(value)


def _introduction(tables: Tables, judged: Sequence[Judgement]) -> str:
    runs = tables.runs
    failed, lengths = list(runs["status"]).count("failed"), sorted(set(runs["steps"]))
    return _INTRODUCTION.format(
        count=len(judged),
        papers=len({one.claim.paper for one in judged}),
        runs=f"{len(runs):,}",
        failed=f"{failed} of which failed" if failed else "none of which failed",
        datasets=words.listing(sorted({words.dataset(name) for name in runs["dataset"]})),
        steps=f"{' to '.join(f'{steps:,}' for steps in dict.fromkeys((lengths[0], lengths[-1])))} steps long",
        tally=words.tally(words.fate(one.verdict, one.evidence.runs) for one in judged),
    )


def _what_holds(tested: Sequence[Judgement]) -> str:
    lines = (
        f"{one.claim.statement} {_cited(one)}{_instead(one)}{_beside(one, 'By another estimator')}"
        for one in tested
        if one.verdict == "holds"
    )
    return _listed("What holds", lines)


def _what_does_not(tested: Sequence[Judgement], known: Mapping[str, str]) -> str:
    lines = (
        f"*{one.claim.statement}* {_cited(one)} The {one.claim.effect} is {_ours(one)}, claimed {one.claim.region}."
        f"{_instead(one)}{_by_stratum(one)}{_beside(one, 'By another estimator')} {known.get(one.claim.id, NONE)}"
        for one in tested
        if one.verdict == "does not hold"
    )
    return _listed("What does not hold", lines)


def _what_is_open(judged: Sequence[Judgement]) -> str:
    """How many claims are open for which reason, and the lean of those with an interval."""
    open_ones = [one for one in judged if one.verdict == "undecided" and one.evidence.runs]
    sides = {"for": 0, "against": 0, "across": 0, "none": 0}
    for one in open_ones:
        low, high, region = one.evidence.low, one.evidence.high, one.claim.region
        inside, outside = region.contains(low, high), region.excludes(low, high)
        sides["none" if low != low else "for" if inside else "against" if outside else "across"] += 1
    absent = sum(not one.evidence.runs for one in judged)
    claims = {side: words.counted(count, "claim") for side, count in sides.items()}
    lines = [
        f"Leaning towards the paper: {claims['for']}. The interval lies where it should, but seeds or data sets are too few to "
        "be certain of all such claims at once.",
        f"Leaning against it in the same way: {claims['against']}.",
        f"Neither: {claims['across']}. The interval reaches across the bound.",
        f"Too few runs for an interval: {claims['none']}." if sides["none"] else "",
        f"No runs: {words.counted(absent, 'claim')}, most of them about other data sets or methods, in "
        "[the last list](#claims-without-runs).",
    ]
    return _listed("What cannot be said", filter(None, lines))


def _of_paper(paper: str, tested: Sequence[Judgement], tables: Tables, known: Mapping[str, str]) -> Iterator[str]:
    about = PAPERS[paper]
    yield f"## {about.authors or paper}\n"
    counts = words.tally(words.fate(one.verdict, one.evidence.runs) for one in tested)
    yield f"*{about.title}.* Of {words.counted(len(tested), 'claim')} with runs {counts}.\n"
    yield "| what the paper says | effect | paper | ours, 95% interval | claimed | runs | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for one in tested:
        claim, evidence = one.claim, one.evidence
        cells = [
            f"{claim.statement} {_cited(one)}",
            f"{claim.effect}.{_instead(one)}{_by_stratum(one)}{_beside(one, 'By another estimator')}",
            "" if claim.paper_effect is None else number(claim.paper_effect),
            _ours(one),
            str(claim.region),
            f"{evidence.runs}{'*' if evidence.borrowed else ''}",
            one.verdict,
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from _printed_numbers(paper, tables, known)
    differing = [one for one in tested if one.verdict != "does not hold" and _differs(one)]
    if differing:
        alike: dict[str, list[str]] = {}
        for one in differing:
            alike.setdefault(known.get(one.claim.id, NONE), []).append(f"`{one.claim.name}`")
        lines = (f"{', '.join(names)}: {reason}" for reason, names in alike.items())
        yield _listed("Where others differ, and why", lines, level=3)


def _printed_numbers(paper: str, tables: Tables, known: Mapping[str, str]) -> Iterator[str]:
    """The numbers that the paper prints, beside those of the same figure or table made from these runs."""
    rows: list[list[str]] = []
    why: dict[str, list[str]] = {}
    for name, exhibit in FIGURES.items():
        if exhibit.paper != paper:
            continue
        chart = exhibit(tables, {})
        found = [
            [
                exhibit.number,
                one.what,
                number(float(one.paper)),
                interval(float(one.here), one.low, one.high),
                str(one.n),
            ]
            for one in chart.comparisons
            if _in_numbers(one)
        ]
        counts = {one.what.partition(":")[0]: str(one.n) for one in chart.comparisons}
        found += [[exhibit.number, *cells, counts.get(model, "")] for model, *cells in _by_factor(chart)]
        if found:
            rows += found
            why.setdefault(known.get(name, NONE), []).append(exhibit.number)
    if rows:
        yield "### Numbers that the paper prints\n"
        yield "| where | what | paper | ours | runs |\n|---|---|---|---|---|"
        yield from (f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in rows)
        yield ""
        yield from (f"- {', '.join(numbers)}: {reason}" for reason, numbers in why.items())
        yield ""


def _in_numbers(one: Comparison) -> bool:
    return not isinstance(one.paper, str) and not isinstance(one.here, str) and not one.claim


def _by_factor(chart: Chart) -> Iterator[list[str]]:
    """The model, what, the paper's and ours, of tables titled `here: …` that the figure has as `paper: …`, too."""
    titled = {panel.title: panel.cells for panel in chart.panels if panel.cells is not None}
    for title, cells in titled.items():
        what = title.removeprefix("here: ")
        printed = titled.get(f"paper: {what}")
        if title == what or printed is None:
            continue
        for model in cells.index.intersection(printed.index):
            for factor in cells.columns:
                if not pd.isna(cells.at[model, factor]):
                    said = f"{model}: {what} of {factor}"
                    yield [str(model), said, *(number(float(table.at[model, factor])) for table in (printed, cells))]


def _without_runs(judged: Sequence[Judgement]) -> str:
    lines = [
        "## Claims without runs\n",
        "| study that would decide them | claims, with the paper's number |\n|---|---|",
    ]
    absent = [one.claim for one in judged if not one.evidence.runs]
    for study in dict.fromkeys(claim.study or claim.paper for claim in absent):
        names = [
            f"{claim.name} ({number(claim.paper_effect)})" if claim.paper_effect is not None else claim.name
            for claim in absent
            if (claim.study or claim.paper) == study
        ]
        lines.append(f"| `hackle study run {study} --out DIR` | {', '.join(names)} |")
    return "\n".join([*lines, ""])


def _differs(one: Judgement) -> bool:
    """Whether the claim is refuted or leans that way, or the paper's own number lies outside the interval."""
    low, high, printed = one.evidence.low, one.evidence.high, one.claim.paper_effect
    if low != low:
        return False
    return one.claim.region.excludes(low, high) or (printed is not None and not low <= printed <= high)


def _ours(one: Judgement) -> str:
    known = one.evidence.estimate is not None
    return interval(one.evidence.effect, one.evidence.low, one.evidence.high) if known else "no interval"


def _cited(one: Judgement) -> str:
    """The claim's id and place; and of how much of what it is about there are runs, where that is not all."""
    have, all_of_it = one.evidence.parts, one.claim.parts
    part = f", with runs of {have} of {all_of_it} strata" if have < all_of_it else ""
    part += f", without {', '.join(one.evidence.without)}" if one.evidence.without else ""
    return f"(`{one.claim.id}`, {one.claim.where}{part})"


def _by_stratum(one: Judgement) -> str:
    """Each stratum's own effect, where there are a few."""
    if not 1 < len(one.evidence.strata) <= _FEW:
        return ""
    return f" Each: {', '.join(f'{name} {number(effect)}' for name, (effect, _) in one.evidence.strata.items())}."


def _instead(one: Judgement) -> str:
    """What was measured, where no run has the scores that the claim is about."""
    return f" With {one.evidence.instead}." if one.evidence.instead else ""


def _beside(one: Judgement, begin: str) -> str:
    return f" {begin}: {one.evidence.beside_in_words}." if one.evidence.beside else ""


def _listed(title: str, lines: Iterator[str] | filter[str], level: int = 2) -> str:
    return "\n".join([f"{'#' * level} {title}\n", *(f"- {line}" for line in lines), ""])
