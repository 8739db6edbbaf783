"""Hsu et al. 2023: latents that take one of a few values."""

from hackle.core.papers import Paper

PAPER = Paper(
    "hsu2023",
    "Hsu et al. 2023",
    "Disentanglement via Latent Quantization",
    rank=10,
    arxiv="2305.18378",
    names="Kyle Hsu, Will Dorrell, James C. R. Whittington, Jiajun Wu, Chelsea Finn",
)
