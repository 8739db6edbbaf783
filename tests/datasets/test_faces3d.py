from __future__ import annotations

import os
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from published_formats import folder_of, write_faces3d

from hackle.datasets import faces3d
from hackle.datasets.damage import DamagedError


def test_factor_names(tmp_path: Path) -> None:
    write_faces3d(tmp_path)
    assert faces3d.load(tmp_path).factors.names == ("identity", "azimuth", "elevation", "lighting")


def test_the_format_of_pytorch_before_1_6_is_read(tmp_path: Path) -> None:
    written = write_faces3d(tmp_path, legacy=True)
    np.testing.assert_array_equal(faces3d.load(tmp_path).images, written.images)


class Attack:
    def __reduce__(self):
        return os.mkdir, (os.environ["HACKLE_TEST_TRAP"],)


@pytest.mark.parametrize("save", [partial(pickle.dump, protocol=2), torch.save], ids=["pickle", "torch"])
def test_pickled_code_is_never_run(save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    monkeypatch.setenv("HACKLE_TEST_TRAP", str(trap))
    with (folder_of(tmp_path, "faces3d") / "basel_face_renders.pth").open("wb") as file:
        save(Attack(), file)
    with pytest.raises(DamagedError, match="nothing in it was run"):
        faces3d.load(tmp_path)
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [
        torch.zeros(2, 3, 2, 2, 64, 64),
        torch.zeros(2, 3, 2, 64, 64, dtype=torch.uint8),
        torch.zeros(2, 3, 2, 2, 32, 32, dtype=torch.uint8),
        torch.zeros(0, 3, 2, 2, 64, 64, dtype=torch.uint8),
        {"faces": torch.zeros(1, dtype=torch.uint8)},
    ],
    ids=["float", "five axes", "small", "none", "dict"],
)
def test_anything_but_the_tensor_is_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, folder_of(tmp_path, "faces3d") / "basel_face_renders.pth")
    with pytest.raises(DamagedError, match="expected uint8"):
        faces3d.load(tmp_path)
