"""A study stores every run once, with the scores it has alone, and goes on where it stopped."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_study import TINY, assert_same, diverging, some_runs, study
from torch import nn

from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.regimes import Drawing, Pairs
from hackle.engine import EngineError, run_study
from hackle.engine.executor import Inline
from hackle.engine.tasks import References, ScoreRun, TrainFleet
from hackle.nets import MLP
from hackle.objectives import VAE, AdaGVAE
from hackle.papers.locatello2019.study import locatello2019
from hackle.scoring.models import score
from hackle.scoring.plan import PlanSizes
from hackle.scoring.registry import METRICS
from hackle.store import Store, read
from hackle.train import Stopped, fit
from hackle.train.grouping import kind_key
from hackle.train.model import Model
from train.test_fleet import small_run


def refuse(*_: Any) -> None:
    raise AssertionError("this must not happen")


def test_a_study_varies_regimes_and_one_that_the_data_cannot_serve_is_named_before_training(
    data: Path, tmp_path: Path
) -> None:
    base = small_run(AdaGVAE(), dataset=str(data), steps=2)
    runs = [replace(base, pairs=Pairs("resample", changed)) for changed in (1, 2)]
    runs += [replace(base, drawing=Drawing(left_out=rule)) for rule in ("random", "extrapolation")]
    assert study(runs, tmp_path / "study").done == 4
    found = read(tmp_path / "study").runs[["drawing", "pairs"]].astype(str)
    assert set(found.itertuples(index=False, name=None)) == {
        ("", "rule resample, changed 1"),
        ("", "rule resample, changed 2"),
        ("left out random", "rule resample, changed 1"),
        ("left out extrapolation", "rule resample, changed 1"),
    }
    with pytest.raises(EngineError, match=r"ada-gvae on .*pairs.changed is 4, but .* 3 factors.*; nothing was trained"):
        study([*runs, replace(base, pairs=Pairs("resample", 4))], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_every_run_is_stored_with_the_scores_it_has_alone(data: Path, undisturbed: Path, squares: Any) -> None:
    runs = some_runs(data)
    tables = read(undisturbed)
    assert set(tables.runs["run"]) == {record_hash(run) for run in runs}
    assert set(tables.runs["status"]) == {"done"}
    model = fit(runs[3], dataset=hackle_data(data), device="cpu", progress=False)
    alone = score(model, hackle_data(data), "mig,kl", TINY).set_index(["metric", "representation"])
    stored = tables.scores[tables.scores["run"] == record_hash(runs[3])].set_index(["metric", "representation"])
    assert (
        set(stored.index)
        == set(alone.index)
        == {("mig", "mean"), ("mig", "sampled"), ("kl", "posterior"), ("active_units", "posterior")}
    )
    for place in alone.index:
        # Stacked and alone differ in the last digits of the weights.
        assert float(stored.loc[place, "score"]) == pytest.approx(float(alone.loc[place, "score"]), abs=1e-3)
        np.testing.assert_equal(float(stored.loc[place, "reference"]), float(alone.loc[place, "reference"]))
    curve = tables.curve("kl")
    assert list(curve[curve["run"] == record_hash(runs[0])]["step"]) == list(range(1, 13))
    assert {values.shape for values in tables.array("codes").values()} == {(32, 3)}
    assert {values.shape for values in tables.array("mutual_information").values()} == {(3, 3)}
    assert {values.shape for values in tables.array("informativeness").values()} == {(3,)}
    assert {values.shape for values in tables.array("correlations").values()} == {(2, 3, 3)}
    assert all(values.sum(axis=1) == pytest.approx(1.0) for values in tables.array("marginals").values())
    assert np.all(tables.runs["training_seconds"] > 0)
    assert np.all(tables.runs["scoring_seconds"] > 0)


def hackle_data(data: Path) -> Any:
    from hackle.datasets import load

    return load(data)


def test_a_finished_study_does_nothing_more(data: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for task in (TrainFleet, ScoreRun, References):
        monkeypatch.setattr(task, "perform", refuse)
    summary = study(some_runs(data), undisturbed)
    assert (summary.total, summary.done, summary.failed, summary.trained, summary.scored) == (9, 9, 0, 0, 0)


def test_a_papers_study_makes_one_fleet_of_the_methods_that_differ_in_the_loss(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"architecture": MLP((8,)), "dataset": str(data), "batch_size": 8, "latents": 3}
    runs = [replace(run, **small) for run in locatello2019(seeds=1, steps=2, datasets=["dsprites"])[::3]]
    fleets, original = [], TrainFleet.perform
    monkeypatch.setattr(TrainFleet, "perform", lambda self, *rest: fleets.append(self.runs) or original(self, *rest))
    assert study(runs, tmp_path, fleet_size=64, metrics="kl").done == 12
    names = [[type(run.method).__name__ for run in fleet] for fleet in fleets]
    others = ["BetaVAE", "DIPVAEI", "DIPVAEII", "BetaTCVAE", "AnnealedVAE"]
    assert sorted(map(len, fleets)) == [2, 10]
    assert {frozenset(each) for each in names} == {frozenset(["FactorVAE"]), frozenset(others)}


def test_trainers_share_the_methods_of_a_group(data: Path, tmp_path: Path) -> None:
    """So that a study of several methods keeps several devices busy, as when each method had fleets of its own."""
    sizes = []

    class Three(Inline):
        trainers = 3

        def submit(self, number: int, task: Any) -> None:
            sizes.extend([len(task.runs)] if isinstance(task, TrainFleet) else [])
            super().submit(number, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hackle.engine.Inline", Three)
        assert study(some_runs(data), tmp_path, fleet_size=64).done == 9
    # Of two methods, two fleets.
    assert sizes == [5, 4]


def test_a_study_that_grows_trains_what_is_new(data: Path, tmp_path: Path) -> None:
    runs = some_runs(data)
    assert study(runs[:4], tmp_path).trained == 4
    summary = study(runs, tmp_path)
    assert (summary.done, summary.trained) == (9, 5)


@pytest.mark.parametrize("keep", ["all", "best", "none"])
def test_weights_are_kept_as_asked(keep: Any, data: Path, tmp_path: Path) -> None:
    runs = some_runs(data)
    study(runs, tmp_path, keep=keep)
    kept = {path.parent.name for path in tmp_path.glob("runs/*/weights.safetensors")}
    scores = read(tmp_path).scores
    mig = scores[(scores["metric"] == "mig") & (scores["representation"] == "mean")].set_index("run")["score"]
    best = {
        max((record_hash(run) for run in group), key=lambda key: (mig[key], key))
        for group in (runs[:6], runs[6:])
        if len({kind_key(run) for run in group}) == 1
    }
    assert kept == {"all": {record_hash(run) for run in runs}, "best": best, "none": set()}[keep]
    for key in kept:
        model = Model.load(tmp_path / "runs" / key)
        assert record_hash(model.run) == key
    assert not (tmp_path / "fleets").exists()
    # A driver that died before it could drop: the next one does.
    if keep == "all":
        study(runs, tmp_path, keep="best")
        assert {path.parent.name for path in tmp_path.glob("runs/*/weights.safetensors")} == best


def test_a_run_that_diverges_is_stored_as_failed_with_step_and_term(
    data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    runs = some_runs(data)
    bad = diverging(data)
    summary = study([*runs, bad], tmp_path / "study", fleet_size=3)
    assert (summary.done, summary.failed) == (9, 1)
    ((name, reason),) = summary.failures
    assert name == record_hash(bad)
    assert "diverged at step" in reason
    assert "not finite" in reason
    tables = read(tmp_path / "study")
    row = tables.runs[tables.runs["run"] == name].iloc[0]
    assert (row["status"], row["reason"]) == ("failed", reason)
    assert name not in set(tables.scores["run"])
    # It is not tried again unless asked for, and then fails again and is stored once.
    assert study([*runs, bad], tmp_path / "study", fleet_size=3).trained == 0
    again = study([*runs, bad], tmp_path / "study", fleet_size=3, retry_failed=True)
    assert (again.trained, again.done, again.failed) == (1, 9, 1)
    with Store.open(tmp_path / "study") as store:
        assert len(store.known()) == 10


@dataclass(frozen=True)
class Watchful(MLP):
    """Networks that look at their initial weights, which they cannot be asked about without memory."""

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        network = super().encoder(shape, latents)
        assert all(math.isfinite(value.sum().item()) for value in network.parameters())
        return network


def test_networks_of_ones_own_that_look_at_their_weights_are_scored(data: Path, tmp_path: Path) -> None:
    run = small_run(VAE(), architecture=Watchful((8,)), dataset=str(data), steps=2)
    assert study([run], tmp_path / "study").done == 1
    assert len(read(tmp_path / "study").scores)


def test_no_metrics_store_codes_and_curves(data: Path, tmp_path: Path) -> None:
    study(some_runs(data)[:2], tmp_path, metrics=())
    tables = read(tmp_path)
    assert len(tables.scores) == 0
    assert len(tables.array("codes")) == 2


def test_several_protocols_are_scored_on_one_encoding(data: Path, tmp_path: Path) -> None:
    other = replace(TINY, name="other", bins=3)
    given: dict[str, Any] = {"workers": 0, "device": "cpu", "metrics": "mig", "progress": False}
    run_study(some_runs(data)[:2], tmp_path, protocols=[TINY, other], **given)
    scores = read(tmp_path).scores
    assert set(scores["protocol"]) == {"tiny", "other"}
    assert len(scores) == 2 * 2 * 2
    assert np.isfinite(scores["reference"]).all()


def test_stored_runs_with_weights_get_the_scores_that_they_lack(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = some_runs(data)
    study(runs, tmp_path / "once", metrics="mig,kl,dci", keep="all")
    study(runs, tmp_path / "later", metrics="kl", keep="all")
    monkeypatch.setattr(TrainFleet, "perform", refuse)
    assert study(runs, tmp_path / "later", metrics="kl").scored == 0
    # One group first, and what was said about weights holds on.
    for some, count in ((runs[:6], 6), (runs, 3)):
        summary = study(some, tmp_path / "later", metrics="mig,kl,dci")
        assert (summary.trained, summary.scored, summary.done, summary.lacking) == (0, count, len(some), "")
    assert_same(tmp_path / "once", tmp_path / "later")
    with Store.open(tmp_path / "later") as store:
        store.check(thorough=True)


def test_scores_that_cannot_be_added_are_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = some_runs(data)
    assert study(runs[:2], tmp_path, metrics="kl", keep="none").lacking == ""
    # One run more, with another metric: the table is mixed, and each run of it has what it was asked for with.
    mixed = study(runs[:3], tmp_path, metrics="mig,dci,kl", keep="best")
    assert mixed.lacking.startswith(
        "2 stored runs lack scores that you ask for: mig, dci of tiny. Their weights are not"
    )
    assert mixed.lacking in str(mixed)
    assert study(runs[:3], tmp_path, metrics="kl").lacking == ""
    monkeypatch.setattr(TrainFleet, "perform", refuse)
    # Weights of the best alone: its score would stand for its group.
    best = study(runs[:3], tmp_path, metrics="sap")
    assert best.scored == 0
    assert best.lacking.startswith(
        "3 stored runs lack scores that you ask for: sap of tiny. Of these the weights of 1 are"
    )
    assert f"use `hackle score` on those in {tmp_path / 'runs'}" in best.lacking
    # Nothing is left to do, and other points or another seed of a protocol are other scores.
    given: dict[str, Any] = {"workers": 0, "device": "cpu", "metrics": "kl", "progress": False, "keep": "none"}
    for other in (replace(TINY, name="tiny × 0.2"), replace(TINY, seed=3)):
        summary = run_study(runs[2:3], tmp_path, protocols=[TINY, other], **given)
        assert summary.lacking.startswith(f"1 stored run lacks scores that you ask for: kl of {other.name}. ")


def test_a_stored_run_that_cannot_be_scored_again_stays_as_it_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = some_runs(data)[:2]
    study(runs, tmp_path, metrics="kl", keep="all")
    before = read(tmp_path)
    damaged = tmp_path / "runs" / record_hash(runs[0]) / "weights.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    monkeypatch.setattr(TrainFleet, "perform", refuse)
    monkeypatch.setattr(ScoreRun, "perform", refuse)
    summary = study(runs, tmp_path, metrics="mig,kl")
    assert (summary.done, summary.failed, summary.scored) == (2, 0, 0)
    pd.testing.assert_frame_equal(read(tmp_path).scores, before.scores)
    assert damaged.is_file()


def test_every_metric_that_was_computed_is_found_and_none_that_cannot_be_is_missed(data: Path, tmp_path: Path) -> None:
    run = some_runs(data)[0]
    least = replace(TINY, sizes=PlanSizes(16, 16, 10, 10, 4, 10, 10, 4), posterior_bins=10, tc_batch=16, draws=16)
    given: dict[str, Any] = {"workers": 0, "device": "cpu", "metrics": list(METRICS), "progress": False}
    for _ in range(2):
        assert run_study([run], tmp_path / "every", protocols=[least], **given).lacking == ""
    with np.load(data) as arrays:
        np.savez(tmp_path / "bare.npz", images=arrays["images"])
    bare = replace(run, dataset=str(tmp_path / "bare.npz"))
    for _ in range(2):
        assert study([bare], tmp_path / "bare", metrics="mig,gaussian_tc,kl").lacking == ""


def test_ctrl_c_leaves_a_checkpoint_and_the_same_call_goes_on(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hackle.train.fleet import Fleet

    original, steps = Fleet.step, []

    def step(self: Fleet) -> None:
        original(self)
        steps.append(len(self))
        if len(steps) == 30:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Fleet, "step", step)
    with pytest.raises(Stopped, match=r"stopped with \d of 9 runs stored; the same command goes on"):
        study(some_runs(data), tmp_path / "study")
    assert list((tmp_path / "study" / "fleets").iterdir())
    study(some_runs(data), tmp_path / "study")
    # The nine runs are five fleets of twelve steps: none was taken twice.
    assert len(steps) == 12 * 5
    assert_same(undisturbed, tmp_path / "study")


def test_wrong_arguments_are_refused_before_anything_happens(data: Path, tmp_path: Path) -> None:
    runs = some_runs(data)[:1]
    for options, words in (
        ({"workers": -1}, "workers is -1; expected 0 or more"),
        ({"trainers": 0}, "trainers is 0; expected 1 or more"),
        ({"fleet_size": 0}, "fleet_size is 0; expected 1 or more, or none for as many as fit"),
        ({"address": "head:6379"}, "address is head:6379, which is for Ray, and the engine is local"),
        ({"engine": "steam"}, "there are local and ray"),
        ({"metrics": "migg"}, "did you mean mig"),
        ({"device": "gpu"}, "no device 'gpu' here"),
    ):
        with pytest.raises(HackleError, match=words):
            study(runs, tmp_path / "study", **options)
    with pytest.raises(HackleError, match="locatello2019"):
        run_study(runs, tmp_path / "study", protocols=["nonsense"])
    assert not (tmp_path / "study").exists()


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(data: Path, tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("words")
    with pytest.raises(EngineError, match=r"holds index.md and no study.*choose an empty or new folder"):
        study(some_runs(data)[:1], tmp_path)
    with pytest.raises(EngineError, match="is a file"):
        study(some_runs(data)[:1], tmp_path / "index.md")
    assert [path.name for path in tmp_path.iterdir()] == ["index.md"]


@pytest.mark.parametrize("name", ["results.sqlite", "study.json.partial", "lock"])
def test_a_folder_with_anything_of_a_study_is_gone_on_with(data: Path, tmp_path: Path, name: str) -> None:
    if name == "results.sqlite":
        Store.create_or_open(tmp_path).close()
    else:
        (tmp_path / name).touch()
    assert study(some_runs(data)[:1], tmp_path).done == 1


@pytest.mark.gpu
def test_a_study_on_cuda_trains_in_one_worker_and_scores_in_others(data: Path, tmp_path: Path) -> None:
    summary = study(some_runs(data), tmp_path, workers=2, device="cuda", fleet_size=None)
    assert (summary.done, summary.failed) == (9, 0)
    assert set(read(tmp_path).runs["device"]) != {"cpu"}


def test_a_script_that_starts_its_study_anew_in_each_worker_is_told_what_to_write(data: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    call = f"study([small_run(VAE(), 0, dataset={str(data)!r}, steps=2)], Path({str(tmp_path / 'out')!r}), workers=1)"
    imports = (
        "from pathlib import Path\nfrom small_study import study\nfrom hackle.objectives import VAE\n"
        "from train.test_fleet import small_run\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script.write_text(f"{imports}{call}\n")
    answer = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert 'call run_study below if __name__ == "__main__":' in answer.stderr
    assert not read(tmp_path / "out").runs["run"].size
