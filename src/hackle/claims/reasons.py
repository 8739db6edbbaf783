"""Why a verdict is what it is, in words: where the interval lies, the p-value after correction, and what is lacking."""

from __future__ import annotations

from collections.abc import Sequence

from hackle.claims.claim import Claim, Evidence

_MOST = 3
"""The most strata that are named one by one."""


def chance_in_words(p: float) -> str:
    """A p-value as papers print it.

    >>> chance_in_words(0.1234), chance_in_words(0.0004), chance_in_words(1.0)
    ('p = 0.12', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def why(claim: Claim, evidence: Evidence, verdict: str, p: float, against: float, tested: int) -> str:
    """One line that ends in the verdict.

    p, against: the p-values of an effect outside and inside the region, corrected over `tested` claims. Where the
    strata's own intervals contradict the verdict or each other, that is said too, since a mean hides it.
    """
    if not evidence.runs:
        return "no runs here can test it: undecided"
    if evidence.estimate is None:
        return f"{_too_little(claim, evidence)}: undecided"
    corrected = f"after correction over {tested} claim{'s' if tested != 1 else ''}"
    inside = claim.region.contains(evidence.low, evidence.high)
    outside = claim.region.excludes(evidence.low, evidence.high)
    if inside and claim.lacks_strata(evidence):
        reason = (
            f"the interval lies in the region, but what is said of every stratum holds only where all of them have runs: "
            f"{len(evidence.estimates)} of {len(claim.strata)} have, so p = 1"
        )
    elif inside or outside:
        chance = p if inside else against
        but = "but " if verdict == "undecided" else ""
        place = "in" if inside else "outside"
        reason = f"the interval lies {place} the region, {but}{chance_in_words(chance)} {corrected}"
    else:
        reason = f"the interval reaches across the bound, {chance_in_words(min(p, against))} {corrected}"
    return f"{reason}{_contradictions(claim, evidence, verdict)}: {verdict}"


def _too_little(claim: Claim, evidence: Evidence) -> str:
    """Why there are runs and no estimate."""
    usable = len(evidence.estimates)
    if usable:
        return f"{usable} of {len(claim.strata)} strata have two seeds or more, {claim.least_strata} are needed"
    seeds = max((count for _, count in evidence.strata.values()), default=0)
    return "one seed gives no interval" if seeds else "too few runs for an estimate"


def _contradictions(claim: Claim, evidence: Evidence, verdict: str) -> str:
    """The strata whose own intervals lie on the other side; for an open verdict, those on both sides."""
    if len(evidence.estimates) < 2 or (claim.combine == "every" and verdict != "undecided"):
        # What is said of every stratum is judged where it is least certain: no other stratum contradicts that.
        return ""
    ends = {name: estimate.interval() for name, estimate in evidence.estimates.items()}
    inside = [name for name, (low, high) in ends.items() if claim.region.contains(low, high)]
    outside = [name for name, (low, high) in ends.items() if claim.region.excludes(low, high)]
    if verdict == "undecided":
        both = f"; strata contradict each other: in the region {_named(inside)}, outside {_named(outside)}"
        return both if inside and outside else ""
    against = outside if verdict == "holds" else inside
    return f", though {_named(against)} alone would say otherwise" if against else ""


def _named(strata: Sequence[str]) -> str:
    shown = [*strata[:_MOST], *([f"{len(strata) - _MOST} more"] if len(strata) > _MOST else [])]
    return ", ".join(shown)


def what_it_takes(evidence: Evidence) -> str:
    """How many runs would decide."""
    if evidence.runs_needed is None:
        return "too near the bound for any reasonable number of runs"
    return f"about {evidence.runs_needed} runs would decide, there are {evidence.runs}"


def lacking(claim: Claim, evidence: Evidence) -> str:
    """What is missing for an estimate, and what to run."""
    lacks = list(evidence.missing) or [
        f"too few seeds ({', '.join(f'{name}: {seeds}' for name, (_, seeds) in evidence.strata.items())})"
    ]
    shown = "; ".join(lacks[:_MOST]) + (f"; and {len(lacks) - _MOST} more" if len(lacks) > _MOST else "")
    return f"{shown}. {evidence.runs_needed:,} runs in the whole design: {claim.command}"
