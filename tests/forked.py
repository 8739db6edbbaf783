"""Processes of their own that need not import PyTorch: forks of one that has imported hackle and done nothing else.

Such a process knows nothing of what tests did before it. Tests of how Python itself starts, and of what it then imports,
start Python instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context, process
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *(f"hackle.cli.{verb}" for verb in ("train", "score", "show", "study", "claims", "report", "explore", "parts")),
        *("hackle.engine.local", "hackle.scoring.models", "hackle.report", "hackle.pictures", "hackle.explorer.server"),
    ]
)
PATH = list(sys.path)
"""Where modules are found before any test has added folders."""


def hackle(*words: str, folder: Path | str = ".", forks: bool = False, **environment: str) -> CompletedProcess[str]:
    """What `hackle WORDS` says in a folder. forks: the workers that it starts are forks of it."""
    with TemporaryDirectory() as place:
        said = Path(place) / "out", Path(place) / "error"
        code = f"import forked; {'forked.fork_workers(); ' * forks}from hackle.cli.main import main; main()"
        child = start(code, *words, folder=folder, said=said, **environment)
        child.join()
        assert child.exitcode is not None
        return CompletedProcess(words, child.exitcode, *(path.read_text() for path in said))


def fork_workers() -> None:
    """Let workers of studies and of drawing be forks of this process."""
    from hackle.engine import local
    from hackle.report import study_page

    for module in (local, study_page):
        module.get_context = lambda method: get_context("fork")  # type: ignore[assignment, misc]


def start(
    code: str,
    *arguments: Any,
    folder: Path | str = ".",
    said: tuple[Path | str, Path | str] = (os.devnull, os.devnull),
    **environment: str,
) -> ForkServerProcess:
    """A process that runs this code as a script; what it prints, and its errors, are said in files."""
    words = ["script", *map(str, arguments)]
    given = (code, words, PATH, str(folder), tuple(map(str, said)), {**os.environ, **environment})
    child = FORKS.Process(target=_perform, args=given)
    child.start()
    return child


def _perform(
    code: str, words: list[str], path: list[str], folder: str, said: tuple[str, str], environment: Mapping[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream, place in enumerate(said, start=1):
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream)
        os.close(file)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=environment.get("PYTHONIOENCODING"), line_buffering=True)  # type: ignore[union-attr]
    # It is a program, and not a worker of the tests'.
    process._parent_process = None  # type: ignore[attr-defined]
    sys.argv = words
    sys.path[:] = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *path]
    exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})
