"""The frame of all scores, built from the store's numbered rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hackle.core.design import DESIGN
from hackle.core.notes import note_codes, with_code
from hackle.store.tables import SCORE_COLUMNS


def score_frame(rows: NDArray[Any], runs: Any, measures: Any, notes: Any, references: Any) -> pd.DataFrame:
    """`SCORE_COLUMNS` from the numbers of runs and measures. Names are categorical: a million rows load at once."""
    measures = measures.sort_values(["protocol", "scoring_seed", "metric", "representation"], ignore_index=True)
    run, measure = _position(runs["id"], rows["run"]), _position(measures["id"], rows["measure"])
    order = np.argsort(run * max(1, len(measures)) + measure, kind="stable")
    run, measure, rows = run[order], measure[order], rows[order]
    columns: dict[str, Any] = {name: runs[name].array.take(run) for name in ("run", *DESIGN)}
    words = ("metric", "representation", "better", "protocol")
    columns |= {name: measures[name].astype("category").array.take(measure) for name in words}
    columns["scoring_seed"] = measures["scoring_seed"].to_numpy(np.int64)[measure]
    columns |= {name: rows[name] for name in ("score", "low", "high", "seconds")}
    columns["reference"] = _reference(runs["dataset"], measures, references)[
        runs["dataset"].cat.codes.to_numpy()[run], measure
    ]
    texts = pd.Categorical(["", *map(_coded, notes["note"])])
    written = np.isfinite(rows["note"])
    which = np.zeros(len(rows), np.int64)
    which[written] = 1 + _position(notes["id"], rows["note"][written].astype(np.int64))
    columns["note"] = texts.take(which)
    return pd.DataFrame({name: columns[name] for name in SCORE_COLUMNS}, copy=False)


_BEFORE_CODES = {
    "allows at most": "saturated",
    "outside the quantised range": "out-of-range",
    "are not done after": "not-converged",
}
"""Words in notes stored before notes had codes, and the codes that such notes would have now."""


def _coded(note: str) -> str:
    """A note with a code on each line, added where it was stored without one."""
    lines = []
    for line in note.splitlines():
        code = "" if note_codes(line) else next((code for words, code in _BEFORE_CODES.items() if words in line), "")
        lines.append(with_code(line, code) if code else line)
    return "\n".join(lines)


def _position(numbers: Any, wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Where each wanted number stands in a column of numbers."""
    values = numbers.to_numpy(np.int64)
    order = np.argsort(values)
    # Not by a table with a place for each number: those of a forged store may be as large as SQLite allows.
    place = np.append(order, -1)[np.searchsorted(values, wanted, sorter=order)]
    if len(wanted) and (not len(values) or (values[place] != wanted).any()):
        raise ValueError("a score of a run, measure or note that is not there")
    return place


def _reference(datasets: Any, measures: Any, references: Any) -> NDArray[np.float64]:
    """The reference of each data set under each measure, NaN where there is none."""
    known = {tuple(key): reference for *key, reference in references.itertuples(index=False)}
    scored = list(zip(*(measures[name] for name in ("protocol", "scoring_seed", "metric")), strict=True))
    table = [[known.get((name, *measure), np.nan) for measure in scored] for name in datasets.cat.categories]
    return np.array(table, np.float64).reshape(len(datasets.cat.categories), len(measures))
