"""Yang et al. 2020: correlated posteriors in variational autoencoders and InfoGAN."""

from hackle.core.papers import Paper

PAPER = Paper(
    "yang2020",
    "Yang et al. 2020",
    "Towards Better Understanding of Disentangled Representations via Mutual Information",
    rank=3,
    arxiv="1911.10922",
    names="Xiaojiang Yang, Wendong Bi, Yitong Sun, Yu Cheng, Junchi Yan",
)
