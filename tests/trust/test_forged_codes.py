"""Files of sparse codes from other people: nothing in them runs, and nothing they claim is believed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hackle.core.errors import HackleError
from hackle.datasets import damage
from hackle.scoring.code_files import load_sparse, map_array

MATRIX: Any = sparse.random_array((20, 8), density=0.3, rng=np.random.default_rng(0), format="csr")


class Loud:
    """What a pickle runs when it is loaded."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a pickle was loaded",)


def forged(path: Path, **changes: Any) -> Path:
    parts = {"format": np.bytes_(b"csr"), "shape": MATRIX.shape, "data": MATRIX.data}
    parts |= {"indices": MATRIX.indices, "indptr": MATRIX.indptr, **changes}
    np.savez(path, **{name: part for name, part in parts.items() if part is not None})  # type: ignore[arg-type]
    return path


def test_what_scipy_saved_is_read(tmp_path: Path) -> None:
    for number, matrix in enumerate((MATRIX, MATRIX.tocsc(), sparse.csr_matrix(MATRIX.astype(np.int8)))):
        for compressed in (True, False):
            path = tmp_path / f"{number}{compressed}.npz"
            sparse.save_npz(path, matrix, compressed=compressed)
            found = load_sparse(path)
            assert found is not None
            assert found.format == matrix.format
            np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_other_arrays_are_no_sparse_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "dense.npz", codes=np.ones((3, 2)))
    assert load_sparse(tmp_path / "dense.npz") is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"indices": MATRIX.indices + 8}, "an entry outside of its 20 × 8"),
        ({"indices": -1 - MATRIX.indices}, "an entry outside of its 20 × 8"),
        ({"indptr": MATRIX.indptr[::-1].copy()}, "lengths that do not belong together"),
        ({"indptr": np.r_[MATRIX.indptr[:3], 2**31 - 1, MATRIX.indptr[4:]]}, "its indptr decreases"),
        ({"indptr": MATRIX.indptr[:-1]}, "lengths that do not belong together"),
        ({"indptr": MATRIX.indptr.astype(float)}, "its indptr is of type float64"),
        ({"data": MATRIX.data[:-1]}, "lengths that do not belong together"),
        ({"data": MATRIX.data.astype(complex)}, "its data are of type complex128"),
        ({"data": np.array([Loud()] * MATRIX.nnz, dtype=object)}, "pickled objects, which are never loaded"),
        ({"format": np.array(Loud(), dtype=object)}, "pickled objects, which are never loaded"),
        ({"format": np.bytes_(b"bsr")}, "its format is 'bsr'; expected csr or csc"),
        ({"format": np.array([1, 2])}, "its format is ''; expected csr or csc"),
        ({"shape": (2**40, 8)}, "expected rows and codes"),
        ({"shape": (-20, 8)}, "expected rows and codes"),
        ({"shape": (20, 8, 1)}, "expected rows and codes"),
        ({"indptr": None}, "it holds no indptr"),
        ({"other": np.ones(2)}, "it holds other"),
    ],
)
def test_a_forged_matrix_is_refused_in_words(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(HackleError, match=said):
        load_sparse(forged(tmp_path / "forged.npz", **changes))


def test_sizes_that_are_claimed_are_compared_with_the_file_and_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse.save_npz(tmp_path / "good.npz", sparse.csr_array(np.ones((500, 400))))
    with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(tmp_path / "claims.npz", "w") as claims:
        for name in good.namelist():
            claims.writestr(name, good.read(name).replace(b"(200000,)", b"(900000,)"))
    with pytest.raises(HackleError, match="900,000 numbers announced"):
        load_sparse(tmp_path / "claims.npz")
    monkeypatch.setattr(damage, "available_memory", lambda: 100_000)
    with pytest.raises(HackleError, match="data takes 2 MB in memory, of which 100 kB are free"):
        load_sparse(tmp_path / "good.npz")


def test_a_mapped_array_holds_numbers_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "loud.npy", np.array([[Loud()]], dtype=object), allow_pickle=True)
    with pytest.raises(HackleError, match=r"cannot be read as an \.npy array of numbers"):
        map_array(tmp_path / "loud.npy")
    np.save(tmp_path / "texts.npy", np.array([["a"]]))
    with pytest.raises(HackleError, match="expected numbers, a row for each sample"):
        map_array(tmp_path / "texts.npy")
    np.save(tmp_path / "short.npy", np.ones((50, 40)))
    whole = (tmp_path / "short.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole.replace(b"(50, 40)", b"(90, 90)"))
    with pytest.raises(HackleError, match=r"cannot be read as an \.npy array of numbers"):
        map_array(tmp_path / "short.npy")
