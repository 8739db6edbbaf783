"""The open claims that the fewest further runs would decide, and the commands that train these, and others where a claim is
about some networks or regimes of the methods that a command names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from hackle.claims.verdicts import Judgement
from hackle.store.tables import Tables
from hackle.studies import STUDIES


@dataclass(frozen=True)
class Nearest:
    """A command, about how many of its runs would decide claims, and these claims."""

    command: str
    runs: int
    claims: tuple[str, ...]


def nearest_to_a_verdict(judgements: Sequence[Judgement], tables: Tables, results: str) -> list[Nearest]:
    """What would decide the undecided claims, with 80% power where effects and spreads are as estimated; fewest runs first.

    New runs are as long as those that there are and are scored by the same protocol, since others are not compared with them.
    Seeds that `results`, a folder or a name, already holds are left out, but not where a claim borrows the runs of other
    studies, whose place its own would take, or is judged by another score than its own, which these runs lack: it needs all.
    """
    lengths = tables.runs.loc[tables.runs["status"] == "done", "steps"].unique()
    found: dict[str, list[tuple[int, str]]] = {}
    for judgement in judgements:
        evidence = judgement.evidence
        if judgement.verdict != "undecided" or evidence.runs_needed is None or evidence.seeds_needed is None:
            continue
        steps = evidence.steps or tuple(lengths)
        # Where one run gives several replicates, scorings with seeds of their own, so do the others.
        each = max(1, sum(count for _, count in evidence.strata.values()) // max(1, evidence.runs))
        words = [judgement.claim.command_with(-(-evidence.seeds_needed // each))]
        if len(steps) == 1:
            words.append(f"--steps {int(steps[0])}")
        study = judgement.claim.study or judgement.claim.paper
        if evidence.protocol and study in STUDIES and evidence.protocol not in STUDIES[study].protocols:
            words.append(f"--protocols {shlex.quote(evidence.protocol)}")
        stands_in = judgement.claim.instead is not None and judgement.claim.instead[0] in evidence.instead
        counts = bool(evidence.runs) and not evidence.borrowed and not stands_in
        if counts:
            words.append(f"--skip {shlex.quote(results)}")
        further = evidence.runs_needed - (evidence.runs if counts else 0)
        found.setdefault(" ".join(words), []).append((max(1, further), judgement.claim.id))
    commands = [
        Nearest(command, max(runs for runs, _ in decided), tuple(name for _, name in decided))
        for command, decided in found.items()
    ]
    return sorted(commands, key=lambda one: (one.runs, one.command))
