"""A new run begins with the weights of another, and its record says so."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.types import Adam
from hackle.engine import EngineError, run_study
from hackle.nets import MLP, Convolutional, Own
from hackle.objectives import VAE, BetaVAE
from hackle.train import TrainingError, fit
from hackle.train.model import Model
from train.test_fleet import small_run
from train.test_train import FACTOR, Decoding, assert_equal_weights, quiet, stop_after

STILL = Adam(learning_rate=0.0)


@pytest.fixture
def other(tmp_path: Path, squares: Any) -> Path:
    quiet(small_run(BetaVAE(4.0), steps=3), tmp_path / "other", squares)
    return tmp_path / "other"


def test_a_run_begins_where_the_other_ended(other: Path, tmp_path: Path, squares: Any) -> None:
    """With a learning rate of 0 the weights are those that it began with, from a folder or from a model."""
    run = small_run(BetaVAE(1.0), seed=9, steps=2, optimiser=STILL)
    model = quiet(run, tmp_path / "new", squares, start=other)
    assert_equal_weights(other, tmp_path / "new")
    # Which weights is in the record, and so in the run's hash.
    assert model.run.start_from.startswith(record_hash(Model.load(other).run) + "-")
    assert Model.load(tmp_path / "new").run == model.run == replace(run, start_from=model.run.start_from)
    assert record_hash(model.run) != record_hash(run)
    again = quiet(run, None, squares, start=Model.load(other))
    assert again.run == model.run
    both = fit([run, replace(run, seed=1)], dataset=squares, start=other, device="cpu", progress=False)
    for each in both:
        assert all(torch.equal(value, model.weights()[name]) for name, value in each.weights().items())
    # Other weights of a run with the same record are other ones.
    path = other / "weights.safetensors"
    save_file({name: value / 2 for name, value in load_file(path).items()}, path)
    assert quiet(run, None, squares, start=other).run.start_from != model.run.start_from


def test_networks_that_the_other_lacks_begin_as_they_always_do(other: Path, squares: Any) -> None:
    run = small_run(FACTOR, seed=4, steps=1, optimiser=STILL)
    run = replace(run, method=replace(FACTOR, discriminator_optimiser=STILL))
    found, fresh = quiet(run, None, squares, start=other).weights(), quiet(run, None, squares).weights()
    there = load_file(other / "weights.safetensors")
    assert all(torch.equal(found[name], value) for name, value in there.items())
    rest = [name for name in found if name not in there]
    assert {name.partition(".")[0] for name in rest} == {"discriminator"}
    assert all(torch.equal(found[name], fresh[name]) for name in rest)


def test_networks_that_do_not_match_are_refused_before_a_folder_is_made(
    other: Path, tmp_path: Path, squares: Any
) -> None:
    run, out = small_run(BetaVAE(1.0)), tmp_path / "new"
    for changes, words in (
        ({"architecture": MLP((8,))}, r"not this run's: of decoder.*MLP"),
        ({"latents": 4}, r"of decoder.*the shape \(16, 3\), this run's Convolutional the shape \(16, 4\)"),
        (
            {"architecture": Convolutional(hidden=8, channels=(8, 8))},
            "Expected the same architecture, latents and images",
        ),
    ):
        with pytest.raises(TrainingError, match=words):
            quiet(replace(run, **changes), out, squares, start=other)
    with pytest.raises(HackleError, match="holds no run"):
        quiet(run, out, squares, start=tmp_path)
    (other / "weights.safetensors").unlink()
    with pytest.raises(TrainingError, match="holds no weights to begin with"):
        quiet(run, out, squares, start=other)
    assert not out.exists()


class Stubborn(nn.Module):
    """An encoder that needs the values of its parameters when it is made."""

    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.layer = nn.Linear(shape[0] * shape[1] * shape[2], 2 * latents)
        self.scale = float(self.layer.weight.detach().std())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(images.flatten(1)) / self.scale


def test_networks_of_ones_own_match_too(tmp_path: Path, squares: Any) -> None:
    run = small_run(VAE(), steps=1, optimiser=STILL, architecture=Own(Stubborn, Decoding))
    quiet(run, tmp_path / "own", squares)
    quiet(replace(run, seed=5), tmp_path / "new", squares, start=tmp_path / "own")
    assert_equal_weights(tmp_path / "own", tmp_path / "new")


def test_it_resumes_without_the_other_and_says_where_it_is_lost(
    other: Path, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, out = small_run(VAE(), steps=6), tmp_path / "new"
    whole = quiet(run, tmp_path / "whole", squares, start=other)
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(TrainingError, match="stopped at step 2"):
            quiet(run, out, squares, start=other)
    shutil.rmtree(other)
    quiet(whole.run, out, squares, resume=True)
    assert_equal_weights(tmp_path / "whole", out)
    with pytest.raises(TrainingError, match=r"begins with the weights .* neither they nor a checkpoint .* --from DIR"):
        quiet(whole.run, tmp_path / "third", squares)
    with pytest.raises(TrainingError, match="and those that are given are"):
        quiet(replace(run, start_from="a-b"), None, squares, start=whole)
    with pytest.raises(EngineError, match="begin with random weights"):
        run_study([whole.run], tmp_path / "study", progress=False)


def test_the_others_folder_is_read_as_data(other: Path, tmp_path: Path, squares: Any) -> None:
    """Its record may name any class: nothing is imported. Links that leave it and damaged files are refused."""
    run = small_run(VAE(), steps=1)
    content = json.loads((other / "run.json").read_text())
    content["record"]["method"] = {"type": "antigravity:Method", "weight": 1.0}
    (other / "run.json").write_text(json.dumps(content))
    assert quiet(run, None, squares, start=other).run.start_from
    assert "antigravity" not in sys.modules
    path = other / "weights.safetensors"
    moved = path.rename(tmp_path / "elsewhere.safetensors")
    path.symlink_to(moved)
    with pytest.raises(TrainingError, match="a link that leaves its folder"):
        quiet(run, None, squares, start=other)
    path.unlink()
    path.write_bytes(moved.read_bytes()[:-9])
    with pytest.raises(TrainingError, match="cannot be read"):
        quiet(run, None, squares, start=other)
