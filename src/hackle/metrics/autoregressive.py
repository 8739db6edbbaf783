"""Informativeness and separability of autoregressive posteriors (Do & Tran 2020, section 3.2), by their own densities."""

from __future__ import annotations

from hackle.information.autoregressive import dependent_information
from hackle.metrics.metric import Evaluation, Metric, Row

IMAGES = 2_000
"""Test images whose posteriors make up q(z): I(x; z) can be told up to ln 2,000 = 7.6 nats."""


def _informations(e: Evaluation) -> dict[str, float]:
    model, images = e.decoding(IMAGES)
    information = dependent_information(*model.covariance_root(images), seed=e.seed)  # type: ignore[attr-defined]
    return {
        "autoregressive_information": information.total,
        "autoregressive_shared": float(information.shared.mean()),
        "autoregressive_wsepin": information.wsepin,
        "autoregressive_windin": information.windin,
        "autoregressive_tc": information.total_correlation,
    }


AUTOREGRESSIVE = Metric(
    "autoregressive",
    _informations,
    (
        Row("autoregressive_information", "I(x; z), autoregressive posterior (nats)", "I(x; z)", None, None),
        Row("autoregressive_shared", "mean I(z_i; z_≠i | x) (nats)", "I(z_i; z_≠i|x)", 0.0, None, "neither"),
        Row("autoregressive_wsepin", "WSEPIN, autoregressive posterior (nats)", "WSEPIN", None, None),
        Row("autoregressive_windin", "WINDIN, autoregressive posterior (nats)", "WINDIN", None, None),
        Row("autoregressive_tc", "total correlation, autoregressive posterior (nats)", "TC", None, None, "lower"),
    ),
    needs=("an autoregressive posterior",),
    on="means",
)
