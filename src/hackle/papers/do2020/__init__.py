"""Do & Tran 2020: metrics of informativeness, separability and interpretability."""

from hackle.core.papers import Paper

PAPER = Paper(
    "do2020",
    "Do & Tran 2020",
    "Theory and Evaluation Metrics for Learning Disentangled Representations",
    rank=2,
    arxiv="1908.09961",
    names="Kien Do, Truyen Tran",
)
