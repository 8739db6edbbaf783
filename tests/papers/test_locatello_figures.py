"""Figures of Locatello et al. 2019 on several data sets: rows, axes and what stands in for data that were not trained on."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from figures import tables as made
from hackle.claims import CLAIMS
from hackle.figures import FIGURES, draw
from hackle.figures.files import svg
from hackle.papers.locatello2019.claims import METRICS
from hackle.store.tables import Tables


@pytest.fixture(scope="module")
def three_sets() -> Tables:
    runs = made.locatello2019(2, ("dsprites", "color-dsprites", "cars3d"))
    return made.tables(runs, codes=(*METRICS, "gaussian_tc"), posterior=())


def test_rows_of_a_grid_are_data_sets_and_name_their_panels(three_sets: Tables) -> None:
    chart = FIGURES["locatello2019-figure-8"](three_sets)
    names = ["dSprites", "Color-dSprites", "Cars3D"]
    assert [[panel.row for panel in row if panel is not None] for row in chart.rows] == [[name] * 6 for name in names]
    assert chart.titles[::6] == [f"{name}, BetaVAE score" for name in names]
    assert set(chart.data()["panel"]) == set(chart.titles)
    panels = json.loads(ElementTree.fromstring(svg(chart, "x")).attrib["data-panels"])
    # Each says what only its neighbours show; data sets head their rows.
    assert [(panel["row"], panel["said"]) for panel in panels[5:8]] == [
        ("dSprites", []),
        ("Color-dSprites", ["BetaVAE score"]),
        ("Color-dSprites", ["FactorVAE score"]),
    ]
    figure = draw(chart)
    assert [axes.get_ylabel() for axes in figure.axes[::6]] == names
    assert not any(axes.get_ylabel() for axes in figure.axes[1:6])


def test_total_correlations_are_on_logarithmic_axes_that_show_every_run(three_sets: Tables) -> None:
    nothing = (three_sets.scores["metric"] == "gaussian_tc") & (three_sets.scores["strength"] == 16.0)
    scores = three_sets.scores.assign(score=three_sets.scores["score"].where(~nothing, 0.0))
    for panel in FIGURES["locatello2019-figure-3"](replace(three_sets, scores=scores)).panels:
        assert panel.y.log
        assert panel.y.low < panel.points["y"].min() == 1e-6
        assert panel.points["y"].max() < panel.y.high


@pytest.mark.parametrize("trained", [("dsprites", "rooms3d"), ("dsprites", "rooms3d", "shapes3d")])
def test_rooms_stand_in_for_shapes_among_the_other_data_sets(trained: tuple[str, ...]) -> None:
    chart = FIGURES["locatello2019-figure-7"](made.tables(made.locatello2019(1, trained), codes=METRICS, posterior=()))
    alone = "shapes3d" not in trained
    assert list(dict.fromkeys(panel.row for panel in chart.panels)) == ["dSprites", "Rooms3D" if alone else "Shapes3D"]
    assert any(note.startswith("Rooms3D stands in for Shapes3D") for note in chart.notes) == alone
    assert chart.missing == ("no runs on Color-dSprites, Noisy-dSprites, Scream-dSprites, SmallNORB and Cars3D",)


def test_table_1_counts_the_rooms_as_its_claims_do() -> None:
    tables = made.tables(made.locatello2019(3, ("dsprites", "rooms3d")), codes=METRICS, posterior=())
    chart = FIGURES["locatello2019-table-1"](tables)
    assert chart.comparisons[-1].what.endswith("36 settings, 3 seeds and 2 data sets")
    evidence = CLAIMS["locatello2019.table-1-same"].test(tables)
    assert evidence.datasets == {"all data sets": ("dsprites", "rooms3d")}
    (same,) = (one for one in chart.comparisons if one.claim == "locatello2019.table-1-same")
    assert (same.here, same.n) == (evidence.effect, 3)


def test_scores_that_only_some_runs_have_are_said(three_sets: Tables) -> None:
    gone = three_sets.scores["metric"].isin(["mig", "sap"]) & (three_sets.scores["seed"] == 1)
    gone &= three_sets.scores["method"] == "beta-vae"
    chart = FIGURES["locatello2019-figure-7"](replace(three_sets, scores=three_sets.scores[~gone]))
    assert "18 of 216 runs have no mig and sap" in chart.notes
    assert not any("have no" in note for note in FIGURES["locatello2019-figure-7"](three_sets).notes)
