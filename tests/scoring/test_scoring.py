"""Scoring: perfect codes reach their references, each image is encoded once, what does not fit is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hackle
from hackle import metrics
from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid
from hackle.datasets import DataError
from hackle.datasets.arrays import ArrayDataset
from hackle.objectives import VAE
from hackle.scoring.models import score
from hackle.scoring.plan import PlanSizes, draw_plan, rows_of
from hackle.scoring.protocol import PROTOCOLS, Protocol, protocol
from hackle.scoring.registry import ScoreError, choose_metrics
from hackle.train import fit
from hackle.train.model import Model
from squares import Squares
from train.test_fleet import small_run

TINY = Protocol("tiny", PlanSizes(400, 200, 200, 100, 16, 200, 100, 16), bins=8, posterior_bins=40)


@pytest.fixture
def squares(copied_squares: Any) -> Any:
    return copied_squares


class Oracle:
    """Knows the factors of the squares from their pixels; counts the images it sees."""

    def __init__(self, squares: Any, posterior: bool = False, mix: np.ndarray | None = None) -> None:
        rows = rows_of(squares.factors, np.arange(len(squares.factors)))
        images = squares.render(squares.factors.rows(np.arange(len(squares.factors))))
        self.known = {image.tobytes(): row for image, row in zip(images, rows, strict=True)}
        self.scale = rows.mean(axis=0), rows.std(axis=0)
        self.posterior, self.mix, self.seen = posterior, mix, 0

    def __call__(self, images: np.ndarray) -> Any:
        self.seen += len(images)
        codes = (np.array([self.known[image.tobytes()] for image in images]) - self.scale[0]) / self.scale[1]
        codes = codes if self.mix is None else codes @ self.mix
        return (codes, np.full_like(codes, 2 * np.log(0.01))) if self.posterior else codes


def by_name(table: Any, column: str = "score") -> dict[str, float]:
    return dict(zip(table["metric"], table[column].astype(float), strict=True))


def test_misjed_of_the_most_informative_codes(squares: Any) -> None:
    """Of four mixtures of the factors, the pairs of the three most informative."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(3, 4))
    oracle = Oracle(squares, posterior=True, mix=mix)
    found = by_name(score(oracle, squares, "misjed", TINY, representations=("mean",), references=False))
    rows = rows_of(squares.factors, draw_plan(squares.factors, TINY.sizes, 0).train)
    means = ((rows - oracle.scale[0]) / oracle.scale[1]) @ mix
    logvars = np.full_like(means, 2 * np.log(0.01))
    pairs = metrics.misjed(means, logvars, bins=40)
    top = np.argsort(-metrics.informativeness(means, logvars, bins=40))[:3]
    assert found["misjed_top"] == pytest.approx(np.mean([pairs[i, j] for i in top for j in top if i < j]), rel=1e-5)
    everything = [pairs[i, j] for i in range(4) for j in range(i)]
    assert found["misjed"] == pytest.approx(np.mean(everything) / (2 * np.log(40)), rel=1e-5)


def test_perfect_codes_reach_the_reference_of_every_metric() -> None:
    """Of 32 images every one is in the plan, so that codes and references are standardised alike."""
    squares = Squares()
    table = score(Oracle(squares, posterior=True), squares, "all", TINY, representations=("mean",))
    bounded = table[table["reference"].notna()]
    assert {
        "beta_vae",
        "factor_vae",
        "mig",
        "sap",
        "dci_disentanglement",
        "modularity",
        "explicitness",
        "rmig",
        "jemmig",
    } <= set(bounded["metric"])
    np.testing.assert_allclose(bounded["score"], bounded["reference"], atol=1e-6)
    scores = by_name(table)
    assert scores["factor_vae"] == 1.0
    assert scores["mig"] > 0.9
    assert scores["active_units"] == 3


def test_a_metric_that_refuses_codes_says_why_and_the_others_are_scored(squares: Any) -> None:
    oracle = Oracle(squares, posterior=True)

    def too_sharp(images: np.ndarray) -> Any:
        codes, _ = oracle(images)
        return codes, np.full_like(codes, -60.0)

    given: dict[str, Any] = {"protocol": TINY, "representations": ("mean",), "references": False}
    refused, usual = (
        score(encoder, squares, "mig,monte_carlo_tc,separability", **given) for encoder in (too_sharp, oracle)
    )
    found, expected = by_name(refused), by_name(usual)
    assert found["mig"] == expected["mig"]
    assert np.isnan(found["monte_carlo_tc"])
    assert np.isfinite(expected["monte_carlo_tc"])
    notes = dict(zip(refused["metric"], refused["note"], strict=True))
    assert notes["monte_carlo_tc"].startswith("no score: ")
    assert "logvars" in notes["monte_carlo_tc"]
    assert notes["mig"] == ""


def test_mixed_codes_fall_below_the_reference(squares: Any) -> None:
    mix = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    table = score(Oracle(squares, posterior=True, mix=mix), squares, "mig,dci,modularity,interpretability", TINY)
    table = table[(table["representation"] != "sampled") & (table["metric"] != "dci_informativeness")]
    references = by_name(table, "reference")
    assert all(value < references[name] - 0.1 for name, value in by_name(table).items())


def test_each_image_is_encoded_once(squares: Any) -> None:
    oracle = Oracle(squares)
    score(oracle, squares, "beta_vae,factor_vae,mig", TINY, references=False)
    assert oracle.seen <= len(squares.factors)


def test_images_that_no_metric_reads_are_not_encoded(squares: Any) -> None:
    few, all_of_them = Oracle(squares), Oracle(squares)
    protocol = replace(TINY, sizes=PlanSizes(20, 10, 200, 100, 16, 200, 100, 16))
    found = score(few, squares, ["mig", "sap"], protocol, references=False)
    plan = draw_plan(squares.factors, protocol.sizes, 0)
    assert few.seen == len(np.union1d(plan.train, plan.test))
    rest = score(all_of_them, squares, "all", protocol, references=False)
    assert all_of_them.seen == len(plan.images) > few.seen
    kept = rest[rest["metric"].isin(["mig", "sap"])]
    assert found["score"].tolist() == kept["score"].tolist()


def test_codes_alone_are_scored_without_posterior_metrics(squares: Any) -> None:
    table = score(Oracle(squares), squares, "all", TINY, references=False)
    assert set(table["representation"]) == {"mean"}
    assert "rmig" not in set(table["metric"])
    assert all(np.isnan(value) for value in by_name(table, "reference").values())


def without_factors() -> ArrayDataset:
    images = np.random.default_rng(0).integers(0, 255, (300, 16, 16, 1), dtype=np.uint8)
    return ArrayDataset("plain", images, FactorGrid([Factor("instance", 300, observed=False)]))


@pytest.mark.parametrize(
    ("wanted", "settings", "expected"),
    [
        ("kl", TINY, "kl needs posteriors; this encoder gives codes only"),
        ("all,kl", TINY, "kl needs posteriors; this encoder gives codes only"),
        (["mig", "iwae"], TINY, "iwae needs a hackle model whose decoder"),
        (["mig", "kl"], "quick", "the protocol quick does not give kl: it is for mig, dci"),
        ("explicitness", "do2020-bins-50@3", "the protocol do2020-bins-50@3 does not give explicitness"),
        ("all", protocol("do2020-bins-50"), "nothing to score: interpretability needs posteriors"),
        ([], TINY, "no metric is named"),
    ],
)
def test_a_named_metric_that_does_not_fit_is_refused(squares: Any, wanted: Any, settings: Any, expected: str) -> None:
    with pytest.raises(ScoreError, match=expected):
        score(Oracle(squares), squares, wanted, settings)


def test_samples_of_codes_without_posteriors_are_refused(squares: Any) -> None:
    with pytest.raises(ScoreError, match="samples need posteriors"):
        score(Oracle(squares), squares, "all", TINY, representations="sampled")


def test_means_and_samples_are_both_scored_and_seeds_repeat(squares: Any) -> None:
    model = Model(small_run(VAE()), squares.shape)
    first, second, other = (score(model, squares, "mig,gaussian_tc", TINY, seed) for seed in (0, 0, 1))
    assert list(first["representation"]) == ["mean", "sampled"] * 2
    assert first.drop(columns="seconds").equals(second.drop(columns="seconds"))
    assert not np.array_equal(first["score"], other["score"])


def test_a_model_is_scored_with_every_metric(squares: Any) -> None:
    table = score(Model(small_run(VAE()), squares.shape), squares, "all", TINY, references=False)
    assert {"reconstruction", "elbo", "kl", "wsepin", "rmig", "mig"} <= set(table["metric"])
    assert all(np.isfinite(value) for value in by_name(table).values())
    scores = by_name(table)
    assert scores["elbo"] == pytest.approx(-scores["reconstruction"] - scores["kl"], rel=0.2)


def test_bootstrap_intervals_hold_the_score(squares: Any) -> None:
    noise = np.random.default_rng(0)
    oracle = Oracle(squares)
    table = score(
        lambda images: oracle(images) + noise.normal(size=(len(images), 3)),
        squares,
        "mig",
        TINY,
        bootstrap=30,
        references=False,
    )
    value, low, high = (by_name(table, column)["mig"] for column in ("score", "low", "high"))
    # Resampling with replacement repeats points, which raises estimated information, so the interval may sit a little high.
    assert low - 0.05 < value < high


def test_sets_without_factors_get_what_needs_none() -> None:
    plain = without_factors()
    table = score(Model(small_run(VAE()), plain.shape), plain, "all", TINY)
    assert {"gaussian_tc", "wsepin", "kl", "reconstruction"} <= set(table["metric"])
    assert "mig" not in set(table["metric"])


@pytest.mark.parametrize("size", [20, 70])
def test_incomplete_grids_are_scored(size: int) -> None:
    """Seven in ten combinations: few enough to be split, or so many that points are drawn independently."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.argwhere(np.ones((size, size))))[: 7 * size * size // 10]
    grid = FactorGrid([Factor("a", size), Factor("b", size)], present=rows)
    images = np.zeros((len(rows), 16, 16, 1), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 1, 0] = rows.T
    table = score(
        lambda batch: batch[:, 0, :2, 0].astype(float), ArrayDataset("own", images, grid), "factor_vae,mig", TINY
    )
    assert by_name(table)["factor_vae"] > 0.9
    assert table["note"].str.contains("split").all() == (size == 20)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(ScoreError, match="did you mean factor_vae"):
        choose_metrics("factorvae")
    with pytest.raises(HackleError, match="locatello2019"):
        protocol("nonsense")


def test_smaller_protocols_say_so() -> None:
    small = PROTOCOLS["locatello2019"].smaller(0.1)
    assert small.sizes.train == 1000
    assert small.name == "locatello2019 × 0.1"
    assert replace(small, name="locatello2019", sizes=PROTOCOLS["locatello2019"].sizes) == PROTOCOLS["locatello2019"]


def test_smaller_protocols_keep_200_points_and_take_no_more_than_all() -> None:
    whole = PROTOCOLS["locatello2019"]
    assert whole.smaller(1e-4).sizes.train == 200
    assert whole.smaller(1.0).sizes == whole.sizes
    for fraction in (0.0, -1.0, 2.0, float("nan")):
        with pytest.raises(HackleError, match=f"fraction is {fraction}; expected a number above 0, up to 1"):
            whole.smaller(fraction)


def test_a_run_folder_and_the_name_of_a_data_set_will_do(tmp_path: Path) -> None:
    squares = Squares()
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    data = tmp_path / "squares.npz"
    np.savez(data, images=squares.render(rows), factors=rows, factor_names=np.array(squares.factors.names))
    model = fit(small_run(VAE(), steps=2), out=tmp_path / "run", dataset=squares, device="cpu", progress=False)
    wanted = score(model, squares, "mig,kl", TINY).drop(columns="seconds")
    found = score(str(tmp_path / "run"), str(data), "mig,kl", TINY).drop(columns="seconds")
    pd.testing.assert_frame_equal(found, wanted)
    of_record = Model(replace(model.run, dataset=str(data)), squares.shape, model.weights())
    pd.testing.assert_frame_equal(score(of_record, metrics="mig,kl", protocol=TINY).drop(columns="seconds"), wanted)


def test_what_is_no_model_or_data_set_is_refused(squares: Any) -> None:
    with pytest.raises(
        ScoreError,
        match=r"the model is of type ndarray; expected a Model, a run's folder, an nn\.Module, or a function",
    ):
        score(np.zeros((5, 2)), squares)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the data set is of type list; expected one with factors"):
        score(Oracle(squares), [1, 2])  # type: ignore[arg-type]
    with pytest.raises(HackleError, match="rooms3d"):
        score(Oracle(squares), "rooms3")
    with pytest.raises(ScoreError, match="no data set is given"):
        score(Oracle(squares))


def test_one_representation_may_be_named_alone(squares: Any) -> None:
    table = score(Oracle(squares, posterior=True), squares, "mig", TINY, representations="sampled", references=False)
    assert set(table["representation"]) == {"sampled"}
    with pytest.raises(ScoreError, match="no representation 'means'; there are mean, sampled"):
        score(Oracle(squares), squares, "mig", TINY, representations="means")  # type: ignore[arg-type]


def test_the_package_lists_what_it_offers() -> None:
    listed = dir(hackle)
    assert set(hackle.__all__) <= set(listed)
    assert all(hasattr(hackle, name) for name in listed)


def test_references_survive_a_factor_whose_other_value_was_not_drawn() -> None:
    """One image of 5,000 has the second value of a factor, and no draw meets it."""
    rows = np.array([[0, i] for i in range(4999)] + [[1, 0]])
    grid = FactorGrid([Factor("rare", 2), Factor("number", 4999)], present=rows)
    pixels = np.arange(5000, dtype=np.uint32).view(np.uint8).reshape(-1, 2, 2, 1)
    data = ArrayDataset("numbers", np.ascontiguousarray(pixels), grid)
    plan = draw_plan(grid, TINY.sizes, 1)
    assert 4999 not in np.concatenate([plan.train, plan.test])
    table = score(lambda images: images[:, 0, :, 0] * 1.0, data, "mig", TINY, 1, representations="mean")
    assert table["reference"].tolist()[0] > 0.1


def test_downstream_tasks_see_means_alone(squares: Any) -> None:
    found = score(Oracle(squares, posterior=True), squares, "mig,downstream_logistic_cv", TINY, references=False)
    seen = {(row["metric"].startswith("downstream"), row["representation"]) for row in found.to_dict("records")}
    assert seen == {(True, "mean"), (False, "mean"), (False, "sampled")}
