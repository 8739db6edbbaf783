"""Arrays as bytes. zlib's own checksum tells a damaged one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CURVE_POINTS = 200
"""Most points kept of a curve: enough for a figure, and for 12,600 runs a quarter of a gigabyte."""


class Blob(NamedTuple):
    """One row of the tables `curves` and `arrays`."""

    name: str
    dtype: str
    shape: str
    data: bytes


def pack(name: str, array: NDArray[Any]) -> Blob:
    """Little-endian, and compressed byte plane by byte plane: the exponents of floats, which are alike, lie together."""
    values = np.asarray(array, order="C")
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    planes = values.reshape(-1).view(np.uint8).reshape(-1, values.dtype.itemsize).T
    return Blob(name, values.dtype.str, ",".join(map(str, values.shape)), zlib.compress(planes.tobytes(), 1))


def unpack(dtype: str, shape: str, data: bytes) -> NDArray[Any]:
    """The array that was packed."""
    kind = np.dtype(dtype)
    planes = np.frombuffer(zlib.decompress(data), np.uint8).reshape(kind.itemsize, -1)
    values = np.ascontiguousarray(planes.T).reshape(-1).view(kind)
    return values.reshape([int(side) for side in shape.split(",") if side])


def pack_curves(curves: Mapping[str, Any]) -> list[Blob]:
    """At most `CURVE_POINTS` points: runs of neighbouring points become their mean, at the step of the last."""
    length = len(curves.get("step", ()))
    if not length:
        return []
    starts = np.arange(0, length, max(1, -(-length // CURVE_POINTS)))
    ends = np.append(starts[1:], length)
    found = []
    for name, values in curves.items():
        points = np.asarray(values, np.float64)
        if len(points) != length:
            raise ValueError(f"the curve of {name} has {len(points)} points and its steps {length}; expected as many")
        if name == "step":
            found.append(pack(name, points[ends - 1].astype(np.int64)))
        else:
            found.append(pack(name, (np.add.reduceat(points, starts) / (ends - starts)).astype(np.float32)))
    return found
