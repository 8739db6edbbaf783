"""Why results of hackle-2026 differ from a paper's, where the runs themselves give a reason; else none is given.

Sentences are by the claim's or figure's id. Their numbers are taken from the table, and a reason is given only while the table
bears it out. What is not known, or was not tested, is said.
"""

from __future__ import annotations

from benchmarks.reasons import do2020, kim2018, locatello2019, yang2020
from benchmarks.reasons.runs import DATA, Sweep
from hackle.store.tables import Tables

__all__ = ["DATA", "NONE", "Sweep", "reasons"]

NONE = "No reason known."


def reasons(tables: Tables) -> dict[str, str]:
    """The reason for each difference that has one."""
    found = [reason for paper in (locatello2019, kim2018, do2020, yang2020) for reason in paper.reasons(tables)]
    return {name: text for borne_out, names, text in found if borne_out for name in names}
