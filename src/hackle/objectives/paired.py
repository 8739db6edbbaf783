"""What the methods that learn from pairs of images share.

A batch is b pairs. Images and partners go through the encoder and the decoder together, as 2b images with the images
first, and every image has its own noise. A loss is half the sum over a pair's two images, that is the mean over 2b
images: weights mean what they mean where a batch is of single images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.regimes import Pairs
from hackle.core.types import Draw, Losses, Nets, Phase, Run, Step
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_of, posterior_noise


class Posteriors(NamedTuple):
    """Means and logvars, each (b, l) for one image of every pair, or (2b, l) for both."""

    means: Tensor
    logvars: Tensor

    @property
    def halves(self) -> tuple[Posteriors, Posteriors]:
        """Those of the images and those of their partners."""
        (first, second), (first_logvars, second_logvars) = self.means.chunk(2), self.logvars.chunk(2)
        return Posteriors(first, first_logvars), Posteriors(second, second_logvars)


def pairs_of(step: Step) -> tuple[Tensor, Tensor]:
    """The second image of each pair (b, h, w, c) and which factors were allowed to change (b, f)."""
    if step.partners is None or step.changed is None:
        raise HackleError("the loss needs pairs of images, and the step has none; set the run's pairs")
    return step.partners, step.changed


def encode_pairs(nets: Nets, step: Step) -> tuple[Tensor, Posteriors]:
    """Both images of every pair (2b, h, w, c) and their posteriors."""
    images = torch.cat((step.images, pairs_of(step)[0]))
    return images, Posteriors(*nets("encoder", images))


def evidence_of_pairs(nets: Nets, step: Step, run: Run, images: Tensor, posteriors: Posteriors) -> Evidence:
    """Sample and decode the posteriors of both images, each with its own noise."""
    noise = torch.cat((step.noise["z"], step.noise["partner_z"]))
    return evidence_of(nets, step, run, images, *posteriors, noise)


class PairMethod(WeightedAutoencoder):
    """What every autoencoder that learns from pairs shares. The usual pairs differ in one factor."""

    supervision: ClassVar = "pairs"
    run_fields: ClassVar = {"pairs": Pairs("resample", changed=1)}


def pair_phase(loss: Callable[[Nets, Step, Any], Losses], run: Run) -> Phase:
    """The phase that trains encoder and decoder on a batch of pairs."""
    noise = Draw("normal", (run.batch_size, run.latents))
    draws = {**posterior_noise(run), "partner_z": noise}
    return Phase("autoencoder", ("encoder", "decoder"), loss, draws, lambda run: run.optimiser)
