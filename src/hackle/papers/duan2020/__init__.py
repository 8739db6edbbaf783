"""Duan et al. 2020: choosing models by how well they agree with others that were trained alike."""

from hackle.core.papers import Paper

PAPER = Paper(
    "duan2020",
    "Duan et al. 2020",
    "Unsupervised Model Selection for Variational Disentangled Representation Learning",
    rank=8,
    arxiv="1905.12614",
    names="Sunny Duan, Loic Matthey, Andre Saraiva, Nicholas Watters, Christopher P. Burgess, Alexander "
    "Lerchner, Irina Higgins",
)
