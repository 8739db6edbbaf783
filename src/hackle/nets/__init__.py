"""Network architectures by name: frozen records that build an encoder and a decoder."""

from hackle.nets.convolutional import Convolutional
from hackle.types import Architecture

ARCHITECTURES: dict[str, type[Architecture]] = {
    "convolutional": Convolutional,
}

__all__ = ["ARCHITECTURES", "Convolutional"]
