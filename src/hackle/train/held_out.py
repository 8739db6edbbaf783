"""Images that a run holds out from training, and the evidence lower bound (ELBO) on them.

The run's seed determines which: the first of a random permutation of all flat indices. Training draws from the others.
The bound is that of the plain VAE, E_q[log p(x|z)] − KL(q(z|x) ‖ p(z)), whatever the method's weights are, with one
sample of z for each image: always the same images and the same noise, so that changes of a run's bound come from its
weights alone. A code that is one of k classes has no noise, a uniform prior, and the KL ln k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hackle.core.gaussian import correlation_divergence
from hackle.core.method import about, real_codes
from hackle.core.randomness import Stream
from hackle.core.types import Images, Run, RunError
from hackle.kernels import posterior_sample, unit_interval
from hackle.objectives.autoregressive_vae import divergence
from hackle.objectives.vae import negative_log_likelihood

if TYPE_CHECKING:
    from hackle.train.fleet import Fleet

MOST = 4_096
"""Held-out images over which the bound is averaged, the first of the permutation: its standard error is then 1/64 of
the standard deviation over images."""


def check_held_out(count: int, data_size: int, labelled: int = 0) -> None:
    """Refuse to hold out so many images that none is left to train on. Those that are labelled are never held out."""
    if not 0 <= count < data_size - labelled:
        beside = f" without the {labelled:,} labelled ones" if labelled else ""
        raise RunError(
            f"held_out is {count:,}, but the data set has {data_size - labelled:,} images{beside}; expected fewer, to leave "
            "some to train on"
        )


def held_out_images(
    seed: int, data_size: int, count: int, device: torch.device | str = "cpu", beside: Tensor | None = None
) -> Tensor:
    """Flat indices (count,) of the images that a run with this seed keeps from its training, in the permutation's order.
    beside: images that are not among them, since their labels train.

    >>> held_out_images(seed=3, data_size=8, count=2).tolist()
    [7, 3]
    """
    check_held_out(count, data_size, 0 if beside is None else len(beside))
    order = Stream.of([seed], purpose="held-out", device=device).permutations("images", data_size, 1)[0, :, 0]
    return (order if beside is None or not len(beside) else order[~torch.isin(order, beside)])[:count]


class Remaining:
    """The images on which each of m runs trains: index i is the i-th image that a run does not hold out."""

    def __init__(self, images: Images, held: Tensor) -> None:
        self._images, self.held = images, held
        self.on_host = getattr(images, "on_host", False)
        # For each held-out image, in order of flat index, the number of remaining images before it.
        self._before = held.sort(dim=1).values - torch.arange(held.shape[1], device=held.device)

    def flat(self, index: Tensor) -> Tensor:
        """Flat indices in the whole data set, (m, b)."""
        return index + torch.searchsorted(self._before, index.contiguous(), right=True)

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        return self._images(self.flat(index), stream)

    def held_images(self, start: int, stop: int, stream: Stream) -> Tensor:
        """Some of each run's held-out images, (m, b, h, w, c)."""
        return self._images(self.held[:, start:stop], stream)

    def of(self, row: int) -> Remaining:
        """The images on which one run trains."""
        return Remaining(self._images, self.held[row : row + 1])


def remaining(
    images: Images, runs: Sequence[Run], data_size: int, device: torch.device, beside: Tensor | None = None
) -> Remaining:
    """The images on which runs train that hold out the same number of images, each its own, and none of those beside."""
    count = runs[0].held_out
    by_seed = {run.seed: held_out_images(run.seed, data_size, count, device, beside) for run in runs}
    return Remaining(images, torch.stack([by_seed[run.seed] for run in runs]))


def _errors(nets: Any, run: Any, images: Tensor, noise: Tensor) -> Tensor:
    """The sums over a batch of the reconstruction error and of the KL, (2,)."""
    method, pixels = run.method, unit_interval(images, torch.float32)
    if not about(method).independent_given_images:
        means, root = method.covariance_root(nets, run, pixels)
        z = means + (root @ noise.unsqueeze(-1)).squeeze(-1)
        errors = negative_log_likelihood(nets("decoder", z), images, run.likelihood)
        return torch.stack([errors.sum(), divergence(means, root)[0].sum()])
    means, logvars = method.encode(nets, run, pixels)
    z, per_latent = posterior_sample(means, logvars, noise, run.correlation)
    output = nets("decoder", about(method).decoder_input(method, nets, run, z))
    errors = negative_log_likelihood(output, images, run.likelihood)
    real, of_classes = real_codes(about(method).codes(method, run))
    return torch.stack([errors.sum(), len(images) * (per_latent[real].sum() + of_classes)])


@torch.no_grad()
def held_out_terms(fleet: Fleet) -> list[dict[str, float]]:
    """The current bound on each run's held-out images, and its two parts, as terms of the curves; empty where none are
    held out. A correlated posterior's KL includes its constant, without which this would not be a bound."""
    images = fleet.images
    if not isinstance(images, Remaining):
        return [{} for _ in fleet.runs]
    run, count = fleet.runs[0], min(images.held.shape[1], MOST)
    codes = about(run.method).codes(run.method, run)
    sums = torch.zeros(len(fleet), 2, dtype=torch.float64, device=fleet.device)
    for part, start in enumerate(range(0, count, run.batch_size)):
        stop = min(count, start + run.batch_size)
        stream = Stream(fleet.seeds, torch.tensor(part, device=fleet.device), "held-out")
        noise = stream.normal("z", (stop - start, len(codes)))
        sums += fleet.each(_errors, images.held_images(start, stop, stream), noise)
    means = (sums / count).tolist()
    real, _ = real_codes(codes)
    constants = [
        float(correlation_divergence(each.correlation, len(real)))
        if about(each.method).independent_given_images
        else 0.0
        for each in fleet.runs
    ]
    return [
        {
            "held_out_elbo": -(error + kl + constant),
            "held_out_reconstruction": error,
            "held_out_kl": kl + constant,
        }
        for (error, kl), constant in zip(means, constants, strict=True)
    ]
