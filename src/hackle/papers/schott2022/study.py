"""Schott et al. 2022, section 5: models trained on a part of the combinations and tested on the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hackle.core.regimes import Drawing
from hackle.core.types import Run
from hackle.papers.schott2022.settings import DATASETS, METHODS, RULES
from hackle.studies.study import Study
from hackle.studies.sweep import Sweep, swept


@swept("schott2022", DATASETS, METHODS, seeds=5)
def schott2022(sweep: Sweep) -> Iterator[Run]:
    """β-VAE (β = 4) and Ada-GVAE (β = 1) trained without some combinations of factors: random ones, compositions of values that
    are seen apart, values within the range, values at its ends.

    Departures: which combinations are left out follows hackle's rules of these names, not the paper's published files; the
    paper also trains SlowVAE, PCL and supervised networks; weights and the number of seeds are ours.
    """
    for dataset in sweep.data():
        for method in filter(sweep.has, METHODS):
            run = sweep.run(method, dataset)
            yield from (replace(run, drawing=Drawing(left_out=rule)) for rule in RULES)


STUDY = Study(
    "schott2022", schott2022, "Schott et al. 2022: combinations of factors left out of training, tested on those"
)
