"""The commands that reproduce a table's runs: from `study.json` if the folder has it, else inferred from the runs.

For a user-defined study without `study.json` the options of its function are not known, so none are named.
"""

from __future__ import annotations

import re
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
"""The number after the @ of a protocol has fewer digits than this."""
_OWN_METRIC = re.compile(r"(?P<name>\w+) is a metric of (?P<path>[^,]+\.py), source \w+ \[own\]")
"""The note beside the scores of a user's metric; one whose path has a comma cannot be named on the command line."""


def command_lines(tables: Tables, folder: str, claims: str = "", report: str = "") -> list[str]:
    """The commands that reproduce these runs, their verdicts and the page. A folder holds one study: several are each
    trained in their own folder and then merged into the first's.

    claims: where the user's own claims are, as `--claims` takes it. report: the command that writes the page, if it is known.
    """
    wanted = read_wanted(Path(folder))
    # The folder's own study stays in it.
    names = sorted({*map(str, tables.runs["study"])} - {""}, key=lambda name: (wanted and name != wanted.study, name))
    lines, merges = [], []
    for name in names:
        out = folder if name == names[0] else f"{folder.rstrip('/')}-{Path(name.replace(':', '-')).name}"
        for place, selection in enumerate(_selections(name, tables, wanted)):
            target = f"{out.rstrip('/')}-{selection['seeds']}-seeds" if place else out
            lines.append(_line("study", "run", name, "--out", target, *_words(selection | _scoring(name, tables))))
            if target != folder:
                merges.append(_line("study", "merge", folder, target))
    own = ("--claims", claims) if claims else ()
    return [*lines, *merges, _line("claims", folder, *own), report or _line("report", folder, *own)]


def _line(*words: str) -> str:
    return shlex.join(["hackle", *words])


def _words(options: dict[str, Any]) -> Iterable[str]:
    for name, value in options.items():
        if value is True:
            yield f"--{name}"
        elif value not in (None, False):
            yield from (f"--{name}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _selections(name: str, tables: Tables, wanted: Wanted | None) -> list[dict[str, Any]]:
    """The options that choose the runs; several times if data sets differ in their number of seeds, the most first."""
    runs: Frame = tables.runs[tables.runs["study"] == name]
    if wanted is not None and wanted.study == name:
        return [{**wanted.options, "seeds": _seeds(wanted, runs)}]
    if name not in STUDIES:
        return [{}]
    seeds: Frame = runs["dataset"].map(runs.groupby("dataset", observed=True)["seed"].nunique()).astype(int)
    return [_selection(name, runs[seeds == count]) for count in sorted(seeds.unique(), reverse=True)]


def _seeds(wanted: Wanted, runs: Frame) -> Any:
    """The seeds that were last asked for, or more where others are stored, which were asked for before or came by a merge."""
    told, asked = wanted.options.get("seeds"), runs["run"].isin(list(wanted.runs))
    seeds, noted = set(map(int, runs["seed"])), set(map(int, runs.loc[asked, "seed"]))
    if (given := re.fullmatch(r"(?:(\d{1,9})-)?(\d{1,9})", str(told))) is not None:
        noted = set(range(int(given[1] or 0), int(given[2]) + bool(given[1])))
    if seeds <= noted or (told is not None and given is None):
        return told
    first, last = min(seeds | noted), max(seeds | noted)
    return f"{first}-{last}" if first else last + 1


def _selection(name: str, runs: Frame) -> dict[str, Any]:
    datasets, methods = (sorted(set(map(str, runs[column]))) for column in ("dataset", "method"))
    steps = sorted({int(value) for value in runs["steps"]})
    options = {
        "seeds": int(runs["seed"].nunique()),
        "steps": steps[0] if len(steps) == 1 else None,
        "datasets": datasets,
        "methods": methods,
        # GANs train in float32 whatever the study's precision is.
        "precision": "bfloat16" if (runs["precision"] == "bfloat16").any() else "float32",
    }
    taken = signature(STUDIES[name].runs).parameters
    return {key: value for key, value in options.items() if key in taken}


def _scoring(name: str, tables: Tables) -> dict[str, Any]:
    """The options that choose how runs are scored: protocols, fraction of their points, metrics."""
    runs: Frame = tables.runs
    scores: Frame = tables.scores[tables.scores["run"].isin(runs.loc[runs["study"] == name, "run"])]
    if not len(scores):
        return {}
    protocols = [str(one).partition(" × ") for one in scores["protocol"].unique()]
    fraction = Counter(part for _, _, part in protocols).most_common(1)[0][0]
    names = sorted({one for one, _, part in protocols if part == fraction})
    study = STUDIES.get(name, Study(name, list))
    # A study's own protocols are left out if there are several.
    own = len(names) > 1 and set(names) == set(study.protocols)
    metrics, added = _metrics(study, names, set(map(str, scores["metric"].unique()))), _own_metrics(scores)
    return {
        "protocols": None if own else names,
        "metrics": [*(metrics or study.metrics.split(",")), *added] if added else metrics,
        "fraction": fraction or None,
    }


def _metrics(study: Study, protocols: list[str], rows: set[str]) -> list[str] | None:
    """The metrics that were requested, None if they are the study's own."""
    known = [protocol(name) for name in protocols if _is_hackles(name)]
    have = [name for name in METRICS if METRICS[name].rows[0].name in rows]

    def chosen(wanted: str | Sequence[str]) -> set[str]:
        """The metrics that would be computed; no paper's data set has a continuous factor, and few runs leave any out."""
        metrics = {name: metric for one in known for name, metric in choose_metrics(wanted, one).items()}
        rare = {"a continuous factor", "left-out combinations"}
        return {name for name, metric in metrics.items() if name in have or not rare & set(metric.needs)}

    if not have or chosen(study.metrics) == set(have):
        return None
    every = chosen("all")
    return ["all", *(name for name in have if name not in every)] if every <= set(have) else have


def _own_metrics(scores: Frame) -> list[str]:
    """The user's own metrics that were scored, by their files, as the notes beside their scores tell them."""
    notes = (line for note in scores["note"].unique() for line in str(note).splitlines())
    found = (_OWN_METRIC.fullmatch(line) for line in notes)
    return sorted({f"{_from_here(told['path'])}:{told['name']}" for told in found if told is not None})


def _from_here(path: str) -> str:
    """A path below the current folder as it would be typed there; others stay whole."""
    return str(Path(path).relative_to(Path.cwd())) if Path(path).is_relative_to(Path.cwd()) else path


def _is_hackles(protocol: str) -> bool:
    """Whether a stored name is that of a known protocol, perhaps with its own draws (`@3`). Only then may it be looked
    up: in `quick@my.py:name@3` all before the last @ names a file, which would be imported, and stored names are not
    trusted."""
    name, at, seed = protocol.partition("@")
    return name in PROTOCOLS and (not at or (seed.isdecimal() and len(seed) < _DIGITS))
