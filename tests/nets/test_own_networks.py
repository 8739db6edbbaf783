"""Networks of the user's own: channels first, any PyTorch module, named in the record."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import hackle
from hackle.core.randomness import Stream
from hackle.core.reading import from_json
from hackle.core.records import record_hash, to_json
from hackle.core.types import Adam, Run
from hackle.nets import Own
from hackle.nets.normalisation import BatchNorm
from hackle.nets.own import OwnNetworkError
from hackle.objectives import VAE, AdversarialAutoencoder
from hackle.train.fleet import Fleet


class Encoder(nn.Module):
    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(shape[2], 4, 4, stride=4)
        self.means, self.logvars = nn.Linear(64, latents), nn.Linear(64, latents)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.convolution(images).relu().flatten(1)
        return self.means(features), self.logvars(features)


def flat_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(16 * 16 * shape[2], 2 * latents))


def decoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    height, width, channels = shape
    return nn.Sequential(nn.Linear(latents, channels * height * width), nn.Unflatten(1, (channels, height, width)))


def wide_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return flat_encoder(shape, latents + 1)


def flat_decoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Linear(latents, 256)


@pytest.mark.parametrize("factory", [Encoder, flat_encoder])
def test_images_arrive_channels_first(factory: Any) -> None:
    architecture = Own(factory, decoder)
    images = torch.rand(3, 16, 16, 3)
    own: Any = architecture.encoder((16, 16, 3), 4)
    means, logvars = own(images)
    found = own.module(images.permute(0, 3, 1, 2))
    expected = found if isinstance(found, tuple) else found.chunk(2, dim=1)
    assert torch.equal(means, expected[0])
    assert torch.equal(logvars, expected[1])
    back: Any = architecture.decoder((16, 16, 3), 4)
    assert torch.equal(back(means), back.module(means).permute(0, 2, 3, 1))


def test_own_networks_train_stacked_as_alone(squares: Any) -> None:
    runs = [
        Run(VAE(), Own(Encoder, decoder), "squares", seed, batch_size=5, latents=2, optimiser=Adam(1e-3))
        for seed in range(2)
    ]
    together = Fleet(runs, squares.images_on("cpu"), squares.factors, squares.shape)
    alone = Fleet(runs[1:], squares.images_on("cpu"), squares.factors, squares.shape)
    for fleet in (together, alone):
        for _ in range(3):
            fleet.step()
    for name, value in alone.weights(0).items():
        torch.testing.assert_close(together.weights(1)[name], value, rtol=1e-5, atol=1e-6)


def test_a_record_names_its_networks_and_finds_them_again() -> None:
    run = Run(VAE(), Own(Encoder, decoder))
    data = to_json(run)
    assert data["architecture"]["make_encoder"] == f"{__name__}:Encoder"
    again = from_json(data, {cls.__name__: cls for cls in (Run, VAE, Own, Adam)}, trust=True)
    assert record_hash(again) == record_hash(run)
    means, _ = again.architecture.encoder((16, 16, 1), 4)(torch.rand(2, 16, 16, 1))
    assert means.shape == (2, 4)


def test_what_goes_wrong_is_said() -> None:
    with pytest.raises(OwnNetworkError, match="top level"):
        Own(lambda shape, latents: flat_encoder(shape, latents), decoder)
    with pytest.raises(OwnNetworkError, match="Python path"):
        Own("no_such_module:Encoder", decoder).encoder((16, 16, 1), 4)
    images = torch.rand(2, 16, 16, 1)
    with pytest.raises(OwnNetworkError, match=r"expected means and logvars of shape \(2, 4\)"):
        Own(wide_encoder, decoder).encoder((16, 16, 1), 4)(images)
    with pytest.raises(OwnNetworkError, match=r"expected logits of shape \(2, 1, 16, 16\)"):
        Own(flat_encoder, flat_decoder).decoder((16, 16, 1), 4)(torch.rand(2, 4))


def dropping_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Dropout2d(0.1), flat_encoder(shape, latents))


def test_dropout_is_refused() -> None:
    with pytest.raises(OwnNetworkError, match=r"has a Dropout2d \(0\), which draws random numbers"):
        Own(dropping_encoder, decoder).encoder((16, 16, 1), 3)
    with pytest.raises(OwnNetworkError, match="draws random numbers"):
        Own(flat_encoder, dropping_encoder).decoder((16, 16, 1), 3)


def mixing_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False), flat_encoder(shape, latents))


def remembering_decoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(latents), *decoder(shape, latents).children())


def test_pytorchs_batch_normalisation_is_refused() -> None:
    with pytest.raises(
        OwnNetworkError, match=r"has a BatchNorm2d \(0\), by which images seen together depend on each other"
    ):
        Own(mixing_encoder, decoder).encoder((16, 16, 1), 3)
    with pytest.raises(OwnNetworkError, match=r"BatchNorm1d .* use layer, group or instance normalisation"):
        Own(flat_encoder, remembering_decoder).decoder((16, 16, 1), 3)


def normalised_encoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 16), BatchNorm(16), nn.ReLU(), nn.Linear(16, 2 * latents))


def normalised_decoder(shape: tuple[int, int, int], latents: int) -> nn.Module:
    return nn.Sequential(nn.Linear(latents, 16), BatchNorm(16), nn.ReLU(), *decoder(shape, 16).children())


@pytest.mark.parametrize("deterministic", [False, True])
def test_batch_normalisation_is_fixed_after_training(deterministic: bool, squares: Any) -> None:
    """By the moments of the data set's images in the encoder, and in the decoder by those of the z they are given."""
    method: Any = AdversarialAutoencoder(0.1, 1, 8, deterministic=True) if deterministic else VAE()
    networks = Own(normalised_encoder, normalised_decoder)
    run = Run(method, networks, "squares", seed=4, steps=20, batch_size=16, latents=2, optimiser=Adam(3e-3))
    model = hackle.fit(run, dataset=squares, progress=False, device="cpu")

    stream = Stream.of([4], purpose="calibrate")
    images = squares.images_on("cpu")(stream.integers("index", (1024,), len(squares.factors)), stream)[0]
    means, logvars = (torch.from_numpy(value) for value in model.encode(images))
    z = means if deterministic else means + (0.5 * logvars).exp() * stream.normal("z", (1024, 2))[0]
    encoder, own_decoder = (list(model.networks[name].module.children()) for name in ("encoder", "decoder"))
    with torch.no_grad():
        before = encoder[1](images.flatten(1).float() / 255), own_decoder[0](z)
    for values, layer in zip(before, (encoder[2], own_decoder[1]), strict=True):
        torch.testing.assert_close(layer.mean, values.mean(0), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(layer.variance, values.var(0, unbiased=False), rtol=1e-3, atol=1e-4)
        assert layer.variance.max() > 1e-2
    alone, _ = model.encode(images[3:4])
    torch.testing.assert_close(torch.from_numpy(alone), means[3:4], rtol=1e-5, atol=1e-6)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(OwnNetworkError, match="the factory gave list; expected"):
        Own(nothing_of_use, decoder).encoder((16, 16, 1), 3)


def nothing_of_use(shape: tuple[int, int, int], latents: int) -> Any:
    return []
