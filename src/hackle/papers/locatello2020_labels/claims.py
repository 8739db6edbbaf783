"""Claims of Locatello et al. 2020 (ICLR): the labels of a hundred images suffice to choose a model, and to train a better one.

Directions are the paper's, bounds ours. Choosing: the MIG of each run's codes on a hundred labelled images, with 20 bins, is
compared with its MIG on the protocol's points. The images are a hundred of those whose codes a study keeps of every run; their
labels follow from their place in a complete grid. A way to choose is useful, as in the claims of Locatello et al. 2019, if its
rank correlation exceeds 0.5. The runs are those of that study, of unsupervised models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hackle.claims.agreement import over_models
from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import Measure, best_difference
from hackle.claims.statistics import Units, correlations
from hackle.claims.view import Condition, Data
from hackle.core.factors import Factor, FactorGrid
from hackle.core.regimes import Labels
from hackle.figures.words import FACTORS
from hackle.papers.locatello2019.settings import METHODS as UNSUPERVISED
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2020_labels.settings import BETAS, DATASETS, IMAGES, WEIGHTS
from hackle.scoring.plan import kept_images
from hackle.selection import label_scores

PAPER = "locatello2020-labels"
LEAST = 0.02
"""The smallest difference of scores, which range from 0 to 1, that counts."""
USEFUL = 0.5
SETTINGS = 5
"""The fewest settings to choose from."""
COMPLETE = ("dsprites", "cars3d", "shapes3d")
"""The data sets that have every combination of their factors."""


def _runs(method: str, dataset: str, **more: object) -> dict[str, object]:
    return {"method": method, "dataset": dataset, "latents": 10, **more}


def _raises(name: str, score: str, words: str) -> Claim:
    return Claim(
        f"labels-raise-{name}",
        PAPER,
        "Section 4",
        f"The labels of a hundred images in the β-VAE's loss raise its {words}.",
        f"{words} of S2-β-VAE with 100 labels minus that of the β-VAE, each at its best weights",
        Region(low=LEAST),
        best_difference(score),
        tuple(
            Stratum(name, (_runs("beta-vae", name), _runs("s2-beta-vae", name, labels=Labels(IMAGES[0]))))
            for name in DATASETS
        ),
        seeds=5,
        runs_per_seed=len(BETAS) * (1 + len(WEIGHTS)),
    )


def _choosing(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The rank correlation over all models of MIG with a hundred labels and MIG with all."""
    (condition,) = conditions
    codes = data.array("codes")
    rows = data.rows(condition, ("mig",)).dropna(subset=["mig"])
    rows = rows[[run in codes and len(codes[run]) >= IMAGES[0] for run in rows.index]]
    if rows["setting"].nunique() < SETTINGS:
        return None
    grid = FactorGrid([Factor(name, size) for name, size in FACTORS[condition["dataset"]]])
    kept = {run: codes[run] for run in rows.index}
    few = label_scores(kept, grid.rows(kept_images(grid)), IMAGES[0], metrics=("mig",))["mig"]
    rows = rows.assign(few=few).dropna(subset=["few"])
    if rows.empty:
        return None
    table = rows.pivot_table(index="seed", columns="setting", values=["few", "mig"])
    table = table[table["mig"].notna().sum(axis=1) >= SETTINGS]
    if table.empty:
        return None
    scores = np.stack([table[name].to_numpy(float) for name in ("few", "mig")])
    found = over_models([scores], np.array([[0, 1]]))
    assert found is not None
    return correlations(found, round(len(rows) / len(table)), table["mig"].shape[1])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "hundred-labels-choose",
        PAPER,
        "Section 3",
        "The labels of a hundred images suffice to choose among unsupervised models.",
        "rank correlation over models of MIG on 100 labelled images with MIG on all points",
        Region(low=USEFUL),
        Measure(
            _choosing, ("mig",), arrays=("codes",), least=f"{SETTINGS} settings with the codes of {IMAGES[0]} images"
        ),
        tuple(Stratum(name, ({"method": UNSUPERVISED, "dataset": name, "latents": 10},)) for name in COMPLETE),
        seeds=5,
        runs_per_seed=sum(map(len, STRENGTHS.values())),
        study="locatello2019",
    ),
    _raises("mig", "mig", "MIG"),
    _raises("dci", "dci_disentanglement", "DCI disentanglement"),
)
