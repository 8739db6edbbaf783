"""Keeps Python and matplotlib from loading files of the current folder unasked, here and in processes hackle starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SAFE_PATH = "PYTHONSAFEPATH"


@contextmanager
def safe_path() -> Iterator[None]:
    """Within it, processes that multiprocessing spawns do not look for modules in the current folder while they start.

    They are started by `python -c`, which would import Python's own modules from there first, and the folder may be one
    that somebody sent. Once started they have this process's path, whatever is on it.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SAFE_PATH, None)
        else:
            os.environ[SAFE_PATH] = before


@contextmanager
def root_folder() -> Iterator[None]:
    """Within it the current folder is the root, where nobody's files lie."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(os.path.abspath(os.sep))
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def import_matplotlib() -> None:
    """Import matplotlib without the `matplotlibrc` of the current folder, which may be one that somebody sent.

    Its settings could have LaTeX run to set text. Without such a file, matplotlib is not imported before it is needed.
    """
    if not os.path.lexists("matplotlibrc"):
        return
    with root_folder():
        import matplotlib  # noqa: F401
