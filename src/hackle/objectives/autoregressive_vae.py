"""β-VAE with an autoregressive posterior, q(z|x) = ∏_i q(z_i | z_<i, x) (Do & Tran 2020, section 3.2).

The paper names autoregressive encoders, whose latents share information that is not in x, I(z_i; z_≠i | x) > 0, and gives
none. Here each factor is a Gaussian whose mean is linear in the latents before it, with coefficients that depend on the image:

    z_i = μ_i(x) + Σ_{j<i} A_ij(x) (z_j − μ_j(x)) + s_i(x) ε_i.

So q(z|x) is a Gaussian with mean μ and any covariance L Lᵀ, where row i of L is s_i e_i + Σ_{j<i} A_ij L_j: its KL to the
prior, its marginals and its conditional densities have closed forms. With A = 0 it is the factorised posterior, and so the
β-VAE. One encoder of the architecture gives all three, as so many outputs. Where the run's σ correlates the noise ε, L is
multiplied by the Cholesky factor of its covariance; the KL is then that of the whole posterior, with the constant that other
methods leave out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.gaussian import Scalar
from hackle.core.types import Losses, Nets, Phase, Run, Step
from hackle.objectives.vae import WeightedAutoencoder, autoencoder_phase, negative_log_likelihood, warmed


def outputs_of(latents: int) -> int:
    """The latents of an encoder with enough outputs for means, logvars and the coefficients below the diagonal: an even number,
    as some encoders need."""
    needed = 2 * latents + latents * (latents - 1) // 2
    return -(-needed // 4) * 2


def posterior_of(outputs: tuple[Tensor, Tensor], latents: int) -> tuple[Tensor, Tensor, Tensor]:
    """Means (b, l), logvars (b, l) of latents given those before, and coefficients A (b, l, l), of an encoder's outputs."""
    values = torch.cat(outputs, dim=-1)
    widths = [latents, latents, *range(latents)]
    means, logvars, *below, _ = values.split([*widths, values.shape[-1] - sum(widths)], dim=-1)
    rows = [F.pad(row, (0, latents - row.shape[-1])) for row in below]
    return means, logvars, torch.stack(rows, dim=-2)


def root_of(logvars: Tensor, coefficients: Tensor) -> Tensor:
    """L (b, l, l), lower triangular: the covariance of the posterior is L Lᵀ."""
    latents = logvars.shape[-1]
    own = torch.exp(0.5 * logvars).unsqueeze(-1) * torch.eye(latents, dtype=logvars.dtype, device=logvars.device)
    rows: list[Tensor] = []
    for row in range(latents):
        before = torch.stack(rows, dim=-2) if rows else own[..., :0, :]
        rows.append(own[..., row, :] + (coefficients[..., row, :row].unsqueeze(-1) * before).sum(-2))
    return torch.stack(rows, dim=-2)


def noise_root(correlation: Scalar, like: Tensor) -> Tensor:
    """The Cholesky factor of (1 − σ) I + σ 11ᵀ, (l, l), for roots like these: given the j latents before it, a latent has the
    variance (1 − σ)(1 + jσ) / (1 + (j − 1)σ) and with each after it the covariance σ(1 − σ) / (1 + (j − 1)σ)."""
    latents = like.shape[-1]
    sigma = torch.as_tensor(correlation, dtype=like.dtype, device=like.device)
    before = torch.arange(latents, dtype=like.dtype, device=like.device)
    share = (1 - sigma) / (1 + (before - 1) * sigma)
    own = torch.sqrt(share * (1 + before * sigma))
    identity = torch.eye(latents, dtype=like.dtype, device=like.device)
    return identity * own + torch.ones_like(identity).tril(-1) * (sigma * share / own)


def divergence(means: Tensor, root: Tensor) -> tuple[Tensor, Tensor]:
    """KL(q(z|x) ‖ N(0, I)) of each image, (b,), and of each latent's marginal alone, (b, l). The determinant of L is that of
    its diagonal."""
    variances = root.square().sum(-1)
    logvars = 2 * root.diagonal(dim1=-2, dim2=-1).log()
    whole = 0.5 * (variances + means.square() - 1 - logvars).sum(-1)
    return whole, 0.5 * (variances + means.square() - 1 - variances.log())


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    means, root = run.method.covariance_root(nets, run, step.images)
    z = means + (root @ step.noise["z"].unsqueeze(-1)).squeeze(-1)
    reconstruction = negative_log_likelihood(nets("decoder", z), step.images, run.likelihood).mean()
    whole, marginals = divergence(means, root)
    kl, per_latent = whole.mean(), marginals.mean(0)
    terms = {"reconstruction": reconstruction, "kl": kl, "kl_per_latent": per_latent}
    shared = {"posterior_total_correlation": kl - per_latent.sum()}
    return Losses(reconstruction + run.method.beta * warmed(kl, step), {**terms, **shared})


@dataclass(frozen=True)
class AutoregressiveVAE(WeightedAutoencoder):
    """β-VAE whose latents depend on each other given the image. `beta` weighs the KL; 1 is the VAE."""

    name, title, symbol = "autoregressive-vae", "autoregressive VAE", "β"
    independent_given_images = False

    beta: float = 1.0
    """Weight of the KL term."""

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        wider: Any = super().networks(replace(run, latents=outputs_of(run.latents)), shape)
        return {"encoder": wider["encoder"], "decoder": super().networks(run, shape)["decoder"]}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_loss, run),)

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and logvars of each latent's marginal."""
        means, root = self.covariance_root(nets, run, images)
        return means, root.square().sum(-1).log()

    def covariance_root(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means (b, l) and L (b, l, l) of the posteriors, whose covariances are L Lᵀ."""
        means, logvars, coefficients = posterior_of(nets("encoder", images), run.latents)
        root = root_of(logvars, coefficients)
        return means, root @ noise_root(run.correlation, root)
