"""`hackle claims`: the papers' claims, and your own, tested on a study's results."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from hackle.cli.words import ResultsDirectory, say, table_console
from hackle.core.errors import HackleError
from hackle.core.parts import nearest
from hackle.core.terminal import Terminal

if TYPE_CHECKING:
    from hackle.claims import Judgement
    from hackle.claims.nearest import Nearest

REFUTED, UNDECIDED = 3, 4
"""Exit codes of `hackle claims`; for every verb, 1 is an error and 2 a wrong command line."""
_STYLES = {"holds": "green", "does not hold": "red", "undecided": "yellow"}


def claims_command(
    directory: ResultsDirectory,
    paper: str | None = None,
    claims: str | None = None,
    json: bool = False,
    missing: bool = False,
    reasons: bool = False,
    next: int = 0,
) -> None:
    """Test the papers' claims on a study's results.

    Exit code 0: every claim that could be decided holds. 3: some claim does not hold. 4: no claim could be decided.

    Args:
        paper: Only the claims of this paper. p-values are still corrected over all claims.
        claims: Also test your own claims: path.py for all in a file, path.py:name for one, separated by commas.
        json: Print the verdicts as JSON.
        missing: Also list claims for which the study has no runs.
        reasons: Below each verdict, show what is claimed, what was found, and what to run if runs are missing.
        next: Also list this many commands, those that would decide claims with the fewest further runs.
    """
    from hackle.claims import CLAIMS, as_frame, judge
    from hackle.claims.nearest import nearest_to_a_verdict
    from hackle.store import read

    if next < 0:
        raise HackleError(f"--next is {next}; expected how many commands to list, such as 3")
    if claims is not None:
        CLAIMS.include(claims)
    papers = list(dict.fromkeys(claim.paper for claim in CLAIMS.values()))
    if paper is not None and paper not in papers:
        raise HackleError(f"no claims of {paper!r}; {nearest(paper, papers)}")
    # Which claims are shown must not change their verdicts: all are judged, then some are left out.
    tables = read(directory)
    judgements = [one for one in judge(tables) if paper in (None, one.claim.paper)]
    if json:
        say(json_text.dumps(_plain(as_frame(judgements).to_dict("records")), indent=2, ensure_ascii=False))
    else:
        print_verdicts(judgements, missing=missing, reasons=reasons)
        if next:
            _print_nearest(nearest_to_a_verdict(judgements, tables, str(directory)), next)
    code = exit_code(judgements)
    if code:
        raise SystemExit(code)


def exit_code(judgements: Sequence[Judgement]) -> int:
    """0 if every decided claim holds, `REFUTED` if one does not, `UNDECIDED` if none was decided."""
    verdicts = {judgement.verdict for judgement in judgements}
    if "does not hold" in verdicts:
        return REFUTED
    return 0 if "holds" in verdicts else UNDECIDED


def print_verdicts(judgements: Sequence[Judgement], *, missing: bool = False, reasons: bool = False) -> None:
    """The verdicts on the terminal; claims without any run are counted, and listed only if asked for.

    reasons: show the claim's statement and the reason below each verdict, in place of tables.
    """
    from hackle.figures import words

    console = table_console()
    shown = [judgement for judgement in judgements if missing or judgement.evidence.runs]
    for paper in dict.fromkeys(judgement.claim.paper for judgement in shown):
        mine = [judgement for judgement in shown if judgement.claim.paper == paper]
        if reasons:
            _print_reasons(console, paper, mine)
        else:
            console.print(_table(paper, mine))
        console.print()
    if any(judgement.evidence.borrowed and judgement.evidence.runs for judgement in shown):
        console.print("* runs of other studies, which may have trained differently", highlight=False)
    if any(judgement.evidence.instead for judgement in shown):
        console.print(
            "† in part by other scores or another data set than the paper's, of which there is no run; --reasons says by which",
            highlight=False,
        )
    fates = words.tally(words.fate(judgement.verdict, judgement.evidence.runs) for judgement in judgements)
    console.print(f"{fates}.", highlight=False)
    absent = [judgement for judgement in judgements if not judgement.evidence.runs]
    if absent and not missing:
        console.print(
            f"{words.counted(len(absent), 'claim has', 'claims have')} no runs here; --missing lists them. Needed:",
            highlight=False,
        )
        studies = [judgement.claim.study or judgement.claim.paper for judgement in absent]
        for study in dict.fromkeys(studies):
            console.print(f"  hackle study run {study} --out DIR   for {studies.count(study)}", highlight=False)
    if shown and not reasons:
        console.print("--reasons says what each claim is and why its verdict is what it is.", highlight=False)


def _print_nearest(found: Sequence[Nearest], most: int) -> None:
    """Commands in long lines, so that they can be copied."""
    from hackle.figures import words

    console = table_console()
    if not found:
        console.print("\nNo claim is open that a reasonable number of runs would decide.")
        return
    console.print("\nNearest to a verdict, if effects and spreads are as estimated:", highlight=False)
    for one in found[:most]:
        runs = words.counted(one.runs, "run")
        console.print(Text(f"  about {runs} more for {', '.join(one.claims)}"), soft_wrap=True)
        console.print(Text(f"    {one.command}"), soft_wrap=True)


def _table(paper: str, judgements: Sequence[Judgement]) -> Table:
    table = Table(box=None, header_style="bold", title=paper, title_justify="left")
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for column in ("where", "effect and 95% interval", "claimed"):
        table.add_column(column)
    for column in ("p corrected", "strata", "runs", "needed"):
        table.add_column(column, justify="right")
    table.add_column("trained and scored")
    for judgement in judgements:
        name, verdict, *others = _row(judgement)
        table.add_row(name, Text(verdict, _STYLES[judgement.verdict]), *others)
    return table


def _print_reasons(console: Terminal, paper: str, judgements: Sequence[Judgement]) -> None:
    """Each verdict with its claim's statement and its reason, in long lines, so that commands can be copied."""
    console.print(Text(paper, "italic"))
    for judgement in judgements:
        name, verdict, where, *_, chance, share, runs, _, made = _row(judgement)
        corrected = (
            f"p {chance} after correction over {judgement.tested} claim{'s' * (judgement.tested != 1)}"
            if chance
            else ""
        )
        facts = (where, corrected, f"{share} strata", f"{runs} run{'s' if runs != '1' else ''}", made)
        line = " · ".join(fact for fact in facts if fact)
        marked = verdict, _STYLES[judgement.verdict]
        console.print(Text.assemble(f" {name}  ", marked, f"  {line}"), highlight=False, soft_wrap=True)
        for sentence in (judgement.claim.statement, judgement.reason, judgement.why):
            console.print(Text(f"    {sentence}"), soft_wrap=True)


def _row(judgement: Judgement) -> list[str]:
    claim, evidence, verdict = judgement.claim, judgement.evidence, judgement.verdict
    known = evidence.estimate is not None
    return [
        claim.name,
        verdict,
        claim.where,
        f"{evidence.effect:.3g} ({evidence.low:.3g} … {evidence.high:.3g})" if known else "",
        str(claim.region),
        f"{judgement.chance:.2g}" if known else "",
        judgement.share,
        f"{evidence.runs}{'*' if evidence.borrowed and evidence.runs else ''}{'†' if evidence.instead else ''}",
        "" if verdict != "undecided" else str(evidence.runs_needed or "many more"),
        evidence.made,
    ]


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinities become null."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
