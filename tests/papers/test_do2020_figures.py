"""Do & Tran's figures show the scores that the paper means, and beside them what the paper says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from figures import tables as made
from hackle.core.method import strength_of
from hackle.figures import FIGURES, Chart, Panel
from hackle.figures.models import code_values
from hackle.figures.selection import select
from hackle.information import factor_information
from hackle.metrics import jemmig_per_factor, rmig_per_factor
from hackle.papers.do2020.claims import SIZES
from hackle.store.tables import FACTOR_COLUMNS, Tables
from hackle.studies import STUDIES


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


def test_what_claims_say_of_dci_has_no_second_number(everything: Tables) -> None:
    """Nor have claims on its weights one by those of standardised codes, which order models otherwise."""
    found = [one.claim for one in FIGURES["do2020-figure-6"](everything).comparisons]
    assert "do2020.jemmig-follows-informativeness" in found
    assert "do2020.jemmig-differs-from-dci" not in found
    assert all(found)


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
    chart = FIGURES["do2020-figure-4"](everything)
    assert "do2020.sharing-hardly-falls-with-gamma" in {one.claim for one in chart.comparisons}
    counts = [one for one in chart.comparisons if not one.claim or one.claim == "do2020.five-informative-codes"]
    found = [one for one in counts if "highest" not in one.what]
    assert [one.paper for one in found] == [5, 5, 4]
    shared = [one for one in chart.comparisons if "highest" in one.what]
    assert [one.paper for one in shared] == [2.7832, 4.4006, 0.1424]
    known = of_codes(everything, "whole_overlap")
    mine: Any = everything.runs[(everything.runs["method"] == "factor-vae") & (everything.runs["strength"] == 10.0)]
    assert shared[0].here == pytest.approx(np.mean([known[run].max() for run in mine["run"]]))


@pytest.fixture(scope="module")
def models() -> Tables:
    """The models of both data sets, as of runs that kept their weights."""
    posterior = ("informativeness_mean", "rmig", "jemmig", "whole_misjed_top", "whole_overlap", "whole_wsepin")
    runs = [*made.do2020(2), *made.do2020_celeba()]
    told: dict[str, Any] = {"codes": (), "posterior": posterior, "factors": 40, "pictures": True}
    return made.tables(runs, protocols=("do2020",), **told)


def of_codes(tables: Tables, metric: str) -> dict[str, np.ndarray]:
    """A score's values of the codes of each run, in their order."""
    rows: Any = tables.per_factor(metric)
    rows = rows[rows["protocol"] == "do2020"]
    return {str(run): part["score"].to_numpy() for run, part in rows.groupby("run", sort=False)}


def test_the_extremes_of_codes_are_drawn_by_weight(everything: Tables) -> None:
    panel, shared = FIGURES["do2020-figure-3"](everything).panels[0], of_codes(everything, "whole_overlap")
    for name, extreme in (("highest", np.max), ("mean", np.mean), ("lowest", np.min)):
        rows = panel.points[panel.points["series"] == name]
        assert dict(zip(rows["run"], rows["y"], strict=True)) == pytest.approx(
            {run: extreme(shared[run]) for run in rows["run"]}
        )
    assert panel.x.ticks == ("γ = 10", "γ = 20", "γ = 50", "γ = 100", "β = 1", "β = 4", "β = 10", "β = 20", "β = 50")


def test_what_is_drawn_over_the_number_of_latents(everything: Tables) -> None:
    chart = FIGURES["do2020-figure-19"](everything)
    titles = ["I(x; z_i) of single codes", "I(z, x)", "I(z_i; z_≠i) of single codes", "H(z_≠i) − H(z)"]
    titles += ["I(x; z) − I(x; z_≠i)", "WSEPIN", "JEMMIG of single factors", "JEMMIG", "RMIG"]
    assert [panel.title for panel in chart.panels] == titles
    assert all(panel.x.ticks == ("5", "10", "15", "20") for panel in chart.panels)
    assert set(chart.panels[6].points["series"]) == set(made.FACTORS["dsprites"])
    separate = of_codes(everything, "whole_wsepin")
    lowest = chart.panels[4].points[chart.panels[4].points["series"] == "lowest"]
    assert list(lowest["y"]) == pytest.approx([separate[run].min() for run in lowest["run"]])


def test_what_z_loses_without_a_standard_normal_code() -> None:
    """H(z_≠i) − H(z) = I(z_i; z_≠i) − H(z_i), and H of N(0, 1) is ½ ln 2πe."""
    edges = np.linspace(-4, 4, 101)
    masses = np.diff(stats.norm.cdf(edges))
    runs = made.settings(method="beta-vae", strength=10.0, latents=1)
    whole = made.tables(runs, codes=(), posterior=("whole_overlap",), protocols=("do2020",))
    tables = replace(whole, array=lambda name: dict.fromkeys(whole.runs["run"], masses[None]))
    (run,), (shared,) = whole.runs["run"], of_codes(whole, "whole_overlap").values()
    entropy = 0.5 * math.log(2 * math.pi * math.e)
    assert code_values(tables, run, "lost") == pytest.approx(shared - entropy, abs=2e-3)


def test_joint_entropies_follow_from_the_scores_of_factors() -> None:
    """Of real posteriors: H(z_i*, y_k) is H(z_i*) + H(y_k) − I(z_i*; y_k), as the estimator has them."""
    factors = np.stack(np.meshgrid(*map(np.arange, SIZES.values()), indexing="ij"), axis=-1).reshape(-1, len(SIZES))[
        ::37
    ]
    means = (factors - factors.mean(axis=0)) / factors.std(axis=0) @ np.linalg.qr(np.eye(5) + 0.2)[0]
    whole = made.tables(made.settings(method="beta-vae", strength=10.0), codes=(), posterior=("jemmig",))
    (run,), rows, expected = whole.runs["run"], [], {}
    for bins in (10, 100):
        found = factor_information(means, np.full_like(means, -4.0), factors, bins=bins, kinds="categorical")
        best = found.information.argmax(axis=0)
        columns = np.arange(len(SIZES))
        joint = found.code_entropies[best, columns] + found.factor_entropies - found.information[best, columns]
        expected[bins] = joint.mean()
        for metric, values in (("jemmig", jemmig_per_factor(found)), ("rmig", rmig_per_factor(found))):
            key = (run, metric, "posterior", f"do2020-bins-{bins}", 0)
            rows += [(*key, name, value) for name, value in zip(SIZES, values, strict=True)]
    frame = pd.DataFrame(rows, columns=list(FACTOR_COLUMNS))
    scores = pd.concat([whole.scores.assign(protocol=f"do2020-bins-{bins}") for bins in (10, 100)])
    tables = replace(whole, scores=scores, per_factor=lambda metric="": frame[frame["metric"] == metric])
    panel = FIGURES["do2020-figure-17"](tables).panels[-1]
    assert panel.x.ticks == ("10", "100")
    assert list(panel.points.sort_values("x")["y"]) == pytest.approx([expected[10], expected[100]], abs=0.01)


def tabulated(panel: Panel) -> Any:
    assert panel.cells is not None
    return panel.cells


@pytest.mark.parametrize(
    ("number", "metric", "dataset", "row", "paper"),
    [
        (6, "rmig", "celeba", "FactorVAE", [0.1742, 0.0430, 0.0409, 0.0343, 0.0060, 0.0962]),
        (7, "jemmig", "celeba", "AAE", [0.8463, 0.8613, 0.8423, 0.8496, 0.8644, 0.8575]),
        (8, "rmig", "dsprites", "β-VAE", [0.0481, 0.1533, 0.0, 0.4127, 0.4193]),
        (9, "jemmig", "dsprites", "FactorVAE", [0.6841, 0.3422, 0.7204, 0.2908, 0.2727]),
    ],
)
def test_scores_of_factors_stand_beside_the_papers(
    models: Tables, number: int, metric: str, dataset: str, row: str, paper: list[float]
) -> None:
    here, printed = (tabulated(panel) for panel in FIGURES[f"do2020-table-{number}"](models).panels[-2:])
    assert list(printed.loc[row]) == paper
    names = made.FACTORS["celeba"][:6] if dataset == "celeba" else made.FACTORS["dsprites"]
    assert list(here.columns) == list(printed.columns) == list(names)
    weight = 50.0 if dataset == "celeba" else 10.0
    runs: Any = models.runs[(models.runs["dataset"] == dataset) & (models.runs["method"] == "factor-vae")]
    mine = runs[(runs["strength"] == weight) & (runs["latents"] == (65 if dataset == "celeba" else 10))]["run"]
    known: Any = models.per_factor(metric)
    means = known[known["run"].isin(list(mine))].groupby("factor")["score"].mean()
    assert list(here.loc["FactorVAE"]) == pytest.approx([means[name] for name in names])


def test_pairs_of_codes_are_chosen_by_informativeness(models: Tables) -> None:
    chart = FIGURES["do2020-table-5"](models)
    celeba, dsprites, printed = (tabulated(panel) for panel in chart.panels[-3:])
    assert printed.loc["FactorVAE"].tolist() == [0.008, 0.009, 2.476, 2.443, 4.858, 4.892]
    runs: Any = models.runs[
        (models.runs["dataset"] == "dsprites") & (models.runs["method"] == "adversarial-autoencoder")
    ]
    expected = []
    for run in runs["run"]:
        order = np.argsort(-models.array("informativeness")[run])
        pairs = 2 * math.log(100) * models.array("misjed")[run]
        expected.append([pairs[order[0], order[1]], pairs[order[-1], order[-3]]])
    assert dsprites.loc["AAE"].iloc[[0, -1]].tolist() == pytest.approx(np.mean(expected, axis=0))
    assert celeba.shape == (3, 6)
    assert chart.panels[-2].title == "here: MISJED on dSprites (nats), 100 bins"
    # Where the paper's own estimate was scored, it is shown.
    pairs = ("z1_z2", "z1_z3", "z1_z-1", "z1_z-2", "z-1_z-2", "z-1_z-3")
    row = models.scores[models.scores["run"] == runs["run"].iloc[0]].iloc[:1]
    own = [row.assign(metric=f"misjed_{pair}", score=0.01 * place) for place, pair in enumerate(pairs)]
    scored = replace(models, scores=pd.concat([models.scores, *own], ignore_index=True))
    panel = FIGURES["do2020-table-5"](scored).panels[-2]
    assert panel.title == "here: MISJED on dSprites (nats), 50 bins"
    assert tabulated(panel).loc["AAE"].tolist() == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04, 0.05])


def test_matrices_of_pairs_begin_with_the_most_informative_code(models: Tables) -> None:
    small, large = (FIGURES[f"do2020-figure-{number}"](models).panels for number in (15, 11))
    run = select(models, FIGURES["do2020-figure-15"].selections[0]).frame.query("method == 'beta-vae'")["run"].iloc[0]
    order = np.argsort(-models.array("informativeness")[run])
    panel = next(panel for panel in small if panel.title.startswith("β-VAE"))
    assert panel.cells is not None
    np.testing.assert_allclose(panel.cells.to_numpy(), models.array("misjed")[run][np.ix_(order, order)])
    assert [panel.picture.shape for panel in large if panel.picture is not None] == [(65, 65, 3)] * 3


def test_codes_are_sorted_by_the_variance_of_their_means(models: Tables) -> None:
    chart = FIGURES["do2020-figure-27"](models)
    assert [panel.title.partition("\n")[0] for panel in chart.panels] == [
        "TC = 10, 65 latents",
        *(f"TC = 50, {latents} latents" for latents in (65, 100, 200)),
    ]
    run = select(models, FIGURES["do2020-figure-27"].selections[0]).frame.query("latents == 200")["run"].iloc[0]
    variances = models.array("codes")[run].var(axis=0)
    order = np.argsort(-variances)[:10]
    assert chart.panels[-1].y.ticks == tuple(f"z{code}, variance {variances[code]:.2f}" for code in order)


def test_codes_of_each_factor_are_those_that_say_most(models: Tables) -> None:
    for number, top, factors, column in ((12, 5, 3, 31), (16, 3, 5, 4)):
        panel = FIGURES[f"do2020-figure-{number}"](models).panels[0]
        assert len(panel.y.ticks) == top * factors
        frame = select(models, FIGURES[f"do2020-figure-{number}"].selections[0]).frame
        run = frame[frame["method"] == "factor-vae"]["run"].iloc[0]
        known = models.array("posterior_information")[run][:, column]
        code = int(known.argmax())
        assert panel.y.ticks[-top].endswith(f": z{code}, {known[code]:.3f}")


def test_noise_is_rated_high_by_means_and_importances(models: Tables) -> None:
    arrays = {
        "posterior_information": np.array([[0.6] * 5, [0.0002] * 5]),
        "mutual_information": np.array([[0.6] * 5, [0.2, 0.1, 0.1, 0.1, 0.1]]),
        "importance": np.array([[0.6] * 4, [0.1, 30.0, 0.1, 0.1]]),
        "informativeness": np.array([3.0, 0.0001]),
        "codes": np.array([[1.0, 0.01], [-1.0, -0.01]]),
    }
    tables = replace(models, array=lambda name: dict.fromkeys(models.runs["run"], arrays.get(name)))
    chart = FIGURES["do2020-figure-23"](tables)
    printed = [(one.paper, one.here) for one in chart.comparisons if not one.claim]
    assert printed == [(0.0004, 0.0002), (0.26, 0.2), (60.784, 30.0)]
    assert [one.claim for one in chart.comparisons if one.claim] == [
        "do2020.means-overestimate-noise-codes",
        "do2020.lasso-overrates-noise-codes",
    ]
    assert chart.panels[2].cells is not None
    assert list(chart.panels[2].cells.columns) == ["scale", "orientation", "x", "y"]


def test_correlations_of_draws_stand_above_those_of_means(models: Tables) -> None:
    chart = FIGURES["do2020-figure-20"](models)
    assert [panel.title for panel in chart.panels[::3]] == ["FactorVAE γ = 10: draws", "FactorVAE γ = 10: means"]
    assert chart.panels[0].cells is not None
    run = select(models, FIGURES["do2020-figure-20"].selections[0]).frame.query("method == 'factor-vae'")["run"].iloc[0]
    np.testing.assert_allclose(chart.panels[0].cells.to_numpy(), models.array("correlations")[run][0])


def test_figure_25_has_the_high_weight_that_the_appendix_study_trains(everything: Tables) -> None:
    """β = 30, one of the three of which the paper says that MIG of means overestimates: trained, scored and drawn."""
    runs = STUDIES["do2020-appendix"].runs(seeds=1, datasets=["dsprites"])
    assert [strength_of(run.method) for run in runs] == [30.0]
    assert "sampled_interpretability" in STUDIES["do2020-appendix"].metrics.split(",")
    highest: Any = everything.runs
    moved = highest.assign(strength=highest["strength"].where(highest["strength"] != 50.0, 30.0))
    chart = FIGURES["do2020-figure-25"](replace(everything, runs=moved))
    shown = {run for panel in chart.panels for run in panel.points["run"]}
    assert set(moved.query("method == 'beta-vae' and strength == 30 and latents == 10")["run"]) <= shown
