"""Semi-supervised autoencoders (Locatello et al. 2020, Disentangling Factors of Variation Using Few Labels).

Any autoencoder's loss + γ_sup(t) · R_sup, where R_sup ties latent k of the posterior's mean to labelled factor k on a
batch of labelled images, as large as the unlabelled batch. With labels y_k in 0 … K_k − 1 and ỹ_k = y_k / K_k,

    xent         −Σ [ỹ_k ln σ(μ_k) + (1 − ỹ_k) ln(1 − σ(μ_k))]       the paper's choice
    l2           Σ (a μ_k − y_k)², with one learnt scale a, at first 1
    l2-sigmoid   Σ (σ(μ_k) − ỹ_k)²
    cov          Σ_{i≠j} Cov(μ_i, y_j)², over all latents i and labelled factors j

as in disentanglement_lib. The first three are **sums** over the factors and the labelled batch, whereas the rest of
the loss is a mean over a batch: with batches of 64, γ_sup counts 64 times as much as in a loss of means. ỹ never
reaches 1: it is y/K and not y/(K − 1). The cross-entropy's minimum is the entropy of ỹ, not 0. Factors without order are
treated as numbers, too. disentanglement_lib's form of `l2-sigmoid` subtracts every label of the batch from every code,
which is a mistake, and is not followed.

`supervised` is R_sup alone: the encoder sees no other loss, and the decoder learns from its means without a gradient to
it, for pictures. (disentanglement_lib decodes samples; no loss trains their variance, so here there is none.)

γ_sup(t) is `fixed`; or with T = `label_steps`, `anneal` γ_sup min(1, t/T), or `fine-tune` 0 up to step T and γ_sup after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.regimes import Labels
from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives.beta_tcvae import BetaTCVAE
from hackle.objectives.beta_vae import BetaVAE
from hackle.objectives.dip_vae import DIPVAEI, DIPVAEII
from hackle.objectives.factor_vae import FactorVAE
from hackle.objectives.vae import DeterministicAutoencoder, autoencoder_phase, negative_log_likelihood

Form = Literal["xent", "l2", "l2-sigmoid", "cov"]


class Scale(nn.Module):
    """The learnt scale a of the form `l2`."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self) -> Tensor:
        return self.scale[0]


def label_error(
    form: Form, means: Tensor, labels: Tensor, sizes: tuple[int, ...], scale: Tensor | float = 1.0
) -> Tensor:
    """R_sup of means (b, l) and class numbers (b, f) of factors with these numbers of values; scale: of `l2`.

    >>> label_error("xent", torch.zeros(1, 3), torch.tensor([[1, 0]]), (2, 4))  # ln 2 for each factor
    tensor(1.3863)
    """
    tied, numbers = means[:, : labels.shape[1]], labels.to(means.dtype)
    if form == "l2":
        return (scale * tied - numbers).square().sum()
    if form == "cov":
        centred = numbers - numbers.mean(0)
        covariances = (means - means.mean(0)).T @ centred / len(means)
        own = torch.eye(*covariances.shape, dtype=means.dtype, device=means.device)
        return (covariances * (1 - own)).square().sum()
    targets = torch.stack([values / size for values, size in zip(numbers.unbind(1), sizes, strict=True)], dim=1)
    if form == "xent":
        return F.binary_cross_entropy_with_logits(tied, targets, reduction="sum")
    return (torch.sigmoid(tied) - targets).square().sum()


def label_weight(method: Any, number: Tensor) -> Tensor:
    """γ_sup at a step."""
    if method.label_schedule == "anneal":
        return method.gamma_sup * (number / method.label_steps).clamp(max=1)
    if method.label_schedule == "fine-tune":
        return method.gamma_sup * (number > method.label_steps)
    return method.gamma_sup


def labelled_error(nets: Nets, step: Step, run: Any) -> Tensor:
    """R_sup of the step's labelled images."""
    assert step.labelled is not None
    assert step.labels is not None
    means, _ = nets("encoder", step.labelled)
    scale = nets("scale") if run.method.label_loss == "l2" else 1.0
    return label_error(run.method.label_loss, means, step.labels, step.label_sizes, scale)


def _with_labels(loss: Callable[[Nets, Step, Any], Losses], nets: Nets, step: Step, run: Any) -> Losses:
    losses, error = loss(nets, step, run), labelled_error(nets, step, run)
    total = losses.total + label_weight(run.method, step.number) * error
    return replace(losses, total=total, terms={**losses.terms, "label_error": error})


def _supervised_loss(nets: Nets, step: Step, run: Any) -> Losses:
    with torch.no_grad():
        z, _ = nets("encoder", step.images)
    reconstruction = negative_log_likelihood(nets("decoder", z), step.images, run.likelihood).mean()
    error = labelled_error(nets, step, run)
    return Losses(reconstruction + error, {"reconstruction": reconstruction, "label_error": error})


@dataclass(frozen=True)
class Labelled:
    """What methods with labels share: their run has some, and a learnt scale if they compare by `l2`."""

    supervision: ClassVar = "labels"
    run_fields: ClassVar = {"labels": Labels(images=1_000)}

    label_loss: Form = "xent"
    """How means and labels are compared: cross-entropy, squares (with a learnt scale, or through a sigmoid), covariances."""

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        # The autoencoder first, so that a seed gives it the same initial weights as without labels.
        scale = {"scale": Scale()} if self.label_loss == "l2" else {}
        return super().networks(run, shape) | scale  # type: ignore[misc]

    def check_factors(self, run: Run, count: int) -> None:
        """Refuse more labelled factors than latents: each has a latent of its own."""
        if run.latents < count:
            raise RunError(
                f"latents is {run.latents}, and {count} factors have labels; {type(self).__name__} ties a latent to each: "
                f"expected latents={count} or more, or labels of fewer factors (kind='partial')"
            )

    def _phase(self, phase: Phase, loss: Callable[[Nets, Step, Any], Losses]) -> Phase:
        scale = ("scale",) if self.label_loss == "l2" else ()
        # The loss encodes labelled images, so that nothing is left to share.
        return replace(phase, loss=loss, trains=phase.trains + scale, shared=None)


@dataclass(frozen=True)
class SemiSupervised(Labelled):
    """Adds labels to the method that is inherited after it: `class S2BetaVAE(SemiSupervised, BetaVAE)`."""

    gamma_sup: float = 1.0
    """Weight γ_sup of the labels' loss, a sum over the labelled batch; 0 is the method without labels."""
    label_schedule: Literal["fixed", "anneal", "fine-tune"] = "fixed"
    """That weight over the steps: fixed, rising linearly up to step `label_steps`, or 0 until then."""
    label_steps: float = 0.0
    """The step at which the weight is in full force."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if (self.label_schedule == "fixed") != (self.label_steps == 0):
            raise RunError(
                f"label_schedule is {self.label_schedule!r} and label_steps {self.label_steps:g}; expected 'fixed' and 0, or "
                "'anneal' or 'fine-tune' with the step at which the labels' weight is in full force, such as 100000"
            )

    def phases(self, run: Run) -> tuple[Phase, ...]:
        first, *others = super().phases(run)  # type: ignore[misc]
        # The labels are for the autoencoder; a discriminator does without.
        without = (replace(phase, needs_supervision=False) for phase in others)
        return (self._phase(first, partial(_with_labels, first.losses)), *without)

    def at_steps(self, steps: int, before: int) -> Any:
        """The labels' weight is in full force after the same fraction of the training."""
        adapted = super().at_steps(steps, before)  # type: ignore[misc]
        return replace(adapted, label_steps=self.label_steps * steps / before)


@dataclass(frozen=True)
class S2BetaVAE(SemiSupervised, BetaVAE):
    """S2-β-VAE. `beta` weighs the KL term, `gamma_sup` the labels."""

    name, title = "s2-beta-vae", "S2-β-VAE"


@dataclass(frozen=True)
class S2FactorVAE(SemiSupervised, FactorVAE):
    """S2-FactorVAE. `gamma` weighs the total correlation, `gamma_sup` the labels."""

    name, title = "s2-factor-vae", "S2-FactorVAE"


@dataclass(frozen=True)
class S2BetaTCVAE(SemiSupervised, BetaTCVAE):
    """S2-β-TCVAE. `beta` weighs the total correlation, `gamma_sup` the labels."""

    name, title = "s2-beta-tcvae", "S2-β-TCVAE"


@dataclass(frozen=True)
class S2DIPVAEI(SemiSupervised, DIPVAEI):
    """S2-DIP-VAE-I. `off_diagonal` is λ_od, `diagonal` λ_d; `gamma_sup` weighs the labels."""

    name, title = "s2-dip-vae-i", "S2-DIP-VAE-I"


@dataclass(frozen=True)
class S2DIPVAEII(SemiSupervised, DIPVAEII):
    """S2-DIP-VAE-II. `off_diagonal` is λ_od, `diagonal` λ_d; `gamma_sup` weighs the labels."""

    name, title = "s2-dip-vae-ii", "S2-DIP-VAE-II"


@dataclass(frozen=True)
class Supervised(Labelled, DeterministicAutoencoder):
    """Labels alone: they train the encoder, and the decoder learns to draw its codes without changing them."""

    name, title = "supervised", "supervised"

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (self._phase(replace(autoencoder_phase(_supervised_loss, run), draws={}), _supervised_loss),)
