"""What can go wrong with a study."""

from __future__ import annotations

from hackle.core.errors import HackleError


class EngineError(HackleError):
    """A study that cannot start or go on."""
