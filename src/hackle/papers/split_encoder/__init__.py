"""An Information Theoretic Perspective on Disentangled Representation Learning: split encoders, correlated noise."""

from hackle.core.papers import Paper

PAPER = Paper(
    "split-encoder",
    "Anonymous authors, under review",
    "An Information Theoretic Perspective on Disentangled Representation Learning",
    rank=4,
)
