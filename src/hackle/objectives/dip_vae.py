"""DIP-VAE-I and DIP-VAE-II (Kumar et al. 2018; Kim & Mnih 2018, Eq. 10 and 11; Locatello et al. 2019, Table 3).

Reconstruction error + KL + λ_od Σ_{i≠j} C_ij² + λ_d Σ_i (C_ii − 1)². In DIP-VAE-I, C is the covariance of the posterior's
means over the data; in DIP-VAE-II, that of z itself: by the law of total covariance, the covariance of the means plus the
mean of the posteriors' covariances, which has off-diagonal entries if the posterior is correlated. Both are estimated
from the batch (divided by b). The sum runs over both (i, j) and (j, i), as written. Kumar et al.'s regulariser on
third moments is left out, as in Locatello et al. (section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from hackle.core.types import Losses, Phase, Run, Step
from hackle.kernels import covariance_deviations
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase


def _penalised(elbo: Evidence, deviations: tuple[Tensor, Tensor], run: Any) -> Losses:
    off_diagonal, diagonal = deviations
    penalty = run.method.off_diagonal * off_diagonal + run.method.diagonal * diagonal
    terms = {**elbo.terms, "off_diagonal": off_diagonal, "diagonal": diagonal}
    return Losses(elbo.reconstruction + elbo.kl + penalty, terms)


def _loss_i(elbo: Evidence, step: Step, run: Any) -> Losses:
    return _penalised(elbo, covariance_deviations(elbo.means), run)


def _loss_ii(elbo: Evidence, step: Step, run: Any) -> Losses:
    return _penalised(elbo, covariance_deviations(elbo.means, elbo.logvars, run.correlation), run)


@dataclass(frozen=True)
class DIPVAEI(WeightedAutoencoder):
    """DIP-VAE-I. `off_diagonal` is λ_od, `diagonal` λ_d; both 0 is the plain VAE."""

    name, title, symbol = "dip-vae-i", "DIP-VAE-I", "λ"
    # λ_d follows λ_od as in Locatello et al. 2019, Table 3.
    swept: ClassVar = {"off_diagonal": 1.0, "diagonal": 10.0}

    off_diagonal: float = 5.0
    """Weight λ_od of the squared covariances."""
    diagonal: float = 50.0
    """Weight λ_d of the squared distances of the variances from 1."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss_i, run),)


@dataclass(frozen=True)
class DIPVAEII(DIPVAEI):
    """DIP-VAE-II. `off_diagonal` is λ_od, `diagonal` λ_d; both 0 is the plain VAE."""

    name, title = "dip-vae-ii", "DIP-VAE-II"
    swept: ClassVar = {"off_diagonal": 1.0, "diagonal": 1.0}

    diagonal: float = 5.0
    """Weight λ_d of the squared distances of the variances from 1."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss_ii, run),)
