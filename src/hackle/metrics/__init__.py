"""Scores of codes and posteriors: pure functions of arrays with samples in rows."""

from hackle.information import (
    Agreement,
    FactorInformation,
    LabelProbabilities,
    OutOfRangeWarning,
    PosteriorError,
    SaturatedEstimateWarning,
    agreement,
    batch_total_correlation,
    covariance_total_correlation,
    data_range,
    density_ratio_total_correlation,
    discrete_factor_information,
    discrete_information,
    factor_information,
    gaussian_total_correlation,
    monte_carlo_total_correlation,
    neighbour_information,
    posterior_information,
    ross_information,
)
from hackle.metrics.beta_vae import beta_vae_score
from hackle.metrics.checks import MetricError
from hackle.metrics.conditional_information import conditional_information, multivariate_information
from hackle.metrics.consistency import Consistency, consistency
from hackle.metrics.correlation import correlation_matrix, sampled_correlation_matrix
from hackle.metrics.dci import DCIScores, dci_from_importance, dci_importance, dci_scores
from hackle.metrics.dci_es import DCIESScores, LossCurves, dci_es_scores, explicitness_from_losses, loss_curves
from hackle.metrics.dcimig import dcimig_from_information, dcimig_score
from hackle.metrics.downstream import accuracy_per_factor, downstream_accuracy, statistical_efficiency
from hackle.metrics.entangle import cosine_rotation, entangle, householder_rotation
from hackle.metrics.explicitness import explicitness_per_factor, explicitness_score
from hackle.metrics.factor_vae import code_scale, factor_vae_score
from hackle.metrics.generalisation import Generalisation, generalisation_scores
from hackle.metrics.infomec import InfoMEC, infomec_from_information, infomec_scores
from hackle.metrics.informativeness import informativeness, latent_order, total_information
from hackle.metrics.irs import irs_score
from hackle.metrics.isolation_gap import IsolationGap, isolation_gap
from hackle.metrics.jemmig import jemmig, jemmig_from_information, jemmig_per_factor
from hackle.metrics.kl_split import KLSplit, kl_split
from hackle.metrics.likelihood import (
    Autoencoder,
    KLDivergence,
    active_units,
    elbo,
    importance_weighted_bound,
    kl_divergence,
    reconstruction_error,
)
from hackle.metrics.mcc import mcc_from_correlations, mcc_matrix, mcc_score
from hackle.metrics.metric import METRICS, Evaluation, Metric, PerFactor, Row
from hackle.metrics.mig import mig_from_information, mig_per_factor, mig_score
from hackle.metrics.mig_sup import mig_sup_from_information, mig_sup_per_code, mig_sup_score
from hackle.metrics.misjed import misjed
from hackle.metrics.modularity import modularity_from_information, modularity_per_code, modularity_score
from hackle.metrics.neighbours import neighbour_gap_score, neighbour_matrix
from hackle.metrics.pairwise_entanglement import excess_entanglement, pairwise_entanglement
from hackle.metrics.posterior_mig import posterior_mig_score
from hackle.metrics.rmig import rmig_from_information, rmig_per_factor, rmig_score
from hackle.metrics.sap import sap_matrix, sap_score
from hackle.metrics.separability import (
    SeparableInformation,
    indin_score,
    separable_information,
    sepin_score,
    windin_score,
    wsepin_score,
)
from hackle.metrics.similarity import cca, cka, similarity_matrix
from hackle.metrics.udr import UDR, udr_from_similarity, udr_pair, udr_scores
from hackle.metrics.unfairness import total_variations, unfairness, unfairness_from_counts, unfairness_matrix

__all__ = [
    "METRICS",
    "UDR",
    "Agreement",
    "Autoencoder",
    "Consistency",
    "DCIESScores",
    "DCIScores",
    "Evaluation",
    "FactorInformation",
    "Generalisation",
    "InfoMEC",
    "IsolationGap",
    "KLDivergence",
    "KLSplit",
    "LabelProbabilities",
    "LossCurves",
    "Metric",
    "MetricError",
    "OutOfRangeWarning",
    "PerFactor",
    "PosteriorError",
    "Row",
    "SaturatedEstimateWarning",
    "SeparableInformation",
    "accuracy_per_factor",
    "active_units",
    "agreement",
    "batch_total_correlation",
    "beta_vae_score",
    "cca",
    "cka",
    "code_scale",
    "conditional_information",
    "consistency",
    "correlation_matrix",
    "cosine_rotation",
    "covariance_total_correlation",
    "data_range",
    "dci_es_scores",
    "dci_from_importance",
    "dci_importance",
    "dci_scores",
    "dcimig_from_information",
    "dcimig_score",
    "density_ratio_total_correlation",
    "discrete_factor_information",
    "discrete_information",
    "downstream_accuracy",
    "elbo",
    "entangle",
    "excess_entanglement",
    "explicitness_from_losses",
    "explicitness_per_factor",
    "explicitness_score",
    "factor_information",
    "factor_vae_score",
    "gaussian_total_correlation",
    "generalisation_scores",
    "householder_rotation",
    "importance_weighted_bound",
    "indin_score",
    "infomec_from_information",
    "infomec_scores",
    "informativeness",
    "irs_score",
    "isolation_gap",
    "jemmig",
    "jemmig_from_information",
    "jemmig_per_factor",
    "kl_divergence",
    "kl_split",
    "latent_order",
    "loss_curves",
    "mcc_from_correlations",
    "mcc_matrix",
    "mcc_score",
    "mig_from_information",
    "mig_per_factor",
    "mig_score",
    "mig_sup_from_information",
    "mig_sup_per_code",
    "mig_sup_score",
    "misjed",
    "modularity_from_information",
    "modularity_per_code",
    "modularity_score",
    "monte_carlo_total_correlation",
    "multivariate_information",
    "neighbour_gap_score",
    "neighbour_information",
    "neighbour_matrix",
    "pairwise_entanglement",
    "posterior_information",
    "posterior_mig_score",
    "reconstruction_error",
    "rmig_from_information",
    "rmig_per_factor",
    "rmig_score",
    "ross_information",
    "sampled_correlation_matrix",
    "sap_matrix",
    "sap_score",
    "separable_information",
    "sepin_score",
    "similarity_matrix",
    "statistical_efficiency",
    "total_information",
    "total_variations",
    "udr_from_similarity",
    "udr_pair",
    "udr_scores",
    "unfairness",
    "unfairness_from_counts",
    "unfairness_matrix",
    "windin_score",
    "wsepin_score",
]
