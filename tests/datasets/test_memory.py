from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import hackle
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.types import Run
from hackle.datasets import DataError, OtherData, load
from hackle.nets import MLP
from hackle.objectives import VAE

GENERATOR = np.random.default_rng(0)
IMAGES = GENERATOR.integers(0, 256, (24, 8, 9, 3), dtype=np.uint8)
SHAPES = np.array(["disc", "square", "star"])[np.arange(24) % 3]
PLACES = np.arange(24) // 3


def rows_of(data: Any) -> list[list[int]]:
    return data.factors.rows(np.arange(24)).tolist()


def test_arrays_of_every_kind_are_the_same_data() -> None:
    table = {"shape": SHAPES, "place": PLACES}
    first = hackle.from_arrays(IMAGES, table, name="mine")
    assert first.name.startswith("mine@")
    assert first.factors.names == ("shape", "place")
    np.testing.assert_array_equal(first.images, IMAGES)
    tensor = torch.tensor(IMAGES).permute(0, 3, 1, 2)
    for images in (list(IMAGES), tensor, IMAGES.astype(np.float32) / 255, (tensor.double() / 255).requires_grad_()):
        for factors in (table, pd.DataFrame(table), {"shape": list(SHAPES), "place": torch.tensor(PLACES)}):
            again = hackle.from_arrays(images, factors, name="mine")
            assert again.name == first.name
            assert rows_of(again) == rows_of(first)


def test_a_column_that_numbers_the_images_is_no_factor(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"id": [5, 7, 6, 9], "x": [0, 0, 1, 1]})
    images = np.zeros((4, 8, 8), np.uint8)
    assert hackle.from_arrays(images, frame).factors.names == ("x", "instance")
    assert "column 'id', which numbers or names the images, left out" in capsys.readouterr().err
    assert hackle.from_arrays(images, frame, kinds={"id": "ordinal"}).factors.names == ("id", "x")


def test_names_and_kinds_can_be_told() -> None:
    factors = np.stack([np.arange(24) % 3, PLACES], axis=1)
    data = hackle.from_arrays(IMAGES, factors, names=["a", "b"], kinds={"a": "categorical"})
    assert data.factors.names == ("a", "b")
    assert data.factors.kinds[0] == "categorical"
    assert hackle.from_arrays(IMAGES, PLACES, names=["b"]).factors.names == ("b", "instance")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"factors": np.zeros(3)}, "3 rows; expected one for each of 24 images"),
        ({"factors": np.zeros((24, 2, 2))}, r"factors have shape \(24, 2, 2\)"),
        ({"factors": PLACES, "names": ["a", "b"]}, "2 names of factors"),
        ({"factors": PLACES, "kinds": ["ordinal", "ordinal"]}, "2 kinds for 1 factors; expected one for each"),
        ({"factors": PLACES, "kinds": {"z": "ordinal"}}, "kinds name 'z', which is no factor; there are factor_0"),
        ({"name": "a@b"}, "expected one without @"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        hackle.from_arrays(IMAGES, **given)


class Items(Dataset):
    """Items as they come from a function of their number."""

    def __init__(self, make: Any) -> None:
        self.make, self.asked = make, []

    def __len__(self) -> int:
        return 24

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        return self.make(number)


def test_a_list_of_tensors_is_read_like_the_tensor_of_them() -> None:
    tensor = torch.arange(2 * 3 * 8 * 3, dtype=torch.uint8).view(2, 3, 8, 3)
    assert hackle.from_arrays(list(tensor)).shape == hackle.from_arrays(tensor).shape == (8, 3, 3)
    assert hackle.from_arrays(list(tensor.numpy())).shape == hackle.from_arrays(tensor.numpy()).shape == (3, 8, 3)


def tensor_of(number: int) -> torch.Tensor:
    return torch.tensor(IMAGES[number]).permute(2, 0, 1) / 255


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda i: IMAGES[i], ("instance",)),
        (lambda i: (tensor_of(i),), ("instance",)),
        (lambda i: (tensor_of(i), int(PLACES[i])), ("label", "instance")),
        (lambda i: (tensor_of(i), str(SHAPES[i])), ("label", "instance")),
        (lambda i: (tensor_of(i), torch.tensor([i % 3, PLACES[i]])), ("factor_0", "factor_1")),
        (lambda i: (tensor_of(i), {"shape": SHAPES[i], "place": PLACES[i]}), ("shape", "place")),
        (lambda i: {"image": tensor_of(i), "shape": SHAPES[i], "place": PLACES[i]}, ("shape", "place")),
        (lambda i: {"image": tensor_of(i), "factors": [i % 3, PLACES[i]]}, ("factor_0", "factor_1")),
    ],
)
def test_items_of_every_form_are_read_once(make: Any, names: tuple[str, ...]) -> None:
    items = Items(make)
    data = hackle.load(items)
    assert items.asked == list(range(24))
    assert data.factors.names == names
    np.testing.assert_array_equal(data.render(data.factors.rows(np.arange(24))), IMAGES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda i: {"picture": IMAGES[i]}, "item 0 has picture; expected an image by the key image"),
        (lambda i: (IMAGES[i], 1, 2), "item 0 is 3 things"),
        (lambda i: (IMAGES[i], {"a": 1}) if i else (IMAGES[i], 1), "item 1 has the factors a, item 0 label"),
        (lambda i: (IMAGES[i], object()), "expected numbers or texts"),
        (lambda i: IMAGES[i][: 4 + i % 2], r"resize=64 or pad=64"),
    ],
)
def test_items_that_cannot_be_read_are_named(make: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(Items(make))


def test_a_data_set_without_length_is_refused() -> None:
    class Endless(IterableDataset):
        def __iter__(self) -> Any:
            yield IMAGES[0]

    with pytest.raises(DataError, match="map-style"):
        load(Endless())


RUN = Run(VAE(), MLP((8,)), latents=2, steps=3, batch_size=4)


def test_a_run_names_the_contents_it_was_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Going on, scoring and showing take the same data again; without them the error says what to pass."""
    items = TensorDataset(torch.tensor(IMAGES).permute(0, 3, 1, 2), torch.tensor(PLACES))
    data = hackle.load(items)
    model = hackle.fit(RUN, dataset=items, out=tmp_path / "run", device="cpu", progress=False)
    assert model.run == replace(RUN, dataset=data.name)
    folder = tmp_path / "run"
    table = hackle.score(folder, items, "mig", "quick")
    assert table["metric"].tolist()[0] == "mig"
    again = hackle.fit(RUN, dataset=data, out=folder, resume=True, device="cpu", progress=False)
    np.testing.assert_array_equal(again.encode(IMAGES)[0], model.encode(IMAGES)[0])
    # The same in a file has the same contents.
    np.savez(tmp_path / "same.npz", images=IMAGES, factors=PLACES, factor_names=np.array(["label"]))
    hackle.score(folder, tmp_path / "same.npz", "mig", "quick")
    other = hackle.from_arrays(255 - IMAGES, PLACES, name="TensorDataset")
    with pytest.raises(HackleError, match=r"TensorDataset@.* there, TensorDataset@.* asked"):
        hackle.fit(RUN, dataset=other, out=folder, resume=True, device="cpu", progress=False)
    with pytest.warns(OtherData, match="on other data"):
        hackle.score(folder, other, "mig", "quick")
    for words in (["score", str(folder)], ["show", str(folder)], ["train", "--resume", "--out", str(folder)]):
        with pytest.raises(SystemExit):
            main(words)
        assert "lay in memory when the run was trained" in capsys.readouterr().err


def test_without_factors_training_works_and_scoring_says_what_it_cannot_do() -> None:
    data = hackle.from_arrays(IMAGES)
    model = hackle.fit(RUN, dataset=data, device="cpu", progress=False)
    assert "kl" in set(hackle.score(model, data, metrics="kl,gaussian_tc")["metric"])
    with pytest.raises(HackleError, match="mig needs observed factors"):
        hackle.score(model, data, "mig", "quick")


def test_a_function_in_a_file_may_return_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record then names the function; resizing joins its name."""
    monkeypatch.chdir(tmp_path)
    Path("arrays_of_mine.py").write_text(
        """
import numpy as np
import torch

import hackle


def arrays():
    return hackle.from_arrays(np.arange(640, dtype=np.uint8).reshape(10, 8, 8))


def items():
    return torch.utils.data.TensorDataset(torch.ones(4, 1, 8, 8))
"""
    )
    words = "--architecture mlp --steps 1 --batch-size 2 --latents 2 --device cpu --resize 16 --out"
    for name in ("arrays", "items"):
        main(["train", "vae", "--dataset", f"arrays_of_mine.py:{name}", *words.split(), f"runs/{name}"])
        model = hackle.Model.load(f"runs/{name}")
        assert model.run.dataset == f"arrays_of_mine.py:{name}+resize=16"
        assert model.shape == (16, 16, 1)
        main(["show", f"runs/{name}"])
