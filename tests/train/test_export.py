"""Plain modules and files give what the model gives, for every architecture."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import hackle
from hackle.cli.main import main
from hackle.core.types import Run
from hackle.nets import ARCHITECTURES, MLP, Adversarial, Convolutional, Own, Sharing, Split
from hackle.nets.layers import Down, Linear, Reshape, Same, Three, Up
from hackle.nets.normalisation import BatchNorm, LayerNorm
from hackle.nets.plain import plain_network
from hackle.nets.resnet import ResNet
from hackle.objectives import VAE, AdversarialAutoencoder, InfoGAN, InfoWGANGP
from hackle.train.export import ExportError
from hackle.train.model import Model


def encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(shape[2], 4, 4, 4), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2 * latents))


def decoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    height, width, channels = shape
    return nn.Sequential(nn.Linear(latents, height * width * channels), nn.Unflatten(1, (channels, height, width)))


class Strange(nn.Module):
    """A layer that has no counterpart among PyTorch's."""

    def forward(self, values: Tensor) -> Tensor:
        return values.flip(-1) if values.dim() == 4 else values


@dataclass(frozen=True)
class OddNets(MLP):
    """An architecture of one's own whose networks have a layer that hackle does not know."""

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        return nn.Sequential(Strange(), super().encoder(shape, latents))

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        return nn.Sequential(super().decoder(shape, latents), Strange())


def made_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    module = encoder(shape, latents)
    module(torch.zeros(1, shape[2], *shape[:2]))
    return module


SMALL: dict[str, list[Any]] = {
    "convolutional": [(Convolutional(16, (4, 6, 8, 8)), (64, 64, 3)), (Convolutional(16, (4, 6)), (28, 28, 1))],
    "mlp": [(MLP((12, 7)), (6, 9, 2)), (MLP(()), (5, 4, 3))],
    "split": [(Split(8, (4, 6, 8)), (32, 32, 4)), (Split(8, (4, 6)), (28, 28, 1))],
    "sharing": [(Sharing(16, (4, 6)), (28, 28, 1)), (Sharing(16, (4, 6, 8)), (32, 32, 3))],
    "resnet": [(ResNet(16, (4, 6)), (28, 28, 1)), (ResNet(16, (4, 6, 8), blocks=2), (32, 32, 3))],
    "own": [(Own(made_encoder, decoder), (8, 8, 3)), (OddNets((6,)), (6, 8, 3))],
    "adversarial": [
        (Adversarial((4, 6), 8, recogniser_hidden=8), (16, 16, 1)),
        (Adversarial((4, 6), 8, side=8, flat_layers=2, leaky_generator=False), (32, 32, 3)),
    ],
}


def models() -> list[Any]:
    found = []
    for cases in SMALL.values():
        for record, shape in cases:
            for method, likelihood in (
                [(InfoGAN(categories=(3,), noise=2), "bernoulli"), (InfoWGANGP(categories=(), noise=2), "bernoulli")]
                if isinstance(record, Adversarial)
                else [
                    (VAE(), "bernoulli"),
                    (AdversarialAutoencoder(discriminator_layers=1, discriminator_width=8), "gaussian"),
                ]
            ):
                run = Run(method, record, latents=4, likelihood=likelihood)
                name = f"{type(record).__name__}-{type(method).__name__}-{shape[0]}"
                found.append(pytest.param(run, shape, id=name))
    return found


def random_model(run: Run, shape: tuple[int, int, int]) -> Model:
    """A model whose biases and normalisations are no longer what they started with."""
    model = Model(run, shape)
    generator = torch.Generator().manual_seed(0)
    for network in model.networks.values():
        for parameter in network.parameters():
            if parameter.dim() == 1 or len(parameter.unique()) == 1:
                parameter.copy_(0.5 + torch.rand(parameter.shape, generator=generator))
    return model


def inputs(model: Model) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.random((3, *model.shape), dtype=np.float32), rng.integers(-1, 3, (3, 4)).astype(np.float32)


@pytest.mark.parametrize(("run", "shape"), models())
def test_plain_modules_give_what_the_model_gives(run: Run, shape: tuple[int, int, int]) -> None:
    model = random_model(run, shape)
    images, z = inputs(model)
    z = np.resize(z, (3, len(run.method.discrete(run))))
    means, logvars = model.encoder(torch.tensor(images).permute(0, 3, 1, 2))
    decoded = model.decoder(torch.tensor(z))
    wanted = model.encode(images)
    np.testing.assert_allclose(means.detach(), wanted[0], atol=2e-6, rtol=2e-6)
    np.testing.assert_allclose(logvars.detach(), wanted[1], atol=2e-6, rtol=2e-6)
    np.testing.assert_allclose(decoded.detach().permute(0, 2, 3, 1), model.decode(z), atol=2e-6)
    assert np.ptp(wanted[0]) > 1e-3
    assert all(parameter.requires_grad for parameter in model.encoder.parameters())
    assert not model.encoder.training


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([Reshape(24), BatchNorm(24), LayerNorm(24), nn.ReLU(), Linear(24, 5), BatchNorm(5)], (3, 4, 2)),
        ([BatchNorm(2), Down(2, 3, slope=0.2), Same(3, 4), Same(4, 4, transposed=True), Three(4, 2)], (4, 6, 2)),
        ([Linear(5, 24), BatchNorm(24), nn.LeakyReLU(0.2), Reshape(3, 4, 2), BatchNorm(2), Up(2, 3)], (5,)),
        # What has no counterpart is used as it is.
        ([LayerNorm(2)], (3, 4, 2)),
        ([Reshape(24)], (3, 4, 2)),
        ([Linear(5, 24), LayerNorm(24), Reshape(3, 4, 2)], (5,)),
    ],
)
def test_layers_in_any_order_do_the_same(layers: list[nn.Module], shape: tuple[int, ...]) -> None:
    network = nn.Sequential(*layers).eval()
    for parameter in network.parameters():
        nn.init.uniform_(parameter, 0.2, 1.0)
    values = torch.randn(3, *shape)
    given = values.permute(0, 3, 1, 2) if len(shape) == 3 else values
    found, wanted = plain_network(network, shape)(given), network(values)
    wanted = wanted.permute(0, 3, 1, 2) if wanted.dim() == 4 else wanted
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_every_architecture_is_tested() -> None:
    assert set(ARCHITECTURES) == set(SMALL)


@pytest.mark.parametrize("name", ["convolutional", "mlp", "split", "sharing"])
def test_networks_are_made_of_pytorchs_own_layers(name: str) -> None:
    """They pickle without a word of hackle, and their weights load into layers written by hand."""
    record, shape = SMALL[name][0]
    model = random_model(Run(VAE(), record, latents=4), shape)
    for part in (model.encoder, model.decoder):
        assert all(type(layer).__module__.startswith("torch.nn") for layer in part.layers.modules())
        assert b"hackle" not in pickle.dumps(part.layers)
        again = pickle.loads(pickle.dumps(part))
        assert [key for key in again.state_dict()] == [key for key in part.state_dict()]  # noqa: C416


def test_weights_load_without_hackle() -> None:
    model = random_model(Run(VAE(), Convolutional(16, (4, 8)), latents=3), (16, 16, 3))
    by_hand = nn.Sequential(
        *(nn.Conv2d(3, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 4, 2, 1), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(128, 16), nn.ReLU(), nn.Linear(16, 6)),
    )
    by_hand.load_state_dict(model.encoder.layers.state_dict())
    images = np.random.default_rng(0).random((2, 16, 16, 3), dtype=np.float32)
    found = by_hand(torch.tensor(images).permute(0, 3, 1, 2)).detach().numpy()
    np.testing.assert_allclose(found, np.hstack(model.encode(images)), atol=2e-6)


def test_modules_are_copies_and_own_ones_are_the_users() -> None:
    model = random_model(Run(VAE(), *SMALL["own"][0][:1], latents=4), (8, 8, 3))
    part = model.encoder
    assert [type(layer) for layer in part.layers] == [nn.Conv2d, nn.Tanh, nn.Flatten, nn.Linear]  # type: ignore[attr-defined]
    before = model.weights()
    nn.init.zeros_(part.layers[0].weight)  # type: ignore[index]
    assert all(torch.equal(value, before[name]) for name, value in model.weights().items())


def test_a_plain_encoder_is_scored_as_its_model() -> None:
    images = np.random.default_rng(0).integers(0, 256, (60, 16, 16, 1), dtype=np.uint8)
    data = hackle.from_arrays(images, {"a": np.arange(60) % 5, "b": np.arange(60) // 5})
    model = random_model(Run(VAE(), Convolutional(16, (4, 8)), data.name, latents=3), (16, 16, 1))
    alone, plain = (hackle.score(one, data, "gaussian_tc", references=False) for one in (model, model.encoder))
    np.testing.assert_allclose(plain["score"], alone["score"], rtol=1e-3)


def answer_of_pt2(path: Path, given: np.ndarray) -> list[np.ndarray]:
    found = torch.export.load(path).module()(torch.tensor(given))
    return [part.detach().numpy() for part in (found if isinstance(found, tuple) else (found,))]


def answer_of_onnx(path: Path, given: np.ndarray) -> Any:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    return session.run(None, {session.get_inputs()[0].name: given})


@pytest.mark.parametrize(("ending", "answer"), [("pt2", answer_of_pt2), ("onnx", answer_of_onnx)])
@pytest.mark.parametrize("name", ["convolutional", "adversarial"])
def test_a_file_gives_what_the_model_gives(ending: str, answer: Callable[..., Any], name: str, tmp_path: Path) -> None:
    record, shape = SMALL[name][1]
    method = InfoGAN(categories=(3,), noise=2) if name == "adversarial" else VAE()
    model = random_model(Run(method, record, latents=4), shape)
    images, z = inputs(model)
    z = np.resize(z, (3, len(method.discrete(model.run))))
    found = model.export(tmp_path / f"encoder.{ending}")
    assert 0 <= found.difference < 1e-5
    for count in (1, 3):
        given = images[:count].transpose(0, 3, 1, 2)
        for part, wanted in zip(answer(found.path, given), model.encode(images[:count]), strict=True):
            np.testing.assert_allclose(part, wanted, atol=1e-5, rtol=1e-5)
    (decoded,) = answer(model.export(tmp_path / f"decoder.{ending}", "decoder").path, z)
    np.testing.assert_allclose(decoded.transpose(0, 2, 3, 1), model.decode(z), atol=1e-5)


def test_the_command_line_exports_and_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = random_model(Run(VAE(), MLP((6,)), latents=2), (5, 4, 3))
    folder, out = model.save(tmp_path / "run"), tmp_path / "files" / "decoder.pt2"
    words = ["export", str(folder), "--out", str(out), "--part", "decoder"]
    main(words)
    said = capsys.readouterr().out
    assert "decoder, from latents (n, 2) to float32 images (n, 3, 5, 4) in [0, 1]" in said
    assert "differs from the model by at most" in said
    before = out.read_bytes()
    with pytest.raises(SystemExit):
        main(words)
    assert "--overwrite" in capsys.readouterr().err
    assert out.read_bytes() == before
    main([*words, "--overwrite"])
    assert [path.name for path in out.parent.iterdir()] == ["decoder.pt2"]


def test_what_cannot_be_exported_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(Run(VAE(), MLP((6,)), latents=2), (5, 4, 3))
    with pytest.raises(ExportError, match=r"ends in \.bin; expected \.pt2 or \.onnx"):
        model.export(tmp_path / "model.bin")
    with pytest.raises(ExportError, match="part is 'both'"):
        model.export(tmp_path / "model.pt2", "both")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ExportError, match=r"pip install \"hackle\[export\]\""):
        model.export(tmp_path / "model.onnx")
    monkeypatch.setattr("hackle.train.export._difference", lambda *given: 0.5)
    with pytest.raises(ExportError, match="differ from the model's by up to"):
        model.export(tmp_path / "model.pt2")
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_bfloat16_has_plain_modules_in_float32() -> None:
    model = random_model(Run(VAE(), MLP((6,)), latents=2), (5, 4, 3))
    half = Model(replace(model.run, precision="bfloat16"), model.shape, model.weights())
    images = torch.rand(2, 3, 5, 4)
    assert torch.equal(half.encoder(images)[0], model.encoder(images)[0])
