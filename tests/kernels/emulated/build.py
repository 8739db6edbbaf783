"""Compiles CUDA C++ for the CPU, with `emulator.hpp` in the place of the GPU."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Kernels look at the same bytes as different types, which their own compiler allows.
FLAGS = ("-O2", "-std=c++20", "-shared", "-fPIC", "-fno-strict-aliasing", "-DHACKLE_EMULATED", f"-I{HERE}")

NO_COMPILER = "g++ is not on the path: install it to run CUDA kernels on the CPU"

_loaded: dict[object, ctypes.CDLL] = {}


def available() -> bool:
    """Whether there is a compiler; without one, `library` raises."""
    return shutil.which("g++") is not None


def library(source: Path, wrappers: str, defines: dict[str, object]) -> ctypes.CDLL:
    """The kernels of a file as functions of this process.

    source: CUDA C++ that includes `emulator.hpp` where `HACKLE_EMULATED` is defined.
    wrappers: C++ that follows the source, such as `extern "C" void run(...) { emulator::launch(...); }`.
    defines: macros of the preprocessor and their values.
    """
    if not available():
        raise RuntimeError(NO_COMPILER)
    source = source.resolve()
    texts = source.read_text(), (HERE / "emulator.hpp").read_text()
    options = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    # The folder counts as well: what the source includes from there is not read here.
    key = (*texts, wrappers, source.parent, *options)
    if key not in _loaded:
        _loaded[key] = _compiled(source, wrappers, options)
    return _loaded[key]


def _compiled(source: Path, wrappers: str, options: list[str]) -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="hackle-emulated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    unit, target = folder / "unit.cpp", folder / "kernels.so"
    # Included rather than copied, so that lines in messages and reports are those of the source.
    unit.write_text(f'#include "{source}"\n{wrappers}\n')
    command = ["g++", *FLAGS, *options, "-x", "c++", str(unit), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"g++ could not compile {source}:\n{done.stderr}")
    return ctypes.CDLL(str(target))
