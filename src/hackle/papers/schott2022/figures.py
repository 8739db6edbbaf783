"""Schott et al. 2022, section 5: how well factors are read from combinations that training left out.

The paper's figures were not at hand: this one draws all left-out combinations, of which the claims, where values are left out,
take only those with values that training never saw.
"""

from __future__ import annotations

from hackle.core.design import as_column
from hackle.core.regimes import Drawing
from hackle.figures.exhibit import Exhibit
from hackle.figures.panels import panels, scatter
from hackle.figures.selection import Runs
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.schott2022.claims import PAPER
from hackle.papers.schott2022.settings import BETAS, DATASETS, RULES

_R2 = ("generalisation_seen", "generalisation")
_RULES = {as_column(Drawing(left_out=rule)): rule for rule in RULES}


EXHIBIT = Exhibit(
    PAPER,
    "Section 5",
    "Combinations that training left out",
    "R² of a linear readout of the factors on combinations that training left out, against R² on those that it saw, by the "
    "rule that left them out.",
    Runs(
        _R2,
        {"dataset": DATASETS, "drawing": tuple(_RULES), "pairs": ("", as_column(ONE))},
        {method: (beta,) for method, beta in BETAS.items()},
        "locatello2019",
        series="drawing",
        named=(("dataset", "method", "drawing"),),
        called=_RULES,
    ),
    panels(scatter, *_R2, each=("dataset", "method"), equal=True, diagonal=0.0),
    reading="Dots are single runs; on the line, left-out combinations are read as well as seen ones. Where values "
    "are left out, the claims compare R² on these values alone.",
    columns=len(BETAS),
    shared_y=False,
)
