"""Metrics beyond the everyday ones, protocols that are for certain metrics, and protocols on draws of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hackle.evaluation import METRICS, choose_metrics
from hackle.protocols import BINS_PROTOCOLS, PROTOCOLS, SAMPLES_PROTOCOLS, SENSITIVITY_PROTOCOLS, protocol
from hackle.scoring import score
from hackle.types import HackleError
from test_scoring import TINY, Oracle, by_name

POSTERIOR_METRICS = "batch_tc,sampled_interpretability,sampled_jemmig,interpretability,jemmig,separability"


class Blurred(Oracle):
    """The squares' factors with posteriors as wide as told."""

    def __init__(self, squares: Any, deviation: float, repeat: int = 1) -> None:
        super().__init__(squares, posterior=True)
        self.deviation, self.repeat = deviation, repeat

    def __call__(self, images: np.ndarray) -> Any:
        means = np.tile(super().__call__(images)[0], (1, self.repeat))
        return means, np.full_like(means, 2 * np.log(self.deviation))


def scores(squares: Any, deviation: float, metrics: str = POSTERIOR_METRICS, repeat: int = 1) -> dict[str, float]:
    protocol = replace(TINY, sizes=replace(TINY.sizes, train=2000, test=1000), posterior_bins=200)
    table = score(Blurred(squares, deviation, repeat), squares, metrics, protocol, ceilings=False)
    return by_name(table)


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
    from hackle.datasets.arrays import ArrayDataset
    from hackle.factors import Factor, FactorGrid

    grid = FactorGrid([Factor("a", 40), Factor("b", 40), Factor("c", 40)])
    rng = np.random.default_rng(0)
    means = rng.normal(size=(len(grid), 10)).astype(np.float32)
    pixels = np.arange(len(grid), dtype=np.uint32).view(np.uint8).reshape(-1, 2, 2, 1)
    data = ArrayDataset("numbers", np.ascontiguousarray(pixels), grid)

    def encoder(images: np.ndarray) -> Any:
        rows = means[np.ascontiguousarray(images).reshape(-1, 4).view(np.uint32).ravel()]
        return rows, np.full_like(rows, 2 * np.log(0.05))

    found = by_name(score(encoder, data, "batch_tc", TINY, ceilings=False))
    assert found["batch_tc"] < -10


def test_slow_metrics_run_when_named_and_all_may_be_among_names() -> None:
    assert (
        not {"true_tc", "batch_tc", "sampled_interpretability", "sampled_jemmig", "iwae"} & choose_metrics("all").keys()
    )
    chosen = choose_metrics("all,batch_tc")
    assert chosen.keys() == choose_metrics("all").keys() | {"batch_tc"}
    assert next(iter(choose_metrics(["mig", "all", "mig"]))) == "mig"


@pytest.mark.parametrize("name", [*BINS_PROTOCOLS, *SAMPLES_PROTOCOLS, *SENSITIVITY_PROTOCOLS[::10]])
def test_protocols_of_ablations_give_their_own_metrics_alone(name: str) -> None:
    settings = protocol(name)
    assert set(settings.metrics) <= METRICS.keys()
    assert tuple(choose_metrics("all", settings)) == settings.metrics
    assert not choose_metrics("explicitness", settings)
    assert set(choose_metrics([*choose_metrics("all"), "iwae"], settings)) == set(settings.metrics)


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
        table = score(Oracle(squares, mix=mixed), squares, "beta_vae", settings, ceilings=False)
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


@pytest.mark.parametrize("name", ["locatello2019@", "locatello2019@-1", "locatelo2019", "kim2018-pairs-1", "@3"])
def test_names_that_are_no_protocols(name: str) -> None:
    with pytest.raises(HackleError, match="no protocol"):
        protocol(name)
