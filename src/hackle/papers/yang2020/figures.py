"""Yang et al. 2020: what a correlated posterior does (Fig. 1 to 5).

The paper draws violins of ten runs; here the runs themselves are drawn. It gives no numbers. Figure 3 shows generated digits: a
table of results holds no images, so they are drawn where the report can make them, with both codes over [−2, 2] as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hackle.figures import words
from hackle.figures.chart import Comparison, Frame, Panel
from hackle.figures.exhibit import Unnumbered, exhibits_of, numbered
from hackle.figures.models import pair_map
from hackle.figures.panels import Lacking, curves, panels, swarm
from hackle.figures.selection import Runs, Selected
from hackle.papers.yang2020.claims import PAPER, STRENGTHS
from hackle.papers.yang2020.settings import CORRELATIONS, DATASETS
from hackle.store.tables import Tables, correlation_constant

exhibit = exhibits_of(PAPER)
_WEIGHTS = {method: tuple(strength.values()) for method, strength in STRENGTHS.items()}


def _runs(metrics: tuple[str, ...], latents: int, *datasets: str, **more: Any) -> Runs:
    where = {"dataset": datasets, "latents": latents, "correlation": CORRELATIONS}
    named = (("latents", "dataset", "method", "correlation"),)
    return Runs(metrics, where, _WEIGHTS, PAPER, series="correlation", named=named, **more)


def _of_both(chosen: Selected, title: str) -> Panel:
    """MIG of each method that has runs with both kinds of noise."""
    if chosen.frame["series"].nunique() < len(CORRELATIONS):
        raise Lacking(f"{title}: runs with both kinds of noise")
    return swarm(chosen, "mig", "method", title=title)


def _mig(title: str, caption: str, latents: int, *claims: str) -> Unnumbered:
    return exhibit(
        title,
        caption,
        _runs(("mig",), latents, *DATASETS),
        panels(_of_both, each="dataset"),
        *claims,
        reading=f"J = {latents} latents.",
    )


def _without_constant(frame: Frame, tables: Tables) -> Frame:
    return frame.assign(kl=frame["kl"] - correlation_constant(frame))


_INFOGAN = Runs(
    (),
    {"dataset": "mnist", "correlation": CORRELATIONS, "architecture": "any", "latents": "any"},
    {"infogan": ()},
    series="correlation",
    named=(("dataset", "method", "correlation"),),
    stand_ins={"mnist": "mnist-train"},
)


def _seen(shown: Sequence[Panel]) -> Iterator[Comparison]:
    yield Comparison("σ = 0", "rotation and width, one code each", "see the picture")
    yield Comparison("σ = 0.9", "no factor to be seen; digits change", "see the picture")


_LOSSES = {"discriminator": "discriminator", "generator": "generator", "-information": "information penalty"}
"""The paper draws the generator's loss −L; the bound L itself is logged."""
_METRICS = ("reconstruction", "kl", "monte_carlo_tc")
_FIGURES = {
    1: _mig(
        "Correlated noise and disentanglement",
        "MIG of three methods when the posterior's noise is independent (σ = 0) and when it is strongly correlated "
        "(σ = 0.9), with ten latents.",
        10,
    ),
    2: exhibit(
        "What else correlated noise changes",
        "Reconstruction error, KL to the prior and total correlation of the same runs on dSprites.",
        _runs(_METRICS, 10, "dsprites", change=_without_constant),
        (tuple(panels(swarm, metric, "method", title=words.measure(metric).short) for metric in _METRICS),),
        "tc-follows-kl",
        reading="dSprites, J = 10. KL and total correlation are those of factorised posteriors, as in the paper.",
        shared_y=False,
    ),
    3: exhibit(
        "InfoGAN's codes as digits",
        "Digits generated while two continuous codes of InfoGAN move, for both kinds of posterior.",
        _INFOGAN,
        panels(pair_map, each="correlation", axes=("first code", "second code")),
        reported=_seen,
        reading="Columns move the first code, rows the second, both from −2 to 2; the rest is fixed. In training codes "
        "were drawn from [−1, 1].",
        shared_y=False,
    ),
    4: exhibit(
        "InfoGAN's losses",
        "Losses of discriminator, generator and information term during training, for both kinds of posterior.",
        _INFOGAN,
        panels(curves, _LOSSES, "loss (nats)", each="correlation"),
        series=tuple(_LOSSES.values()),
    ),
    5: _mig(
        *("Correlated noise with twenty latents", "As Figure 1, with twenty latents.", 20),
        *("fall-grows-factor-vae", "fall-grows-beta-tcvae"),
    ),
}
EXHIBITS = numbered(_FIGURES)
