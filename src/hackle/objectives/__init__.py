"""Every method by name: a frozen record of its hyperparameters that says what it trains and how."""

from hackle.core.types import Method
from hackle.objectives.adversarial_autoencoder import AdversarialAutoencoder
from hackle.objectives.annealed_vae import AnnealedVAE
from hackle.objectives.beta_tcvae import BetaTCVAE
from hackle.objectives.beta_vae import BetaVAE
from hackle.objectives.dip_vae import DIPVAEI, DIPVAEII
from hackle.objectives.factor_vae import FactorVAE
from hackle.objectives.factor_vae_prior import FactorVAEPrior
from hackle.objectives.infogan import InfoGAN
from hackle.objectives.information_dropout import InformationDropout
from hackle.objectives.infowgan_gp import InfoWGANGP
from hackle.objectives.vae import VAE

OBJECTIVES: dict[str, type[Method]] = {
    "adversarial-autoencoder": AdversarialAutoencoder,
    "annealed-vae": AnnealedVAE,
    "beta-tcvae": BetaTCVAE,
    "beta-vae": BetaVAE,
    "dip-vae-i": DIPVAEI,
    "dip-vae-ii": DIPVAEII,
    "factor-vae": FactorVAE,
    "factor-vae-prior": FactorVAEPrior,
    "infogan": InfoGAN,
    "information-dropout": InformationDropout,
    "infowgan-gp": InfoWGANGP,
    "vae": VAE,
}

__all__ = [
    "DIPVAEI",
    "DIPVAEII",
    "OBJECTIVES",
    "VAE",
    "AdversarialAutoencoder",
    "AnnealedVAE",
    "BetaTCVAE",
    "BetaVAE",
    "FactorVAE",
    "FactorVAEPrior",
    "InfoGAN",
    "InfoWGANGP",
    "InformationDropout",
]
