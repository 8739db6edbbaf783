"""What can go wrong in training."""

from __future__ import annotations

import torch

from hackle.core.errors import HackleError


class TrainingError(HackleError):
    """A training that cannot start, go on or be resumed."""


class MethodError(TrainingError):
    """A user's method or network that does something that cannot be trained."""


class WriteError(TrainingError):
    """A file that could not be written, for lack of space or permission."""


class Stopped(TrainingError):
    """A training that was asked to stop and left a checkpoint."""

    exit_code = 130
    """The exit status that shells give for Ctrl-C."""


class Diverged(TrainingError):
    """A run whose loss is no longer finite."""


class DamagedCheckpoint(TrainingError):
    """A checkpoint that cannot be read, without an older one to use instead."""


_NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out, on a device or on the host."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # PyTorch has no class of errors, and no code, for a lack of host memory and for one that CUDA itself reports.
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)
