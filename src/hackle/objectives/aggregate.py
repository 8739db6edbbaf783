"""Log densities of the aggregate posterior, estimated from a batch (Chen et al. 2018; Kim & Mnih 2018, appendix D).

q(z) = 1/N Σ_n q(z|x_n) runs over all N images; a batch of b gives b of its terms. With weights w,

    log q(z_i)  ≈ log Σ_j w_ij q(z_i|x_j),      log q(z_ik) ≈ log Σ_j w_ij q(z_ik|x_jk).

Minibatch-weighted: w = 1/b. Chen et al. write 1/(bN); the constant does not change gradients, but with 1/b the
estimates are densities, exact when the batch is the data set, and the reported total correlation is meaningful.

Stratified: the image that z_i was drawn from is one of the N, so w_ii = 1/N, and the others stand for the rest:
w_ij = (N − 1) / (N (b − 1)). Chen et al. give the others 1/(b − 1) except for a single one, which gets less; this
averages over the choice of that one: as unbiased, less noisy, and exact when the batch is the data set. It is unbiased
over batches without repeated images. Here images are drawn with replacement, as if from the data distribution, and the
mean of the estimated density is then q(z) + (q(z|x) − q(z)) / N.

Leave-one-out: w_ii = 0 and w_ij = 1/(b − 1). z_i is then independent of the mixture, so that z comes from q(z), as in Kim
& Mnih's Eq. 6, and not from the batch's own q̂(z), as in the other two. They found that it fails: z lies in the tails of a
mixture of so few posteriors, and the estimate of a divergence turns negative.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.gaussian import Scalar
from hackle.kernels import mixture_densities

Estimator = Literal["minibatch-weighted", "stratified", "leave-one-out"]


class AggregateDensities(NamedTuple):
    """For a batch of samples z: log q(z|x) of its own image (b,), log q(z) (b,) and log q(z_k) of each latent (b, l)."""

    conditional: Tensor
    joint: Tensor
    marginals: Tensor

    @property
    def total_correlation(self) -> Tensor:
        """The mean of log q(z) − Σ_k log q(z_k)."""
        return (self.joint - self.marginals.sum(-1)).mean()

    @property
    def information(self) -> Tensor:
        """The mean of log q(z|x) − log q(z): the mutual information I(x; z)."""
        return (self.conditional - self.joint).mean()


def log_weights(batch: int, data_size: int, estimator: Estimator) -> tuple[float, float]:
    """ln w of a sample's own image, and of each other image of the batch."""
    if estimator == "minibatch-weighted":
        return -math.log(batch), -math.log(batch)
    if estimator == "leave-one-out":
        if batch < 2:
            raise HackleError("leave-one-out leaves no image in a batch of one; take a batch_size of 2 or more")
        return -math.inf, -math.log(batch - 1)
    others = math.log((data_size - 1) / (data_size * (batch - 1))) if batch > 1 and data_size > 1 else -math.inf
    return -math.log(data_size), others


def aggregate_densities(
    z: Tensor, means: Tensor, logvars: Tensor, correlation: Scalar, data_size: int, estimator: Estimator
) -> AggregateDensities:
    """The densities at samples z (b, l) of the posteriors with these means and logvars (b, l)."""
    own, others = log_weights(len(z), data_size, estimator)
    return AggregateDensities(*mixture_densities(z, means, logvars, correlation, own, others))
