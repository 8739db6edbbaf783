"""What a study's page says first: what was trained, how many claims hold, and the limits of both."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.errors import HackleError
from hackle.core.papers import PAPERS
from hackle.figures import words
from hackle.figures.chart import Frame
from hackle.report.study_sections import Claims
from hackle.store.tables import Tables
from hackle.studies import STUDIES
from hackle.studies.presets import PRESETS, preset

_MOST = 6
"""The most methods or data sets that are named one by one."""
_FEW_SEEDS = 10
"""Below so many seeds per setting, intervals are wide."""


def abstract(tables: Tables, claims: Claims) -> list[str]:
    """Sentences on what was trained and on how many claims hold, do not hold, or cannot be decided."""
    runs: Frame = tables.runs[tables.runs["status"] == "done"]
    count, tested = claims.counts, len(claims.tested)
    total = sum(count.values())
    trained = "No run is done."
    if len(runs):
        methods, datasets = (
            _several(runs[name], word) for name, word in (("method", "method"), ("dataset", "data set"))
        )
        trained = f"{words.counted(len(runs), 'model was', 'models were')} trained: {methods} on {datasets}."
    decided = (
        f"Of {words.counted(total, 'claim')}, {words.counted(count['holds'], 'holds', 'hold')}, "
        f"{words.counted(count['does not hold'], 'does not', 'do not')}, {count['undecided']:,} cannot be decided by "
        f"these runs, and {words.counted(count['no runs'], 'has', 'have')} no runs here."
    )
    about = f" Runs bear on claims of {words.counted(tested, 'paper')}." if tested else ""
    return [trained, decided + about]


def _several(column: Any, noun: str) -> str:
    names = [str(name) for name in pd.unique(column)]
    if len(names) > _MOST:
        return f"{len(names)} {noun}s"
    return words.listing([words.value("method" if noun == "method" else "dataset", name) for name in names])


def limits(tables: Tables, claims: Claims) -> list[str]:
    """What to keep in mind when reading the verdicts, each a sentence; none that does not apply."""
    rows = [row for paper in claims.papers for row in paper.with_runs]
    open_ones = sum(row["fate"] == "undecided" for row in rows)
    partial = sum(row["strata"] < row["strata_claimed"] for row in rows if row["fate"] != "undecided")
    borrowed = sum(bool(row["borrowed"]) for row in rows)
    sentences = [
        f"{words.counted(open_ones, 'claim is', 'claims are')} undecided, which is not the same as refuted: "
        "more runs may decide them."
        if open_ones
        else "",
        f"{words.counted(partial, 'verdict rests', 'verdicts rest')} on part of the data sets or methods that "
        f"{'its claim names' if partial == 1 else 'their claims name'}."
        if partial
        else "",
        f"{words.counted(borrowed, 'claim is', 'claims are')} tested on runs of other studies, which may differ in training."
        if borrowed
        else "",
        *(_fewer_steps(tables), _fewer_seeds(tables), _few_seeds(tables)),
    ]
    runs: Frame = tables.runs
    failed = int((runs["status"] == "failed").sum())
    if failed:
        sentences.append(f"{words.counted(failed, 'run')} failed and {'is' if failed == 1 else 'are'} left out.")
    return [line for line in sentences if line]


def _few_seeds(tables: Tables) -> str:
    runs: Frame = tables.runs
    seeds = int(runs["seed"].nunique()) if len(runs) else _FEW_SEEDS
    return (
        "" if seeds >= _FEW_SEEDS else f"No setting has more than {words.counted(seeds, 'seed')}; intervals are wide."
    )


def _fewer_seeds(tables: Tables) -> str:
    """The studies of papers whose settings have fewer seeds than the paper's."""
    runs: Frame = tables.runs
    told = []
    for study, have in runs.groupby(["study", "dataset"], observed=True)["seed"].nunique().groupby("study"):
        taken = signature(STUDIES[study].runs).parameters if study in STUDIES and study in PAPERS else {}
        wanted = taken["seeds"].default if "seeds" in taken else None
        if isinstance(wanted, int) and have.min() < wanted:
            ends = f"{have.min()}" if have.min() == have.max() else f"{have.min()} to {have.max()}"
            told.append(f"{study} ({ends} of {wanted})")
    return f"Trained with fewer seeds than in the paper: {words.listing(told)}." if told else ""


def _fewer_steps(tables: Tables) -> str:
    """The studies of papers whose runs trained for fewer steps than the paper's."""
    runs: Frame = tables.runs
    short: dict[str, tuple[float, float]] = {}
    for (study, method, dataset), steps in (
        runs.groupby(["study", "method", "dataset"], observed=True)["steps"].max().items()
    ):
        if study not in PRESETS:
            continue
        try:
            wanted = preset(study, method, dataset).steps
        except HackleError:
            continue
        if steps < wanted:
            known = short.get(study, (np.inf, 0))
            short[study] = (min(known[0], steps), max(known[1], wanted))
    told = [f"{study} ({int(have):,} of {int(wanted):,})" for study, (have, wanted) in short.items()]
    return f"Trained for fewer steps than in the paper: {words.listing(told)}." if told else ""
