"""The run list as compact JSON: column by column, texts as indices into a dictionary, scores of one protocol.

A list of 12,600 runs must be on the screen within a second, so it is made once and sent once, compressed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.design import DEFAULTS, DESIGN, heading, in_words
from hackle.explorer.catalogue import COLUMNS, Contents, Served, identifier_of
from hackle.figures import words

_ALWAYS = ("dataset", "strength", "architecture", "latents", "seed", "steps")
"""Fields that are shown even at their default."""
MOST_SCORES = 400
"""The most scores that the list has columns for: a file of a few megabytes may name as many metrics as it has rows, and each
would take a number for every run."""
POSTERIOR = "posterior"
_TITLES = {"method": words.method, "dataset": words.dataset}
"""How papers spell the names of columns; a filter takes either."""


def _texts(values: Any) -> dict[str, Any]:
    codes, words = pd.factorize(pd.Series(list(values)).fillna("").astype(str), sort=True)
    return {"words": words.tolist(), "codes": codes.tolist()}


def _numbers(values: Any, digits: int = 6) -> list[float | None]:
    """Numbers rounded to this many significant digits; None for NaN."""
    column: Any = pd.to_numeric(pd.Series(values), errors="coerce")
    numbers = column.to_numpy(np.float64)
    known = np.isfinite(numbers)
    size = np.floor(np.log10(np.abs(numbers), out=np.zeros_like(numbers), where=known & (numbers != 0)))
    scale = 10.0 ** (digits - 1 - size)
    # Whole numbers, such as steps and seeds, stay as they are.
    rounded = np.where(numbers == np.round(numbers), numbers, np.round(numbers * scale) / scale)
    answer = rounded.astype(object)
    answer[~known] = None
    return answer.tolist()


def _setting_columns(runs: Any) -> list[dict[str, Any]]:
    """The columns that identify the runs, each with its heading."""
    columns = []
    for name in COLUMNS:
        if name == "strength" or isinstance(DEFAULTS.get(name), int | float):
            content = {"kind": "number", "values": _numbers(list(runs[name]))}
        else:
            content = {"kind": "text", **_texts(runs[name])}
            if name in _TITLES:
                content["titles"] = [_TITLES[name](word) if word else "" for word in content["words"]]
            if name == "method":
                content["symbols"] = [words.symbol(word) if word else "" for word in content["words"]]
        columns.append({"key": name, "word": heading(name), **content})
    return columns


def facts_of(row: Mapping[str, Any], record: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The settings of a run in words, each with whether it is worth showing for the run on its own. With its record, the
    codes that are class numbers, which do not count among the latents of one, are told, too."""
    said = {name: in_words(name, row[name]) for name in DESIGN if name != "method" and row[name] is not None}
    if "strength" in said:
        said["strength"] = f"{words.symbol(str(row['method']))} = {row['strength']:g}"
    if "dataset" in said:
        said["dataset"] = words.dataset(str(row["dataset"]))
    method = (record or {}).get("method")
    classes = method.get("categories") if isinstance(method, Mapping) else None
    if classes and isinstance(classes, list) and "latents" in said:
        said["latents"] += f" and {words.counted(len(classes), 'class number')}"
    return [
        {"name": name, "text": text, "telling": name in _ALWAYS or row[name] != DEFAULTS[name]}
        for name, text in said.items()
    ]


def _rank(metric: str) -> tuple[int, str]:
    """Sorts the scores that papers compare first, the others by name."""
    first = words.COMPARED
    return first.index(metric) if metric in first else len(first), metric


def _worst(metric: str, better: str) -> float | None:
    """The worst that a metric can be, None where there is no end: a bar starts there if chance was not measured."""
    measure = words.measure(metric)
    return measure.high if better == "lower" else measure.low


def _unit(metric: str) -> str:
    """What a metric counts in, which its label ends with; empty for one without a unit."""
    return "nats" if words.measure(metric).label.endswith("(nats)") else ""


def in_order(scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of scores in the order of the list, each with the worst that its metric can be and the unit of its numbers."""
    rows = [{**row, "worst": _worst(row["metric"], row["better"]), "unit": _unit(row["metric"])} for row in scores]
    return sorted(rows, key=lambda row: _rank(row["metric"]))


def choices(contents: Contents) -> tuple[list[str], list[str]]:
    """The protocols and the representations that scores were computed with."""
    if not len(contents.scores):
        return [], []
    protocols = contents.scores["protocol"].value_counts()
    kinds = sorted({str(kind) for kind in contents.scores["representation"].unique()} - {POSTERIOR})
    return [str(name) for name, count in protocols.items() if count], kinds


def _score_columns(contents: Contents, protocol: str, representation: str) -> list[dict[str, Any]]:
    table = contents.scores
    if not len(table):
        return []
    chosen = _without_many(
        table[(table["protocol"] == protocol) & table["representation"].isin([representation, POSTERIOR])]
    )
    place = pd.Series(np.arange(len(contents.runs)), index=contents.runs["id"].astype(str))
    position = place.reindex(chosen["run"].astype(str)).to_numpy()
    metrics, names = pd.factorize(chosen["metric"].astype(str).to_numpy())
    matrix = np.full((len(names), len(contents.runs)), np.nan)
    known = np.isfinite(position)
    matrix[metrics[known], position[known].astype(np.int64)] = chosen["score"].to_numpy(np.float64)[known]
    first = chosen.drop_duplicates("metric")
    better = dict(zip(first["metric"].astype(str), first["better"].astype(str), strict=True))
    levels = _levels(chosen, contents.runs["dataset"].to_numpy()[position[known].astype(np.int64)], known)
    order = sorted(range(len(names)), key=lambda at: _rank(str(names[at])))
    return [
        {
            "key": str(names[at]),
            "kind": "score",
            "better": better[names[at]],
            "label": words.measure(str(names[at])).label,
            "worst": _worst(str(names[at]), better[names[at]]),
            "levels": levels.get(str(names[at]), {}),
            "values": _numbers(matrix[at], 4),
        }
        for at in order
    ]


def _without_many(scores: Any) -> Any:
    """The scores of the metrics that most runs have, at most `MOST_SCORES`."""
    if scores["metric"].nunique() <= MOST_SCORES:
        return scores
    metrics = scores["metric"].astype(str)
    counts = metrics.value_counts()
    kept = sorted(counts.index, key=lambda metric: (metric not in words.COMPARED, -counts[metric]))[:MOST_SCORES]
    return scores[metrics.isin(kept)]


def _levels(scores: Any, datasets: Any, known: Any) -> dict[str, dict[str, list[float | None]]]:
    """By metric and data set, the score by chance and the reference: the medians over the runs, which share the data."""
    levels = {
        name: pd.to_numeric(scores[name][known], errors="coerce") for name in ("chance", "reference") if name in scores
    }
    table = pd.DataFrame({"metric": scores["metric"][known], "dataset": datasets, "chance": np.nan} | levels)
    middle = table.groupby(["metric", "dataset"], observed=True)[["chance", "reference"]].median()
    by_metric: dict[str, dict[str, list[float | None]]] = {}
    columns = (_numbers(middle[name], 4) for name in ("chance", "reference"))
    for (metric, dataset), chance, reference in zip(middle.index, *columns, strict=True):
        if reference is not None:
            by_metric.setdefault(str(metric), {})[str(dataset)] = [chance, reference]
    return by_metric


def _sent(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns without what the page can tell by itself: a value that all runs share comes once, and runs that have no
    names but their identifiers take these from that column."""
    sent = []
    for column in columns:
        content = "codes" if "codes" in column else "values"
        if column["key"] == "name" and column["words"] == sent[0]["words"] and column["codes"] == columns[0]["codes"]:
            column = {key: value for key, value in column.items() if key not in ("words", "codes")} | {"as": "id"}
        elif len(set(column[content])) == 1:
            column = column | {content: column[content][:1]}
        sent.append(column)
    return sent


class Listing:
    """The answers for the list, each made once per state of the folder."""

    def __init__(self, catalogue: Served) -> None:
        self.catalogue = catalogue
        self._made: dict[tuple[str, str, str], bytes] = {}

    def answer(self, protocol: str | None = None, representation: str | None = None) -> tuple[str, bytes]:
        """An entity tag and the gzipped JSON for a protocol and a representation; the first of each if unknown."""
        stamp, contents = self.catalogue.refresh(), self.catalogue.contents
        protocols, representations = choices(contents)
        protocol = protocol if protocol in protocols else (protocols or [""])[0]
        representation = representation if representation in representations else (representations or [""])[0]
        key = (stamp, protocol, representation)
        if key not in self._made:
            self._made = {known: made for known, made in self._made.items() if known[0] == stamp}
            columns: list[dict[str, Any]] = [
                *_setting_columns(contents.runs),
                *_score_columns(contents, protocol, representation),
            ]
            content = {
                "title": self.catalogue.title,
                "count": len(contents.runs),
                "protocols": protocols,
                "protocol": protocol,
                "representations": representations,
                "representation": representation,
                "columns": _sent(columns),
            }
            self._made[key] = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 3)
        # Names of protocols are anyone's text, which a header cannot hold.
        return f'"{identifier_of(repr(key))}"', self._made[key]
