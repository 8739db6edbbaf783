"""A model encodes and decodes, survives saving and loading, and says what is wrong with a folder."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from hackle.objectives import VAE, BetaVAE
from hackle.train import fit
from hackle.train.model import Model
from hackle.train.record_files import ModelError, read_record
from train.test_fleet import small_run


@pytest.fixture
def model(squares: Any) -> Model:
    return Model(small_run(BetaVAE(2.0), correlation=0.25), squares.shape)


def test_encoding_does_not_depend_on_chunks_or_dtype(model: Model, squares: Any) -> None:
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


QUIET = """
from dataclasses import dataclass

from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.core.types import Losses


def loss(nets, step, run):
    found = evidence(nets, step, run)
    return Losses(found.reconstruction + found.kl + run.method.weight * found.means.square().mean(), found.terms)


@dataclass(frozen=True)
class QuietVAE(Autoencoder):
    weight: float = 1.0

    def phases(self, run):
        return (autoencoder_phase(loss, run),)
"""


def test_runs_of_a_method_of_ones_own_are_read_again(squares: Any, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "quiet_method.py").write_text(QUIET)
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        run = small_run(importlib.import_module("quiet_method").QuietVAE(3.0))
        trained = fit(run, dataset=squares, out=folder, device="cpu", progress=False)
        assert fit(run, dataset=squares, out=folder, device="cpu", progress=False, resume=True).run == run
        del sys.modules["quiet_method"]
        with pytest.raises(
            ModelError, match=r"'quiet_method:QuietVAE', which is neither hackle's .*trust=True in Python"
        ):
            Model.load(folder)
        loaded = Model.load(folder, trust=True)
        assert (type(loaded.run.method).__name__, vars(loaded.run.method)) == ("QuietVAE", {"weight": 3.0})
        images = squares.render([[0, 0, 0], [3, 2, 1]])
        np.testing.assert_array_equal(loaded.encode(images)[0], trained.encode(images)[0])
        del sys.modules["quiet_method"]
    with pytest.raises(ModelError, match=r"'quiet_method:QuietVAE', which cannot be imported .* on the Python path"):
        Model.load(folder, trust=True)


def test_a_run_that_could_not_be_read_again_is_not_saved(squares: Any, tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Inside(VAE):
        pass

    with pytest.raises(ModelError, match=r"not read again: .*inside a function"):
        Model(small_run(Inside()), squares.shape).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(ModelError, match=r"not read again: .*inside a function"):
        fit(small_run(Inside()), dataset=squares, out=tmp_path / "run", device="cpu", progress=False)


def test_a_folder_with_a_run_is_not_overwritten(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path)
    with pytest.raises(ModelError, match="holds a run already"):
        model.save(tmp_path)


def test_wrong_images_are_refused(model: Model) -> None:
    with pytest.raises(ValueError, match="takes \\(n, 16, 16, 1\\)"):
        model.encode(np.zeros((2, 16, 16, 3), np.uint8))
    with pytest.raises(ValueError, match=r"latents have shape .* one row is z\[None\]"):
        model.decode(np.zeros(3))
    with pytest.raises(ValueError, match=r"latents have shape \(2, 4\); this model takes \(n, 3\)"):
        model.decode(np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((16, 16, 1), "images[None]"),
        ((16, 16), "images[None, ..., None]"),
        ((5, 16, 16), "images[..., None]"),
        ((5, 1, 16, 16), "numpy.moveaxis(images, 1, -1)"),
        ((5, 16, 16, 3), "images.mean(-1, keepdims=True)"),
        ((5, 32, 32, 1), "hackle.load(…, resize=16)"),
        ((5, 32, 32, 1), "+resize=16 after a data set's name on the command line"),
    ],
)
def test_what_brings_images_to_the_shape_of_a_model_is_said(model: Model, shape: Any, remedy: str) -> None:
    images = np.zeros(shape)
    with pytest.raises(ValueError, match=re.escape(remedy)):
        model.encode(images)
    if "resize" not in remedy:
        changed = eval(remedy, {"images": images, "numpy": np})
        assert model.encode(changed)[0].shape == (len(changed), 3)


def test_pictures_and_data_sets_are_no_arrays_of_images(model: Model, squares: Any) -> None:
    wrong: list[Any] = [Image.new("L", (16, 16)), squares]
    for given in wrong:
        with pytest.raises(ValueError, match=r"numpy.asarray\(picture\)\[None\] of a Pillow image, dataset.render"):
            model.encode(given)
    with pytest.raises(ValueError, match="leave out images with values that are not finite"):
        model.encode(np.full((1, 16, 16, 1), np.nan))


@pytest.mark.parametrize("value", [255.0, 1.01, -0.5, np.nan, 200])
def test_images_on_another_scale_are_refused(model: Model, value: float) -> None:
    images = np.full((2, 16, 16, 1), 0, np.asarray(value).dtype)
    assert np.isfinite(model.encode(images)[0]).all()
    images[1, 3, 3, 0] = value
    with pytest.raises(ValueError, match=r"images hold values from .* expected uint8 in 0 … 255 or floats in \[0, 1\]"):
        model.encode(images)


def test_no_images_have_no_codes(model: Model, squares: Any) -> None:
    means, logvars = model.encode(squares.render([[0, 0, 0]])[:0])
    assert means.shape == logvars.shape == (0, 3)
    assert model.decode(means).shape == (0, 16, 16, 1)


def test_weights_carry_a_checksum_and_may_be_read_by_others(model: Model, tmp_path: Path) -> None:
    path = model.save(tmp_path / "run") / "weights.safetensors"
    (tmp_path / "any").touch()
    assert path.stat().st_mode == (tmp_path / "any").stat().st_mode
    contents = bytearray(path.read_bytes())
    contents[-5] ^= 1  # one bit of one weight
    path.write_bytes(contents)
    with pytest.raises(ModelError, match=r"checksum.*delete it and train the run again"):
        Model.load(tmp_path / "run")


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
