"""Why a verdict is what it is: every branch of the words, from evidence that is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hackle.claims import Claim, Evidence, Region, Stratum
from hackle.claims.measures import difference
from hackle.claims.reasons import why
from hackle.claims.statistics import Estimate

NAMES = ("dsprites", "cars3d", "norb", "mpi3d", "shapes3d")


def claim(strata: int = 1, **more: object) -> Claim:
    """A claim that MIG rises by more than 0.1."""
    places = tuple(Stratum(name, ({"method": "vae", "dataset": name},)) for name in NAMES[:strata])
    return Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), places, **more)  # type: ignore[arg-type]


def evidence(*effects: float, error: float = 0.01, mean: float | None = None) -> Evidence:
    """Five seeds of each stratum; the effect is the strata's mean, or the one given."""
    parts = {name: Estimate(effect, error, 4, 5) for name, effect in zip(NAMES, effects, strict=False)}
    whole = Estimate(sum(effects) / len(effects) if mean is None else mean, error, 4, 5)
    low, high = whole.interval()
    strata = {name: (part.effect, 5) for name, part in parts.items()}
    return Evidence(whole.effect, low, high, runs=10, strata=strata, estimate=whole, estimates=parts)


@pytest.mark.parametrize(
    ("verdict", "found", "p", "against", "tested", "words"),
    [
        (
            *("holds", evidence(0.3), 0.0123, 1.0, 32),
            "the interval lies in the region, p = 0.012 after correction over 32 claims: holds",
        ),
        (
            *("does not hold", evidence(0.0), 1.0, 1e-5, 1),
            "the interval lies outside the region, p < 0.001 after correction over 1 claim: does not hold",
        ),
        (
            *("undecided", evidence(0.3), 0.12, 1.0, 32),
            "the interval lies in the region, but p = 0.12 after correction over 32 claims: undecided",
        ),
        (
            *("undecided", evidence(0.0), 1.0, 0.07, 32),
            "the interval lies outside the region, but p = 0.07 after correction over 32 claims: undecided",
        ),
        (
            *("undecided", evidence(0.11), 0.6, 1.0, 32),
            "the interval reaches across the bound, p = 0.6 after correction over 32 claims: undecided",
        ),
    ],
)
def test_where_the_interval_lies_and_what_p_says(
    verdict: str, found: Evidence, p: float, against: float, tested: int, words: str
) -> None:
    assert why(claim(), found, verdict, p, against, tested) == words


def test_for_lack_of_runs() -> None:
    nothing = float("nan"), float("nan"), 32
    assert why(claim(), Evidence(), "undecided", *nothing) == "no runs here can test it: undecided"
    one = Evidence(runs=2, strata={"dsprites": (0.3, 1)})
    assert why(claim(), one, "undecided", *nothing) == "one seed gives no interval: undecided"
    assert why(claim(), Evidence(runs=2), "undecided", *nothing) == "too few runs for an estimate: undecided"
    part = Evidence(runs=10, strata={"dsprites": (0.3, 5)}, estimates={"dsprites": Estimate(0.3, 0.1, 4, 5)})
    said = why(claim(3, least_strata=3), part, "undecided", *nothing)
    assert said == "1 of 3 strata have two seeds or more, 3 are needed: undecided"


def test_strata_that_contradict_the_verdict_or_each_other() -> None:
    holds = why(claim(3), evidence(0.6, 0.6, 0.0), "holds", 0.01, 1.0, 9)
    assert holds.endswith("over 9 claims, though norb alone would say otherwise: holds")
    fails = why(claim(5), evidence(0.4, 0.4, 0.4, 0.4, 0.0, mean=0.0), "does not hold", 1.0, 0.01, 9)
    assert "though dsprites, cars3d, norb, 1 more alone would say otherwise: does not hold" in fails
    across = why(claim(2), evidence(0.22, 0.0), "undecided", 0.4, 1.0, 9)
    assert across.endswith("strata contradict each other: in the region dsprites, outside cars3d: undecided")
    agreeing = why(claim(2), evidence(0.3, 0.3), "holds", 0.01, 1.0, 9)
    assert "otherwise" not in agreeing


def test_what_is_said_of_every_stratum() -> None:
    every = claim(2, combine="every")
    said = why(every, evidence(0.3), "undecided", 1.0, 1.0, 9)
    assert said.endswith("holds only where all of them have runs: 1 of 2 have, so p = 1: undecided")
    refuted = why(every, evidence(0.3, 0.0, mean=0.0), "does not hold", 1.0, 0.01, 9)
    assert refuted.endswith(
        "the interval lies outside the region, p = 0.01 after correction over 9 claims: does not hold"
    )


@pytest.mark.parametrize(
    ("study", "condition", "words"),
    [
        ("", {"method": "vae"}, "hackle study run test --out DIR --seeds 10 --methods vae"),
        ("", {"dataset": "dsprites"}, "hackle study run test --out DIR --seeds 10 --datasets dsprites"),
        ("", {"dataset": "my set.npz"}, "hackle study run test --out DIR --seeds 10 --datasets 'my set.npz'"),
        ("", {"dataset": "rooms3d"}, "hackle study run test --out DIR --seeds 10 --datasets rooms3d"),
        ("", {"dataset": ("shapes3d", "rooms3d")}, "hackle study run test --out DIR --seeds 10 --datasets shapes3d"),
        ("", {"strength": 4.0}, "hackle study run test --out DIR --seeds 10 --strengths 4"),
        ("", {"strength": (0.5, 16.0)}, "hackle study run test --out DIR --seeds 10 --strengths 0.5,16"),
        (
            "my.py:runs",
            {"method": "Mine", "dataset": "own.npz", "strength": 4.0},
            "hackle study run my.py:runs --out DIR --seeds 10",
        ),
        ("my own.py", {"method": "Mine", "dataset": "own.npz"}, "hackle study run 'my own.py' --out DIR --seeds 10"),
    ],
)
def test_a_command_names_what_the_conditions_name_and_a_study_of_ones_own_alone(
    study: str, condition: dict[str, Any], words: str
) -> None:
    assert replace(claim(study=study), strata=(Stratum("all", (condition,)),)).command == words
