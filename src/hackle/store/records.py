"""The fields of many runs' records, read from their JSON: columns of tables, and the fields in which runs differ.

A record is the authority on its run. Studies have thousands of runs of a few hundred settings, where runs of a setting
differ only in their seed, so each setting is parsed once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.design import DEFAULTS, DESIGN, REGIMES, regime_in_words
from hackle.core.types import Adam

_SEED = re.compile(r'"seed": ?(\d+)')
_LATER = {field.name: field.default for field in fields(Adam) if field.metadata.get("later")}
"""Defaults of the optimiser's newer fields, which records leave out at their defaults."""
_MOST_FIELDS = 1_000
"""The most fields of a record with those of the records in it: far more than any has, and each may become a column."""
_OF_SETTING = [name for name in DESIGN if name != "seed"]


def _parsed(records: Iterable[str]) -> tuple[NDArray[np.int64], list[dict[str, Any]], list[int]]:
    """The setting number of each record, the fields of each setting by dotted path, without the seed, and the seeds."""
    numbers, seeds = [], []
    known: dict[str, int] = {}
    settings: list[dict[str, Any]] = []
    for text in records:
        matches = _SEED.findall(text)
        if len(matches) == 1:
            seed, key = int(matches[0]), _SEED.sub("", text)
        else:
            # Another part of the record also has a seed, or there is none.
            content = json.loads(text or "{}")
            seed, key = content.pop("seed", DEFAULTS["seed"]), json.dumps(content, sort_keys=True)
        if key not in known:
            known[key] = len(settings)
            settings.append(_flat(json.loads(text or "{}")))
            settings[-1].pop("seed", None)
            if len(settings[-1]) > _MOST_FIELDS:
                raise ValueError(f"a record of {len(settings[-1]):,} fields; expected at most {_MOST_FIELDS:,}")
        numbers.append(known[key])
        seeds.append(seed)
    return np.array(numbers, np.int64), settings, seeds


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Every field of a record and of the records nested in it, by dotted path; lists as text."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            value = _LATER | value if value.get("type") == Adam.__name__ else value
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat


def field_columns(records: Iterable[str]) -> dict[str, Any]:
    """The fields shown to users, one column each; text is categorical. Fields missing in a record get defaults."""
    numbers, settings, seeds = _parsed(records)
    columns: dict[str, Any] = {"seed": np.array(seeds, np.int64)}
    for name, default in DEFAULTS.items():
        if name != "seed":
            values: Any = np.array([_value(setting, name, default) for setting in settings], type(default))
            values = pd.Categorical(values) if isinstance(default, str) else values
            columns[name] = values.take(numbers)
    return {name: columns[name] for name in DEFAULTS}


def _value(setting: Mapping[str, Any], name: str, default: Any) -> Any:
    """A field of a setting as tables have it."""
    if name not in REGIMES:
        return setting.get(name, default)
    own = {path.partition(".")[2]: value for path, value in setting.items() if path.startswith(f"{name}.")}
    return regime_in_words(REGIMES[name], own)


def setting_numbers(runs: pd.DataFrame) -> NDArray[np.int64]:
    """The number of each run's setting, from 0: runs whose records differ only in their seed share one."""
    # A record holds all that the columns hold; tables built without records have only the columns.
    parts = runs[_OF_SETTING].assign(record=_parsed(runs["record"].astype(str))[0])
    return parts.groupby([*_OF_SETTING, "record"], dropna=False, observed=True, sort=False).ngroup().to_numpy(np.int64)


def telling_fields(runs: pd.DataFrame, known: Sequence[str]) -> pd.DataFrame:
    """The record fields in which settings differ that agree in the columns `known`, one column each.

    A column has the field's own name if that is unique, else its path, such as `optimiser.learning_rate`.
    """
    numbers, settings, _ = _parsed(runs["record"].astype(str))
    kinds: Any = runs[list(known)].assign(record=numbers).drop_duplicates()
    alike = kinds.groupby(list(known), dropna=False, observed=True, sort=False).ngroup()
    several = alike.duplicated(keep=False)
    kinds, alike = kinds["record"][several], alike[several]

    def tells(path: str) -> bool:
        values = kinds.map(lambda number: str(settings[number].get(path)))
        return bool((values.groupby(alike).nunique() > 1).any())

    paths = [path for path in dict.fromkeys(path for number in kinds for path in settings[number]) if tells(path)]
    columns = {name: [settings[number].get(path) for number in numbers] for name, path in _short(paths, known).items()}
    return pd.DataFrame(columns, index=runs.index, dtype=object)


def swept_fields(runs: pd.DataFrame, known: Sequence[str], *, every: bool = False) -> pd.DataFrame:
    """Every number of the records that has several values among these runs or is a method's strength, one column
    each; NaN where a record has no such field. Fields that already have a column in `known` are left out. every: also those
    with one value."""
    numbers, settings, _ = _parsed(runs["record"].astype(str))
    strengths = np.full(len(settings), np.nan)
    strengths[numbers] = runs["strength"].to_numpy(float)
    values: dict[str, NDArray[Any]] = {}
    for number, setting in enumerate(settings):
        for path, value in setting.items():
            if _is_number(path, value) and path not in DEFAULTS:
                values.setdefault(path, np.full(len(settings), np.nan))[number] = value
    paths = [path for path, column in values.items() if every or _is_swept(path, column, strengths)]
    paths.sort(key=lambda path: not path.startswith("method."))
    return pd.DataFrame({name: values[path][numbers] for name, path in _short(paths, known).items()}, index=runs.index)


def _is_number(path: str, value: Any) -> bool:
    """Whether a value of a record is a number that a column holds as it is. Counts of pairs and labels are told in words."""
    whole = type(value) is int and abs(value) <= 2**53 and path.partition(".")[0] not in REGIMES
    return whole or isinstance(value, float)


def _is_swept(path: str, column: NDArray[Any], strengths: NDArray[Any]) -> bool:
    """Whether a field has several values, or is the field of a method that is its strength."""
    here = np.isfinite(column)
    strength = path.count(".") == 1 and path.startswith("method.") and bool((column == strengths)[here].all())
    return strength or len(np.unique(column[here])) > 1


def _short(paths: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Dotted paths by their last part where that is unique and not taken, else by the whole path."""
    ends = [path.rsplit(".", 1)[-1] for path in paths]
    return {
        end if ends.count(end) == 1 and end not in taken else path: path for path, end in zip(paths, ends, strict=True)
    }
