"""The settings of runs in words: each with as few fields of its record as tell it from others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from hackle.core.design import USUAL, heading, in_words
from hackle.core.method import Method
from hackle.figures import words
from hackle.figures.chart import Frame
from hackle.store.records import setting_numbers, telling_fields


def setting_names(runs: Frame) -> list[str]:
    """The setting of each run in words, with the record fields that distinguish it from others with the same words."""
    if not len(runs):
        return []
    numbers = setting_numbers(runs)
    _, first = np.unique(numbers, return_index=True)
    each: Frame = runs.iloc[first]
    names = [_setting(row) for row in each.to_dict("records")]
    fields = telling_fields(each, ("dataset", "method", "strength", "architecture", "latents", *USUAL))
    told = [", ".join(part for part in both if part) for both in zip(names, told_apart(names, fields), strict=True)]
    return [told[number] for number in numbers]


def told_apart(names: Sequence[Hashable], fields: Frame) -> list[str]:
    """For each of several settings the fields, in words, that tell it from those with the same name; empty if there are none.

    >>> import pandas as pd
    >>> told_apart(["a", "a", "b"], pd.DataFrame({"width": [1, 1, 2], "learning_rate": [0.1, 0.2, 0.2]}))
    ['learning rate 0.1', 'learning rate 0.2', '']
    """
    columns = {str(name): list(fields[name]) for name in fields}
    alike: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names):
        alike.setdefault(name, []).append(place)
    told = [""] * len(names)
    for places in alike.values():
        telling = _telling({name: [str(values[place]) for place in places] for name, values in columns.items()})
        for place in places:
            known = {name: columns[name][place] for name in telling}
            told[place] = ", ".join(
                f"{heading(name)} {value}" for name, value in known.items() if value not in (None, "")
            )
    return told


def _telling(columns: dict[str, list[str]]) -> list[str]:
    """Columns that together tell apart as many rows as all do: each time the one that helps most, the first of equals."""
    kept: list[str] = []
    kinds = 1
    while others := [name for name in columns if name not in kept]:
        counts = [len(set(zip(*(columns[name] for name in (*kept, other)), strict=True))) for other in others]
        if max(counts) == kinds:
            break
        kinds = max(counts)
        kept.append(others[counts.index(kinds)])
    return kept


def _setting(row: dict[str, Any]) -> str:
    parts = [f"{words.method(str(row['method']), row['strength'])} on {words.dataset(str(row['dataset']))}"]
    if row["architecture"] != Method.architecture:
        parts.append(words.architecture(str(row["architecture"])))
    return ", ".join([*parts, *unusual(row, tuple(USUAL)), f"{row['latents']} latents"])


def unusual(row: dict[str, Any], columns: Sequence[str]) -> list[str]:
    """The values of those of some columns that are not what they usually are, in words."""
    return [in_words(name, row[name]) for name in columns if row[name] != USUAL[name]]
