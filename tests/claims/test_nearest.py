"""What would decide open claims: how many runs, which claims one command serves, and what it says of steps and protocols."""

from dataclasses import replace

import pytest

from claims.synthetic import sweep, tables
from hackle.claims import CLAIMS, Claim, Region, Stratum, judge
from hackle.claims.measures import difference
from hackle.claims.nearest import nearest_to_a_verdict
from hackle.shipped import RESULTS
from hackle.store import read
from hackle.store.tables import Tables

TWO = ({"method": "vae", "dataset": "dsprites"}, {"method": "beta-vae", "dataset": "dsprites"})


def claim(name: str, low: float, study: str = "") -> Claim:
    strata = (Stratum("dsprites", TWO),)
    region = Region(low)
    return Claim(name, "locatello2019", "", "", "", region, difference("mig"), strata, seeds=6, study=study)


def table(seeds: int, study: str = "locatello2019", protocol: str = "locatello2019", gain: float = 0.1) -> Tables:
    runs = sweep(method=("vae", "beta-vae"), seed=range(seeds), study=study, steps=500)
    return tables(
        runs,
        lambda run, noise: {"mig": 0.2 + gain * (run["method"] == "beta-vae") + 0.05 * noise()},
        protocol=protocol,
    )


def command(claims: list[Claim], made: Tables) -> list[tuple[str, int, tuple[str, ...]]]:
    found = nearest_to_a_verdict(judge(made, claims), made, "my results")
    return [(one.command, one.runs, one.claims) for one in found]


def test_the_command_has_the_seeds_that_decide_and_leaves_out_those_that_are_there() -> None:
    made = table(5)
    judged = judge(made, [claim("gains", 0.05)])
    (one,) = judged
    assert one.verdict == "undecided"
    seeds, runs = one.evidence.seeds_needed, one.evidence.runs_needed
    assert seeds is not None and runs is not None  # noqa: PT018
    assert runs == 2 * seeds > 10
    words = f"--seeds {seeds} --datasets dsprites --methods vae,beta-vae --steps 500 --skip 'my results'"
    expected = f"hackle study run locatello2019 --out DIR {words}"
    assert command([one.claim], made) == [(expected, runs - 10, ("locatello2019.gains",))]


def test_the_seeds_it_names_decide() -> None:
    """With so many seeds about 80% of tables decide, with the first few hardly any."""
    judged = judge(table(5), [claim("gains", 0.05)])[0]
    assert judged.evidence.seeds_needed is not None
    again = judge(table(2 * judged.evidence.seeds_needed), [judged.claim])[0]
    assert again.verdict == "holds"


def test_claims_with_one_command_stand_together_and_the_fewest_runs_first() -> None:
    made = table(5)
    near, far = claim("near", 0.05), claim("far", 0.08)
    found = command([far, near, replace(near, name="alike", statement="the same")], made)
    assert [names for *_, names in found] == [("locatello2019.near", "locatello2019.alike"), ("locatello2019.far",)]
    assert found[0][1] < found[1][1]


def test_decided_claims_and_those_at_their_bound_need_nothing() -> None:
    made = table(5)
    decided, judged = claim("decided", -1.0), judge(made, [claim("gains", 0.0)])[0]
    at_bound = claim("bound", judged.evidence.effect)
    assert command([decided, at_bound], made) == []


def test_borrowed_runs_do_not_count_and_are_trained_again() -> None:
    made = table(5, study="kim2018")
    (one,) = judge(made, [claim("gains", 0.05)])
    assert one.evidence.borrowed
    ((words, runs, _),) = command([one.claim], made)
    assert runs == one.evidence.runs_needed
    assert "--skip" not in words


def test_runs_that_lack_the_claims_own_score_are_trained_again() -> None:
    own = replace(claim("gains", 0.05), measure=difference("sap"), instead=("another score", difference("mig")))
    made = table(5)
    (one,) = judge(made, [own])
    assert one.evidence.instead == "another score"
    ((words, runs, _),) = command([own], made)
    assert "--skip" not in words
    assert runs == one.evidence.runs_needed


def test_new_runs_are_scored_as_the_others_are() -> None:
    ((words, *_),) = command([claim("gains", 0.05)], table(5, protocol="yang2020"))
    assert " --protocols yang2020 " in words


@pytest.mark.parametrize("steps", [(500,), (500, 900)])
def test_without_runs_of_its_own_it_takes_the_papers_seeds_and_the_length_of_the_others(steps: tuple[int, ...]) -> None:
    made = tables(sweep(method="factor-vae", seed=range(2), steps=steps), lambda run, noise: {"mig": noise()})
    ((words, runs, _),) = command([claim("gains", 0.05)], made)
    assert (" --steps 500" in words) == (len(steps) == 1)
    assert " --seeds 6 " in words
    assert runs == 12
    assert "--skip" not in words


def test_scorings_of_one_model_are_replicates_of_its_run() -> None:
    """Ten scorings of a run count as ten, so that the command asks for a tenth as many runs."""
    made = read(RESULTS / "hackle-2026")
    judged = judge(made, [CLAIMS["kim2018.old-metric-sensitive"]])
    (only,) = nearest_to_a_verdict(judged, made, "hackle-2026")
    evidence = judged[0].evidence
    assert evidence.runs == 1
    assert evidence.seeds_needed is not None
    assert evidence.seeds_needed > 20
    assert f" --seeds {-(-evidence.seeds_needed // 10)} " in only.command
