"""Locatello et al. 2019: six methods, six strengths, seven data sets, 12,600 models."""

from hackle.core.papers import Paper

PAPER = Paper(
    "locatello2019",
    "Locatello et al. 2019",
    "Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations",
    rank=0,
    arxiv="1811.12359",
    names="Francesco Locatello, Stefan Bauer, Mario Lucic, Gunnar Rätsch, Sylvain Gelly, Bernhard "
    "Schölkopf, Olivier Bachem",
)
