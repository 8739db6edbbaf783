"""Claims of the papers as named statistical tests on a table of results: `judge(tables)` gives the verdicts."""

from collections.abc import Iterable

from hackle.claims.claim import Claim, Evidence, Region
from hackle.claims.stratum import Stratum
from hackle.claims.verdicts import Judgement, Verdict, as_frame
from hackle.claims.verdicts import judge as _judge
from hackle.claims.view import View
from hackle.core.papers import paper_named
from hackle.core.parts import Parts
from hackle.store.tables import Tables

CLAIMS: Parts[Claim] = Parts(
    "claim",
    ("hackle.papers.*.claims", "hackle.papers.*.*_claims"),
    lambda thing: isinstance(thing, Claim),
    name_of=lambda claim: claim.id,
    order=lambda found: paper_named(found.part.paper).rank,
)
"""Every claim by its id, `paper.name`."""

__all__ = ["CLAIMS", "Claim", "Evidence", "Judgement", "Region", "Stratum", "Verdict", "View", "as_frame", "judge"]


def judge(tables: Tables | View, claims: Iterable[Claim] | None = None) -> list[Judgement]:
    """The verdict on each claim (all by default), with p-values corrected over all that can be tested on the table."""
    return _judge(tables, CLAIMS.values() if claims is None else claims)
