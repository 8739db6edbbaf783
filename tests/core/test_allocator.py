"""With glibc, large blocks come from the heap, which keeps them, rather than from mappings of their own, which go."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import ctypes, sys
from hackle.core.allocator import keep_freed_memory

class Report(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks use free keep".split()]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Report
library.malloc.restype = ctypes.c_void_p
if sys.argv[1] == "yes":
    assert keep_freed_memory()
before = library.mallinfo2().hblks
assert library.malloc(ctypes.c_size_t(100_000_000))
print(library.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
@pytest.mark.parametrize(("asked", "mappings"), [("no", 1), ("yes", 0)])
def test_large_blocks_come_from_the_heap(asked: str, mappings: int) -> None:
    found = subprocess.run([sys.executable, "-c", CODE, asked], capture_output=True, text=True, check=True)
    assert int(found.stdout) == mappings
