"""QLAE, the quantised-latent autoencoder (K. Hsu, W. Dorrell, J. Whittington, J. Wu, C. Finn, *Disentanglement via Latent
Quantization*, NeurIPS 2023).

The encoder is deterministic, e(x) ∈ R^l. Each latent has a codebook V_j of n scalars, of which it takes the nearest, q_j;
gradients pass straight through. With sg for what has no gradient,

    z    = e + sg(q − e)
    loss = −log p(x|z) + D · mean_j [ λ_q (sg(e_j) − q_j)² + λ_c (e_j − sg(q_j))² ]

averaged over the batch. The paper averages the error over the D = h·w·c values of an image, the other methods here sum
it: this loss is D times the paper's, so that λ_q = λ_c = 0.01 are its numbers. Codebooks learn by λ_q alone. The method
also needs strong weight decay, λ = 0.1, decoupled from the gradient and not applied to biases and codebooks: the
`weight_decay` of the run's optimiser.

Departures: the networks are the run's architecture, of whose encoder only the means are used, so that methods can be compared
with the same networks; the paper has its own, deeper, with instance normalisation. The paper clips each number of the
weights' gradient at 1, which in these units is a `clip_value` of D; it is off by default.

A code is a class number: 0 for the smallest value of its codebook.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hackle.core.types import Adam, Losses, Nets, Phase, Run, Step
from hackle.objectives.quantised import QuantisedAutoencoder, pixels_of, straight_through
from hackle.objectives.vae import negative_log_likelihood


class Codebooks(nn.Module):
    """The values that each latent may take, (l, n), equally spaced from −½ to ½ at first."""

    def __init__(self, latents: int, levels: int) -> None:
        super().__init__()
        start = torch.linspace(-0.5, 0.5, levels) if levels > 1 else torch.zeros(1)
        self.values = nn.Parameter(start.repeat(latents, 1))

    def forward(self) -> Tensor:
        return self.values


def nearest(latents: Tensor, values: Tensor) -> Tensor:
    """The position (b, l) of the value (l, n) that is nearest to each latent (b, l)."""
    return (latents.unsqueeze(-1) - values).abs().argmin(-1)


def at(values: Tensor, classes: Tensor) -> Tensor:
    """The values (l, n) at these positions (b, l)."""
    return values.expand(classes.shape[0], -1, -1).gather(-1, classes.unsqueeze(-1)).squeeze(-1)


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    latents, _ = nets("encoder", step.images)
    values = nets("codebooks")
    quantised = at(values, nearest(latents, values))
    output = nets("decoder", straight_through(latents, quantised))
    reconstruction = negative_log_likelihood(output, step.images, run.likelihood).mean()
    codebook = (latents.detach() - quantised).square().mean()
    committed = (latents - quantised.detach()).square().mean()
    penalty = run.method.quantisation * codebook + run.method.commitment * committed
    terms = {"reconstruction": reconstruction, "quantisation_error": committed}
    return Losses(reconstruction + pixels_of(step) * penalty, terms)


@dataclass(frozen=True)
class QLAE(QuantisedAutoencoder):
    """The quantised-latent autoencoder. Its weight decay is that of the run's optimiser."""

    name, title, symbol = "qlae", "QLAE", "λ"
    least: ClassVar = {"levels": 1}
    swept: ClassVar = {"quantisation": 1.0, "commitment": 1.0}
    run_fields: ClassVar = {"batch_size": 128, "optimiser": Adam(learning_rate=1e-3, weight_decay=0.1)}

    quantisation: float = 0.01
    """Weight λ_q, by which codebooks follow the latents; multiplied by the number of values of an image."""
    commitment: float = 0.01
    """Weight λ_c, by which latents stay near their values; multiplied likewise."""
    levels: int = 10
    """Values in each latent's codebook."""

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return {**super().networks(run, shape), "codebooks": Codebooks(run.latents, self.levels)}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (Phase("autoencoder", ("encoder", "decoder", "codebooks"), _loss, {}, lambda run: run.optimiser),)

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        latents, _ = nets("encoder", images)
        return self.noiseless(nearest(latents, nets("codebooks").sort(-1).values), latents)

    def decoder_input(self, nets: Nets, run: Run, codes: Tensor) -> Tensor:
        return at(nets("codebooks").sort(-1).values, self.classes(codes))
