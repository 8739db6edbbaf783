"""Exhibits: what is said of a figure selects its runs, names those that are missing, and takes its numbers from claims."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from figures import tables as made
from hackle.claims import CLAIMS, judge
from hackle.core.parts import PartError
from hackle.figures import FIGURES, Exhibit, Panel, Runs, Selected, panels
from hackle.figures.drawing import FigureError
from hackle.figures.exhibit import shades
from hackle.figures.panels import Lacking, curves, scatter, swarm
from hackle.figures.selection import select
from hackle.figures.style import shade
from hackle.report import write_study_page
from hackle.report.html import number
from hackle.store.tables import Tables

DECLARED = {name: item for name, item in FIGURES.items() if isinstance(item, Exhibit)}
SWEEP = [
    *made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], dataset=["dsprites", "cars3d"]),
    *made.settings(method="beta-vae", strength=[1.0, 4.0, 16.0], seed=range(3)),
    *made.settings(method="factor-vae", strength=[10.0, 35.0], seed=range(3), latents=20),
]


@pytest.fixture(scope="module")
def sweep() -> Tables:
    return made.tables(SWEEP)


def exhibit(runs: Runs, *kinds, **more) -> Exhibit:
    return Exhibit("lab-notes", "Figure 1", "title", "caption", runs, (kinds,), **more)


@pytest.mark.parametrize("name", DECLARED)
def test_a_figure_is_compared_with_the_claims_that_name_it(name: str) -> None:
    item = DECLARED[name]
    assert all(claim in CLAIMS for claim in item.claims)
    kind, _, figure = item.number.rpartition(" ")
    placed = {
        claim.id
        for claim in CLAIMS.values()
        if claim.paper == item.paper
        and re.search(rf"{kind}s? ([\w.]+(, | and ))*{re.escape(figure)}\b(?!\.)", claim.where)
    }
    assert set(item.compared) == placed | set(item.claims)


def test_numbers_and_verdicts_are_those_of_the_judged_claims() -> None:
    tables = made.tables([*made.split_encoder(4), *made.yang2020(4, ("dsprites",))])
    judged = {found.claim.id: found for found in judge(tables)}
    seen = set()
    for item in DECLARED.values():
        alone, beside = item(tables), item(tables, judged)
        # Without the judgement numbers are the same; a verdict depends on all claims that are judged together.
        assert str([replace(one, verdict="") for one in beside.comparisons]) == str(list(alone.comparisons))
        # No two claims have the same words.
        told = [one.what for one in beside.comparisons if one.verdict]
        assert len(told) == len(set(told)), item.id
        for one in beside.comparisons:
            if one.verdict:
                found = judged[one.claim]
                assert (one.what[: len(found.claim.effect)], one.verdict) == (found.claim.effect, found.verdict)
                assert (one.here, one.low, one.high) == (found.evidence.effect, found.evidence.low, found.evidence.high)
                seen.add(one.claim)
    assert {"split-encoder.mig-vae-dsprites", "yang2020.mig-vae-10-dsprites", "yang2020.kl-hardly-moves"} <= seen


def test_a_page_has_one_number_for_a_sentence(tmp_path: Path) -> None:
    """FactorVAE's discriminator with seeds of different size: the mean over runs is not the mean over seeds."""
    runs = made.settings(method="factor-vae", strength=[10.0, 35.0, 100.0], seed=range(3), study="kim2018")
    whole = made.tables([row for row in runs if row["seed"] == 0 or row["strength"] == 10.0])
    mine = whole.scores["metric"] == "true_tc"
    scores = whole.scores.assign(score=whole.scores["score"].where(~mine, 2.0 + 3.0 * (whole.scores["seed"] == 0)))
    curve = pd.DataFrame({"run": whole.runs["run"], "step": 1000, "value": 1.0})
    tables = Tables(scores, whole.runs, lambda term: curve)
    over_runs, over_seeds = (3 * 4.0 + 2 * 1.0) / 5, (4.0 + 1.0 + 1.0) / 3
    evidence = CLAIMS["kim2018.discriminator-underestimates"].test(tables)
    assert evidence.effect == pytest.approx(over_seeds)
    (found,) = [one for one in FIGURES["kim2018-figure-7"](tables).comparisons if one.claim.endswith("underestimates")]
    assert found.here == pytest.approx(over_seeds)
    text = unescape(write_study_page(tables, tmp_path / "page.html", papers=["kim2018"]).read_text(encoding="utf-8"))
    row = next(line for line in text[text.index('id="kim2018-figure-7"') :].splitlines() if found.what in line)
    assert f"<td>{number(over_seeds)}" in row
    assert f"<td>{number(over_runs)}" not in row
    assert '(<a href="#claim-kim2018.discriminator-underestimates">undecided</a>)' in row


def test_what_a_claim_says_of_several_strata_stands_below_it() -> None:
    chart = FIGURES["yang2020-figure-5"](made.tables(made.yang2020(4)))
    found = [one for one in chart.comparisons if one.claim == "yang2020.fall-grows-factor-vae"]
    claim, *each = found
    assert [one.what for one in each] == [
        f"the same, FactorVAE on {name}" for name in ("dSprites", "SmallNORB", "Cars3D")
    ]
    assert np.mean([float(one.here) for one in each]) == pytest.approx(claim.here)
    assert all(one.low < one.here < one.high for one in each)  # type: ignore[operator]
    single = FIGURES["yang2020-figure-5"](made.tables(made.yang2020(4, ["dsprites"])))
    # The only stratum with runs is what the claim's own line says.
    assert [one.what for one in single.comparisons if one.claim == claim.claim] == [claim.what]


def test_runs_are_chosen_by_settings_and_weights(sweep: Tables) -> None:
    chosen = select(sweep, Runs(("mig",), {"dataset": "dsprites"}, {"beta-vae": (4.0, 16.0)}, series="weight"))
    assert sorted(set(chosen.frame["series"])) == ["β = 16", "β = 4"]
    assert len(chosen.frame) == 6
    assert set(select(sweep, Runs(("mig",), {"method": "factor-vae"})).frame["latents"]) == set()
    assert set(select(sweep, Runs(("mig",), {"method": "factor-vae", "latents": "any"})).frame["latents"]) == {20}


def test_a_vae_is_a_beta_vae(sweep: Tables) -> None:
    runs = Runs(("mig",), {"dataset": "dsprites"}, {"beta-vae": (1.0,)}, joins_cases=True)
    assert len(select(sweep, runs).frame) == 6
    assert len(select(sweep, replace(runs, joins_cases=False)).frame) == 3


def test_models_whose_weights_have_other_symbols_share_no_shade() -> None:
    methods = ["annealed-vae", "beta-tcvae", "beta-vae", "dip-vae-i", "factor-vae"]
    frame = pd.DataFrame({"method": methods, "strength": 4.0, "series": methods})
    series = shades(frame)
    assert sorted(one.name for one in series) == methods
    assert len({one.colour for one in series}) == len(methods)


def test_of_two_methods_with_one_symbol_the_one_with_more_weights_has_its_hue() -> None:
    """An adversarial autoencoder with γ = 50 is no FactorVAE."""
    methods = [*["adversarial-autoencoder"] * 2, *["factor-vae"] * 3]
    frame = pd.DataFrame({"method": methods, "strength": [50.0, 50.0, 10.0, 20.0, 50.0]})
    frame["series"] = [f"{name} {weight:g}" for name, weight in zip(frame["method"], frame["strength"], strict=True)]
    colours = {one.name: one.colour for one in shades(frame)}
    reds = shades(frame[2:])
    assert [colours[one.name] for one in reds] == [one.colour for one in reds]
    middle = shade(2, 0, 1)
    assert colours["adversarial-autoencoder 50"] == middle


def test_series_may_be_conditions(sweep: Tables) -> None:
    series = {
        "plain": {"correlation": 0.0, "dataset": "dsprites"},
        "noisy": {"correlation": 0.9, "dataset": "dsprites"},
    }
    runs = Runs(("mig",), {"method": "vae", "correlation": (0.0, 0.9)}, series=series, named=(("series",),))
    chosen = select(sweep, runs)
    assert set(chosen.frame["series"]) == set(series)
    assert set(chosen.frame["dataset"]) == {"dsprites"}
    gone = select(sweep, replace(runs, series={**series, "odd": {"correlation": 0.5}}))
    assert gone.missing == ("no runs with odd",)


@pytest.mark.parametrize(
    ("where", "weights", "named", "missing"),
    [
        ({"dataset": ("dsprites", "mnist")}, {"vae": ()}, ("dataset",), "on MNIST"),
        ({"dataset": "dsprites"}, {"vae": (), "infogan": ()}, ("dataset", "method"), "of InfoGAN on dSprites"),
        ({}, {"beta-vae": (1.0, 2.0, 3.0)}, ("method", "strength"), "of β-VAE with β = 2 and 3"),
        (
            {"dataset": ("dsprites", "cars3d"), "correlation": (0.0, 0.5)},
            {"vae": ()},
            ("dataset", "method", "correlation"),
            "of VAE on dSprites with σ = 0.5",
        ),
        (
            {"latents": 20, "dataset": ("dsprites", "cars3d")},
            {"factor-vae": (35.0,)},
            ("latents", "dataset"),
            "on Cars3D with 20 latents",
        ),
    ],
)
def test_runs_that_are_missing_are_named(sweep: Tables, where, weights, named, missing: str) -> None:
    found = select(sweep, Runs(("mig",), where, weights, named=(named,)))
    assert len(found.frame)
    assert f"no runs {missing}" in found.missing


def test_a_figure_says_which_scores_and_curves_it_lacks(sweep: Tables) -> None:
    runs = Runs(("mig", "own"), {"dataset": "dsprites"})
    kinds = (
        panels(swarm, "own", "method"),
        panels(scatter, "mig", "own"),
        panels(curves, {"unheard": "unheard-of loss"}, "nats"),
    )
    chart = exhibit(runs, *kinds)(sweep)
    assert not chart.panels
    assert chart.missing == ("no score own", "no curves of the unheard-of loss")


def test_a_panel_of_one_s_own_is_a_function(sweep: Tables) -> None:
    def lone(chosen: Selected):
        yield Panel("mine", points=chosen.frame.assign(x=0.0, y=chosen.frame["mig"])[["x", "y", "series", "run"]])
        yield "nothing else"

    chart = exhibit(Runs(("mig",), {"method": "vae", "dataset": "dsprites"}), lone)(sweep)
    assert [panel.title for panel in chart.panels] == ["mine"]
    assert chart.missing == ("nothing else",)
    assert chart.runs == 3


def test_panels_wrap_and_titles_stand_once(sweep: Tables) -> None:
    runs = Runs(("mig", "sap"), {"dataset": ("dsprites", "cars3d"), "method": "vae"})
    rows = tuple((panels(swarm, metric, "method", each="dataset"),) for metric in ("mig", "sap"))
    chart = Exhibit("lab-notes", "Figure 1", "", "", runs, rows)(sweep)
    assert [[panel.title for panel in row if panel] for row in chart.rows] == [["dSprites", "Cars3D"], ["", ""]]
    narrow = Exhibit("lab-notes", "Figure 1", "", "", runs, rows[:1], columns=1)(sweep)
    assert [len(row) for row in narrow.rows] == [1, 1]


def test_a_claim_that_there_is_not_is_named(sweep: Tables) -> None:
    item = exhibit(Runs(("mig",)), panels(swarm, "mig", "method"), claims=("lab-notes.nothing",))
    with pytest.raises(PartError, match=r"no claim 'lab-notes.nothing'"):
        item(sweep)
    assert not item(sweep, judged={}).comparisons


@pytest.mark.parametrize(
    ("where", "arguments", "words"),
    [
        ({}, ("mgi", "method"), "'mgi'"),
        ({}, ("mig", "methd"), "'methd'"),
        ({"datset": "dsprites"}, ("mig", "method"), "'datset'"),
    ],
)
def test_a_column_that_there_is_not_is_named(sweep: Tables, where, arguments, words: str) -> None:
    item = exhibit(Runs(("mig",), {"method": "vae", **where}), panels(swarm, *arguments))
    with pytest.raises(
        FigureError, match=f"the figure lab-notes-figure-1 asks for {words}, .* expected one of dataset, "
    ):
        item(sweep)


def test_an_axis_that_holds_a_value_keeps_its_own_ends(sweep: Tables) -> None:
    chosen = select(sweep, Runs(("mig",), {"method": "vae"}))
    free = swarm(chosen, "mig", "method").y
    assert free.low == 0.0
    assert free.high is not None
    assert swarm(chosen, "mig", "method", hold=0.1).y == free
    assert swarm(chosen, "mig", "method", hold=2.0).y == replace(free, high=2.0)


def test_kinds_say_what_they_lack(sweep: Tables) -> None:
    chosen = select(sweep, Runs(("mig",), {"method": "vae"}))
    with pytest.raises(Lacking, match="no curves of the loss"):
        curves(chosen, {"unheard": "loss"}, "nats")
