"""The variational autoencoder (Kingma & Welling 2014) and what every method built on it shares.

Loss = E_q[−log p(x|z)] + KL(q(z|x) ‖ p(z)): summed over pixels and latents, averaged over the batch. One sample of z per
image. The KL is that of the factorised posterior; a correlated one adds a constant (Yang et al. 2020, appendix B), which
does not change gradients (except in AnnealedVAE, see there) and is left out to keep curves of different σ comparable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.core.field_checks import check_weights
from hackle.core.gaussian import NOISELESS, reparameterise
from hackle.core.randomness import Stream
from hackle.core.types import Architecture, Draw, Images, Losses, Method, Nets, Phase, Run, Step
from hackle.kernels import bernoulli_error, posterior_sample, unit_interval
from hackle.nets.normalisation import CALIBRATION_SIZE, BatchNorm, calibrate
from hackle.nets.sizes import check_sizes


class Evidence(NamedTuple):
    """The two terms of the evidence lower bound on one batch and what they were computed from.

    `kl` is what the loss uses: during the KL warm-up, less than the full divergence, `whole_kl`, which is logged.
    """

    reconstruction: Tensor
    kl: Tensor
    kl_per_latent: Tensor
    z: Tensor
    means: Tensor
    logvars: Tensor
    whole_kl: Tensor

    @property
    def terms(self) -> dict[str, Tensor]:
        """What every autoencoder logs."""
        return {"reconstruction": self.reconstruction, "kl": self.whole_kl, "kl_per_latent": self.kl_per_latent}


def warmed(kl: Tensor, step: Step) -> Tensor:
    """A KL term as the loss uses it at this step: times its weight during the first `kl_warmup` steps of a run."""
    return kl if step.kl_weight is None else step.kl_weight * kl


def negative_log_likelihood(output: Tensor, images: Tensor, likelihood: str) -> Tensor:
    """−log p(x|z) of each image in nats, shape (b,): Bernoulli with logits and soft targets, or Gaussian with unit variance."""
    if likelihood == "bernoulli":
        return bernoulli_error(output, images)
    return (0.5 * (output - unit_interval(images)).square() + 0.5 * math.log(2 * math.pi)).flatten(1).sum(1)


def evidence(nets: Nets, step: Step, run: Run) -> Evidence:
    """Encode, sample, decode one batch."""
    means, logvars = nets("encoder", step.images)
    return evidence_of(nets, step, run, step.images, means, logvars, step.noise["z"])


def evidence_of(
    nets: Nets, step: Step, run: Run, images: Tensor, means: Tensor, logvars: Tensor, noise: Tensor
) -> Evidence:
    """Sample and decode these posteriors of these images, each (n, l)."""
    z, per_latent = posterior_sample(means, logvars, noise, run.correlation)
    reconstruction = negative_log_likelihood(nets("decoder", z), images, run.likelihood).mean()
    kl = per_latent.sum()
    return Evidence(reconstruction, warmed(kl, step), per_latent, z, means, logvars, kl)


class Autoencoder(Method):
    """What every method with an encoder and a decoder shares."""

    has_likelihood, warms_up = True, True

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        if not isinstance(run.architecture, Architecture):
            raise HackleError(
                f"{type(run.method).__name__} needs an encoder and a decoder, which {type(run.architecture).__name__} does "
                "not build; choose an architecture such as `convolutional`"
            )
        return {
            "encoder": run.architecture.encoder(shape, run.latents),
            "decoder": run.architecture.decoder(shape, run.latents),
        }

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        means, logvars = nets("encoder", images)
        return means, logvars

    def decode(self, nets: Nets, run: Run, z: Tensor) -> Tensor:
        output = nets("decoder", self.decoder_input(nets, run, z))
        return torch.sigmoid(output) if run.likelihood == "bernoulli" else output.clamp(0, 1)

    def calibrate(self, networks: Mapping[str, nn.Module], run: Run, images: Images, data_size: int) -> None:
        """Fix batch normalisation, which hackle's networks do not have but a user's may: the encoder's on images of the
        data set, the decoder's on a sample of each image's posterior. Both depend on the run's seed alone."""
        if not any(isinstance(layer, BatchNorm) for network in networks.values() for layer in network.modules()):
            return

        def nets(name: str, *inputs: Tensor) -> Any:
            return networks[name](*inputs)

        device = next(nn.ModuleList(networks.values()).parameters()).device
        stream = Stream.of([run.seed], purpose="calibrate", device=device)
        index = stream.integers("index", (CALIBRATION_SIZE,), data_size)
        pixels = images(index, stream)[0].to(torch.float32) / 255
        calibrate(networks["encoder"], pixels)
        with torch.no_grad():
            means, logvars = self.encode(nets, run, pixels)
        z = reparameterise(means, logvars, stream.normal("z", tuple(means.shape))[0], run.correlation)
        with torch.no_grad():
            calibrate(networks["decoder"], self.decoder_input(nets, run, z))


class WeightedAutoencoder(Autoencoder):
    """An autoencoder whose float fields are weights in its loss: none may be negative, and its whole numbers not below the
    `least` that it gives for each."""

    least: ClassVar[dict[str, int]] = {}

    def __post_init__(self) -> None:
        check_weights(self)
        check_sizes(self, self.least)


class DeterministicAutoencoder(WeightedAutoencoder):
    """An autoencoder whose codes are the encoder's means, without noise, and which so has no KL term."""

    warms_up = False

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        means, logvars = nets("encoder", images)
        return means, torch.full_like(logvars, NOISELESS)


def posterior_noise(run: Run) -> dict[str, Draw]:
    """The noise that samples one z for each image of a batch."""
    return {"z": Draw("normal", (run.batch_size, run.latents))}


def autoencoder_phase(loss: Callable[[Nets, Step, Any], Losses], run: Run) -> Phase:
    """The phase that trains encoder and decoder on one batch, by a loss that uses the networks itself."""
    return Phase("autoencoder", ("encoder", "decoder"), loss, posterior_noise(run), lambda run: run.optimiser)


def evidence_phase(
    loss: Callable[[Evidence, Step, Any], Losses], run: Run, draws: Mapping[str, Draw] | None = None
) -> Phase:
    """The phase that trains encoder and decoder by a loss of a batch's evidence. Methods whose phase is of this kind train
    in one fleet. draws: the loss's own random tensors."""
    return replace(autoencoder_phase(loss, run), shared=evidence, loss_draws=draws or {})  # type: ignore[arg-type]


def _loss(elbo: Evidence, step: Step, run: Run) -> Losses:
    return Losses(elbo.reconstruction + elbo.kl, elbo.terms)


@dataclass(frozen=True)
class VAE(Autoencoder):
    """The plain variational autoencoder."""

    name, title = "vae", "VAE"
    case_of = "beta-vae", 1.0

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss, run),)
