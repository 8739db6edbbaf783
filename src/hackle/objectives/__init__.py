"""Every method by name: a frozen record of its hyperparameters that says what it trains and how.

Any module of this package that defines a method is found; the classes imported here are those used most.
"""

from hackle.core.method import is_method
from hackle.core.parts import Parts, name_of
from hackle.core.types import Method
from hackle.objectives.ada_gvae import AdaGVAE, AdaMLVAE
from hackle.objectives.adversarial_autoencoder import AdversarialAutoencoder
from hackle.objectives.annealed_vae import AnnealedVAE
from hackle.objectives.autoregressive_vae import AutoregressiveVAE
from hackle.objectives.beta_tcvae import BetaTCVAE
from hackle.objectives.beta_vae import BetaVAE
from hackle.objectives.control_vae import ControlVAE
from hackle.objectives.dip_vae import DIPVAEI, DIPVAEII
from hackle.objectives.factor_vae import FactorVAE, FactorVAEPrior
from hackle.objectives.gvae import GVAE, MLVAE
from hackle.objectives.hfs import HFS
from hackle.objectives.infogan import InfoGAN
from hackle.objectives.information_dropout import InformationDropout
from hackle.objectives.infowgan_gp import InfoWGANGP
from hackle.objectives.joint_vae import JointVAE
from hackle.objectives.mmd import WAEMMD, InfoVAE
from hackle.objectives.qlae import QLAE
from hackle.objectives.semi_supervised import (
    S2DIPVAEI,
    S2DIPVAEII,
    S2BetaTCVAE,
    S2BetaVAE,
    S2FactorVAE,
    Supervised,
)
from hackle.objectives.slow_vae import SlowVAE
from hackle.objectives.tripod import Tripod
from hackle.objectives.vae import VAE

OBJECTIVES: Parts[type[Method]] = Parts(
    "method",
    ("hackle.objectives.*",),
    is_method,
    name_of=name_of,
    expected="a method: a frozen dataclass with phases, networks, encode and decode, of which "
    "hackle.objectives.vae.Autoencoder has all but phases",
)
"""Every method by name."""

__all__ = [
    "DIPVAEI",
    "DIPVAEII",
    "GVAE",
    "HFS",
    "MLVAE",
    "OBJECTIVES",
    "QLAE",
    "S2DIPVAEI",
    "S2DIPVAEII",
    "VAE",
    "WAEMMD",
    "AdaGVAE",
    "AdaMLVAE",
    "AdversarialAutoencoder",
    "AnnealedVAE",
    "AutoregressiveVAE",
    "BetaTCVAE",
    "BetaVAE",
    "ControlVAE",
    "FactorVAE",
    "FactorVAEPrior",
    "InfoGAN",
    "InfoVAE",
    "InfoWGANGP",
    "InformationDropout",
    "JointVAE",
    "S2BetaTCVAE",
    "S2BetaVAE",
    "S2FactorVAE",
    "SlowVAE",
    "Supervised",
    "Tripod",
]
