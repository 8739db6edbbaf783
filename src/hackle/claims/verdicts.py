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
from dataclasses import dataclass
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
        """How many of the claim's strata, or of the data sets that it takes together, have runs."""
        return f"{self.evidence.parts} of {self.claim.parts}"


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
            claim.with_need(evidence, level),
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
    tests = []
    for claim, evidence in tested:
        read = claim.measure.scores, claim.measure.curves, claim.measure.arrays
        test = *read, evidence.instead, claim.region, evidence.estimate, evidence.p, evidence.against, evidence.places
        times[claim.paper, *test] += 1
        tests.append((times[claim.paper, *test], *test))
    return tests


def _judgement(claim: Claim, evidence: Evidence, p: float, against: float, tested: int) -> Judgement:
    if evidence.estimate is None:
        return Judgement(claim, evidence, p, against, tested, "undecided", lacking(claim, evidence))
    inside, outside = (test(evidence.low, evidence.high) for test in (claim.region.contains, claim.region.excludes))
    verdict: Verdict = "undecided"
    if inside and p <= LEVEL:
        verdict = "holds"
    elif outside and against <= LEVEL:
        verdict = "does not hold"
    words = f"{claim.effect} is {evidence.effect:.3g} [{evidence.low:.3g}, {evidence.high:.3g}], claimed {claim.region}"
    if evidence.parts < claim.parts:
        words += f", on {evidence.parts} of {claim.parts}: {', '.join(_used(evidence))}"
    if evidence.without:
        words += f", without {', '.join(evidence.without)}"
    if evidence.borrowed:
        words += f" (with runs of other studies where {claim.study or claim.paper} has none)"
    if evidence.instead:
        words += f"; where no run has what it is about, it is judged by {evidence.instead}"
    if evidence.beside:
        words += f"; {evidence.beside_in_words}"
    if verdict == "undecided":
        words += f"; {what_it_takes(evidence)}"
    return Judgement(claim, evidence, p, against, tested, verdict, words)


def _used(evidence: Evidence) -> list[str]:
    """The strata that have runs; of one that takes data sets together, these."""
    together = evidence.datasets
    if len(evidence.strata) == 1 and together:
        return [name for names in together.values() for name in names]
    return [f"{name} on {' and '.join(together[name])}" if name in together else name for name in evidence.strata]


def as_frame(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """Judgements as a table, one row each."""
    return pd.DataFrame(
        [
            {
                "claim": judgement.claim.id,
                "paper": judgement.claim.paper,
                "where": judgement.claim.where,
                "statement": judgement.claim.statement,
                "verdict": judgement.verdict,
                "effect": judgement.claim.effect,
                "value": judgement.evidence.effect,
                "low": judgement.evidence.low,
                "high": judgement.evidence.high,
                "claimed": str(judgement.claim.region),
                "paper_value": judgement.claim.paper_effect,
                "p": judgement.evidence.p,
                "p_corrected": judgement.p_corrected,
                "against": judgement.evidence.against,
                "against_corrected": judgement.against_corrected,
                "claims_tested": judgement.tested,
                "strata": judgement.evidence.parts,
                "strata_claimed": judgement.claim.parts,
                "steps": list(judgement.evidence.steps),
                "precision": list(judgement.evidence.precisions),
                "protocol": judgement.evidence.protocol,
                "made": judgement.evidence.made,
                "runs": judgement.evidence.runs,
                "runs_needed": judgement.evidence.runs_needed,
                "borrowed": judgement.evidence.borrowed,
                "chance": judgement.chance,
                "why": judgement.why,
                "reason": judgement.reason,
                "beside": judgement.evidence.beside_in_words,
                "instead": judgement.evidence.instead,
                "missing": "; ".join(judgement.evidence.missing),
                "command": judgement.claim.command,
            }
            for judgement in judgements
        ]
    )
