"""The verdicts on many claims together.

p-values are corrected by Holm's method over all claims tested, once for "holds" and once for "does not hold": the
chance that any claim is wrongly said to hold is at most 5%, and so is the chance that any is wrongly refuted. Two papers
may say the same of the same runs: claims that compute the same effect from the same scores of the same runs, and claim the
same of it, are one test, and count once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from hackle.claims.claim import Claim, Evidence
from hackle.claims.reasons import lacking, what_it_takes, why
from hackle.claims.statistics import LEVEL, holm
from hackle.claims.view import View
from hackle.store.tables import Tables

Verdict = Literal["holds", "does not hold", "undecided"]
"""What the runs say about a claim."""


@dataclass(frozen=True)
class Judgement:
    """A claim, its evidence, the p-values corrected over the claims tested, the verdict and the reason for it."""

    claim: Claim
    evidence: Evidence
    p_corrected: float
    against_corrected: float
    tested: int
    verdict: Verdict
    reason: str

    @property
    def chance(self) -> float:
        """The corrected p-value behind the verdict; if undecided, the smaller of the two."""
        if self.verdict == "undecided":
            return min(self.p_corrected, self.against_corrected)
        return self.p_corrected if self.verdict == "holds" else self.against_corrected

    @property
    def why(self) -> str:
        """Why the verdict is what it is, in one line."""
        return why(self.claim, self.evidence, self.verdict, self.p_corrected, self.against_corrected, self.tested)

    @property
    def share(self) -> str:
        """How many of the claim's strata have runs."""
        return f"{len(self.evidence.strata)} of {len(self.claim.strata)}"


def judge(tables: Tables | View, claims: Iterable[Claim]) -> list[Judgement]:
    """The verdict on each claim, with p-values corrected for all of them."""
    view = tables if isinstance(tables, View) else View(tables)
    tested = [(claim, claim.test(view)) for claim in claims]
    tests = _tests_of(tested)
    distinct = {
        test: evidence for test, (_, evidence) in zip(tests, tested, strict=True) if evidence.estimate is not None
    }
    holds = dict(zip(distinct, holm([evidence.p for evidence in distinct.values()]), strict=True))
    against = dict(zip(distinct, holm([evidence.against for evidence in distinct.values()]), strict=True))
    level = LEVEL / max(1, len(distinct))
    return [
        _judgement(
            claim,
            replace(evidence, runs_needed=claim.runs_needed(evidence, level)),
            float(holds.get(test, math.nan)),
            float(against.get(test, math.nan)),
            len(distinct),
        )
        for (claim, evidence), test in zip(tested, tests, strict=True)
    ]


def _tests_of(tested: Sequence[tuple[Claim, Evidence]]) -> list[tuple[object, ...]]:
    """What tells the test of each claim from others. That of two papers' claims may be the same; a paper's own differ, though
    rank correlations of a few points may agree to the last bit."""
    times: Counter[tuple[object, ...]] = Counter()
    found = []
    for claim, evidence in tested:
        read = claim.measure.scores, claim.measure.curves, claim.measure.arrays
        test = *read, evidence.instead, claim.region, evidence.estimate, evidence.p, evidence.against, evidence.places
        times[claim.paper, *test] += 1
        found.append((times[claim.paper, *test], *test))
    return found


def _judgement(claim: Claim, evidence: Evidence, p: float, against: float, tested: int) -> Judgement:
    if evidence.estimate is None:
        return Judgement(claim, evidence, p, against, tested, "undecided", lacking(claim, evidence))
    inside, outside = (test(evidence.low, evidence.high) for test in (claim.region.contains, claim.region.excludes))
    verdict: Verdict = "undecided"
    if inside and p <= LEVEL:
        verdict = "holds"
    elif outside and against <= LEVEL:
        verdict = "does not hold"
    found = f"{claim.effect} is {evidence.effect:.3g} [{evidence.low:.3g}, {evidence.high:.3g}], claimed {claim.region}"
    if len(evidence.strata) < len(claim.strata):
        found += f", on {len(evidence.strata)} of {len(claim.strata)}: {', '.join(evidence.strata)}"
    if evidence.borrowed:
        found += f" (with runs of other studies where {claim.study or claim.paper} has none)"
    if evidence.instead:
        found += f"; no run has the scores that it is about, and it is judged by {evidence.instead}"
    if evidence.beside:
        found += f"; {evidence.beside_in_words}"
    if verdict == "undecided":
        found += f"; {what_it_takes(evidence)}"
    return Judgement(claim, evidence, p, against, tested, verdict, found)


def as_frame(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """Judgements as a table, one row each."""
    return pd.DataFrame(
        [
            {
                "claim": found.claim.id,
                "paper": found.claim.paper,
                "where": found.claim.where,
                "statement": found.claim.statement,
                "verdict": found.verdict,
                "effect": found.claim.effect,
                "value": found.evidence.effect,
                "low": found.evidence.low,
                "high": found.evidence.high,
                "claimed": str(found.claim.region),
                "paper_value": found.claim.paper_effect,
                "p": found.evidence.p,
                "p_corrected": found.p_corrected,
                "against": found.evidence.against,
                "against_corrected": found.against_corrected,
                "claims_tested": found.tested,
                "strata": len(found.evidence.strata),
                "strata_claimed": len(found.claim.strata),
                "steps": list(found.evidence.steps),
                "precision": list(found.evidence.precisions),
                "protocol": found.evidence.protocol,
                "made": found.evidence.made,
                "runs": found.evidence.runs,
                "runs_needed": found.evidence.runs_needed,
                "borrowed": found.evidence.borrowed,
                "chance": found.chance,
                "why": found.why,
                "reason": found.reason,
                "beside": found.evidence.beside_in_words,
                "instead": found.evidence.instead,
                "missing": "; ".join(found.evidence.missing),
                "command": found.claim.command,
            }
            for found in judgements
        ]
    )
