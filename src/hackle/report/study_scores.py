"""The score table of many runs, as data that the page draws when it is scrolled to: one row per setting, with its
runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.design import CONFIGURATION, DEFAULTS, USUAL, heading
from hackle.figures import words
from hackle.figures.chart import Frame
from hackle.report.setting_names import told_apart, unusual
from hackle.store.records import setting_numbers, telling_fields
from hackle.store.tables import Tables

_WORDS = [name for name, default in DEFAULTS.items() if isinstance(default, str)]
SETTING = (*(name for name in CONFIGURATION if name not in _WORDS), "steps")
"""The columns that identify a setting; other record fields in which settings differ are added."""
_MOST_FIELDS = 3
"""More fields than this have no columns of their own."""


def score_data(tables: Tables) -> dict[str, Any]:
    """The data of the page's table.

    names: the fields of a setting. columns: the names of scores, with representation and protocol if there are several.
    shown: the columns shown at first. settings: the values of the fields. titles: what data sets and methods are called.
    symbols: of each setting's strength. runs: setting number, seed, hash, a score per column.
    """
    scores: Frame = tables.scores
    if not len(scores):
        return {
            "names": list(map(heading, SETTING)),
            "columns": [],
            "shown": [],
            "settings": [],
            "titles": {},
            "symbols": [],
            "runs": [],
        }
    key = scores[["metric", "representation", "protocol"]].astype(str)
    names_of: Frame = pd.MultiIndex.from_frame(key)
    column, columns = pd.factorize(names_of)
    position, names = pd.factorize(scores["run"])
    order = sorted(range(len(columns)), key=lambda index: _place(columns[index]))
    values = np.full((len(names), len(columns)), np.nan)
    values[position, np.argsort(order)[column]] = scores["score"].to_numpy(float)
    columns = [columns[index] for index in order]
    runs: Frame = tables.runs.drop_duplicates("run").set_index("run").loc[names]
    # Columns in which every run has the usual value are left out.
    seen = [name for name in SETTING if name not in USUAL or (runs[name] != USUAL[name]).any()]
    numbers = setting_numbers(runs)
    _, first = np.unique(numbers, return_index=True)
    each: Frame = runs.iloc[first]
    known: Frame = pd.concat([each[seen], _more(each)], axis=1).astype(object)
    settings = known.reset_index(drop=True).sort_values(seen)
    setting = np.argsort(settings.index)[numbers]
    labels = _labels(columns)
    shown = _first(columns, np.isfinite(values).sum(axis=0))
    return {
        "names": list(map(heading, known)),
        "columns": labels,
        "shown": shown or list(range(min(len(words.COMPARED), len(labels)))),
        "settings": [[_plain(value) for value in row] for row in settings.itertuples(index=False)],
        "titles": {
            str(name): words.value(field, str(name))
            for field in ("dataset", "method")
            for name in settings[field].unique()
        },
        "symbols": [words.symbol(str(name)) for name in settings["method"]],
        "runs": [
            [int(group), int(seed), str(name), row]
            for group, seed, name, row in zip(setting, runs["seed"], names, _rounded(values), strict=True)
        ],
    }


def _first(columns: Sequence[tuple[str, str, str]], known: np.ndarray) -> list[int]:
    """The positions of the main scores, each by the protocol and of the codes that most runs have it by."""
    positions = []
    for metric in words.COMPARED:
        mine = [at for at, (name, kind, _) in enumerate(columns) if name == metric and kind != "sampled"]
        positions += [max(mine, key=lambda at: known[at])] if mine else []
    return sorted(positions)


def _more(settings: Frame) -> Frame:
    """Further fields in which settings differ, a column each; those of many studies together are too many to have the scores in
    sight, and are one column in words."""
    fields = telling_fields(settings, SETTING)
    if fields.shape[1] <= _MOST_FIELDS:
        return fields
    regimes = tuple(name for name in USUAL if name not in SETTING)
    said = [unusual(row, regimes) for row in settings.to_dict("records")]
    names = zip(*(settings[name].astype(str) for name in SETTING), map(tuple, said), strict=True)
    more = told_apart(list(names), telling_fields(settings, (*SETTING, *regimes)))
    words_of = [", ".join([*part, *([text] if text else [])]) for part, text in zip(said, more, strict=True)]
    return pd.DataFrame({"also": words_of}, index=settings.index)


def _place(column: tuple[str, str, str]) -> tuple[int, int, str, str]:
    metric, representation, protocol = column
    return (words.place(metric), representation == "sampled", metric, protocol)


def _labels(columns: list[tuple[str, str, str]]) -> list[str]:
    several = len({protocol for _, _, protocol in columns}) > 1
    return [
        metric + (", sampled" if representation == "sampled" else "") + (f" ({protocol})" if several else "")
        for metric, representation, protocol in columns
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool):
        return str(value)
    return None if pd.isna(value) else int(value) if float(value).is_integer() else float(value)


def _rounded(values: np.ndarray) -> list[list[float | None]]:
    """Rounded to four significant digits, which is finer than the spread over seeds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (3 - np.floor(np.log10(np.abs(values))))
        kept = np.where(np.isfinite(scale), np.round(values * scale) / scale, values)
    return [[None if value != value else float(f"{value:.4g}") for value in row] for row in kept.tolist()]
