"""One driver per study folder."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from hackle.core.types import HackleError
from hackle.train.lock import FILE, held, holder

__all__ = ["FILE", "EngineError", "driving", "holder"]


class EngineError(HackleError):
    """A study that cannot start or go on."""


def driving(folder: Path) -> AbstractContextManager[None]:
    """The lock of a study's folder, which only one driver holds; a second is refused and told who that is."""
    return held(folder, EngineError)
