"""A small data set and network that every test of training shares."""

from __future__ import annotations

import gc
import os
import sys

# Where the environment forbids compiled files, each worker would rewrite the assertions of all tests, and each process that
# a test starts would compile hackle, every time anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Test workers share the machine's cores; threads beyond one each spend more time on waiting for each other than on work.
# Libraries read this when they are loaded, those of processes that tests start as well.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"

import pytest
import torch

import forked
from browsers import browser
from squares import CopiedSquares, Squares

__all__ = ["browser", "copied_squares", "forked_workers", "squares"]

sys.dont_write_bytecode = False
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def squares() -> Squares:
    return Squares()


@pytest.fixture(scope="session")
def copied_squares() -> Squares:
    return CopiedSquares()


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of studies and of drawing are forks; studies that other tests begin by the command line start them anew."""
    for module in ("hackle.engine.local", "hackle.report.study_page"):
        monkeypatch.setattr(f"{module}.get_context", lambda method: forked.FORKS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of CUDA kernels are skipped where there is no CUDA device."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device; there is none here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Modules and collected tests stay until the end: the search for garbage passes them over, and comes less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
