"""Scores while a model trains: they join its curves as often as asked, and training does not know of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_train import assert_equal_weights, curves, quiet, stop_after

from hackle.core.factors import Factor, FactorGrid
from hackle.core.records import record_hash
from hackle.datasets.arrays import ArrayDataset
from hackle.nets import MLP, Adversarial
from hackle.objectives import VAE, BetaVAE, FactorVAE, InfoGAN
from hackle.scoring.models import quick_scores
from hackle.train import TrainingError, fit
from hackle.train.curves import Curves, read_curves
from hackle.train.model import Model
from train.test_fleet import Exploding, small_run

FACTOR = FactorVAE(gamma=5.0, discriminator_layers=2, discriminator_width=16)
QUICK = {"mig", "dci_disentanglement", "dci_completeness", "dci_informativeness", "factor_vae", "gaussian_tc"}
OF_POSTERIORS = {"rmig", "posterior_modularity"}


def dense_run(method: Any, seed: int = 0, **changes: Any) -> Any:
    """Scores look at codes alone, whatever makes them; dense networks take a third of the time."""
    return small_run(method, seed, **{"architecture": MLP((8,)), **changes})


def spread(model: Model, dataset: Any) -> dict[str, float]:
    """A score that tells models apart and costs nothing."""
    return {"spread": float(model.encode(dataset.render([[0, 0, 0], [3, 2, 1]]))[0].std())}


def scored_steps(folder: Path, name: str = "score_spread") -> list[int]:
    return [int(row["step"]) for row in curves(folder) if row[name]]


def gan() -> Any:
    architecture = Adversarial(channels=(4, 4), hidden=8, recogniser_hidden=8)
    return small_run(InfoGAN(categories=(3,), noise=5), steps=4, latents=2, architecture=architecture)


@pytest.mark.parametrize("run", [dense_run(FACTOR, steps=12), gan()], ids=["FactorVAE", "InfoGAN"])
def test_weights_and_losses_are_the_same_bits_with_and_without(run: Any, tmp_path: Path, squares: Any) -> None:
    quiet(run, tmp_path / "plain", squares, log_every=1)
    quiet(run, tmp_path / "scored", squares, log_every=1, scores=quick_scores, score_every=2)
    assert_equal_weights(tmp_path / "plain", tmp_path / "scored")
    rows = curves(tmp_path / "scored")
    assert any(row["score_mig"] for row in rows)
    losses = [{name: cell for name, cell in row.items() if not name.startswith("score_")} for row in rows]
    assert losses == curves(tmp_path / "plain")


def test_the_quick_scores_of_the_last_step_are_those_of_the_trained_model(tmp_path: Path, squares: Any) -> None:
    model = quiet(dense_run(VAE(), steps=60), tmp_path, squares, scores=quick_scores, score_every=30, log_every=30)
    found = read_curves(tmp_path)
    expected = quick_scores(model, squares)
    assert expected.keys() == QUICK | OF_POSTERIORS
    for name, value in expected.items():
        assert found[f"score_{name}"][-1] == np.float32(value), name
    assert found["score_gaussian_tc"][0] != found["score_gaussian_tc"][-1]


@pytest.mark.parametrize(
    ("log_every", "score_every", "expected"),
    [(2, 4, [4, 8, 12, 13]), (5, 3, [5, 10, 13]), (3, 4, [6, 9, 12, 13]), (100, 5, [13]), (1, 100, [13])],
)
def test_scores_come_at_the_next_log_point_and_at_the_end(
    log_every: int, score_every: int, expected: list[int], tmp_path: Path, squares: Any
) -> None:
    quiet(dense_run(VAE(), steps=13), tmp_path, squares, log_every=log_every, scores=spread, score_every=score_every)
    assert scored_steps(tmp_path) == expected


@pytest.mark.parametrize("stop", [3, 4, 7])
def test_stopping_and_resuming_gives_the_same_scores(
    stop: int, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: Any = {"log_every": 2, "scores": spread, "score_every": 4}
    run = dense_run(FACTOR, steps=11)
    quiet(run, tmp_path / "whole", squares, **options)
    with monkeypatch.context() as patch:
        stop_after(patch, stop)
        with pytest.raises(TrainingError, match="stopped"):
            quiet(run, tmp_path / "parts", squares, **options)
    quiet(run, tmp_path / "parts", squares, resume=True, **options)
    assert_equal_weights(tmp_path / "whole", tmp_path / "parts")
    assert curves(tmp_path / "whole") == curves(tmp_path / "parts")
    assert scored_steps(tmp_path / "parts") == [4, 8, 11]


@pytest.mark.parametrize("first", [False, True])
def test_scores_can_begin_or_end_where_a_run_resumes(
    first: bool, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scoring: Any = {"scores": spread, "score_every": 2}
    run = dense_run(VAE(), steps=8)
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(TrainingError, match="stopped"):
            quiet(run, tmp_path, squares, log_every=2, **(scoring if first else {}))
    quiet(run, tmp_path, squares, log_every=2, resume=True, **({} if first else scoring))
    assert [row["step"] for row in curves(tmp_path)] == ["2", "4", "6", "8"]
    assert scored_steps(tmp_path) == ([2, 4] if first else [6, 8])


def test_checkpoints_with_and_without_scores_train_apart(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, scoring = [dense_run(VAE(), seed=seed, steps=6) for seed in range(2)], {"scores": spread, "score_every": 2}
    for run, options in zip(runs, (scoring, {}), strict=True):
        with monkeypatch.context() as patch:
            stop_after(patch, 4)
            with pytest.raises(TrainingError, match="stopped"):
                quiet([run], tmp_path, squares, log_every=2, **options)
    quiet(runs, tmp_path, squares, log_every=2, resume=True, **scoring)
    assert [scored_steps(tmp_path / record_hash(run)) for run in runs] == [[2, 4, 6], [6]]


def test_a_fleet_scores_each_run_and_none_that_diverged(tmp_path: Path, squares: Any) -> None:
    runs = [dense_run(Exploding(at), seed=seed, steps=6) for seed, at in enumerate((3.0, 1e9, 1e9))]
    models = quiet(runs, tmp_path, squares, log_every=2, scores=spread, score_every=2)
    assert models[0] is None
    found = [read_curves(tmp_path / record_hash(run))["score_spread"] for run in runs]
    assert np.isfinite(found[0]).tolist() == [True, False, False]
    assert np.isfinite(found[1:]).all()
    for values, model in zip(found[1:], models[1:], strict=True):
        assert values[-1] == np.float32(spread(model, squares)["spread"])
    assert found[1][-1] != found[2][-1]


def test_the_table_gets_a_new_head_when_the_first_scores_come(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackle.train.loop._APPEND_SECONDS", -1.0)
    heads: list[tuple[bool, int]] = []

    def look(model: Model, dataset: Any) -> dict[str, float]:
        rows = curves(tmp_path)
        heads.append(("score_spread" in rows[0], len(rows)))
        return spread(model, dataset)

    quiet(dense_run(VAE(), steps=9), tmp_path, squares, log_every=1, scores=look, score_every=3)
    assert heads == [(False, 2), (True, 5), (True, 8)]
    assert scored_steps(tmp_path) == [3, 6, 9]


def test_tensorboard_has_the_scores_where_they_were_taken(tmp_path: Path, squares: Any) -> None:
    quiet(dense_run(VAE(), steps=6), tmp_path, squares, log_every=1, scores=spread, score_every=3)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [event.step for event in events.Scalars("score_spread")] == [3, 6]
    assert [event.step for event in events.Scalars("kl")] == [1, 2, 3, 4, 5, 6]


def test_a_set_without_observed_factors_is_trained_without_scores(tmp_path: Path, squares: Any, capsys: Any) -> None:
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    plain = ArrayDataset("photos", squares.render(rows), FactorGrid([Factor("image", len(rows), observed=False)]))
    runs = [dense_run(BetaVAE(beta), steps=4) for beta in (1.0, 2.0)]
    fit(runs, out=tmp_path, dataset=plain, device="cpu", log_every=1, scores=quick_scores, score_every=2)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("no scores in the curves: photos has no observed factor with more than one value") == 1
    assert not any(name.startswith("score_") for run in runs for name in read_curves(tmp_path / record_hash(run)))


def test_codes_without_posteriors_have_the_other_scores() -> None:
    """Forty images of each setting: a set is split, and trees need some images on either side."""
    grid = FactorGrid([Factor("x", 4), Factor("y", 4), Factor("side", 2), Factor("copy", 40, observed=False)])
    images = np.zeros((len(grid), 8, 8, 3), np.uint8)
    images[:, 0, 0] = grid.rows(np.arange(len(grid)))[:, :3]
    found = quick_scores(lambda images: images[:, 0, 0].astype(float), ArrayDataset("told", images, grid))
    assert found.keys() == QUICK
    assert found["factor_vae"] == 1.0
    assert found["dci_disentanglement"] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score_every": 5}, "go together"),
        ({"scores": spread}, "go together"),
        ({"scores": spread, "score_every": -1}, "score_every is -1"),
    ],
)
def test_half_an_order_is_refused(options: dict[str, Any], message: str, squares: Any) -> None:
    with pytest.raises(TrainingError, match=message):
        quiet(dense_run(VAE()), None, squares, **options)


def test_terms_that_some_points_lack_are_nan_there() -> None:
    found = Curves()
    found.add(1, [{"kl": 1.0, "per": [1.0, 2.0]}, {"kl": 2.0, "per": [3.0, 4.0]}])
    found.add(2, [{"kl": 3.0, "per": [5.0, 6.0], "score_mig": 0.5}, {"kl": 4.0, "per": [7.0, 8.0]}])
    found.add(3, [{"kl": 5.0}, {"kl": 6.0}])
    again = Curves.of(found.tensors())
    for curve in (found, again):
        row, other = curve.row(0), curve.row(1)
        assert row["kl"].tolist() == [1, 3, 5]
        assert row["score_mig"][1] == 0.5
        assert np.isnan(row["score_mig"]).tolist() == [True, False, True]
        # A run that never had a term has no curve of it, whoever trains beside it.
        assert "score_mig" not in other
        assert other["kl"].tolist() == [2, 4, 6]
        assert row["per_1"][:2].tolist() == [2, 6]
        assert math.isnan(row["per_1"][2])
        assert curve.row(0, 2)["score_mig"].shape == (1,)


def test_curves_of_checkpoints_from_before_0_3_are_read() -> None:
    """There a term with a value per latent was one tensor, and every run of a fleet had every term."""
    old = {"curves/step": torch.tensor([2, 4]), "curves/kl": torch.ones(3, 2), "curves/per": torch.rand(3, 2, 2)}
    row = Curves.of(old).row(1)
    assert list(row) == ["step", "kl", "per_0", "per_1"]
    assert row["per_1"].tolist() == old["curves/per"][1, :, 1].tolist()
    longer = Curves.of(old)
    longer.add(6, [{"kl": 1.0, "per": [3.0, 4.0]}] * 3)
    assert longer.row(2)["per_0"].tolist() == [*old["curves/per"][2, :, 0].tolist(), 3.0]
