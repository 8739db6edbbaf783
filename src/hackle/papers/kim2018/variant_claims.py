"""Claims of Kim & Mnih 2018 about variants of FactorVAE: smaller discriminators (appendix A), and the total correlation by its
batch estimate in place of a discriminator (appendix D).

A discriminator that "works fine" scores at most 0.05 below the largest, mean over the smaller sizes. "A fix is to use samples
from q̂(z)", the batch's own mixture, is β-TCVAE with the estimator `minibatch-weighted`; its "similar reconstruction-
disentanglement trade-off to β-VAE" is judged by the score and by the error of the best setting of each.
"""

from __future__ import annotations

from dataclasses import replace

from hackle.claims.claim import Claim
from hackle.claims.forms import above, below, claims_of, within
from hackle.claims.measures import Number, best_difference, difference, trend
from hackle.claims.view import Column, Data, Frame
from hackle.papers.kim2018.claims import BETA, PAPER, RECONSTRUCTION, SPRITES, runs
from hackle.papers.kim2018.records import LARGEST, discriminator_size, of_the_batch, records_of
from hackle.papers.kim2018.rival_claims import ALIKE, of_records

SIMILAR = 0.1
"""The largest relative difference of errors that are similar."""
on_discriminators = claims_of(PAPER, study="kim2018-discriminators", seeds=5, runs_per_seed=12)
on_objectives = claims_of(PAPER, study="kim2018-objectives")


def _largest(record: str) -> bool:
    return discriminator_size(record) == LARGEST


def _weights(size: tuple[int, int]) -> int:
    """About how many weights a discriminator has: nearly all are between its hidden layers, or before the only one."""
    layers, width = size
    return (layers - 1) * width**2 + 12 * width


def _sizes(data: Data, rows: Frame) -> Column:
    return records_of(data.view.tables).loc[rows.index].map(lambda record: _weights(discriminator_size(record)))


_FACTOR = runs("factor-vae", SPRITES, 35)
_WITH_SIZE = replace(trend("factor_vae", along=Number(_sizes)), least="three sizes of the discriminator in two seeds")
_BATCH = {**BETA, "method": "beta-tcvae"}

CLAIMS: tuple[Claim, ...] = (
    on_discriminators(
        "smaller-discriminators-work",
        "Appendix A",
        "FactorVAE with a smaller discriminator disentangles 2D Shapes nearly as well as with six layers of 1,000 units.",
        "FactorVAE score with the largest discriminator minus the mean over smaller ones",
        below(ALIKE, of_records(difference("factor_vae"), lambda one: not _largest(one), _largest), _FACTOR, _FACTOR),
    ),
    on_discriminators(
        "larger-discriminators-improve",
        "Appendix A",
        "Up to six layers of 1,000 units a larger discriminator improves FactorVAE a little.",
        "rank correlation of the number of the discriminator's weights and FactorVAE score over models",
        above(0.0, _WITH_SIZE, _FACTOR),
    ),
    on_objectives(
        "batch-mixture-scores-like-beta-vae",
        "Appendix D",
        "With the total correlation estimated from the batch, z from the batch's mixture, the best score is like β-VAE's.",
        "FactorVAE score of the best β-TCVAE minus that of the best β-VAE",
        within(-ALIKE, ALIKE, of_records(best_difference("factor_vae"), None, of_the_batch), BETA, _BATCH),
    ),
    on_objectives(
        "batch-mixture-reconstructs-like-beta-vae",
        "Appendix D",
        "With the total correlation estimated from the batch, z from the batch's mixture, the error at the best score is like "
        "β-VAE's.",
        "relative difference of the reconstruction errors of best β-TCVAE and best β-VAE",
        within(-SIMILAR, SIMILAR, of_records(RECONSTRUCTION, None, of_the_batch), BETA, _BATCH),
    ),
)
