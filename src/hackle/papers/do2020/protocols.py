"""How Do & Tran 2020 run their metrics, and the variants of their ablations."""

from __future__ import annotations

from dataclasses import replace

from hackle.scoring.protocol import LARGE, Protocol, points

DO = Protocol("do2020", LARGE, bins=100, dci_predictor="lasso", dci_skips_categorical=True)
"""Section 4 and appendix A.9: 100 bins, Lasso without the categorical factor, of standardised codes and factors."""

RAW = Protocol("do2020-raw", LARGE, bins=100, dci_predictor="raw-lasso", dci_skips_categorical=True, metrics=("dci",))
"""The Lasso of codes and factors as they are, which the weights in Figure 23 show to be the paper's."""

RULES = (
    Protocol(
        "do2020-rectangle",
        points(10_000),
        bins=100,
        posterior_rule="rectangle",
        metrics=("interpretability", "jemmig", "misjed"),
    ),
    Protocol(
        "do2020-range",
        points(10_000),
        bins=100,
        posterior_bounds="data",
        metrics=("interpretability", "jemmig", "misjed"),
    ),
)
"""A.10: a bin's mass as the area of a rectangle. A.12: the range [a, b] of each model's own posteriors."""

BINS = tuple(
    Protocol(
        f"do2020-bins-{bins}", points(10_000), bins=100, posterior_bins=bins, metrics=("interpretability", "jemmig")
    )
    for bins in (10, 20, 50, 100, 200, 500, 1000)
)
"""Figure 17: RMIG and JEMMIG over the number of bins. The values are only given on the figure's axis."""

SAMPLES = tuple(
    Protocol(
        f"do2020-samples-{samples}",
        replace(LARGE, train=samples),
        bins=100,
        draws=samples // 10,
        metrics=("sampled_jemmig", "whole_separability"),
    )
    for samples in (10_000, 20_000, 30_000, 40_000, 50_000)
)
"""Figure 18: JEMMIG and WSEPIN, both by sampling, over the number of samples. WSEPIN's mixture is that of all other protocols,
nearly all images, so that the draws alone become more; a tenth of the samples, since each meets every image."""
