from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from published_formats import idx, noise, write_mnist

from hackle.datasets import mnist
from hackle.datasets.damage import DamagedError


def test_train_comes_before_test_and_instances_are_numbered_within_a_digit(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    grid = mnist.load(tmp_path).factors
    assert grid.names == ("digit", "instance")
    assert grid.observed == (0,)
    assert grid.rows(np.arange(5)).tolist() == [[7, 0], [0, 0], [7, 1], [9, 0], [0, 1]]


def test_unpacked_files_serve(tmp_path: Path) -> None:
    written = write_mnist(tmp_path, packed=False)
    np.testing.assert_array_equal(mnist.load(tmp_path).images, written.images)


def test_bytes_are_kept_in_the_row_order_of_the_file(tmp_path: Path) -> None:
    image = np.zeros((1, 28, 28), np.uint8)
    image[0, 3, 5] = 200
    path = tmp_path / "one"
    path.write_bytes(idx(image))
    assert np.argwhere(mnist.read_idx(path)).tolist() == [[0, 3, 5]]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train-images-idx3-ubyte.gz", b"\0\0\x0d\x03" + idx(noise(3, 28, 28))[4:], "unsigned bytes"),
        ("train-images-idx3-ubyte.gz", idx(noise(3, 28, 28))[:-1], "its header asks for"),
        ("train-images-idx3-ubyte.gz", idx(noise(3, 28, 28)) + b"\0", "its header asks for"),
        ("train-images-idx3-ubyte.gz", idx(noise(3, 14, 14)), r"expected \(n, 28, 28\)"),
        ("train-images-idx3-ubyte.gz", idx(noise(3)), r"expected \(n, 28, 28\)"),
        ("t10k-labels-idx1-ubyte.gz", idx(np.array([1, 2, 3], np.uint8)), r"labels \(3,\)"),
        ("t10k-labels-idx1-ubyte.gz", idx(np.array([1, 10], np.uint8)), "digits from 0 to 9"),
    ],
)
def test_wrong_idx_files_are_refused(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    folder = write_mnist(tmp_path).folder
    (folder / name).write_bytes(gzip.compress(data))
    with pytest.raises(DamagedError, match=message):
        mnist.load(tmp_path)
