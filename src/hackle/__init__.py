"""Train, score, compare and look at disentangled representations."""

__version__ = "0.1.0"
