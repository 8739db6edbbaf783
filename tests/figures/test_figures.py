"""Every figure on made-up tables: whole, in part, and empty; and each shows exactly the runs that the table has."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from figures import tables as made
from hackle.claims import judge
from hackle.core.papers import PAPERS
from hackle.figures import FIGURES, Chart, draw
from hackle.figures import words as figure_words
from hackle.figures.selection import Runs, doubts, select
from hackle.papers.locatello2019.claims import DATASETS_OF_TABLE_1, METRICS
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables
from hackle.studies import STUDIES
from papers.world_duan import duan2020
from papers.world_hsu import hsu2023
from papers.world_labels import locatello2020_labels
from papers.world_locatello2020 import locatello2020
from papers.world_schott import schott2022
from papers.world_trauble import trauble2021

EVERYTHING = [
    *made.yang2020(3),
    *made.split_encoder(3),
    *made.kim2018(3),
    *made.do2020(3),
    *made.locatello2019(2, ("dsprites", "color-dsprites", "cars3d")),
]
NEWER = {
    "locatello2020-section-5": locatello2020,
    "locatello2020-labels-section-4": locatello2020_labels,
    "trauble2021-section-4": trauble2021,
    "duan2020-section-5": duan2020,
    "schott2022-section-5": schott2022,
    "hsu2023-section-5": hsu2023,
}
"""Figures of the newer papers, one each, and the worlds of their claims."""
OF_MODELS = [name for name, exhibit in FIGURES.items() if exhibit.weights]
"""Figures of images, which a table of results holds only with pictures of kept runs."""
MODELS = [*made.yang2020(1), *made.split_encoder(1), *made.kim2018(1), *made.kim2018_models(), *made.do2020(1)]
MODELS += made.do2020_celeba()
ALSO_OF_MODELS = [
    *(f"kim2018-figure-{number}" for number in (12, 24, 32, 33, 34, 38, 39, 40)),
    *(f"do2020-{name}" for name in ("figure-9", "figure-11", "figure-13", "figure-22", "table-6", "table-7")),
]
"""Figures of curves and scores of the same runs."""


@pytest.fixture(scope="module")
def everything() -> Tables:
    return made.tables(EVERYTHING, sensitivity=True)


@pytest.fixture(scope="module")
def models() -> Tables:
    codes, posterior = ("mig", "beta_vae", "factor_vae"), ("rmig", "jemmig", "whole_misjed_top")
    return made.tables(MODELS, codes=codes, posterior=posterior, factors=40, pictures=True)


@pytest.fixture(scope="module")
def worlds() -> dict[str, Tables]:
    return {name: world(1, seeds=3) for name, world in NEWER.items()}


@pytest.fixture(scope="module")
def charts(everything: Tables, models: Tables, worlds: dict[str, Tables]) -> dict[str, Chart]:
    judged = {found.claim.id: found for found in judge(everything)}
    others = worlds | dict.fromkeys([*OF_MODELS, *ALSO_OF_MODELS], models)
    shown = {name: exhibit(everything, judged) for name, exhibit in FIGURES.items() if name not in others}
    return shown | {name: FIGURES[name](tables) for name, tables in others.items()}


def empty() -> Tables:
    return Tables(pd.DataFrame(columns=list(SCORE_COLUMNS)), pd.DataFrame(columns=list(RUN_COLUMNS)))


def test_everything_that_the_papers_show_is_here() -> None:
    wanted = {
        "locatello2019": [*range(1, 17)],
        "kim2018": [*range(3, 41)],
        "do2020": [*range(2, 21), *range(22, 29)],
        "yang2020": [*range(1, 6)],
        "split-encoder": [*range(2, 12)],
    }
    figures = {f"{paper}-figure-{number}" for paper, numbers in wanted.items() for number in numbers}
    others = {"locatello2019-table-1", "kim2018-appendix-e", "do2020-appendix-a18"}
    others |= {f"do2020-table-{number}" for number in range(5, 10)}
    assert set(FIGURES) == figures | others | set(NEWER)


def numbers(text: str) -> list[int]:
    """What a list such as "1, 3 to 5" stands for."""
    ends = [list(map(int, part.split(" to "))) for part in text.split(", ")]
    return [number for part in ends for number in range(part[0], part[-1] + 1)]


def test_the_page_lists_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "figures.md").read_text(encoding="utf-8")
    named = set()
    for paper, figures, others in re.findall(r"^\| `([\w-]+)` \| ([\d, to]+) \|(.*)\|$", page, re.MULTILINE):
        named |= {f"{paper}-figure-{number}" for number in numbers(figures)}
        for kind, listed in re.findall(r"(Table|appendix)s? ([\w.]+(?:(?:, | and | to )[\w.]+)*)", others):
            each = numbers(listed.replace(" and ", ", ")) if kind == "Table" else [listed.replace(".", "").lower()]
            named |= {f"{paper}-{kind.lower()}-{one}" for one in each}
    named |= set(re.findall(r"^\| `([\w-]+-section-\d+)` \|", page, re.MULTILINE))
    assert named == set(FIGURES)
    pictured = page[page.index("## Pictures of models") : page.index("## Departures")]
    listed = set()
    for paper, figures in re.findall(r"`([\w-]+)` (\d[\d, to;]*)", pictured):
        listed |= {f"{paper}-figure-{number}" for number in numbers(figures.replace(";", ",").rstrip(", "))}
    assert set(OF_MODELS) <= listed


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_a_whole_study(name: str, charts: dict[str, Chart]) -> None:
    chart = charts[name]
    assert chart.panels
    assert chart.reading
    known = {series.name for series in chart.series}
    for panel in chart.panels:
        for rows in (panel.points, panel.summary):
            assert set(rows["series"]) <= known
        assert panel.points[["x", "y"]].notna().all(axis=None)
        # What lies outside the axes would be hidden.
        for axis, values in ((panel.x, panel.points["x"]), (panel.y, panel.points["y"])):
            if len(values) and axis.low is not None and axis.high is not None:
                assert axis.low <= values.min()
                assert values.max() <= axis.high + 1e-9


@pytest.mark.parametrize("name", OF_MODELS)
def test_a_figure_of_models_says_that_weights_must_be_kept(name: str, lone: Tables) -> None:
    chart = FIGURES[name](lone)
    assert all(panel.picture is None for panel in chart.panels)
    assert any("not kept" in line or line.startswith("no runs") for line in chart.missing)
    assert FIGURES[name].command.endswith(" --keep all")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_runs_says_what_it_lacks(name: str) -> None:
    chart = FIGURES[name](empty())
    assert not chart.panels
    assert chart.missing
    assert not chart.comparisons


@pytest.fixture(scope="module")
def lone() -> Tables:
    """No seed twice, no arrays, no curves."""
    whole = made.tables(row for row in EVERYTHING if row["seed"] == 0 and row["dataset"] == "dsprites")
    return Tables(whole.scores, whole.runs)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_one_run_of_each_setting(name: str, lone: Tables) -> None:
    """Figures shrink and do not fail, and no interval is made up."""
    chart = FIGURES[name](lone)
    assert chart.panels or chart.missing
    for panel in chart.panels:
        single = panel.summary[panel.summary["n"] == 1]
        gap = single["high"].astype(float) - single["low"].astype(float)
        assert not (gap > 0).any()


def test_means_are_those_of_the_table(everything: Tables, charts: dict[str, Chart]) -> None:
    scores: Any = everything.scores
    mine = scores[(scores["metric"] == "mig") & (scores["representation"] == "mean") & (scores["latents"] == 10)]
    mine = mine[(mine["dataset"] == "cars3d") & (mine["method"] == "vae") & (mine["architecture"] == "convolutional")]
    panel = next(panel for panel in charts["yang2020-figure-1"].panels if panel.title == "Cars3D")
    for sigma in (0.0, 0.9):
        values = mine[mine["correlation"] == sigma]["score"]
        row = panel.summary[(panel.summary["series"] == f"σ = {sigma:g}") & (panel.summary["x"] == 0)].iloc[0]
        assert row["y"] == pytest.approx(values.mean())
        assert row["n"] == len(values) == 3
        half = 4.302652729911275 * values.std() / np.sqrt(3)  # Student's t with two degrees of freedom, 97.5%
        assert row["high"] - row["y"] == pytest.approx(half)
        shown = panel.points[(panel.points["series"] == f"σ = {sigma:g}") & (panel.points["x"] == 0)]["y"]
        assert sorted(shown) == pytest.approx(sorted(values))


def test_changes_are_paired_by_seed(everything: Tables, charts: dict[str, Chart]) -> None:
    scores: Any = everything.scores
    mine = scores[(scores["metric"] == "mig") & (scores["representation"] == "mean") & (scores["dataset"] == "cars3d")]
    mine = mine[(mine["method"] == "factor-vae") & (mine["strength"] == 35) & (mine["correlation"] == 0)]
    by_seed = mine[mine["latents"] == 10].pivot_table(index="seed", columns="architecture", values="score")
    change = by_seed["split"] - by_seed["convolutional"]
    found = next(
        one for one in charts["split-encoder-figure-6"].comparisons if one.claim.endswith("mig-factor-vae-cars3d")
    )
    assert found.here == pytest.approx(change.mean())
    assert found.paper == "claimed above 0.01"
    assert found.n == 3


def test_medians_and_quartiles_of_a_weight(everything: Tables, charts: dict[str, Chart]) -> None:
    scores: Any = everything.scores
    mine = scores[(scores["metric"] == "gaussian_tc") & (scores["representation"] == "sampled")]
    mine = mine[(mine["dataset"] == "cars3d") & (mine["method"] == "dip-vae-i") & (mine["strength"] == 5)]["score"]
    panel = next(panel for panel in charts["locatello2019-figure-2"].panels if panel.title == "Cars3D")
    row = panel.summary[(panel.summary["series"] == "DIP-VAE-I") & (panel.summary["x"] == 2)].iloc[0]
    assert row["y"] == pytest.approx(mine.median())
    assert (row["low"], row["high"]) == pytest.approx((mine.quantile(0.25), mine.quantile(0.75)))


def test_rank_correlations_are_pandas(everything: Tables, charts: dict[str, Chart]) -> None:
    scores: Any = everything.scores
    mine = scores[(scores["representation"] == "mean") & (scores["dataset"] == "color-dsprites")]
    wide: Any = mine.pivot_table(index="run", columns="metric", values="score")
    panel = next(panel for panel in charts["locatello2019-figure-6"].panels if panel.title == "Color-dSprites")
    assert panel.cells is not None
    assert panel.cells.loc["MIG", "SAP"] == pytest.approx(wide["mig"].corr(wide["sap"], method="spearman"))
    assert panel.cells.loc["MIG", "MIG"] == pytest.approx(1.0)


def test_every_run_is_a_dot(everything: Tables, charts: dict[str, Chart]) -> None:
    weights = {name: set(map(float, values)) for name, values in made.LADDER.items()}
    runs = everything.runs
    wanted = {
        run
        for run, method, strength, latents, correlation, kind in zip(
            *(runs[name] for name in ("run", "method", "strength", "latents", "correlation", "architecture")),
            strict=True,
        )
        if strength in weights.get(method, ()) and (latents, correlation, kind) == (10, 0.0, "convolutional")
    }
    assert set(charts["locatello2019-figure-8"].data()["run"]) == wanted
    assert charts["locatello2019-figure-8"].runs == len(wanted)


def test_ranges_of_a_method_are_those_of_medians_over_seeds(everything: Tables, charts: dict[str, Chart]) -> None:
    scores: Any = everything.scores
    mine = scores[(scores["metric"] == "beta_vae") & (scores["representation"] == "mean")]
    mine = mine[(mine["dataset"] == "cars3d") & (mine["method"] == "annealed-vae")]
    panel = next(panel for panel in charts["locatello2019-figure-7"].panels if panel.row == "Cars3D")
    shown = panel.points[panel.points["series"] == "AnnealedVAE"]["y"]
    assert len(shown) == len(made.LADDER["annealed-vae"])
    assert sorted(shown) == pytest.approx(sorted(mine.groupby("strength")["score"].median()))
    assert not len(panel.summary)


@pytest.mark.parametrize("name", NEWER)
def test_a_newer_papers_figure_has_all_data_sets_and_claims(name: str, charts: dict[str, Chart]) -> None:
    chart, exhibit = charts[name], FIGURES[name]
    assert not chart.missing
    for dataset in exhibit.datasets:
        assert any(panel.title.startswith(figure_words.dataset(dataset)) for panel in chart.panels), dataset
    assert {one.claim for one in chart.comparisons} == set(exhibit.compared)


def test_what_a_paper_compares_with_is_not_shown_alone(worlds: dict[str, Tables]) -> None:
    """β-VAEs of another study do not make a figure on Ada-GVAE, on labels or on correlated factors."""
    for name, world, wanted in (
        ("locatello2020-section-5", "duan2020-section-5", "of Ada-GVAE"),
        ("locatello2020-labels-section-4", "locatello2020-section-5", "of S2-β-VAE"),
        ("trauble2021-section-4", "locatello2020-section-5", "with σ = 0.7, σ = 0.4 and σ = 0.2"),
    ):
        chart = FIGURES[name](worlds[world])
        assert not chart.panels
        assert not chart.comparisons
        assert f"no runs {wanted}" in chart.missing


def means(chart: Chart, title: str, series: str, label: str = "") -> list[float]:
    """Mean values of a series in the first panel with this title and y label, by place on the x axis."""
    panel = next(panel for panel in chart.panels if panel.title == title and panel.y.label.startswith(label))
    rows = panel.summary if len(panel.summary) else panel.points
    return list(rows[rows["series"] == series].groupby("x")["y"].mean())


def test_pairs_are_drawn_along_beta_and_along_k(charts: dict[str, Chart]) -> None:
    chart = charts["locatello2020-section-5"]
    for label in ("MIG", "DCI disentanglement", "FactorVAE score"):
        assert means(chart, "dSprites", "Ada-GVAE", label) == pytest.approx([0.55] * 6, abs=0.03)
        assert means(chart, "dSprites", "β-VAE", label) == pytest.approx([0.4] * 6, abs=0.03)
    assert [panel.x.label for panel in chart.panels[:3]] == ["β"] * 3
    along = next(panel for panel in chart.panels if panel.title == "dSprites, β = 1")
    assert along.x.ticks == ("k = 1", "k = 2", "k = 4")
    assert means(chart, "dSprites, β = 1", "Ada-GVAE") == pytest.approx([0.55, 0.43, 0.43], abs=0.03)


def test_the_excess_drawn_is_the_one_judged(worlds: dict[str, Tables], charts: dict[str, Chart]) -> None:
    chart = charts["trauble2021-section-4"]
    assert chart.panels[0].x.ticks == ("independent", "σ = 0.7", "σ = 0.4", "σ = 0.2")
    independent, *_, strongest = means(chart, "dSprites", "β-VAE")
    rise = next(one for one in chart.comparisons if one.what == "the same, dSprites")
    assert strongest - independent == pytest.approx(rise.here)


def test_left_out_combinations_are_drawn_by_rule(charts: dict[str, Chart]) -> None:
    panel = charts["schott2022-section-5"].panels[0]
    assert panel.title == "dSprites, β-VAE β = 4"
    left_out = panel.points.groupby("series")["y"].mean()
    assert left_out.loc[["random", "extrapolation"]].to_list() == pytest.approx([0.6, 0.1], abs=0.04)
    assert (panel.points["x"] == 0.6).all()


def test_udr_drawn_rises_with_mig(charts: dict[str, Chart]) -> None:
    chart = charts["duan2020-section-5"]
    assert chart.panels[0].points[["x", "y"]].corr(method="spearman").iloc[0, 1] > 0.8


def compared(charts: dict[str, Chart], name: str) -> dict[str, Any]:
    return {one.what: one for one in charts[name].comparisons}


def test_total_correlations_of_means_stand_beside_those_of_samples(
    everything: Tables, charts: dict[str, Chart]
) -> None:
    found = compared(charts, "locatello2019-figure-4")
    scores: Any = everything.scores
    mine = scores[(scores["metric"] == "gaussian_tc") & (scores["method"] == "dip-vae-i")]
    means, samples = (mine[mine["representation"] == kind]["score"].median() for kind in ("mean", "sampled"))
    row = found["DIP-VAE-I: median total correlation of means, and of samples (nats)"]
    assert (row.paper, row.here) == ("consistently low, and low", f"{means:.3g}, and {samples:.3g}")
    row = found["β-VAE: median total correlation of means, and of samples (nats)"]
    assert row.paper == "much higher than of samples"


@pytest.fixture(scope="module")
def three_seeds() -> Tables:
    """Of three seeds there is an estimate of every claim on several data sets."""
    return made.tables(made.locatello2019(3, ("dsprites", "color-dsprites", "cars3d")))


def by_claim(chart: Chart, name: str) -> dict[str, Any]:
    """What stands beside a figure of a claim: "" for the claim as a whole, and by stratum."""
    mine = [one for one in chart.comparisons if one.claim == name]
    return {one.what.removeprefix("the same, ") if one is not mine[0] else "": one for one in mine}


def test_downstream_words_are_about_the_data_sets_that_they_name(three_seeds: Tables) -> None:
    chart = FIGURES["locatello2019-figure-12"](three_seeds)
    assert [panel.title for panel in chart.panels] == ["dSprites", "Color-dSprites", "Cars3D"]
    sprites = by_claim(chart, "locatello2019.downstream-correlates")
    assert list(sprites) == ["", "dSprites", "Color-dSprites"]
    assert sprites[""].paper == "claimed above 0.3"
    everywhere = by_claim(chart, "locatello2019.downstream-isolated")
    assert list(everywhere) == ["", "dSprites", "Color-dSprites", "Cars3D"]
    assert everywhere[""].paper == "claimed below 0.3"
    tasks = [name for name in made.CODES if name.startswith("downstream")]
    rows: Any = three_seeds.scores[three_seeds.scores["representation"] == "mean"]
    mine = rows[rows["dataset"] == "dsprites"]

    def over_models(part: Any) -> float:
        wide = part.pivot_table(index="run", columns="metric", values="score").corr(method="spearman")
        return wide.loc[["beta_vae", "factor_vae", "mig"], tasks].to_numpy().mean()

    without = np.mean([over_models(mine[mine["seed"] != seed]) for seed in range(3)])
    assert sprites["dSprites"].here == pytest.approx(3 * over_models(mine) - 2 * without)


def test_chance_counts_that_the_random_setting_may_be_the_chosen_one() -> None:
    alone = made.tables(made.locatello2019(2, ("dsprites", "color-dsprites", "cars3d")))
    chance = FIGURES["locatello2019-table-1"](alone).comparisons[-1]
    assert chance.what.startswith("chance")
    assert "36 settings, 2 seeds and 3 data sets" in chance.what
    assert (chance.paper, chance.here) == pytest.approx((51.39, 51.39), abs=0.01)


def test_table_1_and_its_claims_are_one_computation() -> None:
    """Also where another study has runs that the paper's own lacks, which claims leave out and panels show."""
    runs = made.locatello2019(3, made.LOCATELLO_DATA[:DATASETS_OF_TABLE_1])
    other = [run["method"] == "beta-vae" and run["strength"] == 4.0 for run in runs]
    mixed = [{**run, "study": "kim2018"} if is_other else run for run, is_other in zip(runs, other, strict=True)]
    for table, settings in ((runs, 36), (mixed, 35)):
        chart = FIGURES["locatello2019-table-1"](made.tables(table, codes=METRICS, posterior=()))
        assert chart.missing == ("no runs on Shapes3D",)
        here = [100 * one.here for one in chart.comparisons if one.claim]
        assert f"{settings} settings" in chart.comparisons[-1].what
        cells: Any = chart.panels[0].cells
        assert cells.to_numpy().ravel()[::-1] == pytest.approx(here)


def test_what_the_paper_does_not_say_has_a_dash(three_seeds: Tables) -> None:
    dominates, strategy, seed = FIGURES["locatello2019-figure-8"](three_seeds).comparisons
    assert (dominates.claim, dominates.paper) == ("locatello2019.no-method-dominates", "claimed below 0.5")
    assert (strategy.claim, strategy.paper) == ("locatello2019.no-rule-for-strength", "claimed below 0.5")
    assert seed.what == "share of the scores' variance due to the seed, mean over metrics and data sets"
    assert seed.paper == "–"


def test_a_claim_on_each_method_and_data_set_is_told_in_one_line(three_seeds: Tables) -> None:
    found = FIGURES["locatello2019-figure-2"](three_seeds).comparisons
    (falls,) = (one for one in found if one.claim == "locatello2019.tc-of-samples-falls")
    assert falls.n == 2 * 3 * 3
    factor_vae, *single = (one for one in found if one.claim == "locatello2019.tc-of-samples-factor-vae")
    assert factor_vae.n == 3 * 3
    names = ["dSprites", "Color-dSprites", "Cars3D"]
    assert [one.what for one in single] == [f"the same, FactorVAE on {name}" for name in names]


def test_one_weight_of_each_method_compares_neither_methods_nor_weights() -> None:
    runs = [row for row in made.locatello2019(3, ("dsprites", "cars3d")) if row["strength"] == 10.0]
    assert len({row["method"] for row in runs}) > 3
    for name in ("locatello2019-figure-7", "locatello2019-figure-8"):
        chart = FIGURES[name](made.tables(runs))
        assert chart.panels
        assert not chart.comparisons


def test_a_protocol_of_the_papers_own_comes_first() -> None:
    runs = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9])
    both = made.tables(runs, protocols=("locatello2019", "yang2020"))
    chart = FIGURES["yang2020-figure-1"](both)
    own = both.scores[(both.scores["protocol"] == "yang2020") & (both.scores["metric"] == "mig")]
    own = own[own["representation"] == "mean"]["score"]
    assert sorted(chart.panels[0].points["y"]) == pytest.approx(sorted(own))
    assert not chart.notes
    other = FIGURES["split-encoder-figure-2"](made.tables(runs, protocols=("yang2020",)))
    assert other.notes == ("MIG by the protocol yang2020, not locatello2019",)


@pytest.mark.parametrize(
    ("study", "seeds", "shown", "notes"),
    [
        ("yang2020", 2, 4, ("2 runs left out that other protocols scored",)),
        ("mine", 3, 6, ()),
        ("mine", 2, 6, ("MIG by the protocol locatello2019, not yang2020",)),
    ],
)
def test_the_protocol_is_that_of_the_papers_study_or_of_most_of_others_runs(
    study: str, seeds: int, shown: int, notes: tuple[str, ...]
) -> None:
    """A few of others' runs that were scored as the paper does leave none of the rest out."""
    runs = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], study=study)
    both = made.tables(runs, protocols=("locatello2019", "yang2020"))
    some = both.scores.query("seed < @seeds or protocol != 'yang2020'")
    chart = FIGURES["yang2020-figure-1"](Tables(some, both.runs))
    assert (chart.runs, chart.notes) == (shown, notes)


def test_own_runs_count_for_the_papers_protocol_only_if_they_were_scored_by_it() -> None:
    """Two of others' runs that were do not leave out the study's own."""
    own = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], study="yang2020")
    lent = made.settings(method="vae", seed=range(3, 5), correlation=[0.0, 0.9], study="mine")
    both = made.tables([*own, *lent], protocols=("locatello2019", "yang2020"))
    some = both.scores.query("seed >= 3 or protocol != 'yang2020'")
    chart = FIGURES["yang2020-figure-1"](Tables(some, both.runs))
    assert (chart.runs, chart.notes) == (10, ("MIG by the protocol locatello2019, not yang2020",))


def test_a_protocol_is_a_variant_only_of_another_that_is_there() -> None:
    """A hyphen in a name of its own does not put it behind a protocol of fewer runs."""
    runs = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], study="mine")
    both = made.tables(runs, protocols=("split-encoder", "yang2020"))
    some = both.scores.query("seed < 2 or protocol != 'yang2020'")
    assert FIGURES["yang2020-figure-1"](Tables(some, both.runs)).runs == 6
    ablation = made.tables(runs, protocols=("yang2020-bins-10", "yang2020"))
    fewer = ablation.scores.query("seed < 2 or protocol != 'yang2020'")
    assert FIGURES["yang2020-figure-1"](Tables(fewer, ablation.runs)).runs == 4


def test_longer_runs_stand_for_shorter_ones() -> None:
    runs = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], steps=[1000, 5000])
    chart = FIGURES["yang2020-figure-1"](made.tables(runs))
    assert chart.runs == 6
    assert "6 runs left out that trained for fewer steps" in chart.notes[1]


def test_missing_settings_are_named() -> None:
    runs = made.settings(method="vae", seed=range(2)) + made.settings(
        method="factor-vae", strength=35.0, correlation=0.9
    )
    chart = FIGURES["yang2020-figure-1"](made.tables(runs))
    assert "no runs of VAE on dSprites with 10 latents and σ = 0.9" in chart.missing
    assert "no runs of FactorVAE γ = 35 on dSprites with 10 latents and σ = 0" in chart.missing
    assert "no runs on SmallNORB and Cars3D with 10 latents" in chart.missing


def test_the_papers_numbers_stand_beside_ours(charts: dict[str, Chart], three_seeds: Tables) -> None:
    table = FIGURES["locatello2019-table-1"](three_seeds)
    here, paper = (panel.cells for panel in table.panels)
    assert here is not None
    assert paper is not None
    assert paper.to_numpy()[::-1, ::-1].ravel() == pytest.approx([77.3, 55.0, 51.8, 51.9])
    assert list(paper.loc["same metric"].index) == ["another data set", "same data set"]
    claimed = table.comparisons[:-1]
    # On three data sets what is chosen on another cannot be compared with the paper, and the figure says so.
    assert [one.paper for one in claimed] == [0.773, 0.518]
    assert f"{DATASETS_OF_TABLE_1} data sets or more, to compare" in table.missing[-1]
    # Of complete sweeps the claims say the same as the table.
    assert [100 * float(one.here) for one in claimed] == pytest.approx(list(here["same data set"])[::-1])
    bounds = {one.what: one.paper for one in charts["kim2018-appendix-e"].comparisons}
    assert bounds["2D Shapes, FactorVAE γ = 35: IWAE bound"] == -51.9
    best = [one for one in charts["kim2018-figure-5"].comparisons if "best mean" in one.what]
    assert [one.paper for one in best] == [0.73, 0.82]
    rmig = {one.what: one.paper for one in charts["do2020-table-8"].comparisons}
    assert rmig["FactorVAE: RMIG"] == pytest.approx((0.2412 + 0.7139 + 0.0523 + 0.7198 + 0.7256) / 5)


def test_transfer_on_scores_with_a_known_answer() -> None:
    """Every seed, metric and data set agree on one order of four settings: the best one is never beaten."""
    runs = [row for row in made.locatello2019(2, ("dsprites", "cars3d")) if row["method"] in ("beta-vae", "factor-vae")]
    known = made.tables(runs)
    rank = known.scores.groupby(["method", "strength"]).ngroup()
    chart = FIGURES["locatello2019-table-1"](Tables(known.scores.assign(score=rank / 100), known.runs))
    assert chart.panels[0].cells is not None
    assert chart.panels[0].cells.to_numpy().ravel() == pytest.approx([100.0] * 4)


def test_informations_are_sorted_and_named(everything: Tables, charts: dict[str, Chart]) -> None:
    panel = charts["split-encoder-figure-5"].panels[0]
    assert panel.cells is not None
    assert list(panel.cells.columns) == ["shape", "scale", "orientation", "x", "y"]
    totals = panel.cells.sum(axis=1).to_numpy()
    assert (np.diff(totals) <= 1e-12).all()
    scores: Any = everything.scores
    mine = scores[
        (scores["metric"] == "mig") & (scores["representation"] == "mean") & (scores["dataset"] == "dsprites")
    ]
    mine = mine[(mine["method"] == "vae") & (mine["architecture"] == "convolutional") & (mine["latents"] == 10)]
    best = mine[mine["correlation"] == 0].sort_values("score")["run"].iloc[-1]
    information = everything.array("mutual_information")[best]
    assert sorted(totals) == pytest.approx(sorted(information.sum(axis=1)))


def test_factor_sizes_are_the_data_sets() -> None:
    from hackle.datasets.dsprites import FACTORS

    sizes = tuple(zip(FACTORS.names, FACTORS.sizes, strict=True))
    assert figure_words.FACTORS["dsprites"] == sizes


def test_ids_say_where_a_figure_stands() -> None:
    for name, exhibit in FIGURES.items():
        assert name == exhibit.id
        assert exhibit.paper in PAPERS
        assert exhibit.number.lower().replace(" ", "-").replace("a.18", "a18") in name
        assert exhibit.command.startswith("hackle study run ")
        assert exhibit.study in STUDIES


def test_one_of_each_kind_is_drawn(charts: dict[str, Chart]) -> None:
    for name in (
        "yang2020-figure-1",
        "yang2020-figure-4",
        "split-encoder-figure-5",
        "kim2018-figure-5",
        "locatello2019-figure-4",
        "hsu2023-section-5",
    ):
        figure = draw(charts[name], "dark")
        assert len(figure.axes) == len(charts[name].panels)


def test_kl_is_compared_without_what_correlation_adds_whatever_is_learnt() -> None:
    runs = made.settings(method="vae", seed=range(3), correlation=[0.0, 0.9], latents=10)
    table = made.tables(runs)
    kl = table.scores["metric"] == "kl"
    constant = -0.5 * np.linalg.slogdet(0.9 * np.ones((10, 10)) + 0.1 * np.eye(10))[1]
    table.scores.loc[kl, "score"] = 20.0 + constant * (table.scores.loc[kl, "correlation"] > 0)
    chart = FIGURES["yang2020-figure-2"](table)
    change = next(one for one in chart.comparisons if "KL" in one.what)
    assert change.here == pytest.approx(0.0, abs=1e-9)


def test_a_figure_tells_of_notes_on_its_scores_in_one_line() -> None:
    tables = made.tables(made.yang2020(5, ("dsprites",)), protocols=("yang2020",))
    figure = FIGURES["yang2020-figure-1"]
    assert not any("limit" in note for note in figure(tables).notes)
    scores: Any = tables.scores.copy()
    chosen = scores["run"].isin(sorted(set(figure(tables).data()["run"]))[:5])
    scores.loc[chosen & (scores["metric"] == "mig"), "note"] = (
        "I(z; x) is estimated at 9.20 nats, where a mixture of 10000 points allows at most 9.21: it may be larger [saturated]"
    )
    scores.loc[chosen & (scores["metric"] == "sap"), "note"] = "not drawn here"
    for noted in (scores, scores.astype({"note": "category"})):
        lines = [note for note in figure(replace(tables, scores=noted)).notes if ": an estimate" in note]
        assert lines == ["5 of 30 runs: an estimate at its limit (MIG)"]


def test_how_continuous_factors_were_read_casts_no_doubt_on_scores() -> None:
    tables = made.tables(made.yang2020(2, ("dsprites",)), protocols=("yang2020",))
    note = "guessed to be continuous: x [guessed]\ncontinuous factors (x) are cut into 20 bins [bins]"
    assert doubts(tables.scores.assign(note=note)) == []
    assert "a warning" in doubts(tables.scores.assign(note="what nobody knows"))[0]


def test_each_name_is_looked_up_once_and_not_for_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of thousands of runs has a few methods."""
    asked: list[Any] = []
    value = figure_words.value
    monkeypatch.setattr(figure_words, "value", lambda column, what: asked.append((column, what)) or value(column, what))
    runs = Runs(("mig",), {"dataset": "dsprites"}, dict.fromkeys(("beta-vae", "factor-vae"), ()))
    settings = made.settings(method=["beta-vae", "factor-vae"], strength=[1.0, 2.0], seed=range(50))
    chosen = select(made.tables(settings, codes=["mig"], posterior=()), runs)
    assert len(chosen.frame) == 200
    assert set(chosen.frame["series"]) == {"β-VAE", "FactorVAE"}
    assert len(asked) <= 2
