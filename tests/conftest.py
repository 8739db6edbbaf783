"""A small data set and network that every test of training shares."""

from __future__ import annotations

import os

import pytest
import torch

from squares import CopiedSquares, Squares

# Two test workers share the machine's cores; more threads than that only wait for each other.
torch.set_num_threads(1)
os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(scope="session")
def squares() -> Squares:
    return Squares()


@pytest.fixture(scope="session")
def copied_squares() -> Squares:
    return CopiedSquares()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of CUDA kernels are skipped where there is no CUDA device."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device; there is none here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)
