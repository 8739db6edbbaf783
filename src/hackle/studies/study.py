"""What a study is, and all known studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hackle.core.errors import HackleError
from hackle.core.parts import Parts
from hackle.core.types import Run


class StudyError(HackleError):
    """A study that does not exist, or options that it does not take."""


@dataclass(frozen=True)
class Study:
    """A function that returns runs, its one-line description, and the protocols and metrics by which its runs are
    scored."""

    name: str
    runs: Callable[..., list[Run]]
    about: str = ""
    protocols: tuple[str, ...] = ("locatello2019",)
    metrics: str = "all"


STUDIES: Parts[Study] = Parts(
    "study",
    ("hackle.papers.*.study",),
    lambda thing: isinstance(thing, Study),
    adopt=lambda name, thing: Study(name, thing) if callable(thing) else None,  # type: ignore[arg-type]
    error=StudyError,
    order=lambda found: found.name,
)
"""Every study by name."""
