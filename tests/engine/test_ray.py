"""Ray gives what one process gives, with one worker or two, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from small_study import Unlucky, assert_same, some_runs, study

from hackle.engine import EngineError
from hackle.store import read
from train.test_fleet import small_run

pytestmark = [
    pytest.mark.slow,
    # Ray opens log files and sockets that it leaves to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_with_one_worker_or_two(workers: int, data: Path, undisturbed: Path, tmp_path: Path) -> None:
    summary = study(some_runs(data), tmp_path / "study", engine="ray", workers=workers)
    assert (summary.done, summary.trained, summary.scored) == (9, 9, 9)
    assert_same(undisturbed, tmp_path / "study")


def workers_of_ray() -> list[int]:
    """Processes in which Ray performs our tasks now."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().startswith(b"ray::_perform"):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def test_a_killed_worker_is_replaced(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    out, killed = tmp_path / "study", []

    def kill_once() -> None:
        while not list(out.glob("fleets/checkpoint*.safetensors")):
            time.sleep(0.005)
        for worker in workers_of_ray():
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    thread = Thread(target=kill_once)
    thread.start()
    study(some_runs(data), out, engine="ray", workers=1, checkpoint_seconds=0.0)
    thread.join()
    assert killed
    assert_same(undisturbed, out)


def test_a_hanging_worker_is_killed_and_its_task_tried_again(data: Path, tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "notes").mkdir()
    run = small_run(Unlucky(str(tmp_path / "notes"), "hang", 1), dataset=str(data), steps=12)
    summary = study([run], tmp_path / "study", engine="ray", workers=1, patience=20.0, progress=True)
    assert (summary.done, summary.failed) == (1, 0)
    assert "no sign of life for 20 s" in " ".join(capfd.readouterr().err.split())
    assert len(read(tmp_path / "study").scores)


def test_a_cluster_that_is_not_there_is_said(data: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"nobody answers at 127\.0\.0\.1:1 "):
        study(some_runs(data), tmp_path / "study", engine="ray", address="127.0.0.1:1")


def test_workers_import_a_metric_of_one_s_own(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metrics_for_ray.py").write_text("def width(codes):\n    return codes.shape[1]\n")
    monkeypatch.chdir(tmp_path)
    study(some_runs(data, seeds=1), tmp_path / "study", engine="ray", workers=1, metrics="metrics_for_ray.py:width")
    scores: Any = read(tmp_path / "study").scores
    assert set(scores["metric"]) == {"width"}
    assert (scores["score"] > 0).all()
