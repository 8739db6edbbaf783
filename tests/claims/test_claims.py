"""Every claim gives the right verdict where it is true, where it is false and where too little is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from claims.synthetic import sweep, tables, trials
from hackle.claims import CLAIMS, Claim, Judgement, Region, Stratum, View, as_frame, judge
from hackle.claims.conditions import several
from hackle.claims.measures import difference, value
from hackle.claims.statistics import LEVEL, POWER, Estimate
from hackle.claims.stratum import serves_for
from hackle.claims.view import DERIVED, UNDER
from hackle.core.design import design_of
from hackle.metrics.metric import row_of
from hackle.nets import ARCHITECTURES
from hackle.papers.locatello2019.transfer import across
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables
from hackle.studies import STUDIES
from papers import (
    world_do,
    world_duan,
    world_hsu,
    world_kim,
    world_labels,
    world_locatello,
    world_locatello2020,
    world_schott,
    world_trauble,
    worlds_encoders,
)

WORLDS: dict[str, Callable[..., Tables]] = {
    "do2020": world_do.do2020,
    "kim2018": world_kim.kim2018,
    "locatello2019": world_locatello.locatello2019,
    "split-encoder": worlds_encoders.split_encoder,
    "yang2020": worlds_encoders.yang2020,
    "duan2020": world_duan.duan2020,
    "locatello2020": world_locatello2020.locatello2020,
    "locatello2020-labels": world_labels.locatello2020_labels,
    "trauble2021": world_trauble.trauble2021,
    "schott2022": world_schott.schott2022,
    "hsu2023": world_hsu.hsu2023,
}
# Metrics that all follow one order agree, transfer and go with downstream tasks: these claims fail where each has its own.
FALSE_APART = {
    "locatello2019.three-metrics-agree",
    "locatello2019.transfer-to-color",
    "locatello2019.downstream-correlates",
}


@cache
def verdicts(paper: str, truth: int) -> dict[str, Judgement]:
    found = judge(WORLDS[paper](truth), [claim for claim in CLAIMS.values() if claim.paper == paper])
    return {judgement.claim.id: judgement for judgement in found}


@cache
def undecidable(paper: str) -> dict[str, Judgement]:
    few = {"scorings": 1} if paper == "kim2018" else {}
    made = WORLDS[paper](1, seeds=1, **few)
    return {found.claim.id: found for found in judge(made, [c for c in CLAIMS.values() if c.paper == paper])}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_a_true_claim_holds(claim: Claim) -> None:
    found = verdicts(claim.paper, 1)[claim.id]
    assert found.verdict == "holds", found.reason
    assert claim.region.contains(found.evidence.low, found.evidence.high)
    assert found.p_corrected >= found.evidence.p


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_a_false_claim_does_not_hold(claim: Claim) -> None:
    found = verdicts(claim.paper, 0 if claim.id in FALSE_APART else -1)[claim.id]
    assert found.verdict == "does not hold", found.reason
    assert claim.region.excludes(found.evidence.low, found.evidence.high)
    assert found.against_corrected >= found.evidence.against


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_one_seed_decides_nothing_and_says_how_many_runs_would(claim: Claim) -> None:
    found = undecidable(claim.paper)[claim.id]
    assert found.verdict == "undecided"
    assert found.evidence.runs_needed is not None
    assert found.evidence.runs_needed >= found.evidence.runs
    assert claim.command in found.reason


@cache
def empty() -> View:
    return View(Tables(pd.DataFrame(columns=list(SCORE_COLUMNS)), pd.DataFrame(columns=list(RUN_COLUMNS))))


@cache
def study_trains(study: str, datasets: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """The data sets and methods that a study trains if these data sets are asked for, as claims' commands do."""
    return frozenset(
        (run.dataset, design_of(run)["method"]) for run in STUDIES[study].runs(seeds=1, datasets=list(datasets))
    )


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_an_empty_table_says_what_is_missing(claim: Claim) -> None:
    evidence = claim.test(empty())
    assert evidence.estimate is None
    assert evidence.runs == 0
    assert evidence.missing == claim.missing(empty())
    assert any(line.startswith("no runs of ") for line in evidence.missing)


def test_nothing_is_missing_where_a_claim_is_judged_in_full() -> None:
    made = WORLDS["yang2020"](1, seeds=3)
    for claim in CLAIMS.values():
        if claim.paper == "yang2020":
            assert claim.missing(made) == ()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_names_runs_that_its_study_trains_and_scores_that_exist(claim: Claim) -> None:
    trained = set()
    for stratum in claim.strata:
        for condition in stratum.conditions:
            names = tuple(name for name in several(condition["dataset"]) if not serves_for(name))
            known = study_trains(claim.study or claim.paper, names)
            trained.add(bool(known & set(product(names, several(condition["method"])))))
            assert condition.get("architecture", "convolutional") in ARCHITECTURES or isinstance(
                condition["architecture"], tuple
            )
    # What a paper's second study adds is compared with the runs of its first.
    assert True in trained
    assert False not in trained or claim.study
    for score in (*claim.measure.scores, *(score for _, measure in claim.beside for score in measure.scores)):
        named, _, other = score.partition(UNDER)
        name = named.split("/")[0]
        assert row_of(name) is not None or name in DERIVED, score
        assert not other or other in STUDIES[claim.study or claim.paper].protocols


PROMISED = {
    "locatello2019": [*(f"Figure {number}" for number in range(2, 17)), "Table 1"],
    "kim2018": [
        *(f"Figure {number}" for number in (*range(3, 9), 10, 11, 12, 16, 17, 18, 23, 24, 33, 34, 37, 38, 39, 40)),
        *("Section 2", "Appendix A", "Appendix D", "Appendix E", "Appendix H"),
    ],
    "do2020": [
        *(f"Figure {number}" for number in (*range(2, 10), 14, 17, 18, 19, 20, 22, 23, 24, 25)),
        *(f"Table {number}" for number in range(5, 10)),
        "Appendix A.18",
    ],
    "yang2020": [*(f"Figure {number}" for number in range(1, 6)), "Appendix D", "Appendix F"],
    "split-encoder": [f"Figure {number}" for number in range(2, 12)],
}


def named(where: str) -> set[str]:
    """The figures and tables that a claim's place names.

    >>> sorted(named("Figures 4 and 5"))
    ['Figure 4', 'Figure 5']
    """
    kind, _, rest = where.partition(" ")
    kind = kind.removesuffix("s") if kind in ("Figures", "Tables") else kind
    return {f"{kind} {part}" for part in rest.split(" and ")}


@pytest.mark.parametrize("paper", PROMISED)
def test_every_figure_and_table_has_a_claim(paper: str) -> None:
    have = {place for claim in CLAIMS.values() if claim.paper == paper for place in named(claim.where)}
    assert set(PROMISED[paper]) <= have


def test_claims_are_whole() -> None:
    assert all(key == claim.id for key, claim in CLAIMS.items())
    assert len({claim.statement for claim in CLAIMS.values()}) == len(CLAIMS)
    for claim in CLAIMS.values():
        assert claim.statement.endswith(".")
        assert np.isfinite(claim.region.low) or np.isfinite(claim.region.high)
        assert claim.needs


def rises(dataset: str = "dsprites") -> Claim:
    """MIG is more than 0.1 higher with correlated noise."""
    pair = tuple({"method": "vae", "dataset": dataset, "correlation": sigma} for sigma in (0.0, 0.9))
    return Claim(
        "rises", "test", "Figure 1", "It rises.", "rise", Region(low=0.1), difference("mig"), (Stratum(dataset, pair),)
    )


@cache
def rising(effect: float, seeds: int) -> list[Judgement]:
    """120 verdicts where MIG rises by `effect` with a spread of 1 between seeds."""
    scores = lambda run, noise: {"mig": effect * (run["correlation"] > 0) + noise() / np.sqrt(2)}  # noqa: E731
    return trials(rises(), sweep(seed=range(seeds), correlation=[0.0, 0.9]), scores, 120)


def test_power_at_the_number_of_runs_that_is_named() -> None:
    seeds = Estimate(effect=1.1, error=1 / np.sqrt(10), freedom=9, seeds=10).seeds_needed(1.0, LEVEL / 2)
    assert seeds == 10
    found = [judgement.verdict for judgement in rising(1.1, seeds)]
    assert found.count("holds") / len(found) == pytest.approx(POWER, abs=0.1)
    assert found.count("does not hold") == 0


def test_the_number_of_runs_needed_is_about_the_true_one() -> None:
    needed = [judgement.evidence.runs_needed or np.inf for judgement in rising(1.1, 10)]
    assert 14 <= np.median(needed) <= 26


def test_an_effect_at_the_bound_seldom_holds_or_fails() -> None:
    found = [judgement.verdict for judgement in rising(0.1, 5)]
    # Each side has the interval's 2.5%, that is 3 of 120.
    assert found.count("holds") <= 8
    assert found.count("does not hold") <= 8


def test_more_claims_need_more_evidence() -> None:
    made = tables(
        sweep(seed=range(8), correlation=[0.0, 0.9]),
        lambda run, noise: {"mig": 0.65 * (run["correlation"] > 0) + 0.5 * noise()},
    )
    one, many = judge(made, [rises()])[0], judge(made, [rises()] * 50)[0]
    assert many.p_corrected == pytest.approx(min(1, 50 * one.evidence.p))
    assert (one.verdict, many.verdict) == ("holds", "undecided")
    assert (many.evidence.runs_needed or 0) > (one.evidence.runs_needed or 0)


def test_what_two_papers_say_of_the_same_runs_is_one_test() -> None:
    """The split encoder's paper, too, says that correlated noise lowers the MIG of a VAE on dSprites."""
    made = WORLDS["yang2020"](1, seeds=6)
    same = [CLAIMS["yang2020.mig-vae-10-dsprites"], CLAIMS["split-encoder.noise-vae"]]
    both = judge(made, same)
    assert [found.evidence.effect for found in both] == [both[0].evidence.effect] * 2
    assert [found.tested for found in both] == [1, 1]
    assert [found.p_corrected for found in both] == [found.evidence.p for found in both]
    # Another score, other runs or another bound make another test.
    others = [replace(same[1], measure=difference("reconstruction")), replace(same[1], region=Region(low=0.02))]
    other_runs = replace(same[1], strata=CLAIMS["yang2020.mig-vae-20-dsprites"].strata)
    assert judge(made, [*same, *others, other_runs])[0].tested == 4


def test_a_paper_says_nothing_twice() -> None:
    for paper in WORLDS:
        effects = [
            (found.claim.measure.scores, found.evidence.estimate, found.evidence.places, found.claim.region)
            for found in verdicts(paper, 1).values()
            # Rank correlations that are the same in all seeds do not tell claims apart.
            if found.evidence.estimate is not None and found.claim.measure.scores and abs(found.evidence.effect) < 1
        ]
        assert len(set(effects)) == len(effects), paper


def test_where_the_estimator_matters_the_verdict_shows_both() -> None:
    """With factorised densities, as in the paper, β-TCVAE's total correlation falls; with the posterior's own it rises."""
    found = verdicts("yang2020", 1)["yang2020.tcvae-tc"]
    (own,) = found.evidence.beside.values()
    assert found.verdict == "holds"
    assert found.evidence.effect < 0 < own.effect
    # −½ ln det Σ of ten latents with σ = 0.9 is 9.26 nats; the world's total correlation is 9 without noise and 6.3 with.
    assert own.effect == pytest.approx((6.3 + 9.26) / 9 - 1, abs=0.02)
    assert f"with the posterior's own density in place of a factorised one it is {own.effect:.3g} [" in found.reason
    assert as_frame([found]).iloc[0]["beside"] in found.reason
    total = verdicts("do2020", 1)["do2020.factor-vae-keeps-information"]
    assert "by the paper's estimate from 10,000 images it is" in total.reason
    assert not verdicts("do2020", 1)["do2020.rmig-order"].evidence.beside


def test_the_other_estimate_is_of_the_stratum_that_decides() -> None:
    """By the claim's own score the first method is the weakest, by the other one the second."""
    own, other = {"vae": 0.2, "beta-vae": 0.9}, {"vae": 0.8, "beta-vae": 0.1}
    designs = sweep(method=("vae", "beta-vae"), seed=range(4))
    made = tables(designs, lambda run, noise: {"mig": own[run["method"]] + 0.01 * noise(), "sap": other[run["method"]]})
    strata = tuple(Stratum(name, ({"method": name, "dataset": "dsprites"},)) for name in own)
    asked = Claim(
        "name", "paper", "", "", "", Region(0.5), value("mig"), strata, "every", beside=(("SAP", value("sap")),)
    )
    evidence = asked.test(made)
    assert evidence.effect == pytest.approx(0.2, abs=0.05)
    assert evidence.beside["SAP"].effect == pytest.approx(0.8)


def test_what_is_judged_by_other_scores_says_so() -> None:
    """A claim on the bound over all images is judged by that of a hundred where no run has the other, and never silently."""
    claim = replace(rises(), measure=difference("whole_iwae"), instead=("the bound of 100 images", difference("iwae")))
    made = sweep(seed=range(8), correlation=[0.0, 0.9])
    few = tables(made, lambda run, noise: {"iwae": run["correlation"] + 0.01 * noise()})
    found = judge(few, [claim])[0]
    assert (found.verdict, found.evidence.instead) == ("holds", "the bound of 100 images")
    assert "where no run has what it is about, it is judged by the bound of 100 images" in found.reason
    assert as_frame([found]).iloc[0]["instead"] == "the bound of 100 images"
    both = tables(
        made, lambda run, noise: {"iwae": run["correlation"], "whole_iwae": -run["correlation"] + 0.01 * noise()}
    )
    found = judge(both, [claim])[0]
    assert (found.verdict, found.evidence.instead) == ("does not hold", "")
    neither = judge(tables(made, lambda run, noise: {"mig": noise()}), [claim])[0]
    assert neither.verdict == "undecided"
    assert "no score whole_iwae" in neither.reason
    assert CLAIMS["kim2018.likelihood-2d"].measure.scores == ("whole_iwae",)


def test_every_stratum_must_do_where_the_claim_says_so() -> None:
    both = (*rises("dsprites").strata, *rises("cars3d").strata)
    claims = [
        Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), both, combine=combine)  # type: ignore[arg-type]
        for combine in ("mean", "every")
    ]
    made = tables(
        sweep(seed=range(12), correlation=[0.0, 0.9], dataset=["dsprites", "cars3d"]),
        lambda run, noise: {"mig": (2 if run["dataset"] == "dsprites" else -0.5) * run["correlation"] + 0.1 * noise()},
    )
    mean, every = judge(made, claims)
    assert (mean.verdict, every.verdict) == ("holds", "does not hold")
    assert every.evidence.effect == pytest.approx(-0.45, abs=0.1)
    assert set(every.evidence.strata) == {"dsprites", "cars3d"}


def test_a_stratum_that_is_missing_is_said_and_the_others_are_judged() -> None:
    made = WORLDS["yang2020"](1, seeds=6)
    runs: Any = made.runs[made.runs["dataset"] == "dsprites"]
    found = judge(Tables(made.scores, runs, made.curve, made.array), [CLAIMS["yang2020.fall-grows-factor-vae"]])[0]
    assert found.verdict == "holds"
    assert set(found.evidence.strata) == {"factor-vae on dsprites"}
    assert any("smallnorb" in line for line in found.evidence.missing)


def test_a_verdict_tells_how_the_runs_behind_it_were_trained_and_scored() -> None:
    """Of runs of several lengths a difference reads those at the most steps that both sides have, and no others count."""
    both = (*rises("dsprites").strata, *rises("cars3d").strata)
    claim = Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), both)
    lengths = [
        *sweep(seed=range(6), correlation=0.0, steps=[1000, 9000], precision="bfloat16"),
        *sweep(seed=range(6), correlation=0.9, steps=[500, 1000]),
    ]
    made = tables(lengths, lambda run, noise: {"mig": run["correlation"] + 0.01 * noise()}, protocol="quick")
    found = judge(made, [claim, rises()])[0]
    assert (found.evidence.steps, found.evidence.precisions) == ((1000,), ("bfloat16", "float32"))
    assert found.evidence.made == "1,000 steps, bfloat16 and float32, protocol quick"
    assert (found.share, found.tested, found.chance) == ("1 of 2", 2, found.p_corrected)
    row = as_frame([found]).iloc[0]
    assert (row["strata"], row["strata_claimed"], row["claims_tested"], row["steps"]) == (1, 2, 2, [1000])


def test_runs_that_strata_share_are_counted_once() -> None:
    first, second = (replace(rises().strata[0], name=name) for name in ("first", "second"))
    made = tables(
        sweep(seed=range(6), correlation=[0.0, 0.9]), lambda run, noise: {"mig": run["correlation"] + noise()}
    )
    claim = Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), (first, second))
    assert judge(made, [claim])[0].evidence.runs == 12


def test_an_undecided_verdict_says_whether_the_interval_or_the_correction_leaves_it_open() -> None:
    made = tables(
        sweep(seed=range(8), correlation=[0.0, 0.9]),
        lambda run, noise: {"mig": 0.65 * (run["correlation"] > 0) + 0.5 * noise()},
    )
    corrected = judge(made, [rises()] * 50)[0]
    assert corrected.verdict == "undecided"
    said = f"the interval lies in the region, but p = {corrected.p_corrected:.2g} after correction over 50 claims: undecided"
    assert corrected.why == said
    across = next(found for found in rising(0.1, 5) if found.verdict == "undecided")
    assert "the interval reaches across the bound, p = " in across.why
    both = (*rises("dsprites").strata, *rises("cars3d").strata)
    every = Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), both, combine="every")
    one = judge(made, [every])[0]
    assert "holds only where all of them have runs" in one.why
    # What lacks is said, and never less than there is.
    assert (one.evidence.runs_needed or 0) >= 2 * one.evidence.runs


@pytest.mark.parametrize(
    ("trained", "share", "used"),
    [
        (("dsprites", "shapes3d", "rooms3d"), "2 of 3", ("dsprites", "shapes3d")),
        (("dsprites", "rooms3d"), "2 of 3", ("dsprites", "rooms3d")),
    ],
)
def test_a_stand_in_counts_for_the_data_set_that_it_stands_in_for(
    trained: tuple[str, ...], share: str, used: tuple[str, ...]
) -> None:
    made = tables(
        sweep(dataset=list(trained), seed=range(3), correlation=[0.0, 0.9]), lambda run, noise: {"mig": noise()}
    )
    together = {"method": "vae", "dataset": ("dsprites", "cars3d", "shapes3d", "rooms3d")}
    both = (Stratum("all", (together, {**together, "correlation": 0.9})),)
    found = judge(made, [Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), both)])[0]
    assert (found.share, found.evidence.datasets) == (share, {"all": used})


def test_a_data_set_of_which_one_side_has_no_runs_does_not_count() -> None:
    designs = [*sweep(dataset=["dsprites", "cars3d"], seed=range(3)), *sweep(method="beta-vae", seed=range(3))]
    made = tables(designs, lambda run, noise: {"mig": noise()})
    several = {"dataset": ("dsprites", "cars3d", "smallnorb")}
    both = (Stratum("all", ({"method": "vae", **several}, {"method": "beta-vae", **several})),)
    found = judge(made, [Claim("x", "test", "", "", "", Region(low=0.1), difference("mig"), both)])[0]
    assert (found.share, found.evidence.datasets) == ("1 of 3", {"all": ("dsprites",)})


def test_methods_that_were_not_compared_are_named() -> None:
    """Also those of which there are runs, where only settings that all data sets have are compared."""
    designs = [
        *sweep(
            dataset=["dsprites", "cars3d"],
            method=["beta-vae", "dip-vae-i", "vae"],
            strength=[1.0, 2.0, 4.0],
            seed=range(4),
        ),
        *sweep(method="factor-vae", strength=[1.0, 2.0, 4.0], seed=range(4)),
    ]
    view = View(tables(designs, lambda run, noise: {"mig": noise()}))
    methods = {"method": ("beta-vae", "dip-vae-i", "vae", "factor-vae"), "dataset": ("dsprites", "cars3d")}
    of_all = Claim("x", "test", "", "", "", Region(low=0.1), value("mig"), (Stratum("all", (methods,)),))
    assert of_all.test(view).without == ("factor-vae on cars3d",)
    alike = replace(of_all, measure=across(lambda scores, names: 0.5, ("mig",), span=(0, 1), datasets=2))
    evidence = alike.test(view)
    assert (evidence.without, evidence.runs) == (("factor-vae",), 72)
    assert ", without factor-vae" in judge(view, [alike])[0].reason


def test_verdicts_as_a_table() -> None:
    frame: Any = as_frame(list(verdicts("yang2020", 1).values()))
    assert len(frame) == len(verdicts("yang2020", 1))
    assert set(frame["verdict"]) == {"holds"}
    assert (frame["low"] <= frame["value"]).all()
    assert frame["command"].str.startswith("hackle study run yang2020 --out DIR").all()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_the_page_lists_the_claim_as_it_is(claim: Claim) -> None:
    page = text(Path(__file__).parents[2] / "docs" / "claims.md")
    row = f"| `{claim.id}` | {claim.where} | {claim.statement} | {claim.effect} | {claim.region} |"
    assert row in page.splitlines(), f"docs/claims.md should have the row\n{row}"
