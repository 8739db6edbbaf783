"""Which settings a study plans: runs in them are its own, whichever study trained them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from hackle.core.records import to_json
from hackle.studies import STUDIES

_BESIDE = "seed", "steps", "precision", "scored"
"""What a study may be asked to do otherwise and what does not change a training."""


def training_of(record: Mapping[str, Any]) -> str:
    """What two records have in common that differ in their seed, number of steps, dtype or points at which they are scored."""
    return json.dumps({name: value for name, value in record.items() if name not in _BESIDE}, sort_keys=True)


@cache
def trainings_planned(study: str) -> frozenset[str]:
    """Those of a study's settings; none of a name that no study has."""
    runs = STUDIES[study].runs(seeds=1) if study in STUDIES else ()
    return frozenset(training_of(to_json(run)) for run in runs)
