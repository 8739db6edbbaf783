"""Every architecture: shapes for every image size, the layers its table lists, and stacked equals alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from hackle.core.errors import HackleError
from hackle.core.types import AdversarialArchitecture, Architecture, Run, RunError
from hackle.nets import ARCHITECTURES, MLP, Adversarial, Convolutional, Own, ResNet, Sharing, Split
from hackle.nets.convolutional import ShapeError
from hackle.nets.layers import Blocks, Down, Same, Up
from hackle.nets.normalisation import BatchNorm
from hackle.nets.resnet import Residual
from hackle.objectives import VAE, InfoGAN

SHAPES = [(16, 16, 2), (28, 28, 3), (32, 32, 4), (64, 64, 3), (128, 128, 1), (256, 256, 3)]
SMALL: list[Any] = [Convolutional(5, (2, 3)), Split(5, (2, 3)), Sharing(5, (2, 3)), MLP((6, 5)), ResNet(5, (2, 3))]


def parameters(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


def test_every_architecture_is_tested() -> None:
    tested = {type(record) for record in SMALL} | {Adversarial, Own}
    assert set(ARCHITECTURES.values()) == tested
    assert all(isinstance(record, Architecture) for record in SMALL)
    assert isinstance(Adversarial(), AdversarialArchitecture)
    assert not isinstance(Adversarial(), Architecture)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("record", SMALL, ids=lambda record: type(record).__name__)
def test_encoder_and_decoder_fit_the_images(record: Any, shape: tuple[int, int, int]) -> None:
    encoder, decoder = record.encoder(shape, 4), record.decoder(shape, 4)
    means, logvars = encoder(torch.rand(3, *shape))
    assert means.shape == logvars.shape == (3, 4)
    assert decoder(means).shape == (3, *shape)
    assert not list(encoder.buffers())
    assert not list(decoder.buffers())


@pytest.mark.parametrize("shape", SHAPES[:4], ids=str)
@pytest.mark.parametrize("side", [4, 8])
def test_adversaries_fit_the_images(shape: tuple[int, int, int], side: int) -> None:
    record = Adversarial(channels=(2, 3, 3), hidden=6, side=side, flat_layers=side // 4 - 1, recogniser_hidden=5)
    nets = record.adversaries(shape, 7, 9, normalised=True)
    images = nets["generator"](torch.randn(3, 7))
    assert images.shape == (3, *shape)
    assert images.min() >= 0
    assert images.max() <= 1
    features = nets["trunk"](images)
    assert features.shape == (3, 6)
    assert nets["discriminator"](features).shape == (3,)
    assert nets["recogniser"](features).shape == (3, 9)


def test_a_critics_trunk_scores_each_image_by_itself() -> None:
    record = Adversarial(channels=(2, 3), hidden=6)
    batch, critic = (record.adversaries((16, 16, 1), 7, 9, normalised=flag)["trunk"] for flag in (True, False))
    assert [type(layer).__name__ for layer in critic.children() if "Norm" in type(layer).__name__] == ["LayerNorm"]
    assert [type(layer).__name__ for layer in batch.children() if "Norm" in type(layer).__name__] == ["BatchNorm"] * 2
    images = torch.rand(4, 16, 16, 1)
    torch.testing.assert_close(critic(images)[:1], critic(images[:1]))
    assert not torch.allclose(batch(images)[:1], batch(images[:2])[:1])


@pytest.mark.parametrize("record", SMALL, ids=lambda record: type(record).__name__)
def test_stacked_equals_alone(record: Any) -> None:
    torch.manual_seed(0)
    modules = [record.encoder((16, 16, 3), 4).double() for _ in range(3)]
    images = torch.rand(3, 5, 16, 16, 3, dtype=torch.float64)
    stacked, _ = stack_module_state(modules)
    means, logvars = vmap(lambda values, x: functional_call(modules[0], values, x))(stacked, images)
    for row, module in enumerate(modules):
        expected = module(images[row])
        torch.testing.assert_close(means[row], expected[0], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(logvars[row], expected[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("hidden", "channels", "latents"), [(128, 1, 10), (256, 3, 6), (256, 1, 10)])
def test_convolutional_has_the_tables_layers(hidden: int, channels: int, latents: int) -> None:
    """Kim & Mnih, Tables 1 to 3, and Locatello et al., Table 2: parameters counted layer by layer."""
    record, shape = Convolutional(hidden=hidden), (64, 64, channels)
    convolutions = 16 * (channels * 32 + 32 * 32 + 32 * 64 + 64 * 64) + 32 + 32 + 64 + 64
    dense = 1024 * hidden + hidden + hidden * 2 * latents + 2 * latents
    assert parameters(record.encoder(shape, latents)) == convolutions + dense
    dense = latents * hidden + hidden + hidden * 1024 + 1024
    convolutions = 16 * (64 * 64 + 64 * 32 + 32 * 32 + 32 * channels) + 64 + 32 + 32 + channels
    assert parameters(record.decoder(shape, latents)) == convolutions + dense


@pytest.mark.parametrize("blocks", [1, 2])
def test_resnet_has_the_layers_of_its_table(blocks: int) -> None:
    """The plain network's layers, and two 3×3 convolutions for each block at each of four sizes."""
    plain, record, shape = Convolutional(), ResNet(blocks=blocks), (64, 64, 3)
    residual = blocks * sum(2 * (9 * width * width + width) for width in (32, 32, 64, 64))
    for build in ("encoder", "decoder"):
        network = getattr(record, build)(shape, 10)
        assert parameters(network) == parameters(getattr(plain, build)(shape, 10)) + residual
        assert sum(isinstance(layer, Residual) for layer in network.modules()) == 4 * blocks


def test_a_residual_block_adds_to_what_it_is_given() -> None:
    block = Residual(3).double()
    maps = torch.randn(2, 8, 8, 3, dtype=torch.float64)
    filters = [layer.weight.permute(3, 2, 0, 1) for layer in (block.first, block.second)]
    inner = F.conv2d(maps.permute(0, 3, 1, 2).relu(), filters[0], padding=1).relu()
    expected = maps + F.conv2d(inner, filters[1], padding=1).permute(0, 2, 3, 1)
    torch.testing.assert_close(block(maps), expected, rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        block.second.weight.zero_()
    assert torch.equal(block(maps), maps)


def channels_of(network: Any, kind: Any) -> list[int]:
    """Output channels of the layers of one kind, in order."""
    return [layer.bias.shape[0] for layer in network.modules() if isinstance(layer, kind)]


@pytest.mark.parametrize(
    ("record", "shape", "inputs", "outputs", "trunk", "generator"),
    [
        pytest.param(
            Adversarial(channels=(64, 128), hidden=1024, leaky_generator=False),
            *((28, 28, 1), 74, 14),
            {Down: [64, 128], nn.Linear: [1024], BatchNorm: [128, 1024]},
            {nn.Linear: [1024, 6272], Up: [64, 1], BatchNorm: [1024, 6272, 64]},
            id="table 4",
        ),
        pytest.param(
            Adversarial(),
            *((64, 64, 1), 12, 11),
            {Down: [32, 32, 64, 64], nn.Linear: [128], BatchNorm: [32, 64, 64, 128]},
            {nn.Linear: [128, 1024], Up: [64, 32, 32, 1], BatchNorm: [128, 1024, 64, 32, 32]},
            id="table 5",
        ),
        pytest.param(
            Adversarial(channels=(64, 128, 256), hidden=1024, side=8, flat_layers=2),
            *((64, 64, 1), 136, 11),
            {Down: [64, 128, 256], Same: [256, 256], nn.Linear: [1024], BatchNorm: [128, 256, 256, 256, 1024]},
            {nn.Linear: [1024, 16384], Same: [256, 256], Up: [128, 64, 1], BatchNorm: [1024, 16384, 256, 256, 128, 64]},
            id="table 6",
        ),
    ],
)
def test_adversarial_has_the_tables_layers(
    record: Adversarial, shape: Any, inputs: int, outputs: int, trunk: Any, generator: Any
) -> None:
    nets = record.adversaries(shape, inputs, outputs, normalised=True)
    for network, layers in ((nets["trunk"], trunk), (nets["generator"], generator)):
        assert {kind: channels_of(network, kind) for kind in layers} == layers
    assert channels_of(nets["recogniser"], nn.Linear) == [128, outputs]
    leaky = [type(layer) for layer in nets["generator"].modules() if isinstance(layer, nn.ReLU | nn.LeakyReLU)]
    assert leaky[:2] == [nn.ReLU] * 2
    assert set(leaky[2:]) == {nn.LeakyReLU if record.leaky_generator else nn.ReLU}


def test_a_split_encoders_latents_share_no_parameter_of_their_branches() -> None:
    latents, channels = 3, 4
    encoder: Any = Split(hidden=5, channels=(2, channels)).encoder((16, 16, 1), latents)
    branches = encoder[-1]
    means, logvars = encoder(torch.rand(6, 16, 16, 1))
    own = dict(branches.named_parameters())
    for latent in range(latents):
        output = means[:, latent].sum() + logvars[:, latent].sum()
        gradients = dict(zip(own, torch.autograd.grad(output, list(own.values()), retain_graph=True), strict=True))
        for name, gradient in gradients.items():
            blocks = gradient.movedim(-1, 0).unflatten(0, (latents, channels)) if "convolution" in name else gradient
            touched = [bool(block.any()) for block in blocks]
            assert touched == [other == latent for other in range(latents)], name
        (shared,) = torch.autograd.grad(output, encoder[0][0].weight, retain_graph=True)
        assert shared.any()


def test_a_split_encoder_is_one_small_encoder_per_latent() -> None:
    """Each latent's output equals a convolution and two fully connected layers with that latent's slices."""
    torch.manual_seed(0)
    encoder: Any = Split(hidden=5, channels=(2, 4)).encoder((16, 16, 1), 3).double()
    images = torch.rand(6, 16, 16, 1, dtype=torch.float64)
    means, logvars = encoder(images)
    features, branches = encoder[0](images), encoder[1]
    for latent in range(3):
        convolution = Down(2, 4).double()
        with torch.no_grad():
            convolution.weight.copy_(branches.convolution.weight[..., 4 * latent : 4 * latent + 4])
        maps = convolution(features).relu().flatten(1)
        values = (maps @ branches.hidden.weight[latent]).relu() @ branches.head.weight[latent]
        torch.testing.assert_close(values[:, 0], means[:, latent], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(values[:, 1], logvars[:, latent], rtol=1e-10, atol=1e-10)


def test_a_split_encoder_has_no_more_layers_than_a_plain_one() -> None:
    plain, split = Convolutional().encoder((64, 64, 1), 10), Split().encoder((64, 64, 1), 10)
    weights = [sum(isinstance(layer, Down | nn.Linear | Blocks) for layer in net.modules()) for net in (plain, split)]
    assert weights == [6, 6]


def test_a_sharing_encoder_is_convolutions_alone() -> None:
    encoder: Any = Sharing().encoder((64, 64, 1), 10)
    assert channels_of(encoder, Down) == [32, 32, 64, 64, 5]
    assert not channels_of(encoder, nn.Linear)
    means, _ = encoder(torch.rand(2, 64, 64, 1))
    last: Tensor = encoder[-2].weight

    def filters(latent: int) -> list[bool]:
        (gradient,) = torch.autograd.grad(means[:, latent].sum(), last, retain_graph=True)
        return [bool(block.any()) for block in gradient.movedim(-1, 0)]

    assert filters(0) == filters(3) == [True, False, False, False, False]
    assert filters(4) == filters(7) == [False, True, False, False, False]


def test_shapes_without_networks_are_refused() -> None:
    for shape in [(64, 32, 1), (48, 48, 3), (64, 64, 5), (8, 8, 1)]:
        with pytest.raises(ShapeError, match="square images"):
            Convolutional().encoder(shape, 10)
    with pytest.raises(ShapeError, match="use 8 latents"):
        Sharing().encoder((64, 64, 1), 7)
    for side in (3, 5, 64, 128):
        with pytest.raises(ShapeError, match=f"cannot be halved to maps of {side}"):
            Adversarial(side=side).adversaries((64, 64, 1), 5, 4, normalised=True)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Convolutional, {"hidden": 0}, "hidden of Convolutional is 0; expected a whole number from 1"),
        (Split, {"channels": ()}, r"channels of Split is \(\); expected a tuple of whole numbers from 1"),
        (Sharing, {"channels": (32, -1)}, r"channels of Sharing is \(32, -1\)"),
        (Convolutional, {"channels": 32}, "channels of Convolutional is 32; expected a tuple"),
        (MLP, {"widths": (1200, 0)}, r"widths of MLP is \(1200, 0\)"),
        (MLP, {"widths": (12.0,)}, r"widths of MLP is \(12.0,\)"),
        (ResNet, {"blocks": 0}, "blocks of ResNet is 0; expected a whole number from 1 to 1,000"),
        (ResNet, {"blocks": 10**6}, "blocks of ResNet is 1000000"),
        (Adversarial, {"side": 0}, "side of Adversarial is 0"),
        (Adversarial, {"flat_layers": -1}, "flat_layers of Adversarial is -1; expected a whole number from 0"),
        (Adversarial, {"recogniser_hidden": True}, "recogniser_hidden of Adversarial is True"),
    ],
)
def test_sizes_that_no_network_can_have_are_refused(kind: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError, match=message):
        kind(**fields)


def test_the_smallest_sizes_are_allowed() -> None:
    assert parameters(MLP(()).encoder((2, 2, 1), 3)) == 4 * 6 + 6
    assert Convolutional(1, (1,)).encoder((16, 16, 1), 1)(torch.rand(2, 16, 16, 1))[0].shape == (2, 1)
    nets = Adversarial((1,), 1, 8, 0, recogniser_hidden=1).adversaries((16, 16, 1), 2, 2, normalised=True)
    assert nets["generator"](torch.rand(3, 2)).shape == (3, 16, 16, 1)


def test_methods_refuse_networks_they_cannot_train() -> None:
    with pytest.raises(HackleError, match="choose an architecture such as `convolutional`"):
        VAE().networks(Run(VAE(), Adversarial()), (64, 64, 1))
    with pytest.raises(HackleError, match="choose the architecture `adversarial`"):
        InfoGAN().networks(Run(InfoGAN(), Convolutional()), (64, 64, 1))
