"""Claims of Kim & Mnih 2018 about FactorVAE's rivals: InfoWGAN-GP and InfoGAN (section 6, appendix H), the adversarial
autoencoder and Eq. 12 (appendix F).

"Disappointingly low" scores are those below FactorVAE's. What "did not improve" them raises the best by less than 0.02; what
"had no noticeable effect" or "gave similar results" changes it by less than 0.05. A degenerate discriminator takes every image
for real, so that it is right about half of them. InfoWGAN-GP's critic has no accuracy; one that no longer tells images apart
has a difference E[D(x)] − E[D(G(z))] of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, below, claims_of, within
from hackle.claims.measures import Measure, Number, best_difference, by_run, difference_of, of_curve
from hackle.claims.statistics import Floats, Units
from hackle.claims.view import Data, Frame
from hackle.papers.kim2018.claims import FACTOR, LEAST, PAPER, claim, runs
from hackle.papers.kim2018.records import (
    Test,
    bigger_networks,
    noise_variables,
    records_of,
    slowly_to_the_end,
    stops_early,
    to_the_end,
)
from hackle.papers.kim2018.study import NOISE

ALIKE = 0.05
"""The largest difference of scores, which range from 0 to 1, of models that are alike."""
RIGHT_HALF_OF_THE_TIME = 0.05
"""How far the accuracy of a degenerate discriminator may lie from a half."""
DELAYED = 0.05
"""The least delay that counts, as a part of the training."""
on_infogans, on_mnist = claims_of(PAPER, study="kim2018-infogan"), claims_of(PAPER, study="kim2018-mnist", seeds=5)
"""Claims on the studies that train InfoGANs, and InfoWGAN-GP with five codes."""


def of_records(measure: Measure, *tests: Test | None) -> Measure:
    """The measure on those runs of each condition whose records pass the condition's test."""

    def compute(data: Data, conditions: Sequence[Condition]) -> Units | None:
        records = records_of(data.view.tables)
        chosen = []
        for condition, test in zip(conditions, tests, strict=True):
            if test is None:
                chosen.append(condition)
                continue
            rows = data.rows(condition, longest=False)
            kept = rows[records.loc[rows.index].map(test).to_numpy(bool)]
            chosen.append({**condition, "setting": tuple(sorted(set(kept["setting"])))})
        return measure.compute(data, chosen)

    return replace(measure, compute=compute)


def _usual(record: str) -> bool:
    return not bigger_networks(record)


def degenerate_from(data: Data, rows: Frame) -> Floats:
    """The part of each run's training after which the discriminator is right half of the time and stays so, or 1."""
    curve: Frame = data.view.tables.curve(_ACCURACY).dropna(subset=["value"])
    points = dict(iter(curve[curve["run"].isin(list(rows.index))].groupby("run", observed=True)))
    parts = []
    for run in rows.index:
        known = points[run].sort_values("step") if run in points else None
        if known is None:
            parts.append(np.nan)
            continue
        away = known["step"][(known["value"] - 0.5).abs() > RIGHT_HALF_OF_THE_TIME]
        parts.append(0.0 if away.empty else away.iloc[-1] / known["step"].iloc[-1])
    return np.array(parts, float)


_ACCURACY = "discriminator_accuracy"
_FROM_HALF = by_run(Number(lambda data, rows: abs(of_curve(_ACCURACY).of(data, rows) - 0.5), curves=(_ACCURACY,)))
_DELAY = difference_of(Number(degenerate_from, curves=(_ACCURACY,)))
"""How much later, as a part of the training, discriminators degenerate under the second condition, within a seed."""
_ON_MNIST = {"method": "infogan", "dataset": "mnist"}
_LITTLE_NOISE: Test = lambda record: _usual(record) and noise_variables(record) < NOISE[3]  # noqa: E731
_MUCH_NOISE: Test = lambda record: _usual(record) and noise_variables(record) >= NOISE[3]  # noqa: E731

_GAN = runs("infowgan-gp")
_MARKS = (("old", "beta_vae", "BetaVAE"), ("new", "factor_vae", "FactorVAE"))


def _below(name: str, rival: str, method: str, score: str, metric: str, where: str, least: float) -> Claim:
    marks, best = "BetaVAE" if score == "beta_vae" else "FactorVAE", rival.removeprefix("The ")
    return claim(
        name,
        where,
        f"{rival} is below FactorVAE on 2D Shapes, each at its best, by the {metric} metric.",
        f"{marks} score of the best FactorVAE minus that of the best {best}",
        above(least, of_records(best_difference(score), _usual, None), runs(method), FACTOR),
    )


CLAIMS: tuple[Claim, ...] = (
    _below("infowgan-gp-below-old", "InfoWGAN-GP", "infowgan-gp", "beta_vae", "old", "Figure 8", LEAST),
    _below("infowgan-gp-below-new", "InfoWGAN-GP", "infowgan-gp", "factor_vae", "new", "Figure 8", LEAST),
    *(
        claim(
            f"bigger-networks-{name}",
            "Figure 34",
            f"Bigger networks do not raise InfoWGAN-GP's scores on 2D Shapes by the {name} metric.",
            f"{words} score of the best InfoWGAN-GP with the networks of Table 6 minus that of the best with those of Table 5",
            below(LEAST, of_records(best_difference(score), _usual, bigger_networks), _GAN, _GAN),
        )
        for name, score, words in _MARKS
    ),
    claim(
        "noise-variables-do-not-matter",
        "Appendix H",
        "The number of noise variables has no noticeable effect on InfoWGAN-GP's scores on 2D Shapes.",
        "FactorVAE score of the best InfoWGAN-GP with 40 noise variables or more minus that of the best with fewer",
        within(-ALIKE, ALIKE, of_records(best_difference("factor_vae"), _LITTLE_NOISE, _MUCH_NOISE), _GAN, _GAN),
    ),
    *(
        on_infogans(
            f"five-codes-{name}",
            "Section 6",
            f"Five continuous codes without a categorical one do not raise InfoWGAN-GP's scores on 2D Shapes, by the {name} "
            "metric.",
            f"{words} score of the best InfoWGAN-GP with five continuous codes minus that of the best with four and a "
            "categorical one",
            below(LEAST, of_records(best_difference(score), _usual, None), _GAN, {**_GAN, "latents": 5}),
        )
        for name, score, words in _MARKS
    ),
    on_infogans(
        "infogan-stopped-early",
        "Section 6",
        "InfoGAN that is stopped early scores like InfoWGAN-GP on 2D Shapes.",
        "FactorVAE score of the best InfoGAN minus that of the best InfoWGAN-GP",
        within(-ALIKE, ALIKE, of_records(best_difference("factor_vae"), _usual, stops_early), _GAN, runs("infogan")),
    ),
    on_mnist(
        "infogan-degenerates",
        "Figure 24",
        "InfoGAN's discriminator degenerates on MNIST: in the end it takes every image for real.",
        "how far the discriminator's final accuracy lies from a half",
        below(RIGHT_HALF_OF_THE_TIME, of_records(_FROM_HALF, to_the_end), _ON_MNIST),
    ),
    on_mnist(
        "slower-discriminator-delays",
        "Appendix H",
        "A smaller learning rate of InfoGAN's discriminator on MNIST delays its degeneration.",
        "part of the training after which the discriminator is right half of the time and stays so, with the smaller rate "
        "minus that with the usual one",
        above(DELAYED, of_records(_DELAY, to_the_end, slowly_to_the_end), _ON_MNIST, _ON_MNIST),
    ),
    on_mnist(
        "slower-discriminator-degenerates",
        "Appendix H",
        "A smaller learning rate of InfoGAN's discriminator on MNIST does not prevent its degeneration.",
        "how far the final accuracy of the discriminator with the smaller rate lies from a half",
        below(RIGHT_HALF_OF_THE_TIME, of_records(_FROM_HALF, slowly_to_the_end), _ON_MNIST),
    ),
    claim(
        "infowgan-gp-does-not-degenerate",
        "Figure 33",
        "InfoWGAN-GP's critic does not degenerate on 2D Shapes: to the end it tells real from generated images.",
        "final difference of the critic's outputs for real and generated images",
        above(0.0, by_run(of_curve("wasserstein")), _GAN),
    ),
    _below(
        "aae-below", "The adversarial autoencoder", "adversarial-autoencoder", "factor_vae", "new", "Figure 23", 0.0
    ),
    _below("prior-below", "The variant of Eq. 12", "factor-vae-prior", "factor_vae", "new", "Figure 23", 0.0),
)
