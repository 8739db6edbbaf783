"""Fleets in training: split when memory ends, cut to the memory there is, resumed however they are cut."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from test_train import assert_equal_weights, curves, quiet, stop_after

from hackle.core.records import record_hash
from hackle.nets import MLP
from hackle.objectives import VAE, BetaVAE, FactorVAE
from hackle.train import TrainingError, fit
from hackle.train.fleet import Fleet
from hackle.train.size import LARGEST_ON_CPU, choose_fleet_size, cut
from train.test_fleet import SMALL, small_run

FACTOR = FactorVAE(gamma=5.0, discriminator_layers=2, discriminator_width=16)
DENSE = MLP((8,))
"""Fleets are cut and resumed alike whatever networks they have; dense ones take a third of the time."""


def runs_of(count: int, steps: int = 9, method: Any = FACTOR, architecture: Any = DENSE) -> list[Any]:
    return [small_run(method, seed=seed, steps=steps, architecture=architecture) for seed in range(count)]


def assert_near(first: list[Any], second: list[Any]) -> None:
    """Stacks of another size may sum in another order: a few units in the last place."""
    for left, right in zip(first, second, strict=True):
        for name, value in left.weights().items():
            torch.testing.assert_close(value, right.weights()[name], rtol=1e-5, atol=1e-6, msg=name)


def short_of_memory(monkeypatch: pytest.MonkeyPatch, most: int, at: int) -> list[int]:
    """A device on which more than so many models do not fit, which shows in the middle of a step. Returns sizes tried."""
    original, sizes = Fleet._take, []

    def take(self: Fleet, position: int, phase: Any, carry: Any) -> Any:
        if position == 1 and len(self) > most and self.step_number >= at:
            sizes.append(len(self))
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return original(self, position, phase, carry)

    monkeypatch.setattr(Fleet, "_take", take)
    return sizes


@pytest.mark.parametrize("kept", [False, True])
def test_a_fleet_without_memory_splits_and_gives_the_same_models(
    kept: bool, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    runs = runs_of(5)
    whole = quiet(runs, None, squares)
    sizes = short_of_memory(monkeypatch, most=2, at=4)
    out = tmp_path / "out" if kept else None
    split = fit(runs, out=out, dataset=squares, device="cpu", log_every=1, checkpoint_seconds=0.0)
    # The half of three does not fit either; the state in the middle of a step is never gone on from.
    assert sizes == [5, 3]
    assert_near(whole, split)
    said = " ".join(capsys.readouterr().err.split())
    assert "out of memory with 5 models: going on with 3 and 2" in said
    if out is not None:
        assert {path.name for path in out.iterdir()} == {record_hash(run) for run in runs}
        for run in runs:
            assert [row["step"] for row in curves(out / record_hash(run))] == [str(step) for step in range(1, 10)]


def test_one_model_that_does_not_fit_is_said(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    short_of_memory(monkeypatch, most=0, at=0)
    with pytest.raises(TrainingError, match="one model does not fit in memory"):
        quiet(runs_of(2), None, squares)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_fleet_resumes_however_it_is_cut(
    size: int, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(3)
    whole = quiet(runs, tmp_path / "whole", squares, log_every=2)
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(TrainingError, match=r"stopped at step 5; checkpoint in .*fleets"):
            quiet(runs, tmp_path / "parts", squares, log_every=2)
    assert len(list((tmp_path / "parts" / "fleets").iterdir())) == 1
    original, steps = Fleet.step, []
    monkeypatch.setattr(Fleet, "step", lambda self: (steps.append(len(self)), original(self)))
    parts = quiet(runs, tmp_path / "parts", squares, log_every=2, resume=True, fleet_size=size)
    assert sum(steps) == 3 * 4
    assert_near(whole, parts)
    assert not (tmp_path / "parts" / "fleets").exists()
    for run in runs:
        name = record_hash(run)
        if size == 3:
            assert_equal_weights(tmp_path / "whole" / name, tmp_path / "parts" / name)
        steps_logged = [row["step"] for row in curves(tmp_path / "parts" / name)]
        assert steps_logged == ["2", "4", "6", "8", "9"]


def test_runs_of_several_checkpoints_train_together_again(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(4, method=VAE())
    whole = quiet(runs, None, squares)
    for part in (runs[:2], runs[2:]):
        with monkeypatch.context() as patch:
            stop_after(patch, 5)
            with pytest.raises(TrainingError):
                quiet(part, tmp_path, squares)
    original, sizes = Fleet.step, set()
    monkeypatch.setattr(Fleet, "step", lambda self: (sizes.add(len(self)), original(self)))
    assert_near(whole, quiet(runs, tmp_path, squares, resume=True))
    assert sizes == {4}


def test_fleets_are_no_larger_than_asked(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original, sizes = Fleet.__init__, []

    def build(self: Fleet, runs: Any, *rest: Any) -> None:
        sizes.append(len(runs))
        original(self, runs, *rest)

    monkeypatch.setattr(Fleet, "__init__", build)
    quiet(runs_of(7, steps=1, method=VAE()), None, squares, fleet_size=3)
    assert sizes == [3, 2, 2]
    with pytest.raises(TrainingError, match="fleet_size is 0"):
        quiet(runs_of(2), None, squares, fleet_size=0)


def test_fleet_sizes_follow_free_memory(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, runs = torch.device("cpu"), runs_of(100, method=BetaVAE(4.0))
    assert choose_fleet_size(runs, squares, cpu) == LARGEST_ON_CPU
    assert choose_fleet_size(runs[:3], squares, cpu) == 3
    one = 4 * 4 * 7 * 16 * 16 * 33  # the activations alone
    monkeypatch.setattr("hackle.train.size.available_memory", lambda: 5 * one)
    assert 1 <= choose_fleet_size(runs, squares, cpu) <= 3
    monkeypatch.setattr("hackle.train.size.available_memory", lambda: 1)
    assert choose_fleet_size(runs, squares, cpu) == 1


@pytest.mark.parametrize(("count", "size"), [(1, 1), (10, 3), (300, 128), (7, 100), (12, 4)])
def test_cuts_are_even_and_lose_nothing(count: int, size: int) -> None:
    parts = cut(range(count), size)
    assert [item for part in parts for item in part] == list(range(count))
    lengths = [len(part) for part in parts]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    assert len(parts) == -(-count // size)


def test_training_goes_on_while_a_checkpoint_is_written(
    tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk holds up neither steps nor the state that is written: it is the state of the step it was taken at."""
    from hackle.train import checkpoints

    original_step, original_write, log = Fleet.step, checkpoints.write_atomically, []

    def step(self: Fleet) -> None:
        original_step(self)
        log.append(self.step_number)

    def write(tensors: Any, path: Path, metadata: Any) -> None:
        begun = len(log)
        while len(log) < begun + 5:
            time.sleep(0.001)
        original_write(tensors, path, metadata)
        log.append(("written", begun, int(tensors["step"])))

    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "step", step)
        patch.setattr(checkpoints, "write_atomically", write)
        stop_after(patch, 14)
        patch.setattr("hackle.train.loop._FleetTraining._stop", lambda self, done: self.checkpoints.wait() or _leave())
        with pytest.raises(_Left):
            quiet(runs_of(2, steps=18, method=VAE()), tmp_path, squares, log_every=1, checkpoint_seconds=0.0)
    written = [entry for entry in log if isinstance(entry, tuple)]
    assert written
    assert all(taken <= begun for _, begun, taken in written)
    quiet(runs_of(2, steps=18, method=VAE()), tmp_path, squares, log_every=1, resume=True)
    quiet(runs_of(2, steps=18, method=VAE()), tmp_path / "whole", squares, log_every=1)
    for run in runs_of(2, steps=18, method=VAE()):
        assert_equal_weights(tmp_path / record_hash(run), tmp_path / "whole" / record_hash(run))


class _Left(BaseException):
    pass


def _leave() -> None:
    raise _Left


@pytest.mark.gpu
def test_cuda_fleets_are_cut_to_the_free_memory(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device, runs = torch.device("cuda"), runs_of(400, steps=3, method=VAE(), architecture=SMALL)
    roomy = choose_fleet_size(runs, squares, device)
    assert roomy == 300
    free, total = torch.cuda.mem_get_info(device)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free // 20_000, total))
    tight = choose_fleet_size(runs, squares, device)
    assert 1 <= tight < 300


@pytest.mark.gpu
def test_a_cuda_checkpoint_resumes_the_fleet(tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(3, steps=20, architecture=SMALL)

    def on_cuda(out: Path, **options: Any) -> Any:
        return fit(runs, out=out, dataset=squares, device="cuda", progress=False, log_every=4, **options)

    whole = on_cuda(tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 13)
        with pytest.raises(TrainingError, match="stopped at step 13"):
            on_cuda(tmp_path / "parts", checkpoint_seconds=0.0)
    parts = on_cuda(tmp_path / "parts", resume=True)
    for left, right in zip(whole, parts, strict=True):
        for name, value in left.weights().items():
            torch.testing.assert_close(value, right.weights()[name], rtol=1e-4, atol=1e-5, msg=name)
