"""Entropy, mutual information and total correlation: by counting, quantisation, sampling, neighbours and Gaussian fit."""

from hackle.information.discrete import bin_codes, discrete_entropy, discrete_mutual_information
from hackle.information.factor_information import (
    FactorInformation,
    discrete_factor_information,
    discrete_information,
    factor_information,
    posterior_information,
)
from hackle.information.nearest_neighbours import neighbour_information, ross_information
from hackle.information.posterior import LabelProbabilities, PosteriorError, Posteriors
from hackle.information.quantised import Bins, OutOfRangeWarning, Quantised, data_range, quantise
from hackle.information.ranks import Agreement, agreement
from hackle.information.sampled import Draws, SaturatedEstimateWarning, draw
from hackle.information.total_correlation import (
    batch_total_correlation,
    covariance_total_correlation,
    density_ratio_total_correlation,
    gaussian_total_correlation,
    monte_carlo_total_correlation,
)

__all__ = [
    "Agreement",
    "Bins",
    "Draws",
    "FactorInformation",
    "LabelProbabilities",
    "OutOfRangeWarning",
    "PosteriorError",
    "Posteriors",
    "Quantised",
    "SaturatedEstimateWarning",
    "agreement",
    "batch_total_correlation",
    "bin_codes",
    "covariance_total_correlation",
    "data_range",
    "density_ratio_total_correlation",
    "discrete_entropy",
    "discrete_factor_information",
    "discrete_information",
    "discrete_mutual_information",
    "draw",
    "factor_information",
    "gaussian_total_correlation",
    "monte_carlo_total_correlation",
    "neighbour_information",
    "posterior_information",
    "quantise",
    "ross_information",
]
