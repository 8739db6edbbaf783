"""Kim & Mnih 2018: FactorVAE, its metric and its rivals."""

from hackle.core.papers import Paper

PAPER = Paper(
    "kim2018",
    "Kim & Mnih 2018",
    "Disentangling by Factorising",
    rank=1,
    arxiv="1802.05983",
    names="Hyunjik Kim, Andriy Mnih",
)
