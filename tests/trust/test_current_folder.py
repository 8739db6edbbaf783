"""Whoever changes into a folder that someone sent and reads it there runs nothing of it either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
from hackle.engine.errors import EngineError
from hackle.engine.tasks import Settings
from hackle.store import Store
from made_up_outcomes import made_up

RAY = """
from hackle.engine.ray import Ray
from hackle.engine.tasks import CheckNames, Settings
if __name__ == "__main__":
    workers = Ray(Settings(None, "cpu", (), (), "", 1.0), 1, None)
    workers.submit(0, CheckNames(()))
    while not (events := workers.wait(30)):
        pass
    print([event.what for event in events])
    workers.close()
"""
MAIN = "from hackle.cli.main import main\nif __name__ == '__main__':\n    main()\n"
DRAW = """
from hackle.claims import CLAIMS, judge
from hackle.report.study_page import write_study_page
from hackle.store import read
if __name__ == "__main__":
    tables = read(".")
    write_study_page(tables, "page.html", judged=judge(tables, list(CLAIMS.values())[:1]), workers=2)
"""
WORK = """
from hackle.engine.local import Local
from hackle.engine.tasks import Settings
if __name__ == "__main__":
    workers = Local(Settings(None, "cpu", (), (), "", 1.0), 1)
    workers._workers[0]._process.join(5)
    workers.close()
"""


def run_there(folder: Path, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script that lies elsewhere, as installed commands do, in a folder."""
    path = folder.parent / "elsewhere" / "script.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), **environment}
    command = [sys.executable, str(path), *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def study(folder: Path) -> Path:
    with Store.create_or_open(folder, "trial") as store:
        store.add(made_up(0))
    return folder


def put_module(folder: Path) -> Path:
    """A module that Python starts processes with, and the mark that it leaves."""
    mark = folder.parent / "module has run"
    (folder / "multiprocessing.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit\n")
    return mark


def put_settings(folder: Path) -> tuple[Path, str]:
    """Settings of matplotlib's that have LaTeX run, the mark that it leaves, and the path on which it is found."""
    mark, tools = folder.parent / "latex has run", folder.parent / "tools"
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    tools.mkdir()
    (tools / "latex").write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
    (tools / "latex").chmod(0o755)
    return mark, f"{tools}{os.pathsep}{os.environ['PATH']}"


def test_processes_that_draw_start_without_modules_and_settings_of_the_current_folder(tmp_path: Path) -> None:
    folder = study(tmp_path / "study")
    code_mark, (latex_mark, path) = put_module(folder), put_settings(folder)
    # Whatever this one has imported, those that it starts begin with nothing.
    process = forked.start(DRAW, folder=folder, said=("out", "error"), PATH=path)
    process.join(120)
    assert not code_mark.exists()
    assert not latex_mark.exists()
    assert process.exitcode == 0, (folder / "error").read_text()


def test_processes_that_work_start_without_modules_of_the_current_folder(tmp_path: Path) -> None:
    folder = study(tmp_path / "study")
    mark = put_module(folder)
    process = forked.start(WORK, folder=folder, said=("out", "error"))
    process.join(120)
    assert not mark.exists()
    assert process.exitcode == 0, (folder / "error").read_text()


@pytest.mark.slow
def test_workers_of_ray_start_without_modules_of_the_current_folder(tmp_path: Path) -> None:
    """Ray itself has them look there first, before they import hackle."""
    folder, mark = study(tmp_path / "study"), tmp_path / "module has run"
    (folder / "hackle.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit\n")
    done = run_there(folder, RAY)
    assert not mark.exists()
    assert done.stdout == "['done']\n", done.stderr


@pytest.mark.parametrize("own", [False, True])
def test_ray_is_started_in_the_current_folder_only_where_its_modules_are_found(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, there = pytest.importorskip("hackle.engine.ray"), []

    def init(**options: Any) -> None:
        there.append(Path.cwd())
        raise RuntimeError("no more is needed")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*([""] if own else []), *(path for path in sys.path if path)])
    monkeypatch.setattr(ours.ray, "init", init)
    monkeypatch.setattr(ours.ray, "is_initialized", lambda: False)
    with pytest.raises(EngineError, match="no more is needed"):
        ours.Ray(Settings(None, "cpu", (), (), "", 1.0), 1, None)
    assert there == [tmp_path if own else Path(os.sep)]
    assert Path.cwd() == tmp_path


def test_settings_of_the_current_folder_run_no_latex(tmp_path: Path) -> None:
    """The verb draws a table of few runs in its own process."""
    folder = study(tmp_path / "study")
    mark, path = put_settings(folder)
    done = run_there(folder, MAIN, "report", ".", PATH=path)
    assert not mark.exists()
    assert done.returncode == 0, done.stderr
