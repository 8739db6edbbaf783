"""Which settings a study plans: runs in them are its own, whichever study trained them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from hackle.claims.stratum import serves_for
from hackle.core.records import to_json
from hackle.studies import STUDIES, StudyError
from hackle.studies.own import runs_of

_BESIDE = "seed", "precision", "scored"
"""What a study may be asked to do otherwise and what does not change how it trains. The number of steps may: some of a method's
settings are parts of it."""


def training_of(record: Mapping[str, Any]) -> str:
    """What two records have in common that differ in their seed, dtype or points at which they are scored, or of which one is
    of a data set that stands in for the other's."""
    dataset = str(record.get("dataset", ""))
    told = {name: value for name, value in record.items() if name not in _BESIDE}
    return json.dumps({**told, "dataset": serves_for(dataset) or dataset}, sort_keys=True)


@cache
def trainings_planned(study: str, steps: int) -> frozenset[str]:
    """Those of a study's settings with so many steps; none of a name that no study has, or of a study that takes no number of
    steps or of seeds."""
    try:
        runs = runs_of(study, STUDIES[study], {"seeds": 1, "steps": steps}) if study in STUDIES else []
    except StudyError:
        return frozenset()
    return frozenset(training_of(to_json(run)) for run in runs)
