"""Network architectures by name: frozen records that build an encoder and a decoder, or an InfoGAN's networks.

Any module of this package that defines an architecture is found; the classes imported here are for direct use.
"""

import dataclasses
from typing import Any

from hackle.core.parts import Parts, name_of
from hackle.core.records import is_record
from hackle.core.types import AdversarialArchitecture, Architecture
from hackle.nets.adversarial import Adversarial
from hackle.nets.convolutional import Convolutional
from hackle.nets.mlp import MLP
from hackle.nets.own import Own
from hackle.nets.resnet import ResNet
from hackle.nets.sharing import Sharing
from hackle.nets.split import Split


def _is_architecture(thing: Any) -> bool:
    return dataclasses.is_dataclass(thing) and isinstance(thing, type) and issubclass(thing, _BUILDERS)


def _adopted(name: str, thing: Any) -> Any:
    """An architecture with settings, `NETS = Own(Encoder, make_decoder)` in a file, is one without options."""
    return (lambda: thing) if is_record(thing) and isinstance(thing, _BUILDERS) else None


_BUILDERS = (Architecture, AdversarialArchitecture)
ARCHITECTURES: Parts[type[Architecture] | type[AdversarialArchitecture]] = Parts(
    "architecture",
    ("hackle.nets.*",),
    _is_architecture,
    name_of=name_of,
    adopt=_adopted,
    expected="an architecture: a frozen dataclass with encoder and decoder, or one with its settings",
)
"""Every architecture by name."""

__all__ = ["ARCHITECTURES", "MLP", "Adversarial", "Convolutional", "Own", "ResNet", "Sharing", "Split"]
