"""Networks of your own: any two PyTorch modules as encoder and decoder.

The modules see images channels first, (b, c, h, w). They must hold no buffers, draw no random numbers and, once
trained, treat each image independently: so neither PyTorch's batch normalisation nor dropout is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from hackle.core.errors import HackleError
from hackle.core.records import import_named

Shape = tuple[int, int, int]
Factory = Callable[[Shape, int], nn.Module]


class OwnNetworkError(HackleError):
    """A user's network that cannot be built or does not return what it should."""


def _resolve(factory: Factory | str) -> Factory:
    """The factory, or the one that a saved record names as `module:name`."""
    if not isinstance(factory, str):
        return factory
    try:
        return import_named(factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise OwnNetworkError(
            f"the record names its network {factory!r}, which cannot be imported ({error}); put the module that defines "
            "it on the Python path"
        ) from error


def _built(factory: Factory | str, shape: Shape, latents: int) -> nn.Module:
    """The factory's module. It is refused if it draws random numbers, since a run's noise follows from its seed and
    step alone, or has PyTorch's batch normalisation: with running averages it carries state from batch to batch,
    without them a code would depend on the other images of its batch."""
    module = _resolve(factory)(shape, latents)
    if not isinstance(module, nn.Module):
        raise OwnNetworkError(f"the factory gave {type(module).__name__}; expected a torch.nn.Module")
    for name, part in module.named_modules():
        if isinstance(part, _DropoutNd) and part.training:
            raise OwnNetworkError(
                f"the network has a {type(part).__name__} ({name or 'itself'}), which draws random numbers of its own; "
                "expected a network without dropout: leave it out"
            )
        if isinstance(part, _BatchNorm):
            raise OwnNetworkError(
                f"the network has a {type(part).__name__} ({name or 'itself'}), by which images seen together depend on "
                "each other or on those before; use layer, group or instance normalisation, or after flattening "
                "hackle.nets.normalisation.BatchNorm, which is fixed once training is done"
            )
    return module


class ChannelsFirstEncoder(nn.Module):
    """Images (b, h, w, c) through a module that takes (b, c, h, w), to means and logvars."""

    def __init__(self, module: nn.Module, latents: int) -> None:
        super().__init__()
        self.module, self.latents = module, latents

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.module(images.permute(0, 3, 1, 2))
        if isinstance(outputs, Tensor):
            outputs = outputs.chunk(2, dim=-1)
        shapes = [tuple(value.shape) for value in outputs]
        if shapes != [(len(images), self.latents)] * 2:
            raise OwnNetworkError(
                f"the encoder gave {shapes}; expected means and logvars of shape {(len(images), self.latents)} each, "
                f"or one tensor {(len(images), 2 * self.latents)} to be split in two"
            )
        return outputs[0], outputs[1]


class ChannelsFirstDecoder(nn.Module):
    """Latents (b, l) through a module that gives (b, c, h, w), to images (b, h, w, c)."""

    def __init__(self, module: nn.Module, shape: Shape) -> None:
        super().__init__()
        self.module, self.shape = module, shape

    def forward(self, z: Tensor) -> Tensor:
        images = self.module(z)
        height, width, channels = self.shape
        if tuple(images.shape) != (len(z), channels, height, width):
            raise OwnNetworkError(
                f"the decoder gave {tuple(images.shape)}; expected logits of shape {(len(z), channels, height, width)}"
            )
        return images.permute(0, 2, 3, 1)


@dataclass(frozen=True)
class Own:
    """Your own networks. Each factory takes the image shape (h, w, c) and the number of latents, and returns a module.

    The encoder's module returns means and logvars, or one tensor 2l wide that is split in two; the decoder's returns
    logits (Bernoulli) or means (Gaussian). A factory is a class or function at the top level of a module, so that a
    saved record can name it; a `module:name` string also works.
    """

    name, title = "own", "own encoder"
    users_own: ClassVar[bool] = True
    """Its networks are a user's, which may not be buildable without memory."""

    make_encoder: Factory | str
    make_decoder: Factory | str

    def __post_init__(self) -> None:
        for factory in (self.make_encoder, self.make_decoder):
            name = factory if isinstance(factory, str) else getattr(factory, "__qualname__", "<unnamed>")
            if "<" in name or (isinstance(factory, str) and ":" not in factory):
                raise OwnNetworkError(
                    f"{name} cannot be told from others in a record; give a class or function defined at the top level "
                    "of a module"
                )

    def encoder(self, shape: Shape, latents: int) -> nn.Module:
        return ChannelsFirstEncoder(_built(self.make_encoder, shape, latents), latents)

    def decoder(self, shape: Shape, latents: int) -> nn.Module:
        return ChannelsFirstDecoder(_built(self.make_decoder, shape, latents), shape)
