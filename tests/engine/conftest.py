"""The data file of the small study, and the tables that it gives when nothing disturbs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_study import some_runs, study, write_squares


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_squares(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "study"
    study(some_runs(data), out)
    return out
