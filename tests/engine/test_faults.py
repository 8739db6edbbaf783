"""Whatever breaks, no row is lost or doubled, and the study that goes on ends with the tables of an undisturbed one."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
from small_study import ACCIDENTS, Unlucky, assert_same, some_runs, study

import forked
from hackle.core.errors import HackleError
from hackle.core.files import lock_holder
from hackle.core.records import record_hash
from hackle.core.types import Phase, Run
from hackle.engine import EngineError
from hackle.engine.tasks import ScoreRun, TrainFleet
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence_phase
from hackle.store import Store, StoreError, read, repair
from hackle.train.fleet import Fleet
from hackle.train.model import WEIGHTS
from train.test_fleet import small_run


class Killed(BaseException):
    """The end of the process at this very line, as far as the files can tell."""


def wait_for(condition: Callable[[], bool], process: BaseProcess | None = None) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process is None or process.is_alive(), "the process ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def trained_so_far(out: Path) -> set[str]:
    return {path.parent.name for path in out.glob(f"runs/*/{WEIGHTS}")}


def stored_so_far(out: Path) -> dict[str, str]:
    with Store.open(out) as store:
        return store.known()


def test_the_driver_is_killed_at_any_moment(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    out, rng, stored = tmp_path / "study", np.random.default_rng(0), set()
    for _ in range(2):
        process = forked.start("from engine import small_study; small_study.main()", data, out, 0)
        wait_for(lambda: bool(lock_holder(out)), process)
        time.sleep(rng.uniform(0.1, 0.7))
        process.kill()
        process.join()
        if (out / "results.sqlite").exists():
            now = set(stored_so_far(out))
            assert now >= stored
            stored = now
    study(some_runs(data), out)
    assert_same(undisturbed, out)


def test_a_second_driver_is_refused_until_the_first_is_killed_and_its_workers_end(
    data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, threading, time\n"
        "from engine import small_study\n"
        "from multiprocessing import active_children\n"
        "from pathlib import Path\n"
        "def note():\n"
        "    while not active_children(): time.sleep(0.01)\n"
        "    Path(sys.argv[4]).write_text(str(active_children()[0].pid))\n"
        "if __name__ == '__main__':\n"
        "    threading.Thread(target=note, daemon=True).start()\n"
        "    small_study.main()\n"
    )
    out, note = tmp_path / "study", tmp_path / "pid"
    process = forked.start(code, data, out, 1, note)
    wait_for(lambda: note.exists() and bool(note.read_text()), process)
    with pytest.raises(EngineError, match=rf"in use by process {process.pid} on .* since 20"):
        study(some_runs(data), out)
    wait_for(lambda: bool(list(out.glob("fleets/checkpoint*.safetensors"))), process)
    process.kill()
    process.join()
    assert f"process {process.pid} " in lock_holder(out)
    worker = Path(f"/proc/{note.read_text()}/stat")
    wait_for(lambda: not worker.exists() or worker.read_text().rsplit(")", 1)[1].split()[0] == "Z")
    study(some_runs(data), out)
    assert_same(undisturbed, out)


@pytest.mark.usefixtures("forked_workers")
def test_a_worker_is_killed_in_training(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    out, killed = tmp_path / "study", []

    def kill_once() -> None:
        wait_for(lambda: bool(list(out.glob("fleets/checkpoint*.safetensors"))))
        for worker in active_children():
            killed.append(worker.pid)
            worker.kill()

    thread = Thread(target=kill_once)
    thread.start()
    summary = study(some_runs(data), out, workers=2, checkpoint_seconds=0.0)
    thread.join()
    assert len(killed) == 2
    assert (summary.done, summary.scored) == (9, 9)
    assert_same(undisturbed, out)


def unlucky_runs(data: Path, notes: Path, accident: str, times: int) -> list[Run]:
    notes.mkdir()
    return [small_run(Unlucky(str(notes), accident, times), seed, dataset=str(data), steps=12) for seed in range(2)]


@pytest.mark.usefixtures("forked_workers")
def test_tasks_whose_workers_die_hang_or_fail_are_tried_again(data: Path, tmp_path: Path, capfd: Any) -> None:
    runs = [run for accident in ACCIDENTS for run in unlucky_runs(data, tmp_path / accident, accident, times=1)]
    summary = study(runs, tmp_path / "study", workers=1, patience=6.0, progress=True)
    assert (summary.done, summary.failed) == (6, 0)
    said = " ".join(capfd.readouterr().err.split())
    assert "its worker died (exit code -9); trying again" in said
    assert "no sign of life for 6 s; its worker is killed" in said
    assert "a cosmic ray; trying again" in said
    study([replace(run, method=Unlucky(str(tmp_path), "fail", 0)) for run in runs[:2]], tmp_path / "lucky")
    lucky = read(tmp_path / "lucky").scores.sort_values(["seed", "metric", "representation"])["score"].to_numpy()
    scores = read(tmp_path / "study").scores.sort_values(["seed", "metric", "representation", "run"])["score"]
    np.testing.assert_array_equal(scores.to_numpy().reshape(-1, 3), np.repeat(lucky[:, None], 3, axis=1))


def test_a_run_that_always_fails_is_reported_and_the_others_go_on(data: Path, tmp_path: Path) -> None:
    runs = [*some_runs(data)[:2], *unlucky_runs(data, tmp_path / "notes", "fail", times=1000)]
    summary = study(runs, tmp_path / "study")
    assert (summary.done, summary.failed) == (2, 2)
    assert all("a cosmic ray" in reason for _, reason in summary.failures)
    for note in (tmp_path / "notes").iterdir():
        note.unlink()
    for number in range(1000):
        (tmp_path / "notes" / str(number)).touch()
    assert study(runs, tmp_path / "study", retry_failed=True).done == 4


@dataclass(frozen=True)
class Branching(Autoencoder):
    """A method that no fleet can train."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_branching, run),)


def _branching(nets: Any, step: Any, run: Any) -> Any:
    return nets if step.number else run


def test_a_method_at_fault_is_reported_with_its_line_and_not_tried_again(
    data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed, original = [], TrainFleet.perform
    monkeypatch.setattr(TrainFleet, "perform", lambda self, *rest: performed.append(1) or original(self, *rest))
    runs = [small_run(Branching(), seed, dataset=str(data), steps=12) for seed in range(4)]
    summary = study([*some_runs(data)[:2], *runs], tmp_path / "study", fleet_size=4, progress=True)
    assert (summary.done, summary.failed, len(performed)) == (2, 4, 2)
    assert "trying again" not in capsys.readouterr().err
    for _, reason in summary.failures:
        assert reason.startswith("the loss of Branching in its phase autoencoder asks for the value of a tensor")
        assert "`return nets if step.number else run`" in reason


def _asking(found: Any, step: Any, run: Any) -> Any:
    return found if found.kl > 0 else run


@dataclass(frozen=True)
class Asking(Autoencoder):
    """A method that shares its fleet with others, which no fleet can train."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_asking, run),)


def test_the_others_of_a_fleet_train_without_the_method_at_fault(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    performed, original = [], TrainFleet.perform
    monkeypatch.setattr(
        TrainFleet, "perform", lambda self, *rest: performed.append(len(self.runs)) or original(self, *rest)
    )
    runs = some_runs(data)
    wrong = replace(runs[0], method=Asking())
    summary = study([*runs[:4], wrong, *runs[4:]], tmp_path / "study", fleet_size=10)
    assert (summary.done, summary.failed, performed) == (9, 1, [10, 6, 1, 3])
    assert summary.failures[0][0] == record_hash(wrong)
    assert summary.failures[0][1].startswith(
        "the loss of Asking in its phase autoencoder asks for the value of a tensor"
    )
    order = ["run", "metric", "representation"]
    wanted, found = (
        read(out).scores.astype({"run": str}).sort_values(order)["score"].to_numpy()
        for out in (undisturbed, tmp_path / "study")
    )
    np.testing.assert_array_equal(wanted, found)


def test_the_driver_dies_between_training_and_scoring(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, out = some_runs(data), tmp_path / "study"

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", die)
        with pytest.raises(Killed):
            study(runs, out)
    trained = trained_so_far(out)
    assert trained
    assert not stored_so_far(out)
    original, again = TrainFleet.perform, []
    monkeypatch.setattr(
        TrainFleet, "perform", lambda self, *rest: again.extend(map(record_hash, self.runs)) or original(self, *rest)
    )
    study(runs, out)
    assert not trained.intersection(again)
    assert_same(undisturbed, out)


def test_the_driver_dies_while_weights_of_a_fleet_are_written(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hackle.engine.folder import StudyFolder

    original, count = StudyFolder.put, []

    def put(self: StudyFolder, trained: Any) -> None:
        count.append(trained)
        if len(count) == 4:
            raise Killed
        original(self, trained)

    with monkeypatch.context() as patch:
        patch.setattr(StudyFolder, "put", put)
        with pytest.raises(Killed):
            study(some_runs(data), tmp_path / "study")
    study(some_runs(data), tmp_path / "study")
    assert_same(undisturbed, tmp_path / "study")


def test_the_driver_is_killed_in_the_middle_of_a_write(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from engine import small_study\n"
        "from hackle.store import entries\n"
        "original, count = entries.insert_details, []\n"
        "def insert_details(connection, run, entry):\n"
        "    count.append(run)\n"
        "    connection.execute('PRAGMA cache_spill = 1')\n"
        "    original(connection, run, entry)\n"
        "    if len(count) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "entries.insert_details = insert_details\n"
        "small_study.main()\n"
    )
    out = tmp_path / "study"
    process = forked.start(code, data, out, 0)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(stored_so_far(out)) == 2
    tables = read(out)
    assert set(tables.scores["run"]) == set(tables.runs["run"]) == set(tables.array("codes"))
    study(some_runs(data), out)
    assert_same(undisturbed, out)


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("pathlib.Path.write_bytes", "could not write .*runs.*No space left on device.*free some space"),
        (
            "hackle.train.weights.save_file",
            "could not write .*fleets.*No space left on device.*start the study again",
        ),
    ],
)
def test_a_full_disk_stops_the_study_with_a_sentence(
    place: str, words: str, data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    study(some_runs(data)[:2], out)
    with monkeypatch.context() as patch:
        patch.setattr(place, full)
        with pytest.raises(EngineError, match=words):
            study(some_runs(data), out, checkpoint_seconds=0.0)
    assert len(stored_so_far(out)) == 2
    study(some_runs(data), out)
    assert_same(undisturbed, out)


def test_a_store_without_space_loses_nothing(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, original = tmp_path / "study", Store.add

    def add(self: Store, outcome: Any, **options: Any) -> None:
        if len(self.known()) == 3:
            pages = self.connection.execute("PRAGMA page_count").fetchone()[0]
            self.connection.execute(f"PRAGMA max_page_count = {pages}")
            outcome = replace(outcome, arrays={"codes": np.random.default_rng(0).random((512, 30))})
        original(self, outcome, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", add)
        with pytest.raises(StoreError, match=r"full.*free some space"):
            study(some_runs(data), out)
    assert len(stored_so_far(out)) == 3
    study(some_runs(data), out)
    assert_same(undisturbed, out)


def interrupted(runs: list[Run], out: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """A study stopped after so many steps of its first fleet."""
    original = Fleet.step

    def step(self: Fleet) -> None:
        original(self)
        if self.step_number == steps:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "step", step)
        with pytest.raises(Killed):
            study(runs, out, checkpoint_seconds=0.0)


def spoil(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    content[-20:] = b"" if how == "cut" else bytes(255 - byte for byte in content[-20:])
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["cut", "flipped"])
@pytest.mark.parametrize("both", [False, True])
def test_damaged_checkpoints_give_way_to_older_ones_or_to_a_new_start(
    how: str, both: bool, data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out = tmp_path / "study"
    interrupted(some_runs(data), out, monkeypatch, steps=8)
    newest, older = sorted(out.glob("fleets/*.safetensors"), key=lambda path: "previous" in path.name)
    for path in (newest, older) if both else (newest,):
        spoil(path, how)
    study(some_runs(data), out, progress=True)
    said = " ".join(capsys.readouterr().err.split())
    assert "is damaged" in said
    assert ("runs anew" if both else "older checkpoint") in said
    assert_same(undisturbed, out)


def test_damaged_weights_are_trained_again(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", die)
        with pytest.raises(Killed):
            study(some_runs(data), out)
    for path in out.glob(f"runs/*/{WEIGHTS}"):
        spoil(path, "flipped")
    study(some_runs(data), out)
    first, second = read(undisturbed).scores, read(out).scores
    # Trained alone and not beside another, so equal but for the last digits.
    np.testing.assert_allclose(first["score"], second["score"], atol=1e-3)


def test_a_damaged_store_is_told_mended_and_filled_again(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    out, runs = tmp_path / "study", some_runs(data)
    study(runs, out)
    path = out / "results.sqlite"
    content = bytearray(path.read_bytes())
    page = content.index(record_hash(runs[4]).encode()) // 8192 * 8192
    content[page : page + 8192] = os.urandom(8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="hackle study repair"):
        study(runs, out)
    assert path.read_bytes() == content
    repair(out)
    summary = study(runs, out)
    assert summary.done == 9
    assert_same(undisturbed, out)


def test_a_newer_schema_is_refused_and_left_alone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    study(some_runs(data)[:1], out)
    with closing(sqlite3.connect(out / "results.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = (out / "results.sqlite").read_bytes()
    with pytest.raises(StoreError, match=r"schema 99.*newer"):
        study(some_runs(data), out)
    assert (out / "results.sqlite").read_bytes() == before


def test_memory_runs_out(
    data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    original = Fleet.step

    def step(self: Fleet) -> None:
        if len(self) > 2 and self.step_number == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        original(self)

    monkeypatch.setattr(Fleet, "step", step)
    study(some_runs(data), tmp_path / "study", fleet_size=6, progress=True)
    assert "out of memory with 5 models: going on with 3 and 2" in " ".join(capsys.readouterr().err.split())
    first, second = read(undisturbed).scores, read(tmp_path / "study").scores
    assert list(first["run"]) == list(second["run"])
    np.testing.assert_allclose(first["score"], second["score"], atol=1e-3)


def test_missing_data_stops_the_study_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(HackleError, match="there is no file or folder"):
        study(some_runs(tmp_path / "nowhere.npz"), tmp_path / "study")
    assert not stored_so_far(tmp_path / "study")
