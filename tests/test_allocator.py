"""On Linux with glibc, large blocks that were freed are used again without faulting their pages in anew."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys, torch
from hackle.allocator import keep_freed_memory
if sys.argv[1] == "yes":
    assert keep_freed_memory()
def work():
    for _ in range(5):
        torch.ones(20_000_000)
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
def test_freed_blocks_are_not_faulted_in_again() -> None:
    faults = [
        int(subprocess.run([sys.executable, "-c", CODE, answer], capture_output=True, text=True, check=True).stdout)
        for answer in ("no", "yes")
    ]
    assert faults[1] < 0.1 * faults[0]
