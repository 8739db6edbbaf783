"""Checkpoints of whole fleets, written in the background of training and looked up by the runs that they hold.

A checkpoint is one safetensors file: the fleet's state with a row per run, its curves, and as metadata the runs' hashes,
the step and a checksum. The state is copied (on CUDA into pinned memory, in stream order, so that training goes on at
once) and a thread writes the copy. The previous file is kept as `….previous.safetensors`. To resume, ask for the runs
wanted: the newest intact rows are returned, however the fleet was cut when they were written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from hackle.core.files import human_size, remedy, replacing
from hackle.core.types import Run
from hackle.core.untrusted import file_inside
from hackle.train.curves import HAD, PREFIX, STEPS, Curves
from hackle.train.errors import DamagedCheckpoint, TrainingError, WriteError
from hackle.train.weights import checksum, load_tensors, save_tensors, shapes_of

NAME = "checkpoint"


def write_atomically(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file atomically: a reader sees the old file or the new one, never a part.

    A checksum of the contents goes into the metadata.
    """
    whole = {name: value.contiguous() for name, value in tensors.items()}
    try:
        with replacing(path) as partial:
            save_tensors(whole, partial, metadata)
    except (OSError, SafetensorError) as error:
        raise WriteError(
            f"could not write {path}: {error}. Nothing was overwritten; {remedy(error)} and resume"
        ) from error


def as_bytes(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The contents of the file that `write_atomically` would write."""
    whole = {name: value.contiguous() for name, value in tensors.items()}
    return save(whole, {**(metadata or {}), "checksum": checksum(whole)})


def read_whole(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a file that `write_atomically` wrote, if its checksum holds."""
    try:
        return load_tensors(path)
    except (SafetensorError, OSError, RuntimeError, MemoryError) as error:
        raise DamagedCheckpoint(f"{path} is damaged ({error})") from error


@dataclass(frozen=True)
class Snapshot:
    """The state of a fleet's runs after a step, on the CPU. seconds: the time each run has taken so far."""

    runs: tuple[str, ...]
    state: dict[str, Tensor]
    seconds: float = 0.0

    @property
    def step(self) -> int:
        return int(self.state["step"])

    @property
    def problem(self) -> str:
        """Why this is not the state of a fleet, in words; "" if it is. Whether the networks match is checked when it is
        used."""
        step, points = self.state.get("step"), self.state.get(STEPS, torch.zeros(0)).numel()
        if step is None or step.dim() or step.dtype != torch.int64:
            return "it has no step"
        if STEPS in self.state and (self.state[STEPS].dim() != 1 or self.state[STEPS].dtype != torch.int64):
            return "its curves have no steps"
        for name, value in self.state.items():
            if _has_rows(name, value) and len(value) != len(self.runs):
                return f"{name} has {len(value)} rows, for {len(self.runs)} runs"
            curve = name.startswith(PREFIX) and name != STEPS
            if curve and (value.dim() not in (2, 3) or value.shape[1] != points or value.dtype != torch.float32):
                return f"{name} is no curve of {points} points"
            if name.startswith(HAD) and value.shape != (len(self.runs),):
                return f"{name} does not say which runs have a term"
        return ""

    def only(self, runs: Sequence[str]) -> Snapshot:
        """The rows of these runs, in this order."""
        if tuple(runs) == self.runs:
            # Nothing is copied, so that a file takes up no memory before it is known to be of the right networks.
            return self
        rows = torch.tensor([self.runs.index(run) for run in runs])
        cut = {name: value[rows] if _has_rows(name, value) else value for name, value in self.state.items()}
        return Snapshot(tuple(runs), cut, self.seconds)

    def joined(self, other: Snapshot) -> Snapshot:
        """The rows of both, which are at the same step."""
        state = {
            name: torch.cat(_as_wide(name, value, other.state[name])) if _has_rows(name, value) else value
            for name, value in self.state.items()
            if not _is_curve(name)
        }
        state |= self.curves.joined(other.curves).tensors()
        return Snapshot(self.runs + other.runs, state, max(self.seconds, other.seconds))

    def of_fleet(self, fleet: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The state to load into a fleet, without curves; `TrainingError` if it belongs to other networks.

        Running sums exist from the first step on, and are dropped where they are not what a fleet writes.
        """
        for name, value in fleet.items():
            there = self.state.get(name)
            if there is None or (there.shape, there.dtype) != (value.shape, value.dtype):
                raise TrainingError(
                    f"the checkpoint is of other networks than this run's: its {name} is missing or has another shape"
                )
        state = {name: self.state[name] for name in fleet}
        for name, total in self.state.items():
            other = name.replace("sum/", "broken/")
            if other == name or (marks := self.state.get(other)) is None:
                continue
            if (
                total.dim() == 2
                and total.shape == marks.shape
                and (total.dtype, marks.dtype) == (torch.float32, torch.bool)
            ):
                state |= {name: total, other: marks}
        return state

    def fits(self, other: Snapshot) -> bool:
        """Whether both are at the same step of the same networks and have points at the same steps."""
        points = [snapshot.state.get(STEPS, torch.zeros(0)).tolist() for snapshot in (self, other)]
        mine, theirs = ({name for name in state if not _is_curve(name)} for state in (self.state, other.state))
        return self.step == other.step and points[0] == points[1] and mine == theirs

    @property
    def curves(self) -> Curves:
        return Curves.of(self.state)


def most_bytes(run: Run, shape: tuple[int, int, int]) -> int:
    """The most bytes that the state of a run can have, by its record: far more than it usually has. Networks that cannot be
    built without memory leave it open."""
    try:
        shapes = shapes_of(run, shape)
    except SafetensorError as error:
        raise DamagedCheckpoint(f"there can be no checkpoint of this run: {error}") from error
    if shapes is None:
        return sys.maxsize
    # Every parameter, in rows of 16 numbers, with its two moments; a point at every step, of terms with a value per latent.
    numbers = 4 * sum(math.prod(size) + 16 for size in shapes.values())
    return 2**20 + 4 * (numbers + run.steps * (16 * run.latents + 256))


def _has_rows(name: str, value: Tensor) -> bool:
    return value.dim() > 0 and name != STEPS


def _is_curve(name: str) -> bool:
    return name.startswith((PREFIX, HAD))


def _as_wide(name: str, *parts: Tensor) -> list[Tensor]:
    """Rows of two fleets; running sums, of which methods have different numbers, with zeros up to the wider one's columns."""
    width = max(part.shape[-1] for part in parts) if name.startswith(("sum/", "broken/")) else 0
    return [F.pad(part, (0, max(0, width - part.shape[-1]))) for part in parts]


def _copy_to_host(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Callable[[], None]]:
    """A copy of the current state, and a function that waits until the copy is complete."""
    devices = {value.device for value in state.values() if value.device.type == "cuda"}
    copies = {
        name: torch.empty(value.shape, dtype=value.dtype, pin_memory=value.device.type == "cuda").copy_(
            value.detach(), non_blocking=True
        )
        for name, value in state.items()
    }
    events = [torch.cuda.current_stream(device).record_event() for device in devices]

    def wait() -> None:
        for event in events:
            event.synchronize()

    return copies, wait


class Checkpoints:
    """The checkpoints in one folder. `alone`: the folder is one run's own, and its file has a plain name. `last`: the state
    after the last step is also kept, from which a run can be lengthened."""

    def __init__(self, folder: Path, *, alone: bool = False, last: bool = False) -> None:
        self.folder, self._alone, self.last = folder, alone, last
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[None] | None = None
        self.seconds = 0.0
        """The time that the last checkpoint took to write."""

    def path(self, runs: Iterable[str]) -> Path:
        """Where a fleet of these runs keeps its newest checkpoint."""
        key = "" if self._alone else "-" + hashlib.sha256(",".join(sorted(runs)).encode()).hexdigest()[:16]
        return self.folder / f"{NAME}{key}.safetensors"

    @property
    def busy(self) -> bool:
        """Whether the last checkpoint is still being written."""
        return self._writing is not None and not self._writing.done()

    def save(self, snapshot: Snapshot) -> None:
        """Copy the state and write it in the background. An error of the previous write is raised here."""
        self.wait()
        state, ready = _copy_to_host(snapshot.state)
        self._writing = self._thread.submit(self._write, Snapshot(snapshot.runs, state, snapshot.seconds), ready)

    def _write(self, snapshot: Snapshot, ready: Callable[[], None]) -> None:
        started = time.monotonic()
        ready()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(snapshot.runs)
        known = {"runs": json.dumps(snapshot.runs), "step": str(snapshot.step), "seconds": repr(snapshot.seconds)}
        with replacing(path, "new") as new:
            write_atomically(snapshot.state, new, known)
            if path.exists():
                os.replace(path, _previous(path))
        self.seconds = time.monotonic() - started

    def wait(self) -> None:
        """Wait until nothing is being written; raises what went wrong."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def latest(
        self,
        runs: Sequence[str],
        say: Callable[[str], None] = lambda line: None,
        most: Callable[[], int] | None = None,
    ) -> list[Snapshot]:
        """The newest intact rows of each of these runs that has any; those at the same step are joined.

        A damaged file is skipped for an older one, with a line to `say`. Where there is none, `DamagedCheckpoint` is
        raised if the damaged file is known to be this fleet's. most: the bytes that the state of a run can have, by its
        record; a file of more is damaged, and not read.
        """
        wanted, snapshots, damaged = set(runs), [], []
        for _, path, members in self._by_age(damaged):
            if not wanted & set(members):
                continue
            try:
                if most is not None and (size := path.stat().st_size) > (room := most() * len(members)):
                    said = f"it has {human_size(size)}, and the state of its runs has at most {human_size(room)}"
                    raise DamagedCheckpoint(f"{path} is damaged ({said})")
                state, known = read_whole(path)
            except DamagedCheckpoint as error:
                damaged.append((path, error))
                continue
            mine = [run for run in runs if run in wanted and run in members]
            whole = Snapshot(tuple(members), state, float(known["seconds"]))
            if problem := whole.problem:
                damaged.append((path, DamagedCheckpoint(f"{path} is damaged ({problem})")))
                continue
            snapshots.append(whole.only(mine))
            wanted -= set(mine)
        for path, error in damaged:
            if wanted and path in (self.path(runs), _previous(self.path(runs))):
                raise DamagedCheckpoint(f"{error}; delete it to start its runs anew") from error
            say(f"{error}; going on from an older checkpoint or from the start")
        return _together(snapshots, runs)

    def steps(self) -> dict[str, int]:
        """The runs that have rows here, each with the furthest step."""
        return {run: step for step, _, members in reversed(self._by_age([])) for run in members}

    def _by_age(self, damaged: list[tuple[Path, DamagedCheckpoint]]) -> list[tuple[int, Path, list[str]]]:
        """Every checkpoint with its step and the hashes of its runs, the furthest step first."""
        listed = []
        for path in sorted(self.folder.glob(f"{NAME}*.safetensors")):
            try:
                if file_inside(self.folder, path.name) is None:
                    # Another worker has just replaced it by a newer one.
                    continue
                with safe_open(path, framework="pt") as file:
                    known = file.metadata()
                members = json.loads(known["runs"])
                if not isinstance(members, list) or not all(isinstance(run, str) for run in members):
                    raise ValueError("it does not name its runs")
                float(known["seconds"])
                listed.append((int(known["step"]), path, members))
            except FileNotFoundError:
                continue
            except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
                damaged.append((path, DamagedCheckpoint(f"{path} is damaged ({error})")))
        return sorted(listed, key=lambda entry: -entry[0])

    def discard(self, finished: Iterable[str], damaged: bool = False) -> None:
        """Delete every checkpoint whose runs have all finished, and the damaged ones too, if asked."""
        with suppress(WriteError):
            # What could not be written need not be deleted.
            self.wait()
        over, broken = set(finished), []
        for _, path, members in self._by_age(broken):
            if over.issuperset(members):
                path.unlink(missing_ok=True)
            elif damaged:
                try:
                    read_whole(path)
                except DamagedCheckpoint:
                    path.unlink(missing_ok=True)
        if damaged:
            for path, _ in broken:
                path.unlink(missing_ok=True)

    def discard_previous(self) -> None:
        """Delete every checkpoint that has a newer one."""
        for path in self.folder.glob(f"{NAME}*.previous.safetensors"):
            path.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Delete the folder of fleets if it is empty; only if no other process writes into it."""
        if not self._alone and self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def _together(snapshots: Iterable[Snapshot], order: Sequence[str]) -> list[Snapshot]:
    """Join snapshots that fit into one, its runs in the order given."""
    parts: list[Snapshot] = []
    for snapshot in snapshots:
        for position, part in enumerate(parts):
            if part.fits(snapshot):
                parts[position] = part.joined(snapshot)
                break
        else:
            parts.append(snapshot)
    return [part.only([run for run in order if run in part.runs]) for part in parts]
