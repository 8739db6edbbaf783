"""A finished run goes on where it ended, to the weights of a run that was never interrupted."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hackle.core.records import record_hash
from hackle.core.types import Adam, Losses, Phase, Run
from hackle.nets import Convolutional
from hackle.objectives import VAE, AnnealedVAE, BetaVAE
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.train import TrainingError, fit
from hackle.train.fleet import Fleet
from hackle.train.folder import DataChanged
from hackle.train.lengthening import depends_on_steps
from hackle.train.model import Model
from train.test_fleet import small_run
from train.test_train import FACTOR, assert_equal_weights, curves, quiet, stop_after


@pytest.mark.parametrize(
    "changes",
    [
        {"method": BetaVAE(4.0)},
        {"method": FACTOR},
        {"method": AnnealedVAE(c_max=5.0, iteration_threshold=9)},
        {"method": VAE(), "kl_warmup": 9.0, "optimiser": Adam(1e-3, warmup=9.0, decay="cosine", decay_steps=12.0)},
    ],
    ids=["β-VAE", "FactorVAE", "AnnealedVAE", "schedules"],
)
def test_a_lengthened_run_has_the_weights_of_an_uninterrupted_one(
    changes: dict[str, Any], tmp_path: Path, squares: Any
) -> None:
    run = small_run(**{"steps": 6, **changes})
    long, out = replace(run, steps=15), tmp_path / "run"
    quiet(long, tmp_path / "whole", squares, log_every=3)
    first = quiet(run, out, squares, log_every=3)
    model = quiet(long, out, squares, log_every=3)
    assert model.run == Model.load(out).run == long
    assert_equal_weights(tmp_path / "whole", out)
    assert curves(tmp_path / "whole") == curves(out)
    # Which run it continues is written beside the record, and that run is still there.
    assert json.loads((out / "run.json").read_text())["continues"] == [{"hash": record_hash(run), "steps": 6}]
    before = Model.load(out / "steps-6")
    assert before.run == run
    assert all(torch.equal(value, before.weights()[name]) for name, value in first.weights().items())
    assert [row["step"] for row in curves(out / "steps-6")] == ["3", "6"]


def test_images_of_ones_own_that_have_changed_since_are_told(tmp_path: Path) -> None:
    """Of a path the record says nothing but the name, and weights of two sets of images would be those of no run."""
    path, out = tmp_path / "blocks.npz", tmp_path / "run"
    images = np.random.default_rng(0).integers(0, 256, (16, 16, 16, 1), dtype=np.uint8)
    np.savez(path, images=images)
    run = small_run(VAE(), steps=2, dataset=str(path))
    quiet(run, out, None)
    quiet(replace(run, steps=3), out, None)
    noted = json.loads((out / "run.json").read_text())["data"]
    np.savez(path, images=255 - images)
    for steps in (4, 5):
        with pytest.warns(DataChanged, match=r"blocks\.npz has changed since .*run was begun: .* choose another out"):
            quiet(replace(run, steps=steps), out, None)
    assert json.loads((out / "run.json").read_text())["data"] == noted
    np.savez(path, images=images)
    quiet(replace(run, steps=6), out, None)


def test_twice_with_an_interruption_and_scores_that_are_set_aside(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, out = small_run(FACTOR, steps=4), tmp_path / "run"
    quiet(run, out, squares)
    (out / "scores.json").write_text("[]")
    middle, long = replace(run, steps=9), replace(run, steps=14)
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        with pytest.raises(TrainingError, match="stopped at step 7"):
            quiet(middle, out, squares)
    assert not (out / "weights.safetensors").exists()
    assert not (out / "scores.json").exists()
    assert (out / "steps-4" / "scores.json").read_text() == "[]"
    # Unfinished at 9, it may go on to 14 at once.
    quiet(long, out, squares, resume=True)
    quiet(long, tmp_path / "whole", squares)
    assert_equal_weights(tmp_path / "whole", out)
    known = json.loads((out / "run.json").read_text())["continues"]
    assert [one["steps"] for one in known] == [4, 9]
    assert not (out / "steps-9").exists()
    # It is finished now: the same again trains nothing.
    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "step", lambda self: pytest.fail("trained again"))
        quiet(long, out, squares, resume=True)


def test_the_state_is_kept_as_asked_and_without_it_nothing_is_touched(tmp_path: Path, squares: Any) -> None:
    run, out = small_run(VAE(), steps=3), tmp_path / "run"
    quiet(run, out, squares, keep_state=False)
    assert not list(out.glob("checkpoint*"))
    record = (out / "run.json").read_text()
    with pytest.raises(TrainingError, match=r"state of its optimisers was not kept.*--from .*run"):
        quiet(replace(run, steps=5), out, squares)
    assert (out / "run.json").read_text() == record
    assert Model.load(out).run == run
    quiet(run, tmp_path / "kept", squares, checkpoint_seconds=0.0, log_every=1)
    assert [path.name for path in (tmp_path / "kept").glob("checkpoint*")] == ["checkpoint.safetensors"]
    quiet(run, tmp_path / "kept", squares, resume=True, keep_state=False)
    assert not list((tmp_path / "kept").glob("checkpoint*"))
    with pytest.raises(TrainingError, match=r"another run \(steps: 3 there, 2 asked\)\. A run can be lengthened"):
        quiet(replace(run, steps=2), tmp_path / "kept", squares, resume=True)


def _reading(nets: Any, step: Any, run: Any) -> Losses:
    found = evidence(nets, step, run)
    return Losses(found.reconstruction + found.kl * step.number / run.steps, found.terms)


@dataclass(frozen=True)
class Reading(Autoencoder):
    """Its loss rises with the part of the training that is done."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_reading, run),)


@dataclass(frozen=True)
class Planning(Autoencoder):
    """Its phases depend on how long it trains."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return VAE().phases(run) * (1 if run.steps < 100 else 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": Reading()}, "Reading asks for run.steps"),
        ({"method": Planning()}, "Planning asks for run.steps"),
        ({"optimiser": Adam(1e-3, decay="cosine")}, "its learning rate falls until the last step"),
        ({"method": replace(FACTOR, discriminator_optimiser=Adam(1e-3, decay="linear"))}, "its learning rate falls"),
    ],
)
def test_what_depends_on_the_number_of_steps_is_not_lengthened(
    changes: dict[str, Any], words: str, tmp_path: Path, squares: Any
) -> None:
    run = small_run(**{"method": VAE(), "steps": 3, **changes})
    quiet(run, tmp_path / "run", squares)
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    with pytest.raises(TrainingError, match=f"cannot be lengthened: {words}.* first 3 would have been different"):
        quiet(replace(run, steps=5), tmp_path / "run", squares)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == names


def test_what_does_not_depend_on_it(squares: Any) -> None:
    for optimiser in (Adam(), Adam(warmup=5.0), Adam(decay="linear", decay_steps=9.0)):
        run = small_run(FACTOR, optimiser=optimiser, precision="bfloat16")
        assert depends_on_steps(run, squares.shape) == ""


def test_a_checkpoint_of_other_networks_is_refused(tmp_path: Path, squares: Any) -> None:
    """A folder in which somebody has put another run's checkpoint under this one's hash."""
    run = small_run(VAE(), steps=2)
    quiet(run, tmp_path / "run", squares)
    other = replace(run, architecture=Convolutional(hidden=8, channels=(8, 8)))
    quiet(other, tmp_path / "other", squares)
    content = (tmp_path / "other" / "checkpoint.safetensors").read_bytes()
    swapped = content.replace(record_hash(other).encode(), record_hash(run).encode())
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(swapped)
    with pytest.raises(TrainingError, match="the checkpoint is of other networks than this run's"):
        quiet(replace(run, steps=4), tmp_path / "run", squares)


def test_lists_of_runs_keep_no_states(tmp_path: Path, squares: Any) -> None:
    fit([small_run(VAE(), seed=seed) for seed in range(2)], out=tmp_path, dataset=squares, device="cpu", progress=False)
    assert not list(tmp_path.rglob("checkpoint*"))
