"""The model of a run that is still training, as its folder's last checkpoint has it.

A checkpoint holds each network's parameters as one flat row of a fleet. Like every folder, it is read as data: the widths
of its rows are compared with the record's networks before a network takes up memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.core.untrusted import file_inside, is_text
from hackle.train.checkpoints import NAME, Checkpoints, Snapshot, most_bytes
from hackle.train.errors import DamagedCheckpoint
from hackle.train.fleet import build_networks
from hackle.train.layout import Layout
from hackle.train.model import Model
from hackle.train.record_files import ModelError, read_record
from hackle.train.weights import shapes_of


def checkpoint_in(folder: Path) -> Path | None:
    """The newest checkpoint of the run in a folder, None if there is none yet."""
    try:
        path = file_inside(folder, f"{NAME}.safetensors")
    except (ValueError, OSError):
        return None
    return path if path is not None and is_text(str(path)) else None


def step_in(folder: Path) -> int | None:
    """The step of that checkpoint, from its header; None if there is none, or none that can be read."""
    return _read(folder, lambda file: int((file.metadata() or {})["step"]))


def diverged_in(folder: Path) -> int | None:
    """The step at which the run in a folder diverged, as its checkpoint has it; None if it did not, or nothing can be read."""

    def failed_at(file: Any) -> int:
        return int(file.get_tensor("failed_at")[0]) if file.get_slice("failed_at").get_shape() == [1] else -1

    step = _read(folder, failed_at)
    return None if step is None or step < 0 else step


def _read(folder: Path, number: Callable[[Any], int]) -> int | None:
    """A number of the newest checkpoint in a folder."""
    path = checkpoint_in(folder)
    if path is None:
        return None
    try:
        with safe_open(path, framework="pt") as file:
            return number(file)
    except (SafetensorError, OSError, KeyError, RuntimeError, ValueError, OverflowError):
        return None


def load_unfinished(folder: Path, *, trust: bool = False) -> tuple[Model, int]:
    """The model of a run's last checkpoint, and its step; `ModelError` if there is none. trust: as for `Model.load`.

    Networks that are calibrated after training, such as an InfoGAN's, are not: that takes the run's images.
    """
    run, shape = read_record(folder, trust=trust)
    try:
        snapshots = Checkpoints(folder, alone=True).latest([record_hash(run)], most=partial(most_bytes, run, shape))
    except (DamagedCheckpoint, SafetensorError, ValueError, OSError, json.JSONDecodeError) as error:
        raise ModelError(f"the checkpoint in {folder} cannot be read: {error}") from error
    if not snapshots:
        raise ModelError(f"{folder} holds a run without a checkpoint yet; it has one after about a minute of training")
    (snapshot,) = snapshots
    _check(run, shape, snapshot, folder)
    return Model(run, shape, _weights(run, shape, snapshot)), snapshot.step


def _check(run: Run, shape: tuple[int, int, int], snapshot: Snapshot, folder: Path) -> None:
    """Refuse rows that are not as wide as the record's networks; networks that need memory to be built are built."""
    try:
        shapes = shapes_of(run, shape)
    except SafetensorError as error:
        raise ModelError(f"the checkpoint in {folder} cannot be opened: {error}") from error
    for network, own in groupby((shapes or {}).items(), key=lambda item: item[0].partition(".")[0]):
        width = sum(-(-math.prod(size) // 16) * 16 for _, size in own)
        row = snapshot.state.get(f"weights/{network}")
        if row is None or tuple(row.shape) != (1, width):
            raise ModelError(f"the checkpoint in {folder} is of other networks than the record's: {network} differs")


def _weights(run: Run, shape: tuple[int, int, int], snapshot: Snapshot) -> dict[str, Tensor]:
    layouts = {name: Layout.of(network) for name, network in build_networks(run, shape).items()}
    return {
        f"{network}.{name}": value.detach().reshape(size).clone()
        for network, layout in layouts.items()
        for (name, value), size in zip(
            layout.unflatten(snapshot.state[f"weights/{network}"][0]).items(), layout.shapes, strict=True
        )
    }
