"""Workers on this machine: processes that take tasks from a pipe, and end when the driver does.

On a CPU every worker trains and scores, each with one thread. On CUDA some workers train, usually one, and the others
score.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from hackle.core.processes import SAFE_PATH, safe_path
from hackle.engine.executor import Event, outcome_of
from hackle.engine.tasks import Settings, Task


def _exit_with_driver() -> None:
    """End this worker if its driver is killed, so that it does not write checkpoints alongside the next driver's."""
    driver = parent_process()

    def watch() -> None:
        if driver is not None:
            driver.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def work(pipe: Connection, settings: Settings) -> None:
    """A worker's loop: take a task, report progress, send the outcome."""
    _exit_with_driver()
    # It was meant for the start of this process, not for processes that the user's code starts.
    os.environ.pop(SAFE_PATH, None)
    # Ctrl-C reaches all processes of a terminal: training takes it as a request to stop, other tasks leave it to the
    # driver.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threadpool_limits(1)
    while True:
        try:
            number, task = pipe.recv()
        except EOFError:
            return
        except Exception as error:
            # The task names a class that cannot be found here. The driver knows which task it sent.
            pipe.send(Event(0, "error", f"{type(error).__name__}: {error}"))
            continue
        pipe.send(outcome_of(number, task, settings, partial(_tell, pipe, number)))


def _tell(pipe: Connection, number: int, value: Any) -> None:
    pipe.send(Event(number, "alive", value))


class _Worker:
    """One process and our end of its pipe."""

    def __init__(self, kinds: frozenset[str], settings: Settings) -> None:
        self.kinds, self.settings = kinds, settings
        self.task: tuple[int, str] | None = None
        self._start()

    def give(self, number: int, task: Task) -> None:
        if not self._process.is_alive():
            self._start()
        self.task = number, task.kind
        try:
            self.pipe.send((number, task))
        except OSError:
            # It has just died: the sentinel will report it, and the task counts as lost.
            return

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self.settings), daemon=True)
        with safe_path():
            self._process.start()
        theirs.close()

    @property
    def handles(self) -> list[Any]:
        return [self.pipe, self._process.sentinel]

    def events(self) -> list[Event]:
        """What the worker sent, and a `lost` event if it died. What it sent before that counts."""
        events: list[Event] = []
        if self.task is None:
            return events
        alive = self._process.is_alive()
        try:
            while self.task is not None and self.pipe.poll():
                event = self.pipe.recv()
                events.append(replace(event, number=self.task[0]))
                if event.what != "alive":
                    self.task = None
        except (EOFError, OSError):
            alive = False
            self._process.join()
        if not alive and self.task is not None:
            (number, _), self.task = self.task, None
            events.append(Event(number, "lost", f"its worker died (exit code {self._process.exitcode})"))
        return events

    def signal(self, number: int) -> None:
        if self._process.is_alive() and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def end(self) -> None:
        """Idle workers end when their pipe closes; a busy one is killed."""
        if self.task is not None:
            self.signal(signal.SIGKILL)
        self.pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


class Local:
    """`workers` processes; on CUDA these score, and as many more as there are trainers train."""

    machines = 1

    def __init__(self, settings: Settings, workers: int) -> None:
        self.scorers, self.shared = workers, settings.device == "cpu"
        self.trainers = workers if self.shared else settings.trainers
        both = frozenset(("train", "score"))
        if self.shared:
            self._workers = [_Worker(both, settings) for _ in range(workers)]
        else:
            kinds = ["train"] * settings.trainers + ["score"] * workers
            self._workers = [_Worker(frozenset((kind,)), settings) for kind in kinds]

    def free(self, kind: str) -> bool:
        return any(worker.task is None and kind in worker.kinds for worker in self._workers)

    def submit(self, number: int, task: Task) -> None:
        next(worker for worker in self._workers if worker.task is None and task.kind in worker.kinds).give(number, task)

    def wait(self, seconds: float) -> list[Event]:
        busy = [worker for worker in self._workers if worker.task is not None]
        wait([handle for worker in busy for handle in worker.handles], seconds)
        return [event for worker in busy for event in worker.events()]

    def kill(self, number: int) -> None:
        for worker in self._workers:
            if worker.task is not None and worker.task[0] == number:
                worker.signal(signal.SIGKILL)

    def stop(self) -> None:
        for worker in self._workers:
            if worker.task is not None and worker.task[1] == "train":
                worker.signal(signal.SIGTERM)

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
