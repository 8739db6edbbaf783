"""The metrics of Do & Tran 2020 with groups of codes in place of single ones (sections 2 and 3).

A representation may be a group of latents, such as the two coordinates of a circle that hold an angle. Which codes belong
together is given with the protocol: `hackle score --groups 0,1/2/3`. All estimates are by sampling (A.10).
"""

from __future__ import annotations

from typing import SupportsFloat

from hackle.information.factor_information import factor_information
from hackle.metrics.jemmig import jemmig_of
from hackle.metrics.metric import WHOLE_MIXTURE, Evaluation, Metric, Row
from hackle.metrics.misjed import mean_of_pairs, misjed
from hackle.metrics.rmig import rmig_of
from hackle.metrics.separability import separable_information


def _information(e: Evaluation) -> dict[str, float]:
    """Draws from some training points, q(z) over all of them; MISJED's entropies over the drawn points."""
    means, logvars = (part[: e.protocol.draws] for part in e.posteriors)
    groups, cut = e.protocol.groups, e.protocol.quantisation
    information = separable_information(
        means,
        logvars,
        correlation=e.correlation,
        **cut,
        mixture=e.mixture or e.posteriors,
        seed=e.seed,
        device=e.device,
        groups=groups,
    )
    scores = {
        "grouped_wsepin": information.wsepin(),
        "grouped_windin": information.windin(),
        "grouped_informativeness_mean": float(information.informativeness.mean()),
    }
    if len(groups) > 1:
        pairs = misjed(means, logvars, **cut, normalised=True, groups=groups, correlation=e.correlation, seed=e.seed)
        scores["grouped_misjed"] = mean_of_pairs(pairs)
    return scores


def _interpretability(e: Evaluation) -> dict[str, SupportsFloat]:
    information = factor_information(
        *e.posteriors,
        e.factors,
        estimator="sampled",
        **e.protocol.quantisation,
        kinds="categorical",
        seed=e.seed,
        device=e.device,
        groups=e.protocol.groups,
        correlation=e.correlation,
    )
    return {"grouped_rmig": rmig_of(e, information), "grouped_jemmig": jemmig_of(e, information)}


GROUPED_INFORMATION = Metric(
    "grouped_information",
    _information,
    (
        Row("grouped_wsepin", "WSEPIN of groups (nats)", "WSEPIN, groups", None, None),
        Row("grouped_windin", "WINDIN of groups (nats)", "WINDIN, groups", None, None),
        Row("grouped_informativeness_mean", "mean I(z_g, x) of groups (nats)", "I(z_g, x)", 0.0, None),
        Row("grouped_misjed", "MISJED of groups", "MISJED, groups", None, None, "lower"),
    ),
    needs=("groups of codes",),
    on="posterior",
    slow=True,
    remedy=WHOLE_MIXTURE,
)
GROUPED_INTERPRETABILITY = Metric(
    "grouped_interpretability",
    _interpretability,
    (
        Row("grouped_rmig", "RMIG of groups", "RMIG, groups"),
        Row("grouped_jemmig", "JEMMIG of groups", "JEMMIG, groups", None, None, "lower"),
    ),
    needs=("factors", "groups of codes"),
    on="posterior",
    slow=True,
)
