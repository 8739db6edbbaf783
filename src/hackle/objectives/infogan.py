"""InfoGAN (Chen et al. 2016; Kim & Mnih 2018, appendices G and H, Eq. 13 to 15), with a correlated Q after Yang et al. 2020.

A generator makes images from codes c and noise ε. Continuous codes are U[−1, 1], a categorical code is uniform over its
classes, noise is N(0, 1). The discriminator D and the recogniser Q(c|x) share a trunk. With L = E[log Q(c | G(c, ε))],

    trunk, D and Q minimise   E[softplus(−D(x))] + E[softplus(D(G))] − λ L,
    the generator             E[softplus(−D(G))] − λ L.

D outputs a logit. Eq. 15 abbreviates the original GAN loss; the generator's part here is the non-saturating form of
Goodfellow et al. 2014. The game is min over G, Q and max over D; the trunk and Q are updated with the discriminator, as
in Chen et al.'s own code. Q is Gaussian with means and logvars for continuous codes, correlated by the run's σ (Yang et
al. 2020, section 5), and a softmax for each categorical one.

Kim & Mnih find that in every run of the original game the discriminator degenerates, taking all images for real ones, and
stop before that (section 6, appendix H), without saying by which rule. Here, with `stops_early`, a model's training ends when
the share of generated images that the discriminator recognises, averaged over about a hundred steps, falls below a tenth.

The representation is the means of the continuous codes, then the most probable class of each categorical code. The
run's `latents` is the number of continuous codes; the run's optimiser trains the generator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.core.field_checks import check_weights
from hackle.core.gaussian import NOISELESS
from hackle.core.method import Code
from hackle.core.randomness import Stream
from hackle.core.types import Adam, AdversarialArchitecture, Draw, Images, Losses, Method, Nets, Phase, Run, Step, later
from hackle.kernels import gaussian_log_density
from hackle.nets.normalisation import CALIBRATION_SIZE, calibrate
from hackle.nets.sizes import check_sizes

GAN_OPTIMISER = Adam(learning_rate=1e-3, beta1=0.5, beta2=0.999)
"""Kim & Mnih's settings for the generator (appendix H)."""


MONITORED_STEPS, DEGENERATE = 100, 0.1
"""Steps over which the share of recognised images is averaged, and the share below which a discriminator has degenerated."""


class Monitor(nn.Module):
    """The share of generated images that the discriminator recognised of late; all of them before the first step."""

    def __init__(self) -> None:
        super().__init__()
        self.recognised = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self) -> Tensor:
        return self.recognised[0]


class Latents(NamedTuple):
    """The parts of a generator's input: continuous codes (b, l), the class (b,) of each categorical code, noise (b,
    e)."""

    continuous: Tensor
    classes: tuple[Tensor, ...]
    noise: Tensor

    def rows(self, categories: tuple[int, ...]) -> Tensor:
        """The generator's input: continuous codes, one-hot classes, noise."""
        one_hots = [
            (classes.unsqueeze(-1) == torch.arange(size, device=classes.device)).to(self.continuous.dtype)
            for classes, size in zip(self.classes, categories, strict=True)
        ]
        return torch.cat([self.continuous, *one_hots, self.noise], dim=-1)


class Recognised(NamedTuple):
    """Q(c|x): means and logvars (b, l), and logits (b, k) for each categorical code."""

    means: Tensor
    logvars: Tensor
    logits: tuple[Tensor, ...]

    def log_probability(self, latents: Latents, correlation: Any) -> Tensor:
        """log Q(c|x) of the codes that an image was made from, (b,)."""
        total = gaussian_log_density(latents.continuous, self.means, self.logvars, correlation)
        for logits, classes in zip(self.logits, latents.classes, strict=True):
            total = total + F.log_softmax(logits, dim=-1).gather(-1, classes.unsqueeze(-1)).squeeze(-1)
        return total


def latent_draws(run: Any, size: int) -> dict[str, Draw]:
    """The random tensors that `draw_latents` needs for `size` images."""
    draws = {"continuous": Draw("uniform", (size, run.latents))}
    for position, classes in enumerate(run.method.categories):
        draws[f"class{position}"] = Draw("integers", (size,), classes)
    if run.method.noise:
        # Not "noise", the name under which data sets draw the noise in their images: the two would share their bits.
        draws["epsilon"] = Draw("normal", (size, run.method.noise))
    return draws


def draw_latents(noise: Mapping[str, Tensor], run: Any) -> Latents:
    """Samples of p(c) p(ε)."""
    continuous = 2 * noise["continuous"] - 1
    classes = tuple(noise[f"class{position}"] for position in range(len(run.method.categories)))
    return Latents(continuous, classes, noise["epsilon"] if run.method.noise else continuous[:, :0])


def recognise(nets: Nets, features: Tensor, run: Any) -> Recognised:
    """Q(c|x) from the trunk's features of x."""
    values = nets("recogniser", features)
    means, logvars, *logits = values.split([run.latents, run.latents, *run.method.categories], dim=-1)
    return Recognised(means, logvars, tuple(logits))


def generate(nets: Nets, step: Step, run: Any) -> tuple[Tensor, Latents]:
    """A batch of images and the latents they were generated from."""
    latents = draw_latents(step.noise, run)
    return nets("generator", latents.rows(run.method.categories)), latents


def judge(nets: Nets, images: Tensor, latents: Latents, run: Any) -> tuple[Tensor, Tensor]:
    """The discriminator's output on generated images, (b,), and L, the mean log probability of their codes."""
    features = nets("trunk", images)
    information = recognise(nets, features, run).log_probability(latents, run.correlation).mean()
    return nets("discriminator", features), information


def _discriminator_loss(nets: Nets, step: Step, run: Any) -> Losses:
    with torch.no_grad():
        images, latents = generate(nets, step, run)
    fake, information = judge(nets, images, latents, run)
    real = nets("discriminator", nets("trunk", step.images))
    adversarial = F.softplus(-real).mean() + F.softplus(fake).mean()
    recognised = (fake < 0).to(fake.dtype).mean()
    accuracy = 0.5 * ((real > 0).to(real.dtype).mean() + recognised)
    terms = {"discriminator": adversarial, "discriminator_accuracy": accuracy}
    total = adversarial - run.method.information * information
    if not run.method.stops_early:
        return Losses(total, terms)
    before = nets("monitor")
    now = before + (recognised - before) / MONITORED_STEPS
    return Losses(
        total, {**terms, "recognised": now}, kept={"monitor.recognised": now}, stopped=_has_degenerated(before)
    )


def _has_degenerated(recognised: Tensor) -> Tensor:
    return recognised < DEGENERATE


def _generator_loss(nets: Nets, step: Step, run: Any) -> Losses:
    images, latents = generate(nets, step, run)
    fake, information = judge(nets, images, latents, run)
    adversarial = F.softplus(-fake).mean()
    terms = {"generator": adversarial, "information": information}
    stopped = _has_degenerated(nets("monitor")) if run.method.stops_early else None
    return Losses(adversarial - run.method.information * information, terms, stopped=stopped)


@dataclass(frozen=True)
class InfoGANMethod(Method):
    """What InfoGAN and InfoWGAN-GP share.

    `information` is λ; `categories` lists the number of classes of each categorical code; `noise` is the number of noise
    variables.
    """

    symbol, architecture, takes_bfloat16 = "λ", "adversarial", False
    run_fields: ClassVar = {"latents": 4, "optimiser": GAN_OPTIMISER}

    information: float = 1.0
    """Weight λ of the mutual information between codes and images."""
    categories: tuple[int, ...] = (10,)
    """Classes of each categorical code."""
    noise: int = 62
    """Number of noise variables."""
    discriminator_optimiser: Adam = Adam(learning_rate=1e-4, beta1=0.5, beta2=0.999)
    """Adam of the discriminator and the recogniser."""

    def __post_init__(self) -> None:
        check_weights(self)
        check_sizes(self, {"categories": 1, "noise": 0}, may_be_empty=("categories",))

    def adversaries(self, run: Run, shape: tuple[int, int, int], *, normalised: bool) -> dict[str, nn.Module]:
        """The four networks; `normalised` says whether the trunk has batch normalisation."""
        if not isinstance(run.architecture, AdversarialArchitecture):
            raise HackleError(
                f"{type(self).__name__} needs a generator and a discriminator, which {type(run.architecture).__name__} "
                "does not build; choose the architecture `adversarial`"
            )
        inputs = run.latents + sum(self.categories) + self.noise
        return run.architecture.adversaries(
            shape, inputs, 2 * run.latents + sum(self.categories), normalised=normalised
        )

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        recognised = recognise(nets, nets("trunk", images), run)
        classes = [logits.argmax(-1, keepdim=True).to(recognised.means.dtype) for logits in recognised.logits]
        sharp = [torch.full_like(column, NOISELESS) for column in classes]
        return torch.cat([recognised.means, *classes], dim=-1), torch.cat([recognised.logvars, *sharp], dim=-1)

    def decode(self, nets: Nets, run: Run, z: Tensor) -> Tensor:
        """Images of codes (b, c), with the noise at its mean 0, or of codes and noise (b, c + e)."""
        codes = run.latents + len(self.categories)
        if z.shape[-1] not in (codes, codes + self.noise):
            raise HackleError(
                f"latents have {z.shape[-1]} columns; expected {codes} codes, or {codes} codes and {self.noise} of noise"
            )
        classes = tuple(
            z[:, run.latents + position].round().clamp(0, size - 1).to(torch.int64)
            for position, size in enumerate(self.categories)
        )
        noise = F.pad(z[:, codes:], (0, codes + self.noise - z.shape[-1]))
        return nets("generator", Latents(z[:, : run.latents], classes, noise).rows(self.categories))

    def codes(self, run: Run) -> tuple[Code, ...]:
        return (Code("uniform"),) * run.latents + tuple(Code("categorical", size) for size in self.categories)

    def noise_inputs(self) -> int:
        return self.noise

    def calibrate(self, networks: Mapping[str, nn.Module], run: Run, images: Images, data_size: int) -> None:
        """Fix batch normalisation: the trunk's and Q's on images of the data set, which they are to encode; the
        generator's on draws from its prior. Both depend on the run's seed alone."""
        device = next(networks["generator"].parameters()).device
        stream = Stream.of([run.seed], purpose="calibrate", device=device)
        index = stream.integers("index", (CALIBRATION_SIZE,), data_size)
        pixels = images(index, stream)[0].to(torch.float32) / 255
        calibrate(networks["trunk"], pixels)
        with torch.no_grad():
            calibrate(networks["recogniser"], networks["trunk"](pixels))
        draws = latent_draws(run, CALIBRATION_SIZE)
        latents = draw_latents({name: draw.sample(stream, name)[0] for name, draw in draws.items()}, run)
        calibrate(networks["generator"], latents.rows(self.categories))


@dataclass(frozen=True)
class InfoGAN(InfoGANMethod):
    """InfoGAN with the original, non-saturating GAN loss."""

    name, title = "infogan", "InfoGAN"

    stops_early: bool = later(False)
    """End the training of a model once its discriminator takes nearly all generated images for real ones."""

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        adversaries = self.adversaries(run, shape, normalised=True)
        return {**adversaries, "monitor": Monitor()} if self.stops_early else adversaries

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = latent_draws(run, run.batch_size)
        return (
            Phase(
                "discriminator",
                ("trunk", "discriminator", "recogniser"),
                _discriminator_loss,
                draws,
                lambda run: run.method.discriminator_optimiser,
            ),
            Phase("generator", ("generator",), _generator_loss, draws, lambda run: run.optimiser, needs_images=False),
        )
