"""A network cut into stages, for methods that look at what happens inside a decoder."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.nets.chain import Chain
from hackle.nets.layers import Reshape, Up


class Stages(nn.ModuleList):
    """Parts of a network, one after another. The answer is the output of each."""

    def forward(self, values: Tensor) -> tuple[Tensor, ...]:
        outputs = []
        for part in self:
            values = part(values)
            outputs.append(values)
        return tuple(outputs)


def flat_layers(network: nn.Module) -> Iterator[nn.Module]:
    """The layers of nested sequences, in order."""
    if isinstance(network, nn.Sequential):
        for layer in network:
            yield from flat_layers(layer)
    else:
        yield network


def cut_decoder(decoder: nn.Module) -> tuple[Stages, nn.Module]:
    """A decoder's stages and the rest of it, which makes the image from the output of the last stage.

    The fully connected layers up to the first map are one stage, and so is each part that ends in a doubling of the map,
    except the last. A decoder without maps has one stage: all before its last layer with parameters.
    """
    layers = list(flat_layers(decoder))
    ends = [at + 1 for at, layer in enumerate(layers) if isinstance(layer, Reshape | Up)][:-1]
    if not any(isinstance(layer, Up) for layer in layers):
        ends = [at for at, layer in enumerate(layers) if any(True for _ in layer.parameters())][1:][-1:]
    if not ends:
        raise HackleError(
            f"the decoder is {type(decoder).__name__}, without stages to look at; expected a sequence of two layers or more, "
            "as of the architectures `convolutional`, `resnet` and `mlp` with hidden layers"
        )
    parts = [Chain(*layers[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return Stages(parts), Chain(*layers[ends[-1] :])
