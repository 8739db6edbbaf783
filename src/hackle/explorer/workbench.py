"""Models in memory and what is computed with them: each result once, and a bounded number at a time."""

from __future__ import annotations

import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hackle.core.errors import HackleError
from hackle.core.factors import scored_factors
from hackle.core.method import about
from hackle.core.types import Dataset
from hackle.datasets import load_of_run, without_size
from hackle.explorer.catalogue import Served
from hackle.explorer.commands import train_command
from hackle.metrics.likelihood import active_units
from hackle.pictures import Axis, Captured, Look, axes_of, importance_for, to_bytes
from hackle.pictures.captured import informativeness_of
from hackle.train.errors import is_out_of_memory
from hackle.train.model import WEIGHTS, Model
from hackle.train.record_files import run_of_record
from hackle.train.unfinished import checkpoint_in, load_unfinished, step_in

T = TypeVar("T")
KEPT_MODELS, KEPT_DATASETS = 24, 3
LOOK_SIZE, GLANCE_SIZE, LOOK_VALUES = 2000, 200, 25_000_000
"""Numbers of images for a model's histograms and mutual information, and for ordering the latents of a thumbnail; fewer
if images are large, so that at most this many pixel values are encoded."""
MOST_VALUES = 24_000_000
"""The most pixel values that one request may decode: about 400 colour images of 128 × 128."""
WAITING = 24
"""Requests that may wait for a turn; any more are told to try again."""


class Busy(HackleError):
    """More requests than can be served."""


class Missing(HackleError):
    """A run without weights, or a data set that is not here."""


class RequestLimit:
    """Lets a few requests work at once and a bounded number wait."""

    def __init__(self, at_once: int, waiting: int = WAITING) -> None:
        self._slots = threading.Semaphore(at_once)
        self._room = threading.Semaphore(at_once + waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        if not self._room.acquire(blocking=False):
            raise Busy("too many requests at once; try again in a moment")
        try:
            with self._slots:
                yield
        finally:
            self._room.release()


class LastUsed:
    """A least-recently-used cache. A value is computed once, by the first request for its key; other requests wait for
    it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def held(self, key: Hashable) -> Any:
        """The value of a key, None if there is none, or none any more."""
        with self._lock:
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            value = make()
            with self._lock:
                self._values[key] = value
                self._making.pop(key, None)
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
            return value


class Bench:
    """One model with its data set, and the results computed from them. step: that of its checkpoint while it trains;
    version: which of its checkpoints that is."""

    version = ""

    def __init__(self, model: Model, dataset: Dataset | None, problem: str, step: int | None = None) -> None:
        self.model, self.dataset, self.problem, self.step = model, dataset, problem, step
        self._lock = threading.RLock()
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, computed by the first request for it; other requests wait."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    @property
    def axes(self) -> tuple[Axis, ...]:
        return axes_of(self.model)

    @property
    def traversed(self) -> tuple[Axis, ...]:
        """The latents with the ends of their traversals, which follow the data if the data set is available."""
        return self.axes if self.dataset is None else self.look.axes

    @property
    def noise(self) -> int:
        """The number of a generator's noise variables, which follow the codes in its input."""
        method = self.model.run.method
        return about(method).noise_inputs(method)

    @property
    def data(self) -> Dataset:
        """The data set; raises an error with the reason if it is not available."""
        if self.dataset is None:
            raise Missing(self.problem)
        return self.dataset

    @property
    def _look_size(self) -> int:
        return max(256, min(LOOK_SIZE, LOOK_VALUES // int(np.prod(self.model.shape))))

    @property
    def look(self) -> Look:
        return self.once("look", lambda: Look.of(self.model, self.data, n=self._look_size))

    @cached_property
    def glance(self) -> Look:
        """A quick look, for thumbnails."""
        return Look.of(self.model, self.data, n=max(32, self._look_size * GLANCE_SIZE // LOOK_SIZE))

    @property
    def captured(self) -> Captured:
        return self.once("captured", lambda: Captured.of(self.look, self.data.factors))

    def importance_for(self, factor: int) -> NDArray[np.float64]:
        """A factor's column of DCI's importance, computed once."""
        return self.once(factor, lambda: importance_for(self.look, self.data.factors, factor))

    @property
    def importance(self) -> NDArray[np.float64]:
        """The whole matrix, (c, f)."""
        return np.stack([self.importance_for(factor) for factor in range(len(self.captured.factors))], axis=1)

    @cached_property
    def informativeness(self) -> NDArray[np.float64]:
        return informativeness_of(self.look)

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Which latents have not collapsed to the prior, or, of class numbers, take more than one value."""
        classes = [axis.prior == "categorical" for axis in self.axes]
        used = active_units(self.look.means, self.look.logvars, discrete=classes)
        return np.array([axis.prior == "uniform" or used[code] for code, axis in enumerate(self.axes)])

    @property
    def has_factors(self) -> bool:
        return self.dataset is not None and bool(scored_factors(self.dataset.factors))

    def decode(self, z: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Images (n, h, w, c) as bytes."""
        widths = {len(self.axes), len(self.axes) + self.noise}
        if z.ndim != 2 or z.shape[1] not in widths or not np.isfinite(z).all():
            wanted = " or ".join(str(width) for width in sorted(widths))
            raise ValueError(f"latents have shape {z.shape}; expected rows of {wanted} finite numbers")
        if len(z) * int(np.prod(self.model.shape)) > MOST_VALUES:
            raise ValueError(f"{len(z)} images at once are too many for this model; ask for fewer")
        return to_bytes(self.model.decode(np.clip(z, -1e3, 1e3)))


class Workbench:
    """Benches of the served runs."""

    def __init__(self, catalogue: Served, root: Path | None = None, *, trust: bool = False) -> None:
        self.catalogue, self.root, self.trust = catalogue, root, trust
        self.light, self.heavy = RequestLimit(2), RequestLimit(1)
        self._benches, self._datasets = LastUsed(KEPT_MODELS), LastUsed(KEPT_DATASETS)

    def bench(self, identifier: str) -> Bench:
        """The model of a run, from memory or from its folder; of a run that is training, its last checkpoint, or, if the
        identifier is followed by @ and a bench's version, that one, although there may be a newer one."""
        name, _, version = identifier.partition("@")
        if version:
            held = self._benches.held((name, version))
            if held is None:
                raise Missing("this checkpoint is no longer held: reload the page to see the newest one")
            return held
        folder, version = self._folder(name), str(self.written(name))
        return self._benches.get((name, version), lambda: self._open(folder, version))

    def written(self, identifier: str) -> int:
        """When the weights of a run were written, or the last checkpoint of one that is training."""
        weights = self._folder(identifier) / WEIGHTS
        newest = weights if weights.is_file() else checkpoint_in(weights.parent)
        if newest is None:
            raise Missing(self.no_model(identifier))
        return newest.stat().st_mtime_ns

    def newest_step(self, identifier: str) -> int | None:
        """The step of the last checkpoint of a run that is training; None once its weights are there."""
        folder = self._folder(identifier)
        return None if (folder / WEIGHTS).is_file() else step_in(folder)

    def no_model(self, identifier: str) -> str:
        """Why there is no model of a run to open; empty where there is one."""
        folder, problem = self.catalogue.folder(identifier), self.catalogue.contents.problems.get(identifier, "")
        if folder is None:
            return f"this run failed: {problem}" if problem else self._without_weights(identifier)
        if self.catalogue.row(identifier)["status"] == "unreadable":
            return f"this run cannot be read: {problem}"
        if (folder / WEIGHTS).is_file() or checkpoint_in(folder) is not None:
            return ""
        return self.catalogue.for_visitors(
            "this run has no weights yet: it is training and has no checkpoint, or was stopped and goes on with "
            f"`hackle train --resume --out {shlex.quote(str(folder))}`. Its curves are under Training"
        )

    def _folder(self, identifier: str) -> Path:
        folder = self.catalogue.folder(identifier)
        if folder is None:
            raise Missing(self.no_model(identifier))
        return folder

    def _without_weights(self, identifier: str) -> str:
        """That there is no model to open, and how to train it."""
        try:
            command = train_command(
                run_of_record(self.catalogue.record(identifier)), f"runs/{identifier.rpartition('.')[2]}"
            )
        except (HackleError, ValueError):
            command = ""
        how = f"Train it again with `{command}`" if command else "Its settings are under Record"
        return (
            "there is no model to open: the weights of this run were not kept, only its scores and curves. "
            f"{how}; `hackle study run --keep all` keeps a study's weights"
        )

    def _open(self, folder: Path, version: str) -> Bench:
        if (folder / WEIGHTS).is_file() or checkpoint_in(folder) is None:
            return self._with_data(_converged(Model.load(folder, trust=self.trust)))
        model, step = load_unfinished(folder, trust=self.trust)
        bench = self._with_data(_converged(model), step)
        bench.version = version
        if bench.dataset is not None:
            # What is done after training, so that each image is processed independently.
            method, images = model.run.method, bench.dataset.images_on("cpu")
            about(method).calibrate(method, model.networks, model.run, images, len(bench.dataset.factors))
        return bench

    def _with_data(self, model: Model, step: int | None = None) -> Bench:
        name = model.run.dataset
        how, other_size = without_size(name)[1], f"the data set {name} has images of another size than this model"
        if how.changes_size and (side := how.pad or how.resize, side) != model.shape[:2]:
            # Before anything is scaled: a record may ask for images of any size.
            return Bench(model, None, other_size, step)
        try:
            dataset = self._datasets.get(name, lambda: load_of_run(name, self.root))
        except (HackleError, OSError) as error:
            problem = f"the data set {name} is not here ({error}); images can be drawn from the prior alone"
            return Bench(model, None, self.catalogue.for_visitors(problem), step)
        if tuple(dataset.shape) != tuple(model.shape):
            return Bench(model, None, other_size, step)
        return Bench(model, dataset, "", step)


def _converged(model: Model) -> Model:
    """The model, if what it makes of an image, here a grey one, are numbers."""
    try:
        encoded = model.encode(np.full((1, *model.shape), 128, np.uint8))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise Missing("this model takes more memory for a single image than is free here") from error
    if not all(np.isfinite(part).all() for part in encoded):
        raise Missing("this run diverged: its codes are not finite, and there is no model to look at")
    return model
