"""How Locatello et al. 2019 run their metrics."""

from __future__ import annotations

from dataclasses import replace

from hackle.scoring.protocol import LARGE, Protocol

LOCATELLO = Protocol("locatello2019", LARGE)
"""Appendix B."""
LIBRARY = Protocol("disentanglement_lib", LARGE, minimum_variance=0.05**2, dci_predictor="gbt")
"""What their library ships: it prunes by standard deviation and predicts with boosted trees."""
DOWNSTREAM = Protocol(
    "locatello2019-downstream", replace(LARGE, test=10_000), metrics=("downstream_logistic_cv", "downstream_gbt")
)
"""Section 5.6: downstream tasks are tested on 10,000 further points; appendix B says 5,000, as for the metrics."""
