"""Checkpoints and weights to begin with, as someone who wishes you ill would send them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

import hackle
from hackle.core.errors import HackleError
from hackle.core.types import Run
from hackle.nets import MLP
from hackle.objectives import BetaVAE
from hackle.train.model import Model
from hackle.train.unfinished import load_unfinished

State = dict[str, Tensor]
CHECKPOINT, WEIGHTS = "checkpoint.safetensors", "weights.safetensors"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    place = tmp_path_factory.mktemp("trained")
    np.savez(place / "data.npz", images=np.random.default_rng(0).integers(0, 255, (40, 8, 8, 1), dtype=np.uint8))
    run = Run(BetaVAE(2.0), MLP((4,)), str(place / "data.npz"), steps=2, batch_size=4, latents=2)
    hackle.fit(run, out=place / "run", progress=False, tensorboard=False)
    return place / "run", run


@pytest.fixture
def theirs(trained: tuple[Path, Run], tmp_path: Path) -> Path:
    """A folder whose run has not finished."""
    folder = Path(shutil.copytree(trained[0], tmp_path / "theirs"))
    (folder / WEIGHTS).unlink()
    return folder


def forge(folder: Path, change: Callable[[State, dict[str, str]], object]) -> None:
    with safe_open(folder / CHECKPOINT, framework="pt") as file:
        state, known = {name: file.get_tensor(name).clone() for name in file.keys()}, dict(file.metadata())  # noqa: SIM118
    del known["checksum"]
    change(state, known)
    save_file(state, folder / CHECKPOINT, known)


def retyped(name: str, dtype: torch.dtype) -> Callable[[State, dict[str, str]], object]:
    return lambda state, known: state.update({name: state[name].to(dtype)})


def value(name: str, put: Tensor) -> Callable[[State, dict[str, str]], object]:
    return lambda state, known: state.update({name: put})


def fact(name: str, put: str) -> Callable[[State, dict[str, str]], object]:
    return lambda state, known: known.update({name: put})


REFUSED = {
    "runs are a number": fact("runs", "5"),
    "runs are lists": fact("runs", "[[1]]"),
    "runs are nested": fact("runs", "[" * 100_000),
    "more runs than rows": lambda state, known: known.update(runs=json.dumps(["other", *json.loads(known["runs"])])),
    "seconds are a word": fact("seconds", "long"),
    "no seconds": lambda state, known: known.pop("seconds"),
    "no step": lambda state, known: state.pop("step"),
    "step is not a number": value("step", torch.tensor(float("nan"))),
    "weights without rows": value("weights/encoder", torch.zeros(0, 3)),
    "moments of another dtype": retyped("first/encoder", torch.float64),
    "weights of another dtype": retyped("weights/encoder", torch.bfloat16),
    "a curve without points": value("curves/kl", torch.zeros(())),
    "a curve of too many axes": value("curves/kl", torch.zeros(1, 1, 1, 3)),
    "a curve of another dtype": retyped("curves/kl", torch.bfloat16),
    "curves without steps": value("curves/step", torch.zeros(())),
}


@pytest.mark.parametrize("steps", [2, 4], ids=["resumed", "lengthened"])
@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_a_forged_checkpoint_is_refused_in_words(
    theirs: Path, trained: tuple[Path, Run], change: Callable[[State, dict[str, str]], object], steps: int
) -> None:
    forge(theirs, change)
    with pytest.raises(HackleError, match=r"damaged|other networks"):
        resume(theirs, trained[1], steps)


def resume(folder: Path, run: Run, steps: int) -> None:
    hackle.fit(replace(run, steps=steps), out=folder, resume=True, progress=False, tensorboard=False)


@pytest.mark.parametrize(
    "change",
    [value("sum/0", torch.zeros(1)), retyped("broken/0", torch.float64), lambda state, known: state.pop("broken/0")],
    ids=["short sums", "marks of another dtype", "no marks"],
)
def test_forged_running_sums_are_given_up(
    theirs: Path, trained: tuple[Path, Run], change: Callable[[State, dict[str, str]], object]
) -> None:
    forge(theirs, change)
    resume(theirs, trained[1], 4)
    assert (theirs / WEIGHTS).is_file()


def test_what_no_fleet_writes_is_not_kept(theirs: Path, trained: tuple[Path, Run]) -> None:
    forge(theirs, value("bomb", torch.zeros(1, 1000)))
    resume(theirs, trained[1], 4)
    assert "bomb" not in load_file(theirs / CHECKPOINT)


@pytest.mark.parametrize("steps", [2, 4], ids=["resumed", "lengthened"])
def test_a_checkpoint_that_is_a_link_out_of_its_folder_is_not_read(
    theirs: Path, trained: tuple[Path, Run], tmp_path: Path, steps: int
) -> None:
    os.replace(theirs / CHECKPOINT, tmp_path / CHECKPOINT)
    (theirs / CHECKPOINT).symlink_to(tmp_path / CHECKPOINT)
    with pytest.raises(HackleError, match="leaves its folder"):
        resume(theirs, trained[1], steps)


def test_a_checkpoint_that_never_ends_is_passed_over(theirs: Path, trained: tuple[Path, Run]) -> None:
    (theirs / CHECKPOINT).unlink()
    os.mkfifo(theirs / CHECKPOINT)
    resume(theirs, trained[1], 2)
    assert (theirs / WEIGHTS).is_file()


def grown(path: Path, name: str, size: int) -> None:
    """Puts one more tensor of so many bytes of zeros, which take no place on the disk, into a file."""
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    header["__metadata__"].pop("checksum", None)
    header[name] = {"dtype": "U8", "shape": [1, size], "data_offsets": [len(data), len(data) + size]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    os.truncate(path, path.stat().st_size + size)


@pytest.mark.parametrize("steps", [2, 4], ids=["resumed", "lengthened"])
def test_a_checkpoint_of_more_bytes_than_its_run_can_have_is_not_read(
    theirs: Path, trained: tuple[Path, Run], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(theirs / CHECKPOINT, "first/few", 2**10)
    assert load_unfinished(theirs)[1] == 2
    grown(theirs / CHECKPOINT, "first/many", 2**26)
    monkeypatch.setattr("hackle.train.checkpoints.load_tensors", None)
    with pytest.raises(HackleError, match=r"is damaged \(it has .*B, and the state of its runs has at most"):
        resume(theirs, trained[1], steps)
    with pytest.raises(HackleError, match="at most"):
        load_unfinished(theirs)


def test_no_file_of_tensors_is_read_that_does_not_fit_into_memory(
    trained: tuple[Path, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they are called: those of this name are scales of weights that are stored in bytes."""
    folder = Path(shutil.copytree(trained[0], tmp_path / "theirs"))
    grown(folder / WEIGHTS, "x#scale", 2**26)
    monkeypatch.setattr("hackle.train.weights.available_memory", lambda: 2**26)
    with pytest.raises(HackleError, match="of memory are free"):
        Model.load(folder)
    with pytest.raises(HackleError, match="of memory are free"):
        hackle.fit(replace(trained[1], seed=1), start=folder, progress=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_weights_of_any_dtype_are_begun_with(trained: tuple[Path, Run], tmp_path: Path, dtype: torch.dtype) -> None:
    folder = Path(shutil.copytree(trained[0], tmp_path / "theirs"))
    save_file({name: value.to(dtype) for name, value in load_file(folder / WEIGHTS).items()}, folder / WEIGHTS)
    model = hackle.fit(replace(trained[1], seed=1), start=folder, progress=False)
    assert model.run.start_from
