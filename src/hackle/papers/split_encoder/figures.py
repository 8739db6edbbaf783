"""An Information Theoretic Perspective on Disentangled Representation Learning: encoders with and without a block of their own
for each latent (Fig. 2 to 11).

The paper draws violins without numbers; here every run is drawn. Figures 5 and 8 show traversals of the run with the highest
MIG: pictures where the report can make them, and always what each latent of that run knows of each factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hackle.figures.chart import Panel
from hackle.figures.exhibit import Unnumbered, exhibits_of, numbered
from hackle.figures.models import traversals
from hackle.figures.panels import informations, panels, scatter, swarm
from hackle.figures.selection import Runs, Selected
from hackle.papers.split_encoder.claims import PAPER, STRENGTHS

exhibit = exhibits_of(PAPER)
_TWO = ("vae", "factor-vae")
_ENCODERS = ("convolutional", "split")


def _runs(metrics: tuple[str, ...], dataset: str, methods: tuple[str, ...] = _TWO, **more: Any) -> Runs:
    """Runs with both encoders, scored as Locatello et al. do."""
    weights = {method: tuple(STRENGTHS[method].values()) for method in methods}
    told = {"series": "architecture", "named": (("dataset", "method", "architecture"),), **more}
    where = {"dataset": dataset, "architecture": _ENCODERS, **told.pop("where", {})}
    return Runs(metrics, where, weights, "locatello2019", **told)


def _swarm(metric: str):
    return panels(swarm, metric, "method", each="dataset")


def _best_runs(chosen: Selected) -> Iterator[tuple[str, str, float]]:
    """The run with the highest MIG of each method and encoder: what it is called, its hash and its MIG."""
    for name, kind in chosen.each("method", "architecture"):
        best = kind.frame.loc[kind.frame["mig"].idxmax()]
        yield name, best["run"], best["mig"]


def _knowledge(chosen: Selected) -> Iterator[Panel | str]:
    known, dataset = chosen.tables.array("mutual_information"), chosen.runs.where["dataset"]
    for name, run, mig in _best_runs(chosen):
        if run in known:
            yield informations(known[run], dataset, f"{name}\nMIG {mig:.2f}")
        else:
            yield f"{name}: no mutual informations of its best run"


def _traversals(chosen: Selected) -> Iterator[Panel | str]:
    pictures = chosen.tables.array("traversals")
    for name, run, _ in _best_runs(chosen):
        if run in pictures:
            yield traversals(name, chosen.tables, run)
        else:
            yield f"{name}: no traversals, its best run's weights were not kept"


def _scores(metric: str, dataset: str, title: str, caption: str) -> Unnumbered:
    """One score of each method with both encoders."""
    return exhibit(title, caption, _runs((metric,), dataset), _swarm(metric))


_LOSSES = ("reconstruction", "kl")
_MARKS = "Small marks are runs, large ones their means; bars are 95% t intervals of the mean KL."


# Neither has a natural zero, only differences matter.
_AGAINST = panels(scatter, *_LOSSES, each="method", tight="xy", means=("series",))
"""KL against reconstruction error, a panel for each method."""


def _losses(title: str, caption: str, dataset: str) -> Unnumbered:
    return exhibit(title, caption, _runs(_LOSSES, dataset), _AGAINST, reading=_MARKS, shared_y=False)


def _latents(title: str, caption: str, dataset: str) -> Unnumbered:
    """The mutual information of the best run's latents with the factors, and its traversals if there are pictures."""
    return exhibit(
        title,
        caption,
        _runs(("mig",), dataset),
        (_knowledge, _traversals),
        reading="Cells: mutual information of a latent (rows, most informative first) and a factor, in nats, for the run with "
        "the highest MIG of each kind. Traversals: of the same run, the latent with the highest KL to the prior (in nats) "
        "first.",
        shared_y=False,
    )


_VIOLATIONS = {
    "convolutional encoder, σ = 0": {"architecture": "convolutional", "correlation": 0.0},
    "convolutional encoder, σ = 0.9": {"architecture": "convolutional", "correlation": 0.9},
    "sharing encoder": {"architecture": "sharing", "correlation": 0.0},
}
_FIGURES = {
    2: exhibit(
        "Without conditional independence",
        "MIG on dSprites of the baseline, of correlated noise (σ = 0.9), and of an encoder in which latents share all "
        "parameters.",
        _runs(
            *(("mig",), "dsprites"),
            where={"architecture": ("convolutional", "sharing"), "correlation": (0.0, 0.9)},
            series=_VIOLATIONS,
            named=(("dataset", "method", "series"),),
        ),
        _swarm("mig"),
    ),
    3: _scores(
        "mig", "dsprites", "Split encoder and MIG", "MIG on dSprites with the convolutional and the split encoder."
    ),
    4: _losses("Split encoder: KL and error", "KL to the prior against reconstruction error on dSprites.", "dsprites"),
    5: _latents(
        "What the best runs' latents know",
        "The run with the highest MIG of each kind on dSprites: what its latents know of the factors, and its traversals.",
        "dsprites",
    ),
    6: _scores(
        "mig",
        "cars3d",
        "Split encoder and MIG on Cars3D",
        "MIG on Cars3D with the convolutional and the split encoder.",
    ),
    7: _losses(
        "Split encoder: KL and error on Cars3D", "KL to the prior against reconstruction error on Cars3D.", "cars3d"
    ),
    8: _latents("What the best runs' latents know on Cars3D", "As Figure 5, on Cars3D.", "cars3d"),
    9: _scores(
        "factor_vae",
        "dsprites",
        "Split encoder and FactorVAE score",
        "FactorVAE score on dSprites with the convolutional and the split encoder.",
    ),
    10: _scores("factor_vae", "cars3d", "Split encoder and FactorVAE score on Cars3D", "FactorVAE score on Cars3D."),
    11: exhibit(
        "Split encoder in β-VAE",
        "β-VAE on dSprites: MIG, and KL against reconstruction error.",
        _runs(("mig", *_LOSSES), "dsprites", ("beta-vae",)),
        ((_swarm("mig"), _AGAINST),),
        reading=f"Right: {_MARKS[0].lower()}{_MARKS[1:]}",
        shared_y=False,
    ),
}
EXHIBITS = numbered(_FIGURES)
