"""Scores of codes and posteriors: pure functions of arrays, samples in rows."""

from hackle.metrics.beta_vae import beta_vae_score
from hackle.metrics.checks import MetricError
from hackle.metrics.dci import DCIScores, dci_from_importance, dci_importance, dci_scores
from hackle.metrics.downstream import downstream_accuracy, statistical_efficiency
from hackle.metrics.entangle import cosine_rotation, entangle, householder_rotation
from hackle.metrics.explicitness import explicitness_per_factor, explicitness_score
from hackle.metrics.factor_vae import code_scale, factor_vae_score
from hackle.metrics.mig import mig_from_information, mig_per_factor, mig_score
from hackle.metrics.modularity import modularity_from_information, modularity_per_code, modularity_score
from hackle.metrics.sap import sap_matrix, sap_score

__all__ = [
    "DCIScores",
    "MetricError",
    "beta_vae_score",
    "code_scale",
    "cosine_rotation",
    "dci_from_importance",
    "dci_importance",
    "dci_scores",
    "downstream_accuracy",
    "entangle",
    "explicitness_per_factor",
    "explicitness_score",
    "factor_vae_score",
    "householder_rotation",
    "mig_from_information",
    "mig_per_factor",
    "mig_score",
    "modularity_from_information",
    "modularity_per_code",
    "modularity_score",
    "sap_matrix",
    "sap_score",
    "statistical_efficiency",
]
