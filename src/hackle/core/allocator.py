"""The memory of this machine: how much is free, and keeping what was freed for the next step.

A training step on the CPU allocates and frees the same large activations as the one before. The C library's allocator gives
each back to the system and faults it in again, page by page, which costs a fifth of a step and half of an encoding.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 2**31 - 1


@cache
def keep_freed_memory() -> bool:
    """Tell glibc, once per process, to reuse large blocks; elsewhere do nothing. Returns whether glibc accepted."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST) and mallopt(_TRIM_THRESHOLD, _LARGEST))


def available_memory() -> int:
    """Bytes of main memory available without swapping."""
    try:
        with open("/proc/meminfo") as file:
            entries = dict(line.split(":", 1) for line in file)
        return int(entries["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
