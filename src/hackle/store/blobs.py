"""Arrays as rows of the store."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CURVE_POINTS = 200
"""The most points kept of a curve: enough for a figure, and a quarter of a gigabyte for 12,600 runs."""

_AXES = {"codes": 2, "kl": 1, "mutual_information": 2, "informativeness": 1}
"""The number of axes of the arrays that studies keep."""
MOST_CODES = 1_024
"""Codes of a run beyond which its arrays are left out: work grows with their square, and no representation has so many."""


class Blob(NamedTuple):
    """One row of the tables `curves` and `arrays`: an array as little-endian bytes, with their CRC-32."""

    name: str
    dtype: str
    shape: str
    data: bytes
    checksum: int

    @property
    def array(self) -> NDArray[Any]:
        """The array that was packed; raises `ValueError` if the bytes are not those that were written."""
        if zlib.crc32(self.data) != self.checksum:
            raise ValueError(f"{self.name} of a run: its bytes are not those that were written")
        return np.frombuffer(self.data, self.dtype).reshape([int(side) for side in self.shape.split(",") if side])


def pack(name: str, array: NDArray[Any]) -> Blob:
    """An array as a row, uncompressed: compression would save a tenth of the space and slow reading by seconds."""
    values = np.asarray(array, order="C")
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    data = values.tobytes()
    return Blob(name, values.dtype.str, ",".join(map(str, values.shape)), data, zlib.crc32(data))


def pack_curves(curves: Mapping[str, Any], points: int = CURVE_POINTS) -> list[Blob]:
    """At most this many points of each curve: neighbouring points are averaged, at the step of the last of them.

    Points where a term is NaN are left out of its mean.
    """
    length = len(curves.get("step", ()))
    if not length:
        return []
    starts = np.arange(0, length, max(1, -(-length // points)))
    ends = np.append(starts[1:], length)
    blobs = []
    for name, values in curves.items():
        curve = np.asarray(values, np.float64)
        if len(curve) != length:
            raise ValueError(f"the curve of {name} has {len(curve)} points and its steps {length}; expected as many")
        if name == "step":
            blobs.append(pack(name, curve[ends - 1].astype(np.int64)))
        else:
            known = ~np.isnan(curve)
            sums, counts = (np.add.reduceat(part, starts) for part in (np.where(known, curve, 0.0), known.astype(int)))
            means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
            blobs.append(pack(name, means.astype(np.float32)))
    return blobs


THIN_POINTS, THIN_CODES = 50, 512
"""Points of a curve and rows of codes that thinned results keep: with them 2,000 runs of ten latents take 21 to 28 MB."""


def thin_curves(blobs: Sequence[Blob]) -> list[Blob]:
    """The curves of a run with at most `THIN_POINTS` points and eleven bits of their values' digits, 2.4e-4 of a value."""
    whole = pack_curves({blob.name: blob.array for blob in blobs}, THIN_POINTS)
    return [blob if blob.name == "step" else pack(blob.name, _rounded(blob.array)) for blob in whole]


def _rounded(values: NDArray[Any]) -> NDArray[np.float32]:
    mantissa, exponent = np.frexp(values.astype(np.float32))
    return np.ldexp(np.round(np.ldexp(mantissa, 12)), exponent - 12).astype(np.float32)


def thin_array(blob: Blob) -> Blob:
    """The first `THIN_CODES` codes, and what is only drawn, in float16, any other floats in float32. Masses of marginals are
    rounded to 1/4096, which no figure shows, and then compress to a third."""
    array = blob.array
    if blob.name == "codes" and array.ndim:
        return pack(blob.name, array[:THIN_CODES].astype(np.float16))
    if blob.name == "marginals":
        return pack(blob.name, (np.round(array * 4096) / 4096).astype(np.float16))
    if blob.name in ("misjed", "correlations"):
        return pack(blob.name, array.astype(np.float16))
    return pack(blob.name, array.astype(np.float32)) if array.dtype.kind == "f" else blob


def usable(name: str, array: NDArray[Any]) -> bool:
    """Whether an array is what studies keep under this name, finite numbers: that of a run that diverged, or of a store that
    anyone may have written, may be anything."""
    if name not in _AXES:
        return True
    if array.ndim != _AXES[name] or array.dtype.kind not in "fiub" or not array.size or array.shape[-1] > MOST_CODES:
        return False
    return math.isfinite(float(array.max()) - float(array.min()))
