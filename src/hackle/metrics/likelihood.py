"""Likelihoods and divergences of VAEs, which Kim & Mnih and Yang et al. report besides disentanglement.

`importance_weighted_bound` is the bound on log p(x) of Kim & Mnih 2018, appendix E (Burda et al. 2016, 5000 particles):

    log p(x) ≥ E log (1/K) Σ_k p(x|z_k) p(z_k) / q(z_k|x),     z_k ~ q(z|x),    p(z) = N(0, I)

which rises to log p(x) with K and for K = 1 is the ELBO. Everything is in nats, summed over pixels, one value for each
image; the papers report the mean over images. Weights are averaged in float64. Each image has its own random stream, so
its value does not depend on the chunk size or on the images that follow. `correlation` is the σ of the posterior's
noise.

A code that is a class number, of k classes, has no noise: its posterior is all on one class, its prior is uniform, and
its KL ln k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hackle.core.gaussian import correlation_divergence, kl_per_latent, log_density, reparameterise
from hackle.core.method import Code, real_codes
from hackle.core.randomness import Stream
from hackle.information.posterior import Floats, Posteriors
from hackle.metrics.checks import MetricError, check_choice, check_mask
from hackle.metrics.metric import Evaluation, Metric, Row


class Autoencoder(Protocol):
    """A model of images, such as `hackle.Model`: it gives a posterior for each image and pixels for each z."""

    @property
    def likelihood(self) -> str:
        """bernoulli (the decoder gives logits) or gaussian (it gives means; the variance is 1)."""
        ...

    def posterior(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and logvars, each (b, l), of images (b, …) in [0, 1]."""
        ...

    def output(self, z: Tensor) -> Tensor:
        """Logits or means of the pixels, (b, …), for z (b, l). A model some of whose codes are class numbers has, beside,
        `codes`, one `hackle.core.method.Code` for each."""
        ...


class KLDivergence(NamedTuple):
    """KL(q(z|x) ‖ N(0, I)) averaged over points."""

    per_code: Floats
    """Of each code's own posterior, (c,)."""
    total: float
    """Of all codes jointly: the sum, plus −½ ln det Σ if the noise is correlated (Yang et al. 2020, appendix B)."""


def kl_divergence(
    means: ArrayLike, logvars: ArrayLike, *, correlation: float = 0.0, discrete: ArrayLike | bool = False
) -> KLDivergence:
    """The KL divergence from the prior of posteriors with `means` and `logvars` (n, c).

    `discrete` (c,) or one bool marks codes that are class numbers: theirs is ln k for the k classes that occur.

    >>> round(kl_divergence([[1.0] * 10] * 2, [[0.0] * 10] * 2).total, 6)
    5.0
    """
    points = Posteriors(means, logvars, correlation)
    per_code = kl_per_latent(torch.from_numpy(points.means), torch.from_numpy(points.logvars)).mean(0).numpy()
    classes = check_mask(discrete, len(per_code), "discrete")
    for code in np.flatnonzero(classes):
        per_code[code] = math.log(len(np.unique(points.means[:, code])))
    constant = float(correlation_divergence(correlation, int((~classes).sum())))
    return KLDivergence(per_code, float(per_code.sum()) + constant)


def active_units(
    means: ArrayLike, logvars: ArrayLike, *, threshold: float = 0.01, discrete: ArrayLike | bool = False
) -> NDArray[np.bool_]:
    """Which codes, (c,), have not collapsed to the prior: their mean KL(q(z_j|x) ‖ p(z_j)) exceeds `threshold` nats.
    Of codes that are class numbers, marked by `discrete`, those that take more than one value.

    >>> active_units([[0.0, 2.0], [0.0, -2.0]], [[0.0, -4.0], [0.0, -4.0]])
    array([False,  True])
    """
    return kl_divergence(means, logvars, discrete=discrete).per_code > threshold


def importance_weighted_bound(
    model: Autoencoder,
    images: ArrayLike | Tensor,
    particles: int = 5000,
    *,
    seed: int = 0,
    correlation: float = 0.0,
    chunk: int = 1024,
    first: int = 0,
) -> Floats:
    """The bound on log p(x) of each image, (n,), from `particles` draws of z; `chunk` are decoded at a time.

    An image's draws depend on its number, which counts from `first`, so that a data set may be given in parts.
    """
    bounds = []
    for part in _decoded(model, images, particles, seed, correlation, chunk, first):
        real, of_classes = _kinds(model, part)
        z, means, logvars = part.z[..., real], part.means[:, None, real], part.logvars[:, None, real]
        prior = log_density(z, torch.zeros_like(z), torch.zeros_like(z))
        weights = part.log_likelihood + prior - log_density(z, means, logvars, correlation) - of_classes
        bounds.append(torch.logsumexp(weights, dim=1) - math.log(particles))
    return torch.cat(bounds).cpu().numpy()


def reconstruction_error(
    model: Autoencoder,
    images: ArrayLike | Tensor,
    *,
    samples: int = 1,
    seed: int = 0,
    correlation: float = 0.0,
    chunk: int = 1024,
) -> Floats:
    """E[−log p(x|z)] of each image, (n,), over `samples` draws of z from its posterior."""
    return -_evidence(model, images, samples, seed, correlation, chunk)[0]


def elbo(
    model: Autoencoder,
    images: ArrayLike | Tensor,
    *,
    samples: int = 1,
    seed: int = 0,
    correlation: float = 0.0,
    chunk: int = 1024,
) -> Floats:
    """The evidence lower bound of each image, (n,): E[log p(x|z)] over `samples` draws minus the exact KL."""
    return _evidence(model, images, samples, seed, correlation, chunk)[1]


def _evidence(
    model: Autoencoder, images: ArrayLike | Tensor, samples: int, seed: int, correlation: float, chunk: int = 1024
) -> tuple[Floats, Floats]:
    """E[log p(x|z)] of each image, (n,), and its evidence lower bound."""
    likelihoods, bounds = [], []
    for part in _decoded(model, images, samples, seed, correlation, chunk):
        real, of_classes = _kinds(model, part)
        constant = float(correlation_divergence(correlation, len(real))) + of_classes
        kl = kl_per_latent(part.means[:, real], part.logvars[:, real]).sum(1)
        likelihoods.append(part.log_likelihood.mean(1))
        bounds.append(likelihoods[-1] - kl - constant)
    return torch.cat(likelihoods).cpu().numpy(), torch.cat(bounds).cpu().numpy()


class _Decoded(NamedTuple):
    """Some images' posteriors (b, l), draws z (b, draws, l) and log p(x|z) (b, draws), all float64."""

    means: Tensor
    logvars: Tensor
    z: Tensor
    log_likelihood: Tensor


def _kinds(model: Autoencoder, part: _Decoded) -> tuple[list[int], float]:
    """Which codes are real numbers, and the KL of those that are class numbers."""
    return real_codes(getattr(model, "codes", (Code(),) * part.means.shape[1]))


@torch.no_grad()
def _decoded(
    model: Autoencoder,
    images: ArrayLike | Tensor,
    draws: int,
    seed: int,
    correlation: float,
    chunk: int,
    first: int = 0,
) -> Iterator[_Decoded]:
    """A few images at a time with `draws` decoded draws each; the decoder sees at most `chunk` at once."""
    check_choice(model.likelihood, ("bernoulli", "gaussian"), "likelihood")
    if draws < 1 or chunk < 1:
        raise MetricError(f"{draws} draws of z in chunks of {chunk}; expected at least 1 of each")
    if not 0.0 <= correlation < 1.0:
        raise MetricError(f"correlation is {correlation}; expected 0 (factorised) up to, not including, 1")
    pixels = _pixels(images)
    block = max(1, chunk // draws)
    for start in range(0, len(pixels), block):
        batch = pixels[start : start + block]
        means, logvars = model.posterior(batch)
        batch = batch.to(means.device)
        owners = torch.arange(first + start, first + start + len(batch), device=means.device)
        stream = Stream(owners, torch.tensor(seed, device=means.device), "likelihood")
        noise = stream.normal("z", (draws, means.shape[1])).double()
        z = reparameterise(means.double()[:, None], logvars.double()[:, None], noise, correlation)
        image = torch.arange(len(batch), device=means.device).repeat_interleave(draws)
        parts = [
            _log_likelihood(model.output(part.to(means.dtype)), batch[which], model.likelihood)
            for part, which in zip(z.flatten(0, 1).split(chunk), image.split(chunk), strict=True)
        ]
        yield _Decoded(means.double(), logvars.double(), z, torch.cat(parts).view(len(batch), draws))


def _log_likelihood(output: Tensor, images: Tensor, likelihood: str) -> Tensor:
    """log p(x|z) of each row, (b,); grey pixels count as soft targets of the Bernoulli likelihood."""
    if output.shape != images.shape:
        raise MetricError(
            f"the decoder gives shape {tuple(output.shape[1:])} for images of shape {tuple(images.shape[1:])}; "
            "expected as many pixels in the same order"
        )
    output, images = output.double(), images.double()
    if likelihood == "bernoulli":
        pixels = -F.binary_cross_entropy_with_logits(output, images, reduction="none")
    else:
        pixels = -0.5 * (output - images).square() - 0.5 * math.log(2 * math.pi)
    return pixels.flatten(1).sum(1)


def _pixels(images: ArrayLike | Tensor) -> Tensor:
    pixels = images if isinstance(images, Tensor) else torch.as_tensor(np.asarray(images))
    if pixels.dim() < 2 or pixels.numel() == 0:
        raise MetricError(f"images have shape {tuple(pixels.shape)}; expected (n, …) with an image in each row")
    pixels = pixels / 255 if pixels.dtype == torch.uint8 else pixels
    if not pixels.is_floating_point() or not bool(((pixels >= 0) & (pixels <= 1)).all()):
        raise MetricError("images hold values outside [0, 1]; expected floats in [0, 1] or uint8 in 0 … 255")
    return pixels


def _kl(e: Evaluation) -> dict[str, float]:
    return {
        "kl": kl_divergence(*e.posteriors, correlation=e.correlation, discrete=e.discrete).total,
        "active_units": float(active_units(*e.posteriors, discrete=e.discrete).sum()),
    }


def _reconstruction(e: Evaluation) -> dict[str, float]:
    model, images = e.decoding()
    likelihoods, bounds = _evidence(model, images, 1, e.seed, e.correlation)
    return {"reconstruction": -float(likelihoods.mean()), "elbo": float(bounds.mean())}


def _iwae(e: Evaluation) -> float:
    model, images = e.decoding(100)
    particles = e.protocol.particles
    return float(importance_weighted_bound(model, images, particles, seed=e.seed, correlation=e.correlation).mean())


def _whole_iwae(e: Evaluation) -> float:
    """The mean over every image of the data set, a part at a time (Kim & Mnih 2018, appendix E)."""
    total, seen = 0.0, 0
    for model, images in e.every_image():
        options = {"seed": e.seed, "correlation": e.correlation, "first": seen}
        total += float(importance_weighted_bound(model, images, e.protocol.particles, **options).sum())
        seen += len(images)
    return total / seen


KL = Metric(
    "kl",
    _kl,
    (Row("kl", "KL to the prior (nats)", "KL", 0.0, None), Row("active_units", "active latents", "active", 0.0, None)),
    "neither",
    needs=(),
    on="posterior",
)
RECONSTRUCTION = Metric(
    "reconstruction",
    _reconstruction,
    (
        Row("reconstruction", "reconstruction error (nats)", "Reconstruction", None, None),
        Row("elbo", "ELBO (nats)", "ELBO", None, None),
    ),
    "neither",
    needs=("a likelihood",),
    on="posterior",
)
IWAE = Metric(
    "iwae",
    _iwae,
    (Row("iwae", "log-likelihood bound (nats)", "IWAE", None, None),),
    needs=("a likelihood",),
    on="posterior",
    slow=True,
)
WHOLE_IWAE = Metric(
    "whole_iwae",
    _whole_iwae,
    (Row("whole_iwae", "log-likelihood bound over all images (nats)", "IWAE, all images", None, None),),
    needs=("a likelihood",),
    on="posterior",
    slow=True,
)
