"""Network architectures by name: frozen records that build an encoder and a decoder, or an InfoGAN's networks."""

from hackle.core.types import AdversarialArchitecture, Architecture
from hackle.nets.adversarial import Adversarial
from hackle.nets.convolutional import Convolutional
from hackle.nets.mlp import MLP
from hackle.nets.own import Own
from hackle.nets.sharing import Sharing
from hackle.nets.split import Split

ARCHITECTURES: dict[str, type[Architecture] | type[AdversarialArchitecture]] = {
    "adversarial": Adversarial,
    "convolutional": Convolutional,
    "mlp": MLP,
    "own": Own,
    "sharing": Sharing,
    "split": Split,
}

__all__ = ["ARCHITECTURES", "MLP", "Adversarial", "Convolutional", "Own", "Sharing", "Split"]
