"""Do & Tran's figures show the scores that the paper means, and beside them what the paper says."""

from __future__ import annotations

from typing import Any

import pytest

from figures import tables as made
from hackle.figures import FIGURES, Chart
from hackle.store.tables import Tables


@pytest.fixture(scope="module")
def everything() -> Tables:
    return made.tables(made.do2020(3), sensitivity=True, protocols=("do2020",))


def shown(chart: Chart, panel: int, axis: str = "y") -> dict[str, float]:
    points = chart.panels[panel].points
    return dict(zip(points["run"], points[axis], strict=True))


def stored(tables: Tables, metric: str, protocol: str = "do2020") -> dict[str, float]:
    rows: Any = tables.scores[(tables.scores["metric"] == metric) & (tables.scores["protocol"] == protocol)]
    return dict(zip(rows["run"], rows["score"], strict=True))


@pytest.mark.parametrize(
    ("figure", "panel", "axis", "metric"),
    [
        ("figure-2", 1, "y", "whole_total_information"),
        ("figure-3", 1, "y", "whole_overlap"),
        ("figure-3", 2, "y", "whole_wsepin"),
        ("figure-3", 3, "y", "whole_sepin@3"),
        ("figure-19", 1, "y", "whole_total_information"),
        ("figure-19", 5, "y", "whole_wsepin"),
        ("figure-24", 0, "x", "sampled_jemmig"),
        ("figure-25", 0, "x", "sampled_mig"),
        ("table-5", 0, "y", "whole_misjed_top"),
    ],
)
def test_a_panel_shows_this_score(everything: Tables, figure: str, panel: int, axis: str, metric: str) -> None:
    points, known = shown(FIGURES[f"do2020-{figure}"](everything), panel, axis), stored(everything, metric)
    assert points
    assert points == pytest.approx({run: known[run] for run in points})


def test_samples_are_of_sampled_estimates(everything: Tables) -> None:
    chart = FIGURES["do2020-figure-18"](everything)
    for panel, metric in zip(chart.panels, ("sampled_jemmig", "whole_wsepin"), strict=True):
        last = panel.points[panel.points["x"] == 1]
        known = stored(everything, metric, "do2020-samples-50000")
        assert dict(zip(last["run"], last["y"], strict=True)) == pytest.approx({run: known[run] for run in last["run"]})


def test_high_beta_is_compared_with_factor_vae(everything: Tables) -> None:
    scores: Any = everything.scores[
        (everything.scores["metric"] == "dci_informativeness") & (everything.scores["representation"] == "mean")
    ]
    high = scores[(scores["method"] == "beta-vae") & scores["strength"].isin([20.0, 50.0])]["score"].mean()
    factor = scores[scores["method"] == "factor-vae"]["score"].mean()
    found = {one.claim: one for one in FIGURES["do2020-figure-7"](everything).comparisons}
    claim = found["do2020.high-beta-less-informative"]
    assert claim.what == "DCI informativeness of β-VAE at β = 20 and 50 minus that of FactorVAE"
    assert claim.here == pytest.approx(high - factor)


def test_informative_latents_of_figure_4(everything: Tables) -> None:
    """The list of the VAE's latents there has ten: five informative ones and five of noise."""
    found = [one.paper for one in FIGURES["do2020-figure-4"](everything).comparisons]
    assert found == [5, 5, 4]
