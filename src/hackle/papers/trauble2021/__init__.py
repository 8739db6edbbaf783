"""Träuble et al. 2021: what correlated factors in the training data leave in the latents."""

from hackle.core.papers import Paper

PAPER = Paper(
    "trauble2021",
    "Träuble et al. 2021",
    "On Disentangled Representations Learned from Correlated Data",
    rank=7,
    arxiv="2006.07886",
    names="Frederik Träuble, Elliot Creager, Niki Kilbertus, Francesco Locatello, Andrea Dittadi, Anirudh "
    "Goyal, Bernhard Schölkopf, Stefan Bauer",
)
