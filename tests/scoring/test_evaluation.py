"""Metrics beyond the everyday ones, protocols that are for certain metrics, and protocols on draws of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy.special import entr, ndtr
from test_scoring import TINY, Oracle, by_name

from hackle import metrics
from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.information.quantised import quantise
from hackle.papers.do2020.protocols import BINS, SAMPLES
from hackle.papers.kim2018.protocols import SENSITIVITY
from hackle.scoring import evaluation
from hackle.scoring.encode import encode_images
from hackle.scoring.models import score
from hackle.scoring.plan import PlanSizes, draw_plan, rows_of
from hackle.scoring.protocol import PROTOCOLS, protocol
from hackle.scoring.registry import METRICS, ScoreError, choose_metrics
from hackle.scoring.scorer import prepare_scorer

BINS_PROTOCOLS, SAMPLES_PROTOCOLS = ([one.name for one in part] for part in (BINS, SAMPLES))
POSTERIOR_METRICS = "batch_tc,sampled_interpretability,sampled_jemmig,interpretability,jemmig,separability"


@pytest.fixture
def squares(copied_squares: Any) -> Any:
    return copied_squares


class Blurred(Oracle):
    """The squares' factors with posteriors as wide as told."""

    def __init__(self, squares: Any, deviation: float, repeat: int = 1) -> None:
        super().__init__(squares, posterior=True)
        self.deviation, self.repeat = deviation, repeat

    def __call__(self, images: np.ndarray) -> Any:
        means = np.tile(super().__call__(images)[0], (1, self.repeat))
        return means, np.full_like(means, 2 * np.log(self.deviation))


class Numbered:
    """A grid's images are their numbers, and the encoder looks up the means of each."""

    def __init__(self, sizes: tuple[int, ...], means: Any = None, deviation: float = 0.01) -> None:
        grid = FactorGrid([Factor(name, size) for name, size in zip("abc", sizes, strict=False)])
        rows = grid.rows(np.arange(len(grid)))
        spaced = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        self.means, self.deviation = np.asarray(spaced if means is None else means, np.float32), deviation
        pixels = np.arange(len(grid), dtype=np.uint32).view(np.uint8).reshape(-1, 2, 2, 1)
        self.data = ArrayDataset("numbers", np.ascontiguousarray(pixels), grid)

    def __call__(self, images: np.ndarray) -> Any:
        rows = self.means[np.ascontiguousarray(images).reshape(-1, 4).view(np.uint32).ravel()]
        return rows, np.full_like(rows, 2 * np.log(self.deviation))


def scores(squares: Any, deviation: float, metrics: str = POSTERIOR_METRICS, repeat: int = 1) -> dict[str, float]:
    protocol = replace(TINY, sizes=replace(TINY.sizes, train=2000, test=1000), posterior_bins=200)
    table = score(Blurred(squares, deviation, repeat), squares, metrics, protocol, references=False)
    return by_name(table)


QUANTISED = "interpretability,jemmig,misjed,posterior_mig"


@pytest.mark.parametrize("cut", [{}, {"posterior_bounds": (-3.0, 3.0)}, {"posterior_rule": "rectangle"}])
def test_posteriors_are_cut_into_bins_once_for_all_metrics(
    squares: Any, monkeypatch: pytest.MonkeyPatch, cut: dict[str, Any]
) -> None:
    """Scores, and the arrays that studies keep, are what the functions of posteriors and factors give."""
    calls = []
    monkeypatch.setattr(
        evaluation, "quantise", lambda *given, **known: calls.append(given) or quantise(*given, **known)
    )
    protocol = replace(TINY, **cut)
    scorer = prepare_scorer(squares.factors, choose_metrics(QUANTISED, protocol).values(), protocol)
    encoder = Blurred(squares, 0.3)
    seen = scorer.evaluation(encoder, squares, encode_images(encoder, squares, scorer.images))
    arrays, found = seen.code_informations(), {row["metric"]: row["score"] for row in scorer.rows(seen)}
    # What studies keep has the range of figures, whatever the protocol's is.
    assert len(calls) == (2 if cut else 1)
    given, options = (*seen.posteriors, seen.factors), {"kinds": "categorical", **protocol.quantisation}
    assert found["rmig"] == metrics.rmig_score(*given, **options)
    assert found["jemmig"] == metrics.jemmig(*given, **options)
    assert found["posterior_mig"] == metrics.posterior_mig_score(*given, estimator="quantised", **options)
    pairs = metrics.misjed(*seen.posteriors, **protocol.quantisation, normalised=True)
    assert found["misjed"] == pytest.approx(pairs[np.triu_indices(len(pairs), 1)].mean(), rel=1e-14)
    np.testing.assert_array_equal(arrays["posterior_information"], metrics.posterior_information(*given, **options))
    pairs = metrics.misjed(*seen.posteriors, bins=protocol.posterior_bins, normalised=True)
    np.testing.assert_array_equal(arrays["misjed"], pairs.astype(np.float32))


def test_codes_beyond_the_bins_are_noted_beside_every_score_of_bins(squares: Any) -> None:
    table = score(Blurred(squares, 3.0), squares, QUANTISED, TINY, references=False)
    assert set(table["metric"]) == {"rmig", "posterior_modularity", "jemmig", "misjed", "misjed_top", "posterior_mig"}
    assert table["note"].str.contains("of its mass outside the quantised range").all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sampled_and_quantised_estimates_agree(squares: Any) -> None:
    """Do & Tran 2020, Figure 24 and A.11: the informations are the same, and JEMMIG once the bin width is allowed for."""
    found = scores(squares, 0.3)
    assert found["sampled_informativeness_mean"] == pytest.approx(found["informativeness_mean"], abs=0.03)
    assert found["sampled_rmig"] == pytest.approx(found["rmig"], abs=0.05)
    assert found["sampled_jemmig"] == pytest.approx(found["jemmig"], abs=0.03)


def test_the_batch_estimate_of_independent_codes_is_near_zero_for_wide_posteriors(squares: Any) -> None:
    assert scores(squares, 0.6, "batch_tc")["batch_tc"] == pytest.approx(0.0, abs=0.05)


def test_the_batch_estimate_sees_codes_that_say_the_same(squares: Any) -> None:
    assert scores(squares, 0.6, "batch_tc", repeat=2)["batch_tc"] > 0.5


@pytest.mark.filterwarnings("error::UserWarning")
def test_the_true_total_correlation_is_that_of_every_image(squares: Any) -> None:
    """Of 32 images: an integral over each code's line and over the plane of a code and its double, in float64."""
    deviation = 1.5
    assert scores(squares, deviation, "true_tc")["true_tc"] == pytest.approx(0.0, abs=0.02)
    means = Oracle(squares, posterior=True)(squares.render(squares.factors.rows(np.arange(32))))[0].astype(float)
    line = np.linspace(-10, 10, 401)
    step = line[1] - line[0]
    expected = 0.0
    for column in means.T:
        density = np.exp(-0.5 * ((line[:, None] - column) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        alone, both = density.mean(1), density @ density.T / len(column)
        expected += float((both * np.log(both / (alone[:, None] * alone))).sum() * step**2)
    assert expected > 0.05
    assert scores(squares, deviation, "true_tc", repeat=2)["true_tc"] == pytest.approx(expected, abs=0.06)


def test_the_batch_estimate_turns_negative_when_posteriors_are_narrower_than_the_gaps_between_points() -> None:
    """Kim & Mnih 2018, appendix D: draws land on the tails of a mixture that lacks their own point."""
    encoder = Numbered((40, 40, 40), np.random.default_rng(0).normal(size=(64_000, 10)), 0.05)
    found = by_name(score(encoder, encoder.data, "batch_tc", TINY, references=False))
    assert found["batch_tc"] < -10


NEARLY_ALL = replace(TINY, sizes=PlanSizes(400, 200, 800, 400, 16, 800, 400, 16), posterior_bins=100)
"""A plan of few points that meets nearly every one of 8,000 images."""


def test_separable_information_of_sharp_independent_codes() -> None:
    """Each of three codes is a factor of 20 values: I(x; z_i | z_≠i) = I(x; z_i) = ln 20 and I(x; z) = 3 ln 20. A mixture of
    the 400 training points stops at ln 400 with the third code as without it."""
    encoder = Numbered((20, 20, 20))
    table = score(encoder, encoder.data, "separability,whole_separability", NEARLY_ALL, references=False)
    found, notes = by_name(table), dict(zip(table["metric"], table["note"], strict=True))
    for name in ("sepin@3", "wsepin", "indin@3", "windin"):
        assert found[f"whole_{name}"] == pytest.approx(np.log(20), abs=0.02)
        assert found[name] < 1
    assert found["whole_total_information"] == pytest.approx(3 * np.log(20), abs=0.02)
    assert found["whole_overlap"] == pytest.approx(0.0, abs=0.02)
    assert "at most 5.99" in notes["wsepin"]
    assert notes["whole_wsepin"] == ""


def test_a_plan_of_few_images_of_many_says_that_it_saturates() -> None:
    encoder = Numbered((40, 40, 40))
    table = score(encoder, encoder.data, "whole_separability", TINY, references=False)
    assert table["note"].str.contains("allows at most").all()


def on_lines(column: np.ndarray, deviation: float) -> tuple[float, float, float]:
    """I(x; z), I(x; z, z') and I(z; z') of a draw z and another z' from the same posteriors, as integrals in float64."""
    line, step = np.linspace(-6, 6, 601, retstep=True)
    density = np.exp(-0.5 * ((line[:, None] - column) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    alone, both = density.mean(axis=1), density @ density.T / len(column)
    noise = np.log(deviation * np.sqrt(2 * np.pi * np.e))
    one, two = entr(alone).sum() * step - noise, entr(both).sum() * step**2 - 2 * noise
    return float(one), float(two), float(2 * one - two)


def test_whole_separability_is_that_of_integrals_over_all_images(squares: Any) -> None:
    """Of codes that each have a double: the double leaves I(x; z, z') − I(x; z') to its code."""
    deviation = 0.6
    means = Oracle(squares, posterior=True)(squares.render(squares.factors.rows(np.arange(32))))[0].astype(float)
    one, two, shared = np.array([on_lines(column, deviation) for column in means.T]).T
    weights = one / one.sum()
    alone, doubled = (scores(squares, deviation, "whole_separability", repeat=repeat) for repeat in (1, 2))
    assert alone["whole_total_information"] == pytest.approx(one.sum(), abs=0.06)
    assert alone["whole_wsepin"] == pytest.approx(weights @ one, abs=0.04)
    assert alone["whole_overlap"] == pytest.approx(0.0, abs=0.02)
    assert doubled["whole_total_information"] == pytest.approx(two.sum(), abs=0.06)
    assert doubled["whole_wsepin"] == pytest.approx(weights @ (two - one), abs=0.04)
    assert doubled["whole_sepin@3"] == pytest.approx(np.sort(np.repeat(two - one, 2))[-3:].mean(), abs=0.04)
    assert doubled["whole_overlap"] == pytest.approx(weights @ shared, abs=0.04)
    assert weights @ shared > 0.3


def test_whole_separability_has_the_value_of_each_code(squares: Any) -> None:
    """Six codes, of which each of three has a double: what a code shares with all others is what it shares with its double."""
    deviation = 0.6
    means = Oracle(squares, posterior=True)(squares.render(squares.factors.rows(np.arange(32))))[0].astype(float)
    one, two, shared = np.array([on_lines(column, deviation) for column in means.T]).T
    protocol = replace(TINY, sizes=replace(TINY.sizes, train=2000, test=1000), posterior_bins=200)
    table = score(Blurred(squares, deviation, 2), squares, "whole_separability", protocol, references=False)
    found = dict(zip(table["metric"], table["per_factor"], strict=True))
    assert found["whole_sepin@3"] is None
    for name, expected in (("whole_overlap", shared), ("whole_wsepin", two - one)):
        assert list(found[name]) == [f"z{code}" for code in range(6)]
        assert list(found[name].values()) == pytest.approx(np.tile(expected, 2), abs=0.08)


def test_arrays_for_figures_are_what_the_metrics_say(squares: Any) -> None:
    """The oracle's three codes are the factors, with wide posteriors."""
    own = replace(TINY, sizes=replace(TINY.sizes, train=2000), posterior_bins=50, dci_predictor="lasso")
    scorer = prepare_scorer(squares.factors, (), own)
    encoder = Blurred(squares, 0.5)
    evaluation = scorer.evaluation(encoder, squares, encode_images(encoder, squares, scorer.images))
    arrays, (means, logvars) = evaluation.code_informations(), evaluation.posteriors
    np.testing.assert_allclose(arrays["informativeness"], metrics.informativeness(means, logvars, bins=50))
    np.testing.assert_allclose(arrays["misjed"], metrics.misjed(means, logvars, bins=50, normalised=True), rtol=1e-6)
    np.testing.assert_allclose(arrays["correlations"][1], np.corrcoef(means.T), atol=1e-6)
    # Draws have the same covariances and larger variances: 0.25 more.
    deviations = np.sqrt(means.var(axis=0) + 0.25)
    expected = np.cov(means.T, bias=True) / np.outer(deviations, deviations)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(arrays["correlations"][0], expected, atol=0.08)
    edges = np.linspace(-4, 4, 51)
    exact = np.diff(ndtr((edges - means[:, :1]) / 0.5), axis=1).mean(axis=0)
    np.testing.assert_allclose(arrays["marginals"][0], exact, atol=1e-6)
    assert arrays["posterior_information"].shape == arrays["importance"].shape == (3, 3)
    assert (arrays["posterior_information"].argmax(axis=0) == [0, 1, 2]).all()
    assert (arrays["importance"].argmax(axis=0) == [0, 1, 2]).all()


def test_draws_of_whole_separability_are_the_protocols() -> None:
    encoder = Numbered((20, 20, 20), deviation=0.3)
    found = {
        draws: by_name(
            score(encoder, encoder.data, "whole_separability", replace(NEARLY_ALL, draws=draws), references=False)
        )
        for draws in (100, 400, 5000)
    }
    assert found[100] != found[400] == found[5000]
    plan = draw_plan(encoder.data.factors, NEARLY_ALL.sizes, 0)
    logvars = np.full_like(encoder.means, 2 * np.log(0.3))
    expected = metrics.separable_information(
        encoder.means[plan.train[:100]],
        logvars[plan.train[:100]],
        mixture=(encoder.means[plan.images], logvars[plan.images]),
    )
    assert found[100]["whole_wsepin"] == pytest.approx(expected.wsepin(), rel=1e-9)


def test_whole_misjed_counts_every_image() -> None:
    """Two independent codes without noise have MISJED 0, as counted over the 160,000 images; 400 points cannot tell."""
    encoder = Numbered((400, 400), deviation=1e-6)
    sizes = PlanSizes(400, 200, 12_000, 6_000, 16, 12_000, 6_000, 16)
    table = score(encoder, encoder.data, "misjed,whole_misjed", replace(NEARLY_ALL, sizes=sizes), references=False)
    found = by_name(table)
    assert found["misjed_top"] > 1
    assert abs(found["whole_misjed_top"]) < 0.02


def test_whole_misjed_by_hand() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(8000, 4)) * [1.0, 0.9, 0.1, 0.8]
    means[:, 1] += 0.5 * means[:, 0]
    encoder = Numbered((20, 20, 20), means, deviation=0.2)
    found = by_name(score(encoder, encoder.data, "whole_misjed", NEARLY_ALL, references=False))
    everything = encoder.means[draw_plan(encoder.data.factors, NEARLY_ALL.sizes, 0).images].astype(float)
    edges = np.linspace(-4, 4, 101)
    edges[[0, -1]] = -np.inf, np.inf
    single = [
        entr(np.diff(ndtr((edges - everything[:, [code]]) / 0.2), axis=1).mean(axis=0)).sum() for code in (0, 1, 3)
    ]
    pairs = [
        single[i] + single[j] - entr(np.histogram2d(first, second, bins=[edges, edges])[0] / len(everything)).sum()
        for (i, first), (j, second) in combinations(enumerate(everything[:, [0, 1, 3]].T), 2)
    ]
    assert found["whole_misjed_top"] == pytest.approx(np.mean(pairs), rel=1e-6)


def test_whole_misjed_of_a_single_code_is_nothing() -> None:
    encoder = Numbered((20, 20, 20), np.arange(8000.0)[:, None] / 8000)
    both = replace(NEARLY_ALL, metrics=("kl", "whole_misjed"))
    assert set(score(encoder, encoder.data, "all", both, references=False)["metric"]) == {"kl", "active_units"}
    with pytest.raises(ScoreError, match="whole_misjed needs two codes"):
        score(encoder, encoder.data, "whole_misjed", NEARLY_ALL, references=False)


def test_sampled_mig_is_that_of_integrals_with_balanced_factors(squares: Any) -> None:
    """Of the plan's points: p(z|y) their mixture by value and every value as likely as the next, whatever the bins."""
    deviation, coarse = 0.4, 3
    protocol = replace(TINY, sizes=replace(TINY.sizes, train=2000), posterior_bins=coarse)
    mix = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.6], [0.6, 0.0, 1.0]])
    mixed = Blurred(squares, deviation)
    mixed.mix = mix
    found = by_name(
        score(mixed, squares, "interpretability,posterior_mig,sampled_interpretability", protocol, references=False)
    )
    rows = rows_of(squares.factors, draw_plan(squares.factors, protocol.sizes, 0).train)
    means = (rows - mixed.scale[0]) / mixed.scale[1] @ mix
    line, step = np.linspace(-6, 6, 601, retstep=True)
    gaps = []
    for labels in rows.T:
        information = []
        for column in means.T:
            density = np.exp(-0.5 * ((line - column[:, None]) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
            given = np.stack([density[labels == value].mean(axis=0) for value in np.unique(labels)])
            information.append((entr(given.mean(axis=0)).sum() - entr(given).sum(axis=1).mean()) * step)
        second, first = np.sort(information)[-2:]
        gaps.append((first - second) / np.log(len(np.unique(labels))))
    assert found["sampled_mig"] == pytest.approx(np.mean(gaps), abs=0.03)
    # The quantised one follows RMIG into its bins.
    assert found["posterior_mig"] == pytest.approx(found["rmig"], abs=0.01)
    assert abs(found["posterior_mig"] - np.mean(gaps)) > 0.05


def test_slow_metrics_run_when_named_and_all_may_be_among_names() -> None:
    slow = {"true_tc", "batch_tc", "sampled_interpretability", "sampled_jemmig", "iwae", "whole_separability"}
    assert not (slow | {"whole_misjed"}) & choose_metrics("all").keys()
    chosen = choose_metrics("all,batch_tc")
    assert chosen.keys() == choose_metrics("all").keys() | {"batch_tc"}
    assert next(iter(choose_metrics(["mig", "all", "mig"]))) == "mig"


@pytest.mark.parametrize("name", SAMPLES_PROTOCOLS)
def test_more_samples_are_more_draws_under_the_same_mixture(name: str) -> None:
    samples, settings = int(name.rpartition("-")[2]), protocol(name)
    assert (settings.draws, settings.sizes) == (samples // 10, replace(PROTOCOLS["do2020"].sizes, train=samples))
    assert settings.metrics == ("sampled_jemmig", "whole_separability")


@pytest.mark.parametrize("name", [*BINS_PROTOCOLS, *SAMPLES_PROTOCOLS, *SENSITIVITY[::10]])
def test_protocols_of_ablations_give_their_own_metrics_alone(name: str) -> None:
    settings = protocol(name)
    assert set(settings.metrics) <= METRICS.keys()
    assert tuple(choose_metrics("all", settings)) == settings.metrics
    assert not choose_metrics("explicitness", settings)
    assert set(choose_metrics(METRICS, settings)) == set(settings.metrics)


def test_ablation_protocols_score(squares: Any) -> None:
    bins = replace(PROTOCOLS["do2020-bins-50"], sizes=replace(PROTOCOLS["do2020-bins-50"].sizes, train=500))
    found = by_name(score(Blurred(squares, 0.1), squares, "all", bins))
    assert found.keys() == {"rmig", "posterior_modularity", "jemmig"}
    votes = protocol("kim2018-points-25-votes-100@2")
    table = score(Blurred(squares, 0.1), squares, "all", votes, representations=("mean",))
    assert (set(table["metric"]), set(table["seed"]), set(table["protocol"])) == (
        {"factor_vae"},
        {2},
        {"kim2018-points-25-votes-100@2"},
    )
    assert by_name(table)["factor_vae"] == 1.0


def test_the_iterations_of_adagrad_matter(squares: Any) -> None:
    """Kim & Mnih 2018, Figure 16."""
    mixed = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.6], [0.6, 0.0, 1.0]])
    found = []
    for iterations in (3, 3000):
        settings = replace(TINY, beta_vae_classifier="adagrad", beta_vae_iterations=iterations)
        table = score(Oracle(squares, mix=mixed), squares, "beta_vae", settings, references=False)
        found.append(by_name(table)["beta_vae"])
    assert found[0] < found[1]


def test_a_protocol_on_draws_of_its_own_is_the_protocol_with_another_seed(squares: Any) -> None:
    other = replace(TINY, seed=3)
    mixed = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.6], [0.6, 0.0, 1.0]])
    one = score(Oracle(squares, mix=mixed), squares, "mig,sap", other)
    two = score(Oracle(squares, mix=mixed), squares, "mig,sap", TINY, seed=3)
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), two.drop(columns="seconds"))
    three = score(Oracle(squares, mix=mixed), squares, "mig,sap", TINY)
    assert by_name(one) != by_name(three)


def test_a_protocol_of_ones_own_may_lie_in_a_folder_with_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "me@work"
    folder.mkdir()
    lines = "from hackle.scoring.protocol import Protocol, points", "mine = Protocol('mine', points(100))"
    (folder / "protocol_at_work.py").write_text("\n".join(lines))
    name = f"{folder / 'protocol_at_work.py'}:mine"
    assert (protocol(name).seed, protocol(f"{name}@3").seed) == (0, 3)


@pytest.mark.parametrize("name", ["locatello2019@", "locatello2019@-1", "locatelo2019", "kim2018-pairs-1", "@3"])
def test_names_that_are_no_protocols(name: str) -> None:
    with pytest.raises(HackleError, match="no protocol"):
        protocol(name)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, metric in METRICS.items()
        if not {"a likelihood", "a continuous factor", "left-out combinations", "an autoregressive posterior"}
        & set(metric.needs)
        and not {"class numbers", "groups of codes"} & set(metric.needs)
    ],
)
def test_a_metric_gives_the_row_by_which_it_is_known(squares: Any, name: str) -> None:
    table = score(Blurred(squares, 0.6), squares, name, TINY, references=False)
    assert METRICS[name].rows[0].name in set(table["metric"])
    assert all(METRICS[name].gives(row) for row in table["metric"])


def test_all_leaves_out_what_one_factor_cannot_tell() -> None:
    """With a single factor nothing else can be held; what is asked for by name says so."""
    encoder = Numbered((12,))
    table = score(encoder, encoder.data, protocol=TINY, representations="mean")
    assert {"mig", "sap", "dci_disentanglement"} <= set(table["metric"])
    assert not {"beta_vae", "factor_vae"} & set(table["metric"])
    for name in ("beta_vae", "factor_vae"):
        with pytest.raises(ScoreError, match=f"{name} needs two observed factors"):
            score(encoder, encoder.data, name, TINY)


def test_dci_by_lasso_is_left_out_where_every_factor_is_categorical() -> None:
    grid = FactorGrid([Factor("a", 4, "categorical"), Factor("b", 5, "categorical")])
    encoder = Numbered((4, 5))
    data = ArrayDataset("kinds", encoder.data.render(encoder.data.factors.rows(np.arange(20))), grid)
    lasso = replace(TINY, dci_predictor="lasso", dci_skips_categorical=True)
    assert list(
        score(encoder, data, "all", replace(lasso, metrics=("mig", "dci")), representations="mean")["metric"]
    ) == ["mig"]
    with pytest.raises(ScoreError, match="dci needs a factor that is not categorical"):
        score(encoder, data, "dci", lasso)


def test_the_true_total_correlation_of_nearly_all_images_is_not_called_saturated() -> None:
    encoder = Numbered((20, 20, 20))
    table = score(encoder, encoder.data, "true_tc", NEARLY_ALL)
    assert table["note"].tolist() == [""]
    assert table["score"].tolist()[0] == pytest.approx(0.0, abs=0.05)
    few = Numbered((40, 40, 40))
    assert "allows at most" in score(few, few.data, "true_tc", TINY)["note"][0]


def test_misjed_of_ranked_codes_is_over_a_tenth_of_the_data() -> None:
    """Do & Tran's Table 5: 50 bins; codes ranked by informativeness, here b > a > the noise d > the constant c."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(8000, 4)) * [0.6, 1.0, 0.0, 0.05]
    encoder = Numbered((20, 20, 20), means, deviation=0.2)
    found = by_name(score(encoder, encoder.data, "ranked_misjed", NEARLY_ALL, references=False))
    assert set(found) == {f"misjed_z{pair}" for pair in ("1_z2", "1_z3", "1_z-1", "1_z-2", "-1_z-2", "-1_z-3")}
    ranked = encoder.means[:, [1, 0, 3, 2]].astype(float)
    whole = metrics.misjed(ranked, np.full_like(ranked, 2 * np.log(0.2)), bins=50)
    assert found["misjed_z1_z2"] == pytest.approx(whole[0, 1], abs=0.7)  # Of 800 images, whose pairs fill fewer cells.
    assert found["misjed_z1_z-1"] == pytest.approx(whole[0, 3], abs=0.1)
    assert found["misjed_z-1_z-2"] == pytest.approx(whole[2, 3], abs=0.1)
    assert found["misjed_z1_z-1"] > found["misjed_z1_z-2"]
    few = by_name(score(Numbered((20, 20)), Numbered((20, 20)).data, "ranked_misjed", NEARLY_ALL, references=False))
    assert set(few) == {"misjed_z1_z2", "misjed_z1_z-1", "misjed_z-1_z-2"}


def test_protocols_choose_how_posteriors_are_integrated_and_where() -> None:
    encoder = Numbered((40, 40), deviation=0.3)
    means, logvars = encoder.means, np.full_like(encoder.means, 2 * np.log(0.3))
    factors = encoder.data.factors.rows(np.arange(1600))
    changes: dict[str, Any] = {"do2020-rectangle": {"rule": "rectangle"}, "do2020-range": {"bounds": "data"}}
    for name, options in changes.items():
        settings = replace(protocol(name), sizes=replace(protocol(name).sizes, train=400))
        found = by_name(score(encoder, encoder.data, "interpretability,jemmig,misjed", settings, references=False))
        every = replace(settings, metrics=())
        separate = by_name(score(encoder, encoder.data, "separability,posterior_mig", every, references=False))
        drawn = draw_plan(encoder.data.factors, settings.sizes, 0).train
        part = means[drawn], logvars[drawn], factors[drawn]
        known = {"kinds": "categorical", **options}
        assert found["rmig"] == pytest.approx(metrics.rmig_score(*part, **known), rel=1e-6)
        assert found["jemmig"] == pytest.approx(metrics.jemmig(*part, **known), rel=1e-6)
        pairs = metrics.misjed(*part[:2], normalised=True, **options)
        assert found["misjed"] == pytest.approx(pairs[0, 1], rel=1e-6)
        assert found["jemmig"] != pytest.approx(metrics.jemmig(*part, kinds="categorical"), rel=1e-6)
        alone = metrics.informativeness(*part[:2], **options).mean()
        assert separate["informativeness_mean"] == pytest.approx(alone, rel=1e-6)
        balanced = metrics.posterior_mig_score(*part, estimator="quantised", **known)
        assert separate["posterior_mig"] == pytest.approx(balanced, rel=1e-6)


def test_downstream_tasks_are_tested_on_ten_thousand_points() -> None:
    settings = protocol("locatello2019-downstream")
    assert (settings.sizes.train, settings.sizes.test) == (10_000, 10_000)
    assert set(settings.metrics) == {"downstream_logistic_cv", "downstream_gbt"}


def test_the_split_of_the_kl_is_cheap_at_points_of_a_training() -> None:
    """The protocol for curves reads 10,000 images and no groups or pairs, of which others' mixtures are made."""
    settings = protocol("posteriors")
    plan = draw_plan(Numbered((40, 40)).data.factors, settings.sizes, 0)
    assert plan.groups is not None
    assert plan.pairs is not None
    assert (len(plan.train), plan.groups.index.size, plan.pairs.index.size) == (10_000, 0, 0)
    assert {"kl_split", "true_tc"} <= set(settings.metrics)


class Grain:
    """Images of noise alone."""

    def images_on(self, _: str) -> Any:
        return lambda index, stream: (255 * stream.uniform("grain", (*index.shape[1:], 4, 4, 1))).byte()


def test_no_two_of_all_images_share_their_noise(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, encoder = prepare_scorer(squares.factors, (), TINY), Oracle(squares)
    evaluation = scorer.evaluation(encoder, squares, encode_images(encoder, squares, scorer.images))
    evaluation = replace(evaluation, model=cast(Any, "any"), dataset=cast(Any, Grain()))
    whole = np.concatenate([images for _, images in evaluation.every_image()])
    assert len(np.unique(whole, axis=0)) == squares.factors.size > 2 * 1024
    monkeypatch.setattr("hackle.scoring.evaluation._PART", 7)
    np.testing.assert_array_equal(next(evaluation.every_image())[1], whole[:7])
