"""Locatello et al. 2020, ICLR: disentanglement from a hundred labelled images."""

from hackle.core.papers import Paper

PAPER = Paper(
    "locatello2020-labels",
    "Locatello et al. 2020 (ICLR)",
    "Disentangling Factors of Variation Using Few Labels",
    rank=6,
    arxiv="1905.01258",
    names="Francesco Locatello, Michael Tschannen, Stefan Bauer, Gunnar Rätsch, Bernhard Schölkopf, Olivier Bachem",
)
