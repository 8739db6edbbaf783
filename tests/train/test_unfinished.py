"""The model of a checkpoint is the one that training has at its step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from hackle.core.records import record_hash
from hackle.objectives import VAE, FactorVAE
from hackle.train.checkpoints import Checkpoints, Snapshot
from hackle.train.curves import Curves
from hackle.train.fleet import Fleet
from hackle.train.model import Model
from hackle.train.record_files import ModelError, write_record
from hackle.train.unfinished import checkpoint_in, diverged_in, load_unfinished, step_in
from train.test_fleet import small_run


def saved(folder: Path, fleet: Fleet, steps: int) -> None:
    for _ in range(steps):
        fleet.step()
    checkpoints = Checkpoints(folder, alone=True)
    checkpoints.save(Snapshot((record_hash(fleet.runs[0]),), {**fleet.state, **Curves().tensors()}))
    checkpoints.wait()
    checkpoints.close()


@pytest.mark.parametrize("method", [VAE(), FactorVAE(gamma=10.0, discriminator_width=16)])
def test_weights_and_step_are_those_of_the_last_checkpoint(tmp_path: Path, squares: Any, method: Any) -> None:
    run = small_run(method)
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    write_record(tmp_path, run, squares.shape)
    assert checkpoint_in(tmp_path) is None
    assert step_in(tmp_path) is None
    with pytest.raises(ModelError, match="without a checkpoint yet"):
        load_unfinished(tmp_path)
    for steps, done in ((2, 2), (3, 5)):
        saved(tmp_path, fleet, steps)
        model, step = load_unfinished(tmp_path)
        assert step == step_in(tmp_path) == done
        wanted = fleet.weights(0)
        assert model.weights().keys() == wanted.keys()
        assert all(torch.equal(value, wanted[name]) for name, value in model.weights().items())


def test_a_checkpoint_of_other_networks_is_refused(tmp_path: Path, squares: Any) -> None:
    """Its rows are compared with the record before the record's networks take up memory."""
    run = small_run(VAE())
    saved(tmp_path, Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape), 1)
    large = replace(run, latents=2**30)
    write_record(tmp_path, large, squares.shape)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes().replace(record_hash(run).encode(), record_hash(large).encode()))
    with pytest.raises(ModelError, match="other networks than the record's"):
        load_unfinished(tmp_path)
    path.write_bytes(b"\0" * 100)
    assert step_in(tmp_path) is None
    with pytest.raises(ModelError, match="cannot be read"):
        load_unfinished(tmp_path)


def test_a_run_that_diverged_is_told_from_one_that_goes_on(tmp_path: Path, squares: Any) -> None:
    run = small_run(VAE())
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    write_record(tmp_path, run, squares.shape)
    assert diverged_in(tmp_path) is None
    saved(tmp_path, fleet, 2)
    assert diverged_in(tmp_path) is None
    with pytest.raises(ModelError, match="has not finished: go on with"):
        Model.load(tmp_path)
    fleet.state["failed_at"][0] = 2
    saved(tmp_path, fleet, 1)
    assert diverged_in(tmp_path) == 2
    with pytest.raises(ModelError, match="diverged at step 2 and has no weights: train it in another folder"):
        Model.load(tmp_path)


@pytest.mark.parametrize("failed_at", [torch.full((9,), 3), torch.tensor([float("nan")]), torch.tensor(3), None])
def test_what_a_forged_checkpoint_says_of_its_end_is_not_believed(tmp_path: Path, failed_at: Any) -> None:
    tensors = {"other": torch.zeros(1)} if failed_at is None else {"failed_at": failed_at}
    save_file(tensors, tmp_path / "checkpoint.safetensors")
    assert diverged_in(tmp_path) is None
    (tmp_path / "checkpoint.safetensors").write_bytes(b"nothing")
    assert diverged_in(tmp_path) is None
