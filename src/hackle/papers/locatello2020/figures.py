"""Locatello et al. 2020 (ICML), section 5: what pairs that share most factors add, at every β and by how many factors change.

The paper's figures were not at hand: this one draws what its claims compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hackle.core.design import as_column
from hackle.core.regimes import Pairs
from hackle.figures.chart import Panel
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import MEANS, by_score, panels, swarm
from hackle.figures.selection import Runs, Selected
from hackle.papers.locatello2020.claims import PAPER
from hackle.papers.locatello2020.settings import BETAS, DATASETS, FACTORS, ONE

_SCORES = ("mig", "dci_disentanglement", "factor_vae")
_CHANGED = {as_column(Pairs("resample", changed=k)): f"k = {k}" for k in range(1, max(FACTORS.values()))}
_CHANGED |= {as_column(Pairs("resample")): "k drawn"}
_BETAS = tuple(map(float, BETAS))


def _along_beta(chosen: Selected) -> Iterator[Panel | str]:
    """Scores of the β-VAE, and of Ada-GVAE where one factor of a pair changes."""
    frame = chosen.frame[chosen.frame["pairs"].isin(["", as_column(ONE)])]
    yield from by_score(swarm, _SCORES, "strength")(replace(chosen, frame=frame))


def _along_k(chosen: Selected) -> Iterator[Panel | str]:
    """MIG of Ada-GVAE with β = 1 by the number of factors that change."""
    frame = chosen.frame[(chosen.frame["method"] == "ada-gvae") & (chosen.frame["strength"] == 1.0)]
    for name, part in replace(chosen, frame=frame).each("dataset"):
        shown = [pairs for pairs in _CHANGED if pairs in set(part.frame["pairs"])]
        if len(shown) > 1:
            yield from panels(swarm, "mig", "pairs", shown, title=f"{name}, β = 1")(part)
        else:
            yield f"no runs on {name} in which other numbers of factors change (hackle study run locatello2020-k)"


EXHIBIT = Exhibit(
    PAPER,
    "Section 5",
    "Pairs of images and disentanglement",
    "Scores of Ada-GVAE, trained on pairs that differ in one factor, and of the β-VAE against β; and MIG of Ada-GVAE where "
    "k factors of a pair change.",
    Runs(
        _SCORES,
        {"dataset": DATASETS, "pairs": ("", *_CHANGED)},
        {"ada-gvae": _BETAS, "beta-vae": _BETAS},
        "locatello2019",
        called=_CHANGED,
        subject={"method": "ada-gvae"},
    ),
    (_along_beta, _along_k),
    reading=MEANS,
    columns=len(_SCORES),
    shared_y=False,
)
