"""Workers of a Ray cluster: one fleet per GPU, or per core where there is none, and scoring on what is left.

The driver stays the only writer: weights, curves and scores come back to it. Checkpoints are in the study's folder as
the worker sees it; on a cluster without a shared file system, only the machine that wrote them can use them.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from hackle.core.processes import root_folder
from hackle.engine.errors import EngineError
from hackle.engine.executor import Event, outcome_of
from hackle.engine.tasks import CheckNames, Settings, Task

try:
    import ray
    from ray.exceptions import RayError, TaskCancelledError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise EngineError('Ray is not installed: pip install "hackle[ray]", or leave out --engine ray') from error

_TRAIN_SHARE, _SCORE_SHARE = 0.8, 0.025
"""Fractions of a GPU: one training task and up to eight scoring tasks share it."""


class _Mailbox:
    """An actor that holds the messages of tasks until the driver fetches them."""

    def __init__(self) -> None:
        self._messages: dict[int, list[Any]] = {}

    def post(self, number: int, value: Any) -> None:
        self._messages.setdefault(number, []).append(value)

    def take(self) -> dict[int, list[Any]]:
        messages, self._messages = self._messages, {}
        return messages


def _perform(number: int, task: Task, settings: Settings, mailbox: Any, folder: str) -> Event:
    """folder: the one to work in, to which paths of data are relative; the worker's own if empty."""
    if folder:
        os.chdir(folder)
    torch.set_num_threads(1)
    threadpool_limits(1)
    return outcome_of(number, task, settings, partial(mailbox.post.remote, number))


def _check_address(address: str) -> None:
    """Fail at once where nothing listens; Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise EngineError(
            f"nobody answers at {address} ({error}); give --address host:port of a running Ray cluster, or none to "
            "start one here"
        ) from error


class Ray:
    """Runs tasks on a Ray cluster: the one at `address`, or one started here with `workers` cores."""

    def __init__(self, settings: Settings, workers: int | None, address: str | None) -> None:
        self._ours = not ray.is_initialized()
        # Workers of a cluster that is there already have a folder of their own.
        self._folder = os.getcwd() if self._ours and address is None else ""
        if self._ours:
            where: dict[str, Any] = {"address": address}
            found = [os.path.abspath(path) for path in sys.path]
            if address is None:
                # Workers find what the driver finds, such as the file of a user's study.
                environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(found)}}
                cores = workers or os.cpu_count()
                where = {"address": "local", "num_cpus": cores, "include_dashboard": False, "runtime_env": environment}
            else:
                _check_address(address)
            try:
                # Ray has workers look in the current folder for modules before all others, and somebody may have sent it.
                with nullcontext() if os.getcwd() in found else root_folder():
                    ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
            except Exception as error:
                raise EngineError(f"Ray could not be started or reached ({error}); check --address") from error
        cuda = settings.device.startswith("cuda") or (not settings.device and "GPU" in ray.cluster_resources())
        self.settings = settings if settings.device else replace(settings, device="cuda" if cuda else "cpu")
        self._remote = ray.remote(_perform)
        self._perform = {
            kind: self._remote.options(num_cpus=1, num_gpus=share if cuda else 0, max_retries=0)
            for kind, share in (("train", _TRAIN_SHARE), ("score", _SCORE_SHARE))
        }
        self._cuda, self.shared = cuda, not cuda
        self._unchecked = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        self.machines = len(self._unchecked)
        self._mailbox: Any = ray.remote(_Mailbox).options(num_cpus=0).remote()
        self._active: dict[Any, tuple[int, str]] = {}

    def _room(self, kind: str) -> int:
        """The number of tasks of a kind that run at a time."""
        resources = ray.cluster_resources()
        cores, cards = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
        if not self._cuda:
            return cores
        return max(1, cards if kind == "train" else min(int(cards * (1 - _TRAIN_SHARE) / _SCORE_SHARE), cores - cards))

    @property
    def scorers(self) -> int:
        return self._room("score")

    @property
    def trainers(self) -> int:
        return self._room("train")

    def free(self, kind: str) -> bool:
        kinds = [active for _, active in self._active.values()]
        return (kinds.count(kind) if self._cuda else len(kinds)) < self._room(kind)

    def submit(self, number: int, task: Task) -> None:
        perform = self._perform[task.kind]
        if isinstance(task, CheckNames) and self._unchecked:
            # One on each machine, whatever its resources.
            here = NodeAffinitySchedulingStrategy(self._unchecked.pop(), soft=True)
            perform = self._remote.options(scheduling_strategy=here, num_cpus=0, max_retries=0)
        reference = perform.remote(number, task, self.settings, self._mailbox, self._folder)
        self._active[reference] = number, task.kind

    def wait(self, seconds: float) -> list[Event]:
        if self._active:
            ray.wait(list(self._active), timeout=seconds)
        known = {number for number, _ in self._active.values()}
        messages: Any = ray.get(self._mailbox.take.remote())
        events = [
            Event(number, "alive", value) for number, values in messages.items() if number in known for value in values
        ]
        ready = ray.wait(list(self._active), num_returns=len(self._active), timeout=0)[0] if self._active else []
        for reference in ready:
            number, _ = self._active.pop(reference)
            try:
                events.append(ray.get(reference))
            except TaskCancelledError:
                events.append(Event(number, "lost", "it was cancelled"))
            except RayError as error:
                events.append(Event(number, "lost", f"its worker died ({type(error).__name__})"))
        return events

    def kill(self, number: int) -> None:
        for reference, (active, _) in self._active.items():
            if active == number:
                ray.cancel(reference, force=True)

    def stop(self) -> None:
        for reference, (_, kind) in self._active.items():
            if kind == "train":
                ray.cancel(reference)

    def close(self) -> None:
        for reference in self._active:
            ray.cancel(reference, force=True)
        if self._ours:
            ray.shutdown()
