"""Schott et al. 2022: models on combinations and values of factors that training left out."""

from hackle.core.papers import Paper

PAPER = Paper(
    "schott2022",
    "Schott et al. 2022",
    "Visual Representation Learning Does Not Generalize Strongly Within the Same Domain",
    rank=9,
    arxiv="2107.08221",
    names="Lukas Schott, Julius von Kügelgen, Frederik Träuble, Peter Gehler, Chris Russell, Matthias "
    "Bethge, Bernhard Schölkopf, Francesco Locatello, Wieland Brendel",
)
