"""Every method by name: a frozen record of its hyperparameters that says what it trains and how."""

from hackle.objectives.beta_vae import BetaVAE
from hackle.objectives.factor_vae import FactorVAE
from hackle.objectives.vae import VAE
from hackle.types import Method

OBJECTIVES: dict[str, type[Method]] = {
    "beta-vae": BetaVAE,
    "factor-vae": FactorVAE,
    "vae": VAE,
}

__all__ = ["OBJECTIVES", "VAE", "BetaVAE", "FactorVAE"]
