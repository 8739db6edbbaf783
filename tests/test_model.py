"""A model encodes and decodes, survives saving and loading, and says what is wrong with a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hackle.model import Model, ModelError, read_record
from hackle.objectives import VAE, BetaVAE
from test_fleet import small_run


@pytest.fixture
def model(squares: Any) -> Model:
    return Model(small_run(BetaVAE(2.0), correlation=0.25), squares.shape)


def test_encoding_does_not_depend_on_chunks_or_number_format(model: Model, squares: Any) -> None:
    images = squares.render(squares.factors.rows(np.arange(32)))
    means, logvars = model.encode(images)
    assert means.shape == logvars.shape == (32, 3)
    for other in (model.encode(images, chunk=5), model.encode(images / 255.0), model.encode(torch.from_numpy(images))):
        np.testing.assert_allclose(other[0], means, atol=1e-6)
        np.testing.assert_allclose(other[1], logvars, atol=1e-6)


def test_decoded_images_are_pixels(model: Model) -> None:
    decoded = model.decode(np.random.default_rng(0).normal(size=(5, 3)))
    assert decoded.shape == (5, 16, 16, 1)
    assert 0 <= decoded.min() <= decoded.max() <= 1


def test_saving_and_loading_keeps_everything(model: Model, squares: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    loaded = Model.load(tmp_path / "run")
    assert loaded.run == model.run
    assert read_record(tmp_path / "run")[1] == squares.shape
    images = squares.render([[0, 0, 0], [3, 2, 1]])
    np.testing.assert_array_equal(loaded.encode(images)[0], model.encode(images)[0])
    np.testing.assert_array_equal(loaded.reconstruct(images), model.reconstruct(images))


def test_a_folder_with_a_run_is_not_overwritten(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path)
    with pytest.raises(ModelError, match="holds a run already"):
        model.save(tmp_path)


def test_wrong_images_are_refused(model: Model) -> None:
    with pytest.raises(ValueError, match="takes \\(n, 16, 16, 1\\)"):
        model.encode(np.zeros((2, 16, 16, 3), np.uint8))
    with pytest.raises(ValueError, match="latents have shape"):
        model.decode(np.zeros(3))


def test_damaged_folders_are_named(model: Model, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no run\.json"):
        Model.load(tmp_path / "nothing")
    model.save(tmp_path / "run")
    weights = tmp_path / "run" / "weights.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:100])
    with pytest.raises(ModelError, match="damaged"):
        Model.load(tmp_path / "run")
    weights.unlink()
    with pytest.raises(ModelError, match="not finished"):
        Model.load(tmp_path / "run")
    weights.write_bytes(content)
    tensors = load_file(weights)
    save_file(dict(list(tensors.items())[1:]), weights)
    with pytest.raises(ModelError, match="another run"):
        Model.load(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text('{"shape": [1, 2, 3], "record": {"type": "Sorcery"}}')
    with pytest.raises(ModelError, match="Sorcery"):
        Model.load(tmp_path / "run")


def test_initial_weights_follow_from_the_seed(squares: Any) -> None:
    torch.manual_seed(123)
    first = Model(small_run(VAE(), seed=1), squares.shape).weights()
    torch.manual_seed(456)
    second = Model(small_run(VAE(), seed=1), squares.shape).weights()
    other = Model(small_run(VAE(), seed=2), squares.shape).weights()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
