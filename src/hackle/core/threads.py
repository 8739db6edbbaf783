"""How the threads of a computation wait for one another.

Threads that share a loop meet at its end. By default OpenMP's spin for some milliseconds before they sleep, which is fastest on
a machine that does nothing else. Where another program takes a core, two of the threads may have to share one; then the one
that spins keeps the core from the one that it waits for, and a training step of a hundred short loops takes many times as long.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_LOOKS, _BETWEEN = 3, 0.01


def wait_asleep_where_others_run() -> bool:
    """Where other programs keep cores busy now, have OpenMP's threads sleep while they wait; returns whether they do.

    It is read when PyTorch is loaded, so this comes before. What the user has set stays. Results are the same.
    """
    if any(name in os.environ for name in _SETTINGS) or not _others_run():
        return False
    os.environ["OMP_WAIT_POLICY"] = "passive"
    return True


def _others_run() -> bool:
    """Whether at each of several looks some other thread of this machine was running or waiting for a core."""
    for look in range(_LOOKS):
        if look:
            time.sleep(_BETWEEN)
        try:
            running = Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]
        except (OSError, IndexError, ValueError):
            return False
        # One of them is this thread.
        if not running.isdigit() or int(running) < 2:
            return False
    return True
