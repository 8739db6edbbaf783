"""Locatello et al. 2020, ICML: disentanglement from pairs of images that share most factors."""

from hackle.core.papers import Paper

PAPER = Paper(
    "locatello2020",
    "Locatello et al. 2020",
    "Weakly-Supervised Disentanglement Without Compromises",
    rank=5,
    arxiv="2002.02886",
    names="Francesco Locatello, Ben Poole, Gunnar Rätsch, Bernhard Schölkopf, Olivier Bachem, Michael Tschannen",
)
