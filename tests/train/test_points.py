"""Scores at the points that a run's record names: exact steps, the same numbers as of the finished model, no effect on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_scores_in_curves import FACTOR
from test_train import assert_equal_weights, quiet, stop_after

from hackle.core.records import record_hash, to_json
from hackle.core.scored import Scored, ScoredError
from hackle.core.types import Run, RunError
from hackle.engine.tasks import Settings, TrainFleet
from hackle.objectives import VAE
from hackle.scoring.models import score
from hackle.scoring.registry import ScoreError
from hackle.train import Stopped, TrainingError, fit
from hackle.train.curves import read_curves
from hackle.train.model import Model
from train.test_fleet import small_run

SCORED = Scored(points=3, metrics="factor_vae,true_tc", protocol="kim2018-small")


@pytest.fixture
def small_kim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's protocol on few points."""
    from hackle.papers.kim2018.protocols import KIM
    from hackle.scoring import points, protocol

    small = replace(KIM.smaller(0.001), name="kim2018-small", draws=200)
    small = replace(small, sizes=replace(small.sizes, group_size=20, pairs=5))
    known = protocol.protocol
    monkeypatch.setattr(points, "protocol", lambda name: small if name == small.name else known(name))
    monkeypatch.setattr("hackle.engine.tasks.find_protocol", lambda name: small)


def scored_steps(curves: dict[str, Any], name: str = "score_factor_vae") -> list[int]:
    return curves["step"][~np.isnan(curves[name])].tolist()


def test_a_record_without_points_is_as_it_was() -> None:
    run = small_run(VAE())
    assert "scored" not in to_json(run)
    assert record_hash(replace(run, scored=Scored())) == record_hash(run)
    assert record_hash(replace(run, scored=Scored(points=2))) != record_hash(run)


@pytest.mark.usefixtures("small_kim")
def test_scores_are_taken_at_the_records_steps_and_leave_weights_alone(tmp_path: Path, copied_squares: Any) -> None:
    plain = small_run(FACTOR, steps=11)
    run = replace(plain, scored=SCORED)
    quiet(plain, tmp_path / "plain", copied_squares)
    model = quiet(run, tmp_path / "scored", copied_squares, log_every=5)
    assert_equal_weights(tmp_path / "plain", tmp_path / "scored")
    found = read_curves(tmp_path / "scored")
    assert found["step"].tolist() == [4, 5, 8, 10, 11]
    assert scored_steps(found) == scored_steps(found, "score_true_tc") == [4, 8, 11]
    assert {"total_correlation", "discriminator_accuracy"} < found.keys()
    from hackle.scoring import points

    table = score(model, copied_squares, "factor_vae,true_tc", points.protocol("kim2018-small"), references=False)
    rows = table[table["representation"] != "sampled"]
    of_mean = dict(zip(rows["metric"], rows["score"], strict=True))
    assert found["score_factor_vae"][-1] == np.float32(of_mean["factor_vae"])
    assert found["score_true_tc"][-1] == np.float32(of_mean["true_tc"])
    assert Model.load(tmp_path / "scored").run == run


@pytest.mark.usefixtures("small_kim")
def test_a_fleet_and_an_interrupted_run_have_the_points_of_the_run_alone(
    tmp_path: Path, copied_squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [replace(small_run(FACTOR, seed, steps=9), scored=SCORED) for seed in range(2)]
    fit(runs, out=tmp_path / "fleet", dataset=copied_squares, device="cpu", progress=False)
    quiet(runs[1], tmp_path / "alone", copied_squares)
    with monkeypatch.context() as interrupted:
        stop_after(interrupted, 5)
        with pytest.raises(Stopped):
            quiet(runs[1], tmp_path / "stopped", copied_squares)
    quiet(runs[1], tmp_path / "stopped", copied_squares, resume=True)
    alone, stopped = read_curves(tmp_path / "alone"), read_curves(tmp_path / "stopped")
    together = read_curves(tmp_path / "fleet" / record_hash(runs[1]))
    assert scored_steps(alone) == [3, 6, 9]
    for name in ("score_factor_vae", "score_true_tc"):
        np.testing.assert_array_equal(stopped[name], alone[name])
        np.testing.assert_allclose(together[name], alone[name], rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.usefixtures("small_kim")
def test_points_on_cuda_are_the_runs_own_and_leave_weights_alone(tmp_path: Path, copied_squares: Any) -> None:
    """Between replays of the fleet's graph, whose memory the scoring must not touch."""
    plain = [small_run(FACTOR, seed, steps=9) for seed in range(2)]
    runs = [replace(run, scored=SCORED) for run in plain]
    for name, members in (("plain", plain), ("scored", runs), ("alone", runs[1:])):
        fit(members, out=tmp_path / name, dataset=copied_squares, device="cuda", progress=False)
    for before, after in zip(plain, runs, strict=True):
        assert_equal_weights(tmp_path / "plain" / record_hash(before), tmp_path / "scored" / record_hash(after))
    together, alone = (read_curves(tmp_path / name / record_hash(runs[1])) for name in ("scored", "alone"))
    assert scored_steps(together) == [3, 6, 9]
    for name in ("score_factor_vae", "score_true_tc"):
        np.testing.assert_allclose(together[name], alone[name], rtol=1e-5)


@pytest.mark.usefixtures("small_kim")
def test_a_study_stores_them_with_the_curves(
    tmp_path: Path, copied_squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackle.engine.tasks._data", lambda name, root: copied_squares)
    settings = Settings(None, "cpu", (), (), str(tmp_path / "fleets"))
    runs = tuple(replace(small_run(FACTOR, seed, steps=4), scored=replace(SCORED, points=2)) for seed in range(2))
    for trained in TrainFleet(runs).perform(settings, lambda _: None):
        assert scored_steps(dict(trained.curves)) == [2, 4]


@pytest.mark.parametrize(
    ("scored", "words"),
    [
        ({"points": -1}, "whole number"),
        ({"points": 2, "metrics": "mine.py:score"}, "hackle's own"),
        ({"points": 2, "protocol": "mine.py:protocol"}, "hackle's own"),
        ({"metrics": "mig"}, "no points"),
    ],
)
def test_what_cannot_be_a_record_is_refused(scored: dict[str, Any], words: str) -> None:
    with pytest.raises(ScoredError, match=words):
        Scored(**scored)


def test_names_that_there_are_not_are_refused_before_anything_is_written(tmp_path: Path, squares: Any) -> None:
    run = replace(small_run(VAE()), scored=Scored(points=2, metrics="migg"))
    with pytest.raises(ScoreError, match="migg"):
        quiet(run, tmp_path / "out", squares)
    assert not (tmp_path / "out").exists()
    run = replace(small_run(VAE()), scored=Scored(points=2))
    with pytest.raises(TrainingError, match="leave scores out"):
        quiet(run, None, squares, scores=lambda model, data: {}, score_every=1)
    with pytest.raises(RunError, match="scored"):
        Run(VAE(), run.architecture, scored="mig")  # type: ignore[arg-type]


def test_scores_that_read_many_images_on_a_cpu_are_announced(
    tmp_path: Path, squares: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, before the first step, with the protocol that reads fewer."""
    monkeypatch.setattr("hackle.train.loop._MANY_IMAGES", 10)
    scored = Scored(points=2, metrics="kl_split", protocol="posteriors")
    fit(replace(small_run(VAE(), steps=4), scored=scored), out=tmp_path, dataset=squares, device="cpu", log_every=2)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("each of 2 points of the training is scored on") == 1
    assert "--scored.protocol posteriors" in said
    assert "score_kl_split_sum" in read_curves(tmp_path)
