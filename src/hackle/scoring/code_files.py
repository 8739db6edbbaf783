"""Files of codes by the ten thousand: sparse matrices as SciPy saves them, and arrays that are mapped, not read.

A file may come from anyone. Nothing in it is unpickled; what its arrays claim is compared with the file and with the free
memory before they are unpacked, and indices are checked before SciPy's compiled code, which trusts them, sees them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from hackle.core.errors import HackleError
from hackle.core.parquet_pages import expanded_bytes, unpacked_bytes
from hackle.datasets.damage import check_room, reading
from hackle.datasets.npz import Npz

_PARTS = ("shape", "data", "indices", "indptr")
_FORMS: dict[str, Any] = {"csr": csr_array, "csc": csc_array}


def load_sparse(path: str | Path) -> csr_array | csc_array | None:
    """The sparse matrix of an .npz file that `scipy.sparse.save_npz` wrote, csr or csc; None if it holds other arrays."""
    file = Npz(Path(path))
    if "format" not in file.names or "shape" not in file.names:
        return None
    with reading(file.path, "a sparse matrix, as scipy.sparse.save_npz writes it"):
        if unknown := sorted(set(file.names) - {*_PARTS, "format", "_is_array"}):
            raise ValueError(f"it holds {unknown[0]}")
        form = _word(file.read("format"))
        if form not in _FORMS:
            raise ValueError(f"its format is {form!r}; expected csr or csc: save matrix.tocsr()")
        if lacking := [name for name in _PARTS if name not in file.names]:
            raise ValueError(f"it holds no {lacking[0]}")
        return _checked(form, *(file.read(name) for name in _PARTS))


def _word(array: NDArray) -> str:
    """The only text of an array, which SciPy writes as bytes; empty if it holds anything else."""
    word = array.item() if array.size == 1 else ""
    return word.decode("ascii", "replace") if isinstance(word, bytes) else word if isinstance(word, str) else ""


def _checked(form: str, shape: NDArray, data: NDArray, indices: NDArray, indptr: NDArray) -> csr_array | csc_array:
    """The matrix of these arrays; a ValueError says which of them is wrong."""
    for name, array in (("shape", shape), ("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(f"its {name} is of type {array.dtype} with {array.ndim} axes; expected a list of integers")
    if len(shape) != 2 or not (shape.min() > 0 and shape.max() < 2**31):
        raise ValueError(f"its shape is {shape.tolist()}; expected rows and codes, at least one of each")
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise ValueError(f"its data are of type {data.dtype}; expected a list of real numbers")
    major, minor = shape if form == "csr" else shape[::-1]
    if len(indptr) != major + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or len(indices) != len(data):
        raise ValueError("its lists have lengths that do not belong together")
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("its indptr decreases")
    if len(indices) and not (indices.min() >= 0 and indices.max() < minor):
        raise ValueError(f"it has an entry outside of its {shape[0]:,} × {shape[1]:,}")
    return _FORMS[form]((data, indices, indptr), shape=tuple(int(size) for size in shape))


def check_parquet(path: Path) -> None:
    """Refuse a Parquet table that does not fit in memory, or that holds anything but numbers and texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        kinds = {one.name: one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in schema}
        texts = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
        for name in kinds.keys() - set(texts):
            if not (pa.types.is_primitive(kinds[name]) or pa.types.is_null(kinds[name])):
                raise ValueError(f"its column {name} holds {kinds[name]}; expected numbers or texts")
        check_room(path, max(unpacked_bytes(path, file), 8 * rows * len(kinds)))
    if texts:
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            size = 0
            for batch in file.iter_batches(columns=texts):
                size += expanded_bytes(batch)
                check_room(path, size)


def map_array(path: str | Path) -> np.memmap:
    """The array (n, c) of an .npy file, mapped: what is needed of it is read when it is needed."""
    path = Path(path)
    with reading(path, "an .npy array of numbers"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.memmap):
            raise ValueError("it holds several arrays")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise HackleError(
            f"{path} holds an array of shape {array.shape} and type {array.dtype}; expected numbers, a row for each sample and "
            "a column for each code"
        )
    return array
