"""The commands that make a table's runs again: those of `study.json` where the folder has it, else read off the runs.

Of a study of one's own whose `study.json` is not there, nobody knows which options its function takes: none is named.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from hackle.figures.chart import Frame
from hackle.scoring.protocol import PROTOCOLS, protocol
from hackle.scoring.registry import METRICS, choose_metrics
from hackle.store.tables import Tables
from hackle.studies import STUDIES, Study
from hackle.studies.folder import Wanted, read_wanted

_DIGITS = 20
"""Of the number of a protocol's draws, fewer than these."""


def command_lines(tables: Tables, folder: str) -> list[str]:
    """What to type to get these runs, their verdicts and the page again. A folder holds one study: of several, each is
    trained in its own and then merged into the first's."""
    wanted = read_wanted(Path(folder))
    # The folder's own study stays in it.
    names = sorted({*map(str, tables.runs["study"])} - {""}, key=lambda name: (wanted and name != wanted.study, name))
    lines, merges = [], []
    for name in names:
        out = folder if name == names[0] else f"{folder.rstrip('/')}-{Path(name.replace(':', '-')).name}"
        options = _selection(name, tables, wanted) | _scoring(name, tables)
        lines.append(_line("study", "run", name, "--out", out, *_words(options)))
        if out != folder:
            merges.append(_line("study", "merge", folder, out))
    return [*lines, *merges, _line("claims", folder), _line("report", folder)]


def _line(*words: str) -> str:
    return shlex.join(["hackle", *words])


def _words(options: dict[str, Any]) -> Iterable[str]:
    for name, value in options.items():
        if value is True:
            yield f"--{name}"
        elif value not in (None, False):
            yield from (f"--{name}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _selection(name: str, tables: Tables, wanted: Wanted | None) -> dict[str, Any]:
    """Which runs."""
    if wanted is not None and wanted.study == name:
        return dict(wanted.options)
    if name not in STUDIES:
        return {}
    runs: Frame = tables.runs[tables.runs["study"] == name]
    datasets, methods = (sorted(set(map(str, runs[column]))) for column in ("dataset", "method"))
    steps = sorted({int(value) for value in runs["steps"]})
    options = {
        "seeds": int(runs["seed"].nunique()),
        "steps": steps[0] if len(steps) == 1 else None,
        "datasets": datasets,
        "methods": methods,
        # Networks of GANs are float32 whatever the study's dtype is.
        "precision": "bfloat16" if (runs["precision"] == "bfloat16").any() else "float32",
    }
    taken = signature(STUDIES[name].runs).parameters
    return {key: value for key, value in options.items() if key in taken}


def _scoring(name: str, tables: Tables) -> dict[str, Any]:
    """How they were scored: the protocols, the part of their points and the metrics."""
    runs: Frame = tables.runs
    scores: Frame = tables.scores[tables.scores["run"].isin(runs.loc[runs["study"] == name, "run"])]
    if not len(scores):
        return {}
    found = [str(one).partition(" × ") for one in scores["protocol"].unique()]
    fraction = Counter(part for _, _, part in found).most_common(1)[0][0]
    names = sorted({one for one, _, part in found if part == fraction})
    study = STUDIES.get(name, Study(name, list))
    # A study's own protocols go without saying where they are many.
    own = len(names) > 1 and set(names) == set(study.protocols)
    return {
        "protocols": None if own else names,
        "metrics": _metrics(study, names, set(map(str, scores["metric"].unique()))),
        "fraction": fraction or None,
    }


def _metrics(study: Study, protocols: list[str], rows: set[str]) -> list[str] | None:
    """The metrics that were asked for, None where they are the study's own."""
    known = [protocol(name) for name in protocols if _is_hackles(name)]
    have = [name for name in METRICS if METRICS[name].rows[0].name in rows]

    def chosen(wanted: str | Sequence[str]) -> set[str]:
        """What would be scored; no paper's data set has a continuous factor."""
        found = {name: metric for one in known for name, metric in choose_metrics(wanted, one).items()}
        return {name for name, metric in found.items() if name in have or "a continuous factor" not in metric.needs}

    if not have or chosen(study.metrics) == set(have):
        return None
    every = chosen("all")
    return ["all", *(name for name in have if name not in every)] if every <= set(have) else have


def _is_hackles(protocol: str) -> bool:
    """Whether a stored name is that of a known protocol, on draws of its own perhaps. Only then may it be looked up: of
    `quick@my.py:name@3` all before the last @ is a file, which would be imported, and a folder's names are not trusted."""
    name, at, seed = protocol.partition("@")
    return name in PROTOCOLS and (not at or (seed.isdecimal() and len(seed) < _DIGITS))
