"""Turning a published file into one uint8 array on disk, once.

Archives of pictures and compressed arrays are slow to read in random order, so the first load writes them as
`images.npy`, which later loads memory-map, and the factor rows as `rows.npy`. Both are in a folder `prepared-…` beside
the published file; its name is a hash of that file's size and time, so a changed file is prepared again. The folder is
written as `preparing-…` and renamed when it is complete. A second process waits for the first; leftovers of a killed
one are removed by the next.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import Rows
from hackle.core.files import locked
from hackle.core.progress import progress
from hackle.core.terminal import Terminal
from hackle.datasets.damage import DamagedError, check_disk, reading, writing

_FORMAT = 1  # raise when a loader's crop, order or filter changes, so that old prepared folders are left


class Build(NamedTuple):
    """What to write: images of `shape` (n, h, w, c), their factor rows, and the images in parts of any order.

    Each part is a pair of flat indices (k,) and images (k, h, w, c).
    """

    shape: tuple[int, int, int, int]
    rows: Rows
    parts: Iterable[tuple[Iterable[int], NDArray[np.uint8]]]


def prepare(sources: Sequence[Path], build: Callable[[], Build]) -> tuple[NDArray[np.uint8], Rows]:
    """The images, memory-mapped and read-only, and rows that `build` makes from the source files."""
    folder = sources[0].parent
    target = folder / f"prepared-{_fingerprint(sources)}"
    if not target.exists():
        _prepare(folder, target, build)
    with reading(target, f"a prepared folder; delete it and load {folder.name} again"):
        images = np.load(target / "images.npy", mmap_mode="r", allow_pickle=False)
        rows = np.load(target / "rows.npy", allow_pickle=False).astype(np.int64)
    return np.asarray(images), rows


def _fingerprint(sources: Sequence[Path]) -> str:
    # Whole seconds: archives used to copy a data folder between machines keep no finer times.
    facts = [(path.name, path.is_file() and path.stat().st_size, int(path.stat().st_mtime)) for path in sources]
    return hashlib.sha256(repr((_FORMAT, facts)).encode()).hexdigest()[:12]


def _prepare(folder: Path, target: Path, build: Callable[[], Build]) -> None:
    def busy(holder: str) -> None:
        said = f"waiting for {holder} to prepare {folder.name}"
        Terminal(stderr=True).print(said, soft_wrap=True, highlight=False, markup=False)

    with ExitStack() as stack:
        with writing(target):
            alone = stack.enter_context(locked(folder / "preparing.lock", busy))
        if alone:
            for left_over in folder.glob("preparing-*"):
                shutil.rmtree(left_over, ignore_errors=True)
        if not target.exists():
            _write(folder, target, build())


def _write(folder: Path, target: Path, build: Build) -> None:
    check_disk(f"the prepared {folder.name}", folder, math.prod(build.shape))
    with writing(target):
        temporary = Path(tempfile.mkdtemp(prefix="preparing-", dir=folder))
    try:
        with writing(target):
            with (temporary / "rows.npy").open("wb") as file:
                np.save(file, build.rows.astype(np.int32), allow_pickle=False)
            with (temporary / "images.npy").open("wb") as file:
                _write_images(file, build, folder.name)
            temporary.chmod(0o755)
            _rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for stale in folder.glob("prepared-*"):
        if stale != target:
            shutil.rmtree(stale, ignore_errors=True)


def _write_images(file, build: Build, name: str) -> None:
    # Plain writes, not a writable memory map: a full disk is then an error to report, not a signal that kills.
    header = {"descr": "|u1", "fortran_order": False, "shape": build.shape}
    np.lib.format.write_array_header_1_0(file, header)
    start, stride = file.tell(), int(np.prod(build.shape[1:]))
    written = np.zeros(build.shape[0], dtype=bool)

    def images():
        for positions, part in build.parts:
            yield from zip(positions, part, strict=True)

    for position, image in progress(images(), f"preparing {name}", build.shape[0]):
        if image.shape != build.shape[1:] or image.dtype != np.uint8:
            raise DamagedError(f"{name}: an image is {image.dtype} {image.shape}; expected uint8 {build.shape[1:]}")
        file.seek(start + int(position) * stride)
        file.write(np.ascontiguousarray(image).data)
        written[position] = True
    if not written.all():
        raise DamagedError(f"{name}: image {int(written.argmin())} of {build.shape[0]:,} is missing")
    file.flush()
    os.fsync(file.fileno())


def _rename(temporary: Path, target: Path) -> None:
    try:
        temporary.rename(target)
    except OSError:
        if not target.exists():  # else, on a disk that cannot lock, another process was faster and its copy serves
            raise
