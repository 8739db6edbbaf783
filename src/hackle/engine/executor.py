"""The interface through which the driver has tasks done, and the simplest one: in this process, one task at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from threadpoolctl import threadpool_limits

from hackle.datasets import DataError
from hackle.engine.tasks import Settings, Task
from hackle.train import MethodError, Stopped, WriteError

Fate = Literal["done", "error", "refused", "stopped", "fatal", "lost"]


@dataclass(frozen=True)
class Event:
    """What became of a task, or a sign of life from it.

    done: `value` is its result. error: it failed, `value` says why. refused: it failed, and would again, because of a
    user's method. stopped: it left a checkpoint, as asked. fatal: it failed, and so would every other task: no
    space, no data. lost: its worker died. alive: `value` is what it reported.
    """

    number: int
    what: Fate | Literal["alive"]
    value: Any = None


class Executor(Protocol):
    """Does tasks, somewhere.

    machines: on how many; each looks for the user's code in its own places.
    shared: whether the workers that score also train.
    """

    machines: int
    shared: bool

    @property
    def scorers(self) -> int:
        """The number of runs it scores at a time."""
        ...

    @property
    def trainers(self) -> int:
        """The number of fleets it trains at a time."""
        ...

    def free(self, kind: str) -> bool:
        """Whether a task of this kind would start now."""
        ...

    def submit(self, number: int, task: Task) -> None: ...

    def wait(self, seconds: float) -> list[Event]:
        """The events since the last call, waiting up to `seconds` if there are none."""
        ...

    def kill(self, number: int) -> None:
        """End the worker that does this task, whatever it is doing. A `lost` event follows."""
        ...

    def stop(self) -> None:
        """Ask every training to leave a checkpoint and end."""
        ...

    def close(self) -> None: ...


def outcome_of(number: int, task: Task, settings: Settings, tell: Any) -> Event:
    """Do a task and say what became of it."""
    try:
        return Event(number, "done", task.perform(settings, tell))
    except Stopped as error:
        return Event(number, "stopped", str(error))
    except MethodError as error:
        return Event(number, "refused", str(error))
    except (DataError, WriteError) as error:
        return Event(number, "fatal", str(error))
    except Exception as error:
        return Event(number, "error", f"{type(error).__name__}: {error}")


@contextmanager
def _one_thread() -> Iterator[None]:
    """As in workers, so that sums run in the same order and results are bit-identical."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


class Inline:
    """Everything in this process, one task after the other: for small studies, and for debugging."""

    machines, scorers, trainers, shared = 1, 1, 1, True

    def __init__(self, settings: Settings, ends_training: Callable[[], bool] = lambda: False) -> None:
        """ends_training: asked while a fleet trains, since nobody else can ask it to leave a checkpoint and end."""
        self.settings, self._ends_training = settings, ends_training
        self._waiting: deque[tuple[int, Task]] = deque()

    def free(self, kind: str) -> bool:
        return not self._waiting

    def submit(self, number: int, task: Task) -> None:
        self._waiting.append((number, task))

    def wait(self, seconds: float) -> list[Event]:
        if not self._waiting:
            return []
        number, task = self._waiting.popleft()
        told: list[Event] = []

        def tell(value: Any) -> bool:
            told.append(Event(number, "alive", value))
            return task.kind == "train" and self._ends_training()

        with _one_thread():
            event = outcome_of(number, task, self.settings, tell)
        return [*told, event]

    def kill(self, number: int) -> None:
        """Nothing runs between two waits."""

    def stop(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()
