"""Claims of Locatello et al. 2020 (ICLR): the labels of a hundred images suffice to choose a model, and to train a better one.

Directions are the paper's, bounds ours. Choosing: the MIG of each run's codes on a hundred labelled images, with 20 bins, is
compared with its MIG on the protocol's points. The images are a hundred of those whose codes a study keeps of every run; their
labels follow from their place in a complete grid. A way to choose is useful, as in the claims of Locatello et al. 2019, if its
rank correlation exceeds 0.5. The runs are those of that study, of unsupervised models.
"""

from __future__ import annotations

from collections.abc import Sequence

from hackle.claims.agreement import among_runs
from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, claims_of, runs
from hackle.claims.measures import Measure, best_difference
from hackle.claims.statistics import Units
from hackle.claims.view import Data
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


claim = claims_of(PAPER, seeds=5)


_WITH_LABELS = {
    name: (runs("beta-vae", name), runs("s2-beta-vae", name, labels=Labels(IMAGES[0]))) for name in DATASETS
}


def _raises(name: str, score: str, words: str) -> Claim:
    return claim(
        f"labels-raise-{name}",
        "Section 4",
        f"The labels of a hundred images in the β-VAE's loss raise its {words}.",
        f"{words} of S2-β-VAE with 100 labels minus that of the β-VAE, each at its best weights",
        above(LEAST, best_difference(score), mean=_WITH_LABELS),
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
    return among_runs(rows.assign(few=few).dropna(subset=["few"]), "few", ["mig"], SETTINGS)


_LEAST = f"{SETTINGS} settings with the codes of {IMAGES[0]} images"
CLAIMS: tuple[Claim, ...] = (
    claim(
        "hundred-labels-choose",
        "Section 3",
        "The labels of a hundred images suffice to choose among unsupervised models.",
        "rank correlation over models of MIG on 100 labelled images with MIG on all points",
        above(
            USEFUL,
            Measure(_choosing, ("mig",), arrays=("codes",), least=_LEAST),
            mean={name: runs(UNSUPERVISED, name) for name in COMPLETE},
        ),
        runs_per_seed=sum(map(len, STRENGTHS.values())),
        study="locatello2019",
    ),
    _raises("mig", "mig", "MIG"),
    _raises("dci", "dci_disentanglement", "DCI disentanglement"),
)
