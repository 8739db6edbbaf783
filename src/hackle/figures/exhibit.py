"""Exhibits: figures and tables as data. An exhibit says which runs it shows, in which panels, beside which claims.

    Exhibit(
        "kim2018",
        "Figure 10",
        "Error against disentanglement in 3D",
        "As Figure 5, on 3D Shapes.",
        Runs(("reconstruction", "factor_vae"), {"dataset": "shapes3d", "latents": 6}, {"beta-vae": (), "factor-vae": ()}),
        panels(scatter, "reconstruction", "factor_vae", each="dataset"),
    )

How to make one:

1. `Runs` says which scores of which runs are read, which runs share a colour, and which missing runs are reported. Its
   `change`, a function of the frame of runs and the tables, adds what the tables do not have as a column.
2. Each row of the figure is a tuple of panels, or a single one; a figure of one row of one kind is that. `panels(kind, …)`
   takes a kind from `hackle.figures.panels` (swarm, scatter, against_strength, curves, over_protocols) and its arguments;
   `each="dataset"` makes one panel per data set. For a figure with special needs, any function will do that takes `Selected`
   and gives panels and lines on what is missing; it may also give comparisons that the panels do not show.
3. Beside the figure stand the effects, intervals and verdicts of the paper's claims whose `where` names it, so that no
   statement has two numbers. `claims` are ids of others that it is about. `reported` adds what the paper says of single
   panels: a function of the panels that compares levels ("the best mean is 0.82"), never what a claim compares.
4. The legend, the notes, what is missing and how to read it are made here; `reading` adds a sentence, `series` sets colours.

`FIGURES` finds exhibits, by themselves or in a tuple, in the modules `hackle.papers.*.figures*` and in files of your own. A
paper with many has a table of them by number: `numbered({2: exhibit(…), …})`, with `exhibit = exhibits_of(paper, …)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from hackle.claims import CLAIMS, Claim, Evidence, Judgement, View
from hackle.core.design import DESIGN
from hackle.core.palette import look
from hackle.figures import words
from hackle.figures.chart import Chart, Comparison, Frame, Panel, Series
from hackle.figures.drawing import FigureError
from hackle.figures.models import PICTURES
from hackle.figures.panels import CURVES, MEANS, MEDIANS, Panels, against_strength, curves, swarm
from hackle.figures.selection import Runs, Selected, select
from hackle.figures.style import shade
from hackle.figures.summaries import summarise
from hackle.store.tables import Tables

_READINGS = {swarm: MEANS, curves: CURVES, against_strength: MEDIANS}
_HUES = {"β": 0, "γ": 1}
"""Hues by the symbol of a method's weight, so that no β looks like a γ. Of several methods with one symbol that with the most
weights has its hue; all others share a third."""
_FEW = 8
"""The most strata that are listed one by one: a paper's data sets, but not each method on each of them."""


Kind = Callable[[Selected], Iterable[Panel | Comparison | str]]
"""What makes panels, comparisons and lines on what is missing from the runs that were selected."""


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a paper: its number, what it shows in our words, and how it is made (see above).

    series: in the legend, with their colours, or as names, which have colours in their order.
    columns: how many panels are side by side, if not all of a row. shared_y: whether panels of a row share their y
    axis. study: the study whose runs it shows, if not the paper's. id: such as `paper-figure-1`, made from the number if
    not given.
    """

    paper: str
    number: str
    title: str
    caption: str
    runs: Runs | tuple[Runs, ...]
    rows: Kind | tuple[Kind | tuple[Kind, ...], ...]
    claims: tuple[str, ...] = ()
    reported: Callable[[Sequence[Panel]], Iterable[Comparison]] | None = None
    series: tuple[Series | str, ...] = ()
    reading: str = ""
    columns: int = 0
    shared_y: bool = True
    study: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        slug = re.sub(r"\W+", "-", f"{self.paper}-{self.number}".replace(".", "").lower())
        object.__setattr__(self, "id", self.id or slug)
        object.__setattr__(self, "study", self.study or self.paper)

    @cached_property
    def kinds(self) -> list[tuple[Kind, ...]]:
        """What makes the panels of each row."""
        rows = self.rows if isinstance(self.rows, tuple) else (self.rows,)
        return [row if isinstance(row, tuple) else (row,) for row in rows]

    @cached_property
    def selections(self) -> tuple[Runs, ...]:
        return self.runs if isinstance(self.runs, tuple) else (self.runs,)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets that the paper's figure shows."""
        return tuple(dict.fromkeys(name for runs in self.selections for name in runs.wanted("dataset")))

    @property
    def needs(self) -> str:
        """The runs that it shows, in words."""
        columns = ("method", "dataset")
        return "; ".join(
            f"runs {runs.words({name: wanted for name in columns if (wanted := runs.wanted(name))})}"
            f"{f' with the scores {words.listing(runs.metrics)}' if runs.metrics else ''}"
            for runs in self.selections
        )

    @property
    def compared(self) -> tuple[str, ...]:
        """The claims that it is compared with: those of its paper that say to be made there, and `claims`."""
        kind, _, number = self.number.rpartition(" ")
        named = re.compile(rf"{kind}s? ([\w.]+(, | and ))*{re.escape(number)}\b(?!\.)")
        placed = [one.id for one in CLAIMS.values() if one.paper == self.paper and named.search(one.where)]
        return tuple(dict.fromkeys((*placed, *self.claims)))

    @property
    def weights(self) -> bool:
        """Whether all that it draws are pictures of models, whose weights the study must keep."""
        made = {kind.make for kinds in self.kinds for kind in kinds if isinstance(kind, Panels)}
        return bool(made) and made <= PICTURES

    @property
    def command(self) -> str:
        """The command that makes the runs it needs."""
        keep = " --keep all" if self.weights else ""
        return f"hackle study run {self.study} --out DIR --datasets {','.join(self.datasets)}{keep}"

    def __call__(self, tables: Tables, judged: Mapping[str, Judgement] | None = None) -> Chart:
        """The figure of these tables.

        judged: the results of `hackle.claims.judge`, by claim. Without them the exhibit's claims are tested here: the
        numbers are the same, but there is no verdict, which depends on all claims that are judged together.
        """
        with self._asking():
            selected = [select(tables, runs) for runs in self.selections]
        missing = [line for chosen in selected for line in chosen.missing]
        rows: list[tuple[Panel | None, ...]] = []
        told: list[Comparison] = []
        for kinds in self.kinds:
            with self._asking():
                made = [item for kind in kinds for chosen in selected if len(chosen.frame) for item in kind(chosen)]
            missing += [item for item in made if isinstance(item, str)]
            told += [item for item in made if isinstance(item, Comparison)]
            if drawn := [item for item in made if isinstance(item, Panel)]:
                rows += self._in_rows(_without_titles_of(rows, drawn))
        shown = [panel for row in rows for panel in row if panel is not None]
        comparisons = [*self._claimed(tables, judged), *told] if shown else []
        if shown and self.reported is not None:
            comparisons += self.reported(shown)
        readings = [_READINGS.get(kind.make, "") for kinds in self.kinds for kind in kinds if isinstance(kind, Panels)]
        return Chart(
            tuple(rows),
            in_order(self.series) or _legend(selected),
            " ".join(dict.fromkeys(text for text in (*readings, self.reading) if text)),
            tuple(comparisons),
            tuple(dict.fromkeys(missing)),
            tuple(dict.fromkeys(note for chosen in selected for note in chosen.notes)),
            self.shared_y,
        )

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turns the error for a column that the runs do not have, as by a slip in its name, into what they have."""
        try:
            yield
        except KeyError as error:
            raise FigureError(
                f"the figure {self.id} asks for {error}, which its runs do not have; expected one of {', '.join(DESIGN)}, a "
                "score that its Runs name, or what its change adds"
            ) from error

    def _in_rows(self, panels: Sequence[Panel]) -> list[tuple[Panel | None, ...]]:
        width = min(self.columns or len(panels), len(panels))
        filled: list[Panel | None] = [*panels, *[None] * (-len(panels) % width)]
        return [tuple(filled[start : start + width]) for start in range(0, len(filled), width)]

    def _claimed(self, tables: Tables, judged: Mapping[str, Judgement] | None) -> Iterator[Comparison]:
        view = View(tables)
        tested: list[tuple[Claim, Evidence, str]] = []
        for name in self.compared:
            if judged is not None and name in judged:
                tested.append((judged[name].claim, judged[name].evidence, judged[name].verdict))
            elif judged is None:
                claim = CLAIMS.find(name)
                tested.append((claim, claim.test(view), ""))
        known = [each for each in tested if each[1].strata]
        for what, (claim, evidence, verdict) in zip(_told_apart([each[0] for each in known]), known, strict=True):
            yield from _comparisons(what, claim, evidence, verdict)


Unnumbered = Callable[[str], Exhibit]
"""An exhibit but for its number."""


def exhibits_of(paper: str, **usual: Any) -> Callable[..., Unnumbered]:
    """What makes the exhibits of a paper, with the fields that most of them share; claims are named without their paper."""

    def exhibit(
        title: str, caption: str, runs: Runs | tuple[Runs, ...], rows: Any, *claims: str, **more: Any
    ) -> Unnumbered:
        ids = tuple(f"{paper}.{one}" for one in claims)
        return lambda number: Exhibit(paper, number, title, caption, runs, rows, ids, **{**usual, **more})

    return exhibit


def numbered(exhibits: Mapping[Any, Unnumbered]) -> tuple[Exhibit, ...]:
    """A paper's exhibits by their numbers; a number alone is that of a figure."""
    return tuple(make(number if isinstance(number, str) else f"Figure {number}") for number, make in exhibits.items())


def means_beside(paper: Mapping[str, float], column: str, what: str) -> Kind:
    """Comparisons of a column's mean over the runs of a series with what the paper reports of it, by the name of the series."""

    def told(chosen: Selected) -> Iterator[Comparison]:
        means = summarise(chosen.having(column), ["series"], column).set_index("series")
        for name in filter(means.index.__contains__, paper):
            yield Comparison.of(f"{name}: {what}", paper[name], means.loc[name])

    return told


def _told_apart(claims: Sequence[Claim]) -> list[str]:
    """What each claim measures; where several measure the same, of what, or which claim it is."""

    def named(one: Claim) -> str:
        alike = [other for other in claims if other.effect == one.effect]
        strata = {tuple(stratum.name for stratum in other.strata) for other in alike}
        if len(alike) == 1:
            return one.effect
        single = len(strata) == len(alike) and all(len(names) == 1 for names in strata)
        return f"{one.effect}, {words.spelled(one.strata[0].name)}" if single else f"{one.effect}: {one.statement}"

    return [named(one) for one in claims]


def _comparisons(what: str, claim: Claim, evidence: Evidence, verdict: str) -> Iterator[Comparison]:
    """The effect found for a claim, and for each of its strata if they are few."""
    claimed = f"claimed {words.spelled(str(claim.region))}" if claim.paper_effect is None else claim.paper_effect
    seeds = sum(count for _, count in evidence.strata.values())
    one = [effect for effect, _ in evidence.strata.values()] if len(evidence.strata) == 1 else [evidence.effect]
    yield Comparison(what, claimed, one[0], evidence.low, evidence.high, seeds, claim.id, verdict)
    # Of a single stratum the line above says it already.
    for name, (effect, count) in (
        evidence.strata.items() if 1 < len(evidence.strata) <= len(claim.strata) <= _FEW else ()
    ):
        ends = evidence.estimates[name].interval() if name in evidence.estimates else ()
        yield Comparison(f"the same, {words.spelled(name)}", claimed, effect, *ends, n=count, claim=claim.id)


def _without_titles_of(rows: Sequence[Sequence[Panel | None]], panels: Sequence[Panel]) -> list[Panel]:
    """Panels without the titles that a row above them already shows."""
    above = {panel.title for row in rows for panel in row if panel is not None}
    return [replace(panel, title="") if panel.title in above else panel for panel in panels]


def _legend(selected: Sequence[Selected]) -> tuple[Series, ...]:
    """A colour and a marker for each series: shades for weights, the darker the stronger."""
    runs = selected[0].runs
    if runs.series in ("weight", "model"):
        frame: Frame = pd.concat([chosen.frame for chosen in selected])
        return shades(frame)
    if isinstance(runs.series, Mapping):
        names = list(runs.series)
    else:
        names = [runs.word(runs.series, value) for value in runs.wanted(runs.series)] or ["runs"]
    return in_order(names)


def in_order(series: Iterable[Series | str]) -> tuple[Series, ...]:
    """The series, those that are names with colours and markers by their place."""
    return tuple(Series(one, *look(place)) if isinstance(one, str) else one for place, one in enumerate(series))


def shades(frame: Frame) -> tuple[Series, ...]:
    """A series for each weight of runs with `series`: shades of the hue of the weight's symbol, the darker the stronger."""
    series: list[Series] = []
    weights = frame.groupby("method", sort=False)["series"].nunique().sort_values(ascending=False, kind="stable")
    first = weights.index.to_series().groupby(words.symbol).first()
    hues = frame["method"].map(
        lambda name: _HUES.get(words.symbol(name), 2) if first[words.symbol(name)] == name else 2
    )
    for hue, part in frame.groupby(hues, sort=False):
        names = list(part.sort_values("strength")["series"].drop_duplicates())
        series += [Series(name, shade(hue, place, len(names)), place) for place, name in enumerate(names)]
    return tuple(series)
