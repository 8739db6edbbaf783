"""What the records of many runs say, read from their JSON: columns of tables, and what tells runs apart.

A record is the truth about its run. Studies have thousands of runs of some hundred settings, which differ in their seed alone,
so a setting is parsed once.
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

from hackle.core.design import DEFAULTS, DESIGN
from hackle.core.types import Adam

_SEED = re.compile(r'"seed": ?(\d+)')
_LATER = {field.name: field.default for field in fields(Adam) if field.metadata.get("later")}
"""What optimisers are where a record does not say: it leaves out newer fields at their defaults."""
_OF_SETTING = [name for name in DESIGN if name != "seed"]


def _parsed(records: Iterable[str]) -> tuple[NDArray[np.int64], list[dict[str, Any]], list[int]]:
    """Of each record the number of its setting, these settings' fields but for the seed, by dotted path, and its seed."""
    numbers, seeds = [], []
    known: dict[str, int] = {}
    settings: list[dict[str, Any]] = []
    for text in records:
        found = _SEED.findall(text)
        if len(found) == 1:
            seed, key = int(found[0]), _SEED.sub("", text)
        else:
            # Some other part of the record has a seed of its own, or there is none.
            content = json.loads(text or "{}")
            seed, key = content.pop("seed", DEFAULTS["seed"]), json.dumps(content, sort_keys=True)
        if key not in known:
            known[key] = len(settings)
            settings.append(_flat(json.loads(text or "{}")))
            settings[-1].pop("seed", None)
        numbers.append(known[key])
        seeds.append(seed)
    return np.array(numbers, np.int64), settings, seeds


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Every field of a record and of the records in it, by dotted path; lists as words."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            value = _LATER | value if value.get("type") == Adam.__name__ else value
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat


def field_columns(records: Iterable[str]) -> dict[str, Any]:
    """The fields that people see, a column each; words are categories. A field that a record lacks has its default."""
    numbers, settings, seeds = _parsed(records)
    columns: dict[str, Any] = {"seed": np.array(seeds, np.int64)}
    for name, default in DEFAULTS.items():
        if name != "seed":
            values: Any = np.array([setting.get(name, default) for setting in settings], type(default))
            values = pd.Categorical(values) if isinstance(default, str) else values
            columns[name] = values.take(numbers)
    return {name: columns[name] for name in DEFAULTS}


def setting_numbers(runs: pd.DataFrame) -> NDArray[np.int64]:
    """The number of each run's setting: runs whose records differ in their seed alone have the same, counted from 0."""
    # A record says all that the columns say; tables made up without records have the columns.
    parts = runs[_OF_SETTING].assign(record=_parsed(runs["record"].astype(str))[0])
    return parts.groupby([*_OF_SETTING, "record"], dropna=False, observed=True, sort=False).ngroup().to_numpy(np.int64)


def telling_fields(runs: pd.DataFrame, known: Sequence[str]) -> pd.DataFrame:
    """The fields of the records that tell settings apart which agree in the columns `known`, a column each.

    A column has the field's own name where one field has it, else its path, `optimiser.learning_rate`.
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


def swept_fields(runs: pd.DataFrame, known: Sequence[str]) -> pd.DataFrame:
    """Every float field of the records that has several values among these runs or is a method's strength, a column each;
    NaN where a record has no such field. Fields that are among the columns `known` already are left out."""
    numbers, settings, _ = _parsed(runs["record"].astype(str))
    strengths = np.full(len(settings), np.nan)
    strengths[numbers] = runs["strength"].to_numpy(float)
    values: dict[str, NDArray[Any]] = {}
    for number, setting in enumerate(settings):
        for path, value in setting.items():
            if isinstance(value, float) and path not in DEFAULTS:
                values.setdefault(path, np.full(len(settings), np.nan))[number] = value
    paths = [path for path, column in values.items() if _is_swept(path, column, strengths)]
    paths.sort(key=lambda path: not path.startswith("method."))
    return pd.DataFrame({name: values[path][numbers] for name, path in _short(paths, known).items()}, index=runs.index)


def _is_swept(path: str, column: NDArray[Any], strengths: NDArray[Any]) -> bool:
    """Whether a field has several values, or is a field of a method's own that is its strength."""
    here = np.isfinite(column)
    strength = path.count(".") == 1 and path.startswith("method.") and bool((column == strengths)[here].all())
    return strength or len(np.unique(column[here])) > 1


def _short(paths: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Dotted paths by their last part where that is one path's alone and not taken, else by themselves."""
    ends = [path.rsplit(".", 1)[-1] for path in paths]
    return {
        end if ends.count(end) == 1 and end not in taken else path: path for path, end in zip(paths, ends, strict=True)
    }
