"""The content of a study's page as plain data: its summary, claims, figures, and runs that failed or are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Frame, Panel
from hackle.figures.exhibit import Exhibit
from hackle.report.alternatives import alternative, legend
from hackle.report.html import number
from hackle.report.setting_names import setting_names
from hackle.scoring.protocol import PROTOCOLS
from hackle.store.records import setting_numbers
from hackle.store.tables import Tables

KINDS = {"holds": "holds", "does not hold": "fails", "undecided": "open", "no runs": "none"}
"""The CSS class for each verdict."""
_MOST_NUMBERS = 60
"""Figures with more means or medians than this have no table of numbers."""

Row = dict[str, Any]


def facts(tables: Tables) -> list[tuple[str, str]]:
    """A few numbers on what the table holds, each with what it counts."""
    runs: Frame = tables.runs
    failed = int((runs["status"] == "failed").sum())
    settings = len(np.unique(setting_numbers(runs))) if len(runs) else 0
    steps = sorted(int(value) for value in runs["steps"].unique())
    counted = [
        words.counted(len(runs) - failed, "run done", "runs done"),
        f"{failed:,} failed",
        words.counted(settings, "setting"),
        words.counted(runs["seed"].nunique(), "seed"),
    ]
    shown = [(value, name) for value, _, name in (text.partition(" ") for text in counted)]
    shown.append((f"{steps[-1]:,}" if len(steps) == 1 else f"{steps[0]:,} – {steps[-1]:,}" if steps else "–", "steps"))
    value, _, name = words.counted(len(tables.scores), "score").partition(" ")
    shown.append((value, name))
    hours = float(np.nansum(runs["training_seconds"].to_numpy(float))) / 3600
    return [*shown, (f"{hours:,.1f}", "hours of training, summed")] if hours >= 0.05 else shown


def protocols(tables: Tables, most: int = 4) -> str:
    """A sentence on the protocols by which the runs were scored, the one with the most scores first. Variants, such as
    ablations and other draws, are counted."""
    found = [str(name) for name, count in tables.scores["protocol"].value_counts().items() if count]
    if not found:
        return "No scores."
    names = list(dict.fromkeys(map(_plain_protocol, found)))
    shown = names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    variants = sum(name not in names for name in found)
    told = (
        f" ({words.counted(variants, 'variant')} of {'them' if len(names) > 1 else 'it'} included)" if variants else ""
    )
    return f"Scored by the protocol{'s' if len(names) > 1 else ''} {words.listing(shown)}{told}."


def _plain_protocol(name: str) -> str:
    """The protocol of which this one, such as do2020-bins-10 or kim2018@3, is a variant."""
    return next((one for one in PROTOCOLS if "-" not in one and name.startswith((f"{one}-", f"{one}@"))), name)


@dataclass(frozen=True)
class PaperClaims:
    """The claims of one paper, as rows of `hackle.claims.as_frame` with their fate."""

    name: str
    rows: list[Row]

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def tally(self) -> str:
        return words.tally(row["fate"] for row in self.rows)

    @property
    def with_runs(self) -> list[Row]:
        return [row for row in self.rows if row["runs"]]

    @property
    def without_runs(self) -> list[Row]:
        return [row for row in self.rows if not row["runs"]]


@dataclass(frozen=True)
class Claims:
    """Every claim by paper, and the number with each verdict. Papers without any run are listed apart."""

    counts: dict[str, int]
    papers: list[PaperClaims]

    @classmethod
    def of(cls, verdicts: Frame, papers: Sequence[str]) -> Claims:
        rows = [{**row, "fate": words.fate(row["verdict"], row["runs"])} for row in verdicts.to_dict("records")]
        counts = Counter(row["fate"] for row in rows)
        by_paper = [PaperClaims(paper, [row for row in rows if row["paper"] == paper]) for paper in papers]
        return cls({fate: counts[fate] for fate in KINDS}, by_paper)

    @property
    def tested(self) -> list[PaperClaims]:
        return [paper for paper in self.papers if paper.with_runs]

    @property
    def untested(self) -> list[PaperClaims]:
        return [paper for paper in self.papers if not paper.with_runs]

    def about(self, item: Exhibit) -> list[Row]:
        """The claims that a figure or table is compared with."""
        compared = set(item.compared)
        return [row for paper in self.papers for row in paper.rows if row["claim"] in compared]


@dataclass(frozen=True)
class Figure:
    """An exhibit as it is shown: its chart, the drawing of it and the claims about it."""

    exhibit: Exhibit
    chart: Chart
    drawing: str
    claims: list[Row] = field(default_factory=list)

    @property
    def alternative(self) -> str:
        return alternative(self.chart, self.exhibit.title, self.exhibit.caption)

    @property
    def legend(self) -> list[tuple[str, int, str]]:
        return legend(self.chart)

    @property
    def compared(self) -> list[Comparison]:
        """The comparisons with the paper that have a value here."""
        return [one for one in self.chart.comparisons if isinstance(one.here, str) or not pd.isna(one.here)]

    @property
    def has_numbers(self) -> bool:
        """Whether there is anything to save as a table; pictures have nothing."""
        return any(len(panel.points) or len(panel.summary) or panel.cells is not None for panel in self.chart.panels)

    @property
    def numbers(self) -> list[Any]:
        """The means or medians that are drawn, for readers who cannot see the drawing; empty if they are too many to
        read."""
        parts = [
            panel.summary.assign(panel=title, place=_places(panel))
            for title, panel in zip(self.chart.titles, self.chart.panels, strict=True)
            if len(panel.summary)
        ]
        return list(pd.concat(parts).itertuples()) if 0 < sum(map(len, parts)) <= _MOST_NUMBERS else []


def _places(panel: Panel) -> list[str]:
    names = panel.x.ticks
    return [names[int(x)] if names else number(float(x)) for x in panel.summary["x"]]


@dataclass(frozen=True)
class PaperFigures:
    """The figures of one paper: those drawn, what is missing in several of them, and those not drawn."""

    name: str
    figures: list[Figure]
    lacking_in_several: list[str]
    absent: list[tuple[Exhibit, Chart]]

    @classmethod
    def of(
        cls, name: str, items: Sequence[Exhibit], charts: Mapping[str, Chart], drawn: Mapping[str, str], claims: Claims
    ) -> PaperFigures:
        mine = [item for item in items if item.paper == name]
        seen = [item for item in mine if item.id in drawn]
        # What is missing in more than one figure is said once, above them.
        counts = Counter(line for item in seen for line in charts[item.id].missing)
        shared = [line for line, count in counts.items() if count > 1]
        figures = []
        for item in seen:
            missing = tuple(line for line in charts[item.id].missing if line not in shared)
            chart = replace(charts[item.id], missing=missing)
            figures.append(Figure(item, chart, drawn[item.id], claims.about(item)))
        return cls(name, figures, shared, [(item, charts[item.id]) for item in mine if item.id not in drawn])


def failed_runs(tables: Tables) -> list[tuple[str, int, str, str]]:
    """Runs that failed: setting, seed, reason and hash."""
    runs: Frame = tables.runs
    return [
        (name, int(row["seed"]), str(row["reason"]), str(row["run"]))
        for name, row in zip(setting_names(runs), runs.to_dict("records"), strict=True)
        if row["status"] == "failed"
    ]


def missing_seeds(tables: Tables) -> list[tuple[str, int, int]]:
    """Settings with fewer seeds done than the fullest of their study on the same data set: name, seeds done, seeds of that."""
    runs: Frame = tables.runs
    if not len(runs):
        return []
    done = runs.assign(good=(runs["status"] == "done").astype(int), number=setting_numbers(runs))
    by = done.groupby(["study", "dataset", "number"], observed=True)
    have = by.agg(good=("good", "sum"), planned=("seed", "nunique")).reset_index()
    # A study has the same number of seeds for every setting of a data set; failed runs count as planned.
    have["want"] = have.groupby(["study", "dataset"], observed=True)["planned"].transform("max")
    named = dict(zip(done["number"], setting_names(runs), strict=True))
    return [
        (named[row.number], int(row.good), int(row.want)) for row in have.itertuples() if int(row.good) < int(row.want)
    ]
