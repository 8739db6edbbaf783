"""What a study will take, and what its folder says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hackle.core.records import record_hash
from hackle.core.regimes import Drawing
from hackle.core.types import Run
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.studies import StudyError
from hackle.studies.folder import label_of, read_wanted, write_wanted
from hackle.studies.planning import plan_groups
from train.test_fleet import small_run


@pytest.fixture
def own_data(tmp_path: Path, squares: Any) -> str:
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    path = tmp_path / "squares.npz"
    np.savez(path, images=squares.render(rows), factors=rows)
    return str(path)


FACTOR = FactorVAE(discriminator_width=16)


def some_runs(data: str) -> list[Run]:
    return [
        small_run(method, seed, dataset=data, steps=steps)
        for method, steps in ((BetaVAE(1.0), 100), (BetaVAE(4.0), 100), (BetaVAE(4.0), 200), (VAE(), 100))
        for seed in range(3)
    ]


def test_groups_are_measured_once_for_each_kind(own_data: str) -> None:
    heard = []
    factor = [small_run(FACTOR, seed, dataset=own_data, steps=100) for seed in range(3)]
    runs = [*some_runs(own_data), *factor]
    groups = plan_groups(runs, torch.device("cpu"), fleet_size=2, seconds=2.0, tell=lambda *told: heard.append(told))
    assert [(one.method, one.runs, one.steps, one.fleets) for one in groups] == [
        ("beta-vae + 1 more", 9, 100, 5),
        ("beta-vae", 3, 200, 2),
        ("factor-vae", 3, 100, 2),
    ]
    assert all(one.measured for one in groups)
    # Another number of steps is the same kind of training.
    assert groups[0].rate == groups[1].rate
    assert groups[0].hours == pytest.approx(9 * 100 / groups[0].rate / 3600)
    assert [told[:2] for told in heard] == [(0, 2), (1, 2), (2, 2)]
    networks = FACTOR.networks(factor[0], (16, 16, 1)).values()
    parameters = sum(value.numel() for network in networks for value in network.parameters())
    assert groups[2].weights == 4 * parameters


def test_groups_of_different_regimes_are_told_apart(own_data: str) -> None:
    plain = small_run(BetaVAE(1.0), 0, dataset=own_data, steps=10)
    runs = [plain, replace(plain, drawing=Drawing(left_out="factor_1>=#2"))]
    groups = plan_groups(runs, torch.device("cpu"), seconds=0.5)
    assert [one.regime for one in groups] == ["", "left out factor_1>=#2"]


def test_what_there_is_no_time_for_is_estimated(own_data: str) -> None:
    runs = [*some_runs(own_data), small_run(FACTOR, 0, dataset=own_data)]
    groups = plan_groups(runs, torch.device("cpu"), fleet_size=2, seconds=0.0)
    assert [one.measured for one in groups] == [True, True, False]
    assert groups[2].rate == groups[0].rate > 0
    # What has the fewest weights is measured first, wherever it stands.
    first, *_ = plan_groups(runs[::-1], torch.device("cpu"), seconds=0.0)
    assert (first.method, first.measured) == ("factor-vae", False)


def test_the_folder_knows_what_was_wanted(own_data: str, tmp_path: Path) -> None:
    runs = some_runs(own_data)
    folder = tmp_path / "study"
    assert read_wanted(folder) is None
    write_wanted(folder, "mine.py:study", {"seeds": 3}, runs)
    more = [replace(run, seed=7) for run in runs[:1]]
    write_wanted(folder, "mine.py:study", {"seeds": 8}, more)
    found = read_wanted(folder)
    assert found is not None
    assert found.runs.keys() == {record_hash(run) for run in [*runs, *more]}
    assert len(found.groups[label_of(runs[0])]) == 7
    assert found.options == {"seeds": 8}
    assert json.loads((folder / "study.json").read_text())["study"] == "mine.py:study"


def test_a_folder_holds_one_study(own_data: str, tmp_path: Path) -> None:
    runs = some_runs(own_data)
    write_wanted(tmp_path, "one", {}, runs)
    with pytest.raises(StudyError, match="holds the study one, not other; choose another --out"):
        write_wanted(tmp_path, "other", {}, runs)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(StudyError, match=r"study.json cannot be read"):
        read_wanted(tmp_path)
