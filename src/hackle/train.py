"""Training: one loop over a fleet, with run folders, checkpoints that resume exactly, curves and progress.

A run folder holds `run.json` (the record), `weights.safetensors` (the result), `curves.csv` and TensorBoard events (every
term, averaged between log points), and while it trains `checkpoint.safetensors` (the run's rows of the fleet's state).
Since batches and noise are functions of seed and step, a run resumed from any checkpoint ends bit-identical on the CPU
with one never interrupted.
"""

from __future__ import annotations

import csv
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hackle.datasets import load
from hackle.fleet import Fleet, group
from hackle.model import RECORD, WEIGHTS, Model, read_record, write_record
from hackle.records import record_hash
from hackle.types import Dataset, HackleError, Run

CHECKPOINT, CURVES = "checkpoint.safetensors", "curves.csv"
LONG_RUN_SECONDS = 30 * 60


class TrainingError(HackleError):
    """A training that cannot start, go on or be resumed."""


class Diverged(TrainingError):
    """A run whose loss is no longer finite."""


@contextmanager
def _stop_requests() -> Iterator[threading.Event]:
    """An event set by Ctrl-C or a termination signal, so that a step is always finished before the loop ends."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def write_atomically(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file in one step: whoever reads it sees the old file or the new one, never a part."""
    partial = path.with_name(path.name + ".partial")
    try:
        save_file({name: value.contiguous() for name, value in tensors.items()}, partial, metadata)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TrainingError(
            f"could not write {path}: {error}. Nothing was overwritten; free some space and resume"
        ) from error


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path, run: Run, shape: tuple[int, int, int]) -> None:
        self.path, self.run, self.shape = path, run, shape
        self._writer: Any = None

    def claim(self, resume: bool) -> None:
        """Take the folder for this run, or say why it cannot be had."""
        if (self.path / RECORD).exists():
            other, _ = read_record(self.path)
            if record_hash(other) != record_hash(self.run):
                raise TrainingError(
                    f"{self.path} holds another run ({other.method}, seed {other.seed}); choose another --out"
                )
            if not resume:
                raise TrainingError(
                    f"{self.path} holds this run already; add --resume to go on, or choose another --out"
                )
            return
        if self.path.exists() and any(self.path.iterdir()):
            raise TrainingError(f"{self.path} is not empty and holds no run; choose another --out")
        self.path.mkdir(parents=True, exist_ok=True)
        write_record(self.path, self.run, self.shape)

    @property
    def finished(self) -> bool:
        return (self.path / WEIGHTS).is_file()

    def read_checkpoint(self) -> dict[str, Tensor] | None:
        """This run's rows, or None where there is no checkpoint yet."""
        path = self.path / CHECKPOINT
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise TrainingError(f"{path} is damaged ({error}); delete it to start this run anew") from error

    def log(self, step: int, terms: dict[str, list[float] | float]) -> None:
        """Append one row to the curves, as a table and as TensorBoard scalars."""
        flat: dict[str, float] = {}
        for name, value in terms.items():
            if isinstance(value, list):
                flat |= {f"{name}_{position}": item for position, item in enumerate(value)}
            else:
                flat[name] = value
        path = self.path / CURVES
        row = {"step": str(step)} | {name: f"{value:.9g}" for name, value in flat.items()}
        if not path.exists():
            path.write_text(",".join(row) + "\n")
        with path.open("r+", newline="") as file:
            columns = file.readline().strip().split(",")
            file.seek(0, os.SEEK_END)
            csv.DictWriter(file, columns, lineterminator="\n").writerow(row)
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self.path), purge_step=step)
        for name, value in flat.items():
            self._writer.add_scalar(name, value, step)

    def rewind(self, step: int) -> None:
        """Drop the rows of the curves after a step, which training is about to write again."""
        path = self.path / CURVES
        if not path.exists():
            return
        lines = path.read_text().splitlines(keepends=True)
        kept = [lines[0], *(line for line in lines[1:] if line.endswith("\n") and int(line.split(",", 1)[0]) <= step)]
        partial = path.with_name(path.name + ".partial")
        partial.write_text("".join(kept))
        os.replace(partial, path)

    def finish(self, weights: dict[str, Tensor]) -> None:
        """Write the result and drop the checkpoint."""
        if self._writer is not None:
            self._writer.close()
        write_atomically(weights, self.path / WEIGHTS)
        (self.path / CHECKPOINT).unlink(missing_ok=True)


def _row(state: dict[str, Tensor], row: int) -> dict[str, Tensor]:
    """One run's part of a fleet's state: its row of what is stacked, a copy of what is shared."""
    return {name: (value[row] if value.dim() else value).detach().cpu().clone() for name, value in state.items()}


def _restore(fleet: Fleet, rows: Sequence[dict[str, Tensor]]) -> None:
    for name in rows[0]:
        value = torch.stack([row[name] for row in rows])
        stacked = (name in fleet.state and fleet.state[name].dim() > 0) or name.startswith(("sum/", "broken/"))
        fleet.state[name] = (value if stacked else value[0]).to(fleet.device)


def default_device() -> torch.device:
    """A CUDA device where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(
    runs: Run | Sequence[Run],
    *,
    out: str | Path | None = None,
    dataset: Dataset | None = None,
    root: str | Path | None = None,
    device: torch.device | str | None = None,
    resume: bool = False,
    log_every: int = 100,
    checkpoint_seconds: float = 60.0,
    progress: bool = True,
) -> Any:
    """Train one run to a `Model`, or several to a list of models; runs that stack train together.

    out: the run's folder, or the folder that holds one folder per run, named by the run's hash; None keeps nothing.
    dataset: a data set of your own instead of the one that the runs name. root: where data sets lie.
    resume: go on from the checkpoints under `out`. log_every: steps between two points of the curves.
    A run that diverges raises `Diverged` when it trains alone; among others it comes back as None and the others go on.
    """
    if isinstance(runs, Run):
        folder = None if out is None else Path(out)
        (model,) = _fit_all([runs], [folder], dataset, root, device, resume, log_every, checkpoint_seconds, progress)
        if isinstance(model, Diverged):
            raise model
        return model
    folders = [None if out is None else Path(out) / record_hash(run) for run in runs]
    models = _fit_all(list(runs), folders, dataset, root, device, resume, log_every, checkpoint_seconds, progress)
    return [None if isinstance(model, Diverged) else model for model in models]


def _fit_all(
    runs: list[Run],
    paths: list[Path | None],
    dataset: Dataset | None,
    root: str | Path | None,
    device: torch.device | str | None,
    resume: bool,
    log_every: int,
    checkpoint_seconds: float,
    progress: bool,
) -> list[Model | Diverged]:
    by_hash: dict[str, Model | Diverged] = {}
    where = {record_hash(run): path for run, path in zip(runs, paths, strict=True)}
    target = torch.device(device) if device is not None else default_device()
    console = Console(stderr=True, quiet=not progress)
    for members in group(runs):
        data = dataset if dataset is not None else load(members[0].dataset, root)
        folders = {
            record_hash(run): RunFolder(path, run, data.shape)
            for run in members
            if (path := where[record_hash(run)]) is not None
        }
        for folder in folders.values():
            folder.claim(resume)
        waiting: dict[int, list[tuple[Run, dict[str, Tensor] | None]]] = {}
        for run in members:
            folder = folders.get(record_hash(run))
            if folder is not None and folder.finished:
                by_hash[record_hash(run)] = Model.load(folder.path)
                continue
            rows = folder.read_checkpoint() if folder is not None else None
            waiting.setdefault(0 if rows is None else int(rows["step"]), []).append((run, rows))
        for step, entries in sorted(waiting.items()):
            fleet = Fleet([run for run, _ in entries], data.images_on(target), len(data.factors), data.shape, target)
            if step:
                _restore(fleet, [rows for _, rows in entries if rows is not None])
            own = [folders.get(record_hash(run)) for run in fleet.runs]
            for run, result in zip(fleet.runs, _train(fleet, own, log_every, checkpoint_seconds, console), strict=True):
                by_hash[record_hash(run)] = result
    return [by_hash[record_hash(run)] for run in runs]


def _train(
    fleet: Fleet, folders: Sequence[RunFolder | None], log_every: int, checkpoint_seconds: float, console: Console
) -> list[Model | Diverged]:
    """Take every step that is left, then hand over the models."""
    steps, done = fleet.runs[0].steps, fleet.step_number
    for folder in folders:
        if folder is not None:
            folder.rewind(done)

    def checkpoint() -> None:
        for row, folder in enumerate(folders):
            if folder is not None:
                write_atomically(_row(fleet.state, row), folder.path / CHECKPOINT)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} · {task.fields[rate]} ·"),
        TimeRemainingColumn(compact=True),
        TextColumn("left {task.fields[losses]}"),
    )
    name = type(fleet.runs[0].method).__name__
    started, saved = time.monotonic(), time.monotonic()
    with _stop_requests() as stop, Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{name} × {len(fleet)}", total=steps, completed=done, rate="", losses="")
        first = done
        while done < steps:
            fleet.step()
            done += 1
            if done - first == 20:
                _warn_if_long((time.monotonic() - started) / 20, steps - done, fleet.device, console)
            if done % log_every == 0 or done == steps:
                averages = fleet.averages()
                for row, folder in enumerate(folders):
                    if folder is not None:
                        folder.log(done, averages[row])
                rate = (done - first) * len(fleet) / (time.monotonic() - started)
                losses = " ".join(
                    f"{name.replace('_', ' ')} {value:.4g}"
                    for name, value in list(averages[0].items())[:3]
                    if isinstance(value, float)
                )
                bar.update(task, completed=done, rate=f"{rate:,.1f}/s", losses=losses)
                if bool((fleet.state["failed_at"] >= 0).all()):
                    break
                if time.monotonic() - saved > checkpoint_seconds and done < steps:
                    checkpoint()
                    saved = time.monotonic()
            if stop.is_set():
                checkpoint()
                kept = (
                    ", ".join(str(folder.path) for folder in folders if folder is not None) or "nowhere: no --out given"
                )
                raise TrainingError(f"stopped at step {done:,}; checkpoint in {kept}. Go on with --resume")
    return [_outcome(fleet, row, folder) for row, folder in enumerate(folders)]


def _warn_if_long(seconds_per_step: float, left: int, device: torch.device, console: Console) -> None:
    estimate = seconds_per_step * left
    if estimate > LONG_RUN_SECONDS:
        console.print(
            f"[yellow]{left:,} steps will take about {estimate / 3600:.1f} hours on this {device.type.upper()}; "
            "Ctrl-C leaves a checkpoint, fewer --steps or a GPU shorten it[/yellow]"
        )


def _outcome(fleet: Fleet, row: int, folder: RunFolder | None) -> Model | Diverged:
    run, failed_at = fleet.runs[row], int(fleet.state["failed_at"][row])
    if failed_at >= 0:
        terms = ", ".join(fleet.broken_terms(row)) or "the total"
        good = folder.read_checkpoint() if folder is not None else None
        kept = (
            f"last good checkpoint: step {int(good['step']):,} in {folder.path}"
            if good is not None and folder is not None and int(good["failed_at"]) < 0
            else "no checkpoint was written before that"
        )
        return Diverged(
            f"{run.method} with seed {run.seed} diverged at step {failed_at:,}: {terms} not finite; {kept}. "
            "A smaller learning rate or weight often helps"
        )
    model = Model(run, fleet.shape, fleet.weights(row)).to(fleet.device)
    run.method.calibrate(model.networks, run, fleet.images, fleet.data_size)
    if folder is not None:
        folder.finish(model.weights())
    return model
