"""Whoever changes into a folder that someone sent and reads it there runs nothing of it either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hackle.store import Store
from made_up_outcomes import made_up

MAIN = "from hackle.cli.main import main\nif __name__ == '__main__':\n    main()\n"
DRAW = """
from hackle.report.study_page import write_study_page
from hackle.store import read
if __name__ == "__main__":
    write_study_page(read("."), "page.html", workers=2)
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


@pytest.mark.parametrize("script", [DRAW, WORK], ids=["drawing", "work"])
def test_processes_start_without_modules_of_the_current_folder(tmp_path: Path, script: str) -> None:
    folder, mark = study(tmp_path / "study"), tmp_path / "code has run"
    (folder / "multiprocessing.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit\n")
    done = run_there(folder, script)
    assert not mark.exists()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", ["report", "drawing"])
def test_settings_of_the_current_folder_run_no_latex(tmp_path: Path, what: str) -> None:
    mark, tools = tmp_path / "code has run", tmp_path / "tools"
    folder = study(tmp_path / "study")
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    tools.mkdir()
    (tools / "latex").write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
    (tools / "latex").chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    # The verb draws a table of few runs in its own process, the other script in processes that it starts.
    done = run_there(folder, MAIN, "report", ".", PATH=path) if what == "report" else run_there(folder, DRAW, PATH=path)
    assert not mark.exists()
    assert done.returncode == 0, done.stderr
