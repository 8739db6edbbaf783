"""Tripod (K. Hsu, J. I. Hamid, K. Burns, C. Finn, J. Wu, *Tripod: Three Complementary Inductive Biases for Disentangled
Representation Learning*, ICML 2024): quantised latents, independent latents, and latents that act one by one.

Latents are quantised to n fixed values, u = tanh(e), z = 2 round((u + 1)/2 · (n − 1))/(n − 1) − 1; gradients pass
straight through. On a batch of b codes with l latents, s the deviations of u and S = (4/(l + 2))^(1/(l+4)) b^(−1/(l+4)),

    KLM   = mean_i [ ln 1/b Σ_j Π_k N(z_ik; z_jk, (S s_k)²) − Σ_k ln 1/b Σ_j N(z_ik; z_jk, s_k²) ]
    NHP_g = mean_units Var_r[D_r g], r ∈ {±1}^l,  over  mean_units Var_r[D_r g], r ~ N(0, I),
            D_r g = [g(z + ε r⊙s) − 2 g(z) + g(z − ε r⊙s)] / ε²
    loss  = −log p(x|z) + D · (λ_KLM KLM + λ_NHP Σ_g NHP_g)

averaged over the batch. KLM, the kernel latent multiinformation, estimates the latents' total correlation; NHP, the
normalised Hessian penalty (after W. Peebles et al., ECCV 2020), is in expectation the share Σ_{i≠j} H²_ij / Σ_ij H²_ij of
the second derivatives of the decoder's activations g that mix two latents. Variances are over two draws each and have
the number of draws in the denominator. As in QLAE, the loss is D times the paper's, which averages the error over the D
values of an image, so that weights are the paper's, here those for 3D Shapes.

As in the authors' code, the marginals' bandwidth lacks Silverman's factor, so that KLM is not 0 for independent
latents, and gradients pass through s. Its variance is at least 10⁻¹² here, below which its root has no gradient.

Departures: the networks are the run's; g are the stages of its decoder, for 64-pixel images the map that the fully
connected layers make and the maps of the first three transposed convolutions, in place of the paper's style and first
three blocks. They are ReLU, not GELU, so second differences are those of the kinks that a step happens to cross, and
both variances are averaged over the batch before they are divided: of single images, as in the paper (`ratio`), a few
denominators near 0 outweigh everything else, and codes collapse. Gradients are not clipped by default: the paper's 1 is
a `clip_value` of D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from hackle.core.gaussian import log_density_per_latent
from hackle.core.types import Adam, Draw, Losses, Nets, Phase, Run, Step
from hackle.nets.stages import cut_decoder
from hackle.objectives.quantised import QuantisedAutoencoder, pixels_of, straight_through
from hackle.objectives.vae import negative_log_likelihood

EPSILON = 0.1
"""The size of a step in units of each latent's deviation."""
_LEAST_VARIANCE, _LEAST_DEVIATION, _LEAST_CURVATURE = 1e-12, 1e-6, 1e-10


def deviations(u: Tensor) -> Tensor:
    """s (l,), each latent's standard deviation over a batch (b, l)."""
    return u.var(0, correction=0).clamp(min=_LEAST_VARIANCE).sqrt() + _LEAST_DEVIATION


def multiinformation(z: Tensor, scale: Tensor) -> Tensor:
    """KLM of codes (b, l) with bandwidths from their deviations (l,), in nats."""
    batch, latents = z.shape
    silverman = (4 / (latents + 2) / batch) ** (1 / (latents + 4))

    def log_kernels(bandwidth: Tensor) -> Tensor:
        return log_density_per_latent(z.unsqueeze(1), z, 2 * bandwidth.log())

    together = torch.logsumexp(log_kernels(silverman * scale).sum(-1), dim=1) - math.log(batch)
    apart = (torch.logsumexp(log_kernels(scale), dim=1) - math.log(batch)).sum(-1)
    return (together - apart).mean()


def perturbed(z: Tensor, scale: Tensor, directions: Tensor) -> Tensor:
    """Each code (b, l), then steps from it along its directions (b, r, l) and against them: (b, 1 + 2r, l)."""
    steps = EPSILON * directions * scale
    centre = z.unsqueeze(1)
    return torch.cat([centre, centre + steps, centre - steps], dim=1)


def hessian_penalty(values: Tensor, ratio: str = "batch") -> Tensor:
    """NHP of activations (b, 1 + 4k, …) at codes from `perturbed`, whose directions are k of signs, then k normal ones."""
    values = values.flatten(2).to(torch.promote_types(values.dtype, torch.float32))
    count = (values.shape[1] - 1) // 2
    centre, above, below = values.split([1, count, count], dim=1)
    across, whole = ((above - 2 * centre + below) / EPSILON**2).chunk(2, dim=1)
    mixed, total = (part.var(1, correction=0).mean(-1) for part in (across, whole))
    if ratio == "batch":
        mixed, total = mixed.mean(), total.mean()
    return (mixed / (total + _LEAST_CURVATURE)).mean()


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    latents, _ = nets("encoder", step.images)
    u = torch.tanh(latents)
    z, scale = straight_through(u, run.method.values(run.method.nearest(u)).to(u.dtype)), deviations(u)
    directions = torch.cat([2 * step.noise["signs"].to(z.dtype) - 1, step.noise["normals"]], dim=1)
    codes = perturbed(z, scale, directions)
    stages = [output.unflatten(0, codes.shape[:2]) for output in nets("stages", codes.flatten(0, 1))]
    output = nets("decoder", stages[-1][:, 0])
    reconstruction = negative_log_likelihood(output, step.images, run.likelihood).mean()
    information = multiinformation(z, scale)
    penalty = torch.stack([hessian_penalty(values, run.method.ratio) for values in stages]).sum()
    added = run.method.multiinformation * information + run.method.hessian * penalty
    terms = {"reconstruction": reconstruction, "multiinformation": information, "hessian_penalty": penalty}
    return Losses(reconstruction + pixels_of(step) * added, terms)


@dataclass(frozen=True)
class Tripod(QuantisedAutoencoder):
    """Tripod: fixed levels, kernel latent multiinformation and a normalised Hessian penalty."""

    name, title, symbol = "tripod", "Tripod", "λ_KLM"
    least: ClassVar = {"levels": 2, "perturbations": 2}
    run_fields: ClassVar = {"optimiser": Adam(learning_rate=2e-4)}
    # Differences of nearby activations, divided by ε², lose bfloat16's eight bits.
    takes_bfloat16 = False

    multiinformation: float = 1e-4
    """Weight λ_KLM of the latents' multiinformation; multiplied by the number of values of an image."""
    hessian: float = 1e-2
    """Weight λ_NHP of the normalised Hessian penalty; multiplied likewise."""
    levels: int = 12
    """Values of each latent, equally spaced from −1 to 1."""
    perturbations: int = 2
    """Draws of each kind of direction in the Hessian penalty."""
    ratio: Literal["batch", "image"] = "batch"
    """Whether the variances of the Hessian penalty are divided after averaging over the batch, or for each image."""

    def nearest(self, u: Tensor) -> Tensor:
        """The class number (b, l) of the level nearest to each u in [−1, 1]."""
        return ((u + 1) / 2 * (self.levels - 1)).round()

    def values(self, classes: Tensor) -> Tensor:
        """The levels of class numbers."""
        return 2 * classes / (self.levels - 1) - 1

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        made = super().networks(run, shape)
        stages, last = cut_decoder(made["decoder"])
        return {"encoder": made["encoder"], "stages": stages, "decoder": last}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        shape = (run.batch_size, self.perturbations, run.latents)
        draws = {"signs": Draw("integers", shape, 2), "normals": Draw("normal", shape)}
        return (Phase("autoencoder", ("encoder", "stages", "decoder"), _loss, draws, lambda run: run.optimiser),)

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        latents, _ = nets("encoder", images)
        return self.noiseless(self.nearest(torch.tanh(latents)), latents)

    def decoder_input(self, nets: Nets, run: Run, codes: Tensor) -> Tensor:
        return nets("stages", self.values(self.classes(codes)).to(codes.dtype))[-1]
