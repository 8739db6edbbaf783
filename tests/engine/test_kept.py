"""Nothing trained is lost: a run whose scoring fails keeps its weights, and names are looked up before the first step."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_study import assert_same, diverging, some_runs, study

from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.types import Phase, Run
from hackle.engine import EngineError
from hackle.engine.tasks import ScoreRun, TrainFleet
from hackle.objectives import VAE
from hackle.objectives.vae import Autoencoder
from hackle.store import read
from hackle.train.model import WEIGHTS, Model
from train.test_fleet import small_run


def with_weights(out: Path) -> set[str]:
    return {path.parent.name for path in out.glob(f"runs/*/{WEIGHTS}")}


def refuse(*_: Any) -> None:
    raise AssertionError("trained again")


def fail(*_: Any) -> None:
    raise RuntimeError("no score today")


@pytest.mark.parametrize("keep", ["all", "best", "none"])
def test_a_run_whose_scoring_fails_keeps_its_weights_and_is_scored_again_without_training(
    keep: Any, data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    runs, out, original = some_runs(data), tmp_path / "study", ScoreRun.perform
    unlucky = {record_hash(run) for run in runs[1:3]}

    def perform(self: ScoreRun, *rest: Any) -> Any:
        return fail() if record_hash(self.run) in unlucky else original(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", perform)
        summary = study(runs, out, keep=keep)
    assert (summary.done, summary.failed, summary.unscored) == (7, 2, 2)
    assert all("RuntimeError: no score today" in reason for _, reason in summary.failures)
    assert "2 of the failed runs are trained and their weights kept: --retry-failed scores them" in str(summary)
    assert unlucky <= with_weights(out)
    assert {record_hash(Model.load(out / "runs" / key).run) for key in unlucky} == unlucky
    main(["study", "status", str(out)])
    assert "2 failed runs trained, with weights: `study run --retry-failed`" in capsys.readouterr().out
    # Stored as failed, they wait until they are asked for.
    assert study(runs, out).unscored == 2
    monkeypatch.setattr(TrainFleet, "perform", refuse)
    again = study(runs, out, retry_failed=True)
    assert (again.done, again.failed, again.trained, again.scored, again.unscored) == (9, 0, 0, 2, 0)
    assert_same(undisturbed, out)
    kept = {"all": 9, "best": 2, "none": 0}[keep]
    assert len(with_weights(out)) == kept


def test_beside_a_run_that_must_be_trained_again_one_that_was_not_scored_is_only_scored(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both failed, in one group and one fleet: one in its training, the other in its scoring.
    runs = [some_runs(data)[6], diverging(data)]
    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", fail)
        assert study(runs, tmp_path, fleet_size=None).failed == 2
    trained, original = [], TrainFleet.perform
    monkeypatch.setattr(TrainFleet, "perform", lambda self, *rest: trained.extend(self.runs) or original(self, *rest))
    for size in (None, 2):
        summary = study(runs, tmp_path, fleet_size=size, retry_failed=True)
        assert (summary.done, summary.failed) == (1, 1)
    assert trained == [runs[1]] * 2


@pytest.mark.usefixtures("forked_workers")
def test_a_metric_that_only_the_driver_finds_is_refused_before_the_first_step(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a module without a file, as one is that was typed at a prompt; in a cluster, one that other machines lack."""
    module = ModuleType("only_here")
    exec("def strongest(codes, factors):\n    return 0.5\n", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(EngineError, match=r"a worker does not find .*only_here.*on PYTHONPATH"):
        study(some_runs(data), tmp_path / "study", workers=1, metrics="mig, only_here:strongest")
    assert not with_weights(tmp_path / "study")
    assert len(read(tmp_path / "study").runs) == 0


@dataclass(frozen=True)
class Homeless(Autoencoder):
    """A method whose module workers cannot import."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return VAE().phases(run)


@pytest.mark.usefixtures("forked_workers")
def test_a_method_that_workers_cannot_import_is_refused_before_the_first_step(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("nowhere_else")
    vars(module)["Homeless"] = Homeless
    monkeypatch.setitem(sys.modules, "nowhere_else", module)
    monkeypatch.setattr(Homeless, "__module__", "nowhere_else")
    with pytest.raises(EngineError, match=r"a worker does not find .*nowhere_else"):
        study([small_run(Homeless(), dataset=str(data), steps=12)], tmp_path / "study", workers=1)
    assert len(read(tmp_path / "study").runs) == 0


def test_metrics_are_refused_before_the_folder_is_made(data: Path, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("def strongest(codes, factors):\n    return 0.5\n")
    for metrics, words in (
        (f"mig,{tmp_path / 'my.py'}:strongets", "has no 'strongets'; did you mean strongest"),
        (f"{tmp_path / 'your.py'}:strongest", "there is no file"),
        ("unknown", "no metric 'unknown'"),
        ([lambda codes, factors: 0.5], "is not given by its name.*path.py:name"),
    ):
        with pytest.raises(HackleError, match=words):
            study(some_runs(data)[:1], tmp_path / "study", metrics=metrics)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("keep", ["best", "none"])
def test_a_metric_that_raises_is_named_at_the_end_and_costs_no_weights(
    keep: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"raising_{keep}.py").write_text("def far(codes, factors):\n    return codes[:, 99].mean()\n")
    runs = some_runs(data)[:2]
    summary = study(runs, tmp_path / "study", keep=keep, metrics=f"kl,raising_{keep}.py:far")
    assert (summary.done, summary.failed) == (2, 0)
    assert "far has no score in 2 of the runs, whose weights are kept" in str(summary)
    assert f"raising_{keep}.py, line 2: `return codes[:, 99].mean()`" in str(summary)
    assert len(with_weights(tmp_path / "study")) == 2
    study(runs, tmp_path / "study", metrics=f"kl,raising_{keep}.py:far")
    assert len(with_weights(tmp_path / "study")) == 2
    # The metric is mended in another file of the same name for its row; training again would raise.
    mended = tmp_path / f"mended_{keep}.py"
    mended.write_text("def far(codes, factors):\n    return 0.5\n")
    monkeypatch.setattr(TrainFleet, "perform", refuse)
    again = study(runs, tmp_path / "study", metrics=f"kl,mended_{keep}.py:far", retry_failed=True)
    assert (again.done, again.trained, again.scored, again.raised) == (2, 0, 2, ())
    scores = read(tmp_path / "study").scores
    assert set(scores.loc[scores["metric"] == "far", "score"]) == {0.5}
    study(runs, tmp_path / "study", metrics=f"kl,mended_{keep}.py:far")
    assert len(with_weights(tmp_path / "study")) == {"best": 1, "none": 0}[keep]
