"""How Locatello et al. 2019 run their metrics."""

from __future__ import annotations

from hackle.scoring.protocol import LARGE, Protocol

LOCATELLO = Protocol("locatello2019", LARGE)
"""Appendix B."""
LIBRARY = Protocol("disentanglement_lib", LARGE, minimum_variance=0.05**2, dci_predictor="gbt")
"""What their library ships: it prunes by standard deviation and predicts with boosted trees."""
