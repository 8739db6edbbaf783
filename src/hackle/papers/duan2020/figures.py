"""Duan et al. 2020, section 5: UDR, computed without labels, beside a score that needs the factors.

The paper's figures were not at hand: this one draws what its claim compares, for one of the scores. The runs are those of
Locatello et al. 2019.
"""

from __future__ import annotations

import numpy as np

from hackle.claims import View
from hackle.figures.chart import Frame
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import panels, scatter
from hackle.figures.selection import Runs
from hackle.papers.duan2020.claims import PAPER, with_udr
from hackle.papers.locatello2019.settings import DATASETS, METHODS
from hackle.store.tables import Tables


def _with_udr(frame: Frame, tables: Tables) -> Frame:
    if not len(frame):
        return frame.assign(udr=np.nan)
    view = View(tables)
    return with_udr(frame.set_index("run").join(view.runs["setting"]), view).reset_index()


EXHIBIT = Exhibit(
    PAPER,
    "Section 5",
    "UDR and MIG",
    "MIG of each run against its UDR, how well it agrees with the runs that differ from it in their seed alone.",
    Runs(
        *(("mig",), {"dataset": DATASETS}, dict.fromkeys(METHODS, ()), "locatello2019"),
        named=(("dataset",),),
        change=_with_udr,
    ),
    panels(scatter, "udr", "mig", each="dataset", labels=("UDR", "")),
    reading="Dots are single runs, of settings with at least three seeds.",
    columns=4,
    study="locatello2019",
)
