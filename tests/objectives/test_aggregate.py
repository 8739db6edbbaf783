"""Batch estimates of the aggregate posterior against exact mixtures on tiny data."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal, Normal

from hackle.core.errors import HackleError
from hackle.core.gaussian import covariance, log_density, reparameterise
from hackle.objectives.aggregate import Estimator, aggregate_densities, log_weights

N, LATENTS = 6, 3
ESTIMATORS: list[Estimator] = ["minibatch-weighted", "stratified"]


@pytest.fixture
def data() -> tuple[Tensor, Tensor, Tensor]:
    """Means and logvars of a data set of six, and noise."""
    generator = torch.Generator().manual_seed(0)
    means, logvars, noise = torch.randn(3, N, LATENTS, dtype=torch.float64, generator=generator).unbind()
    return means, 0.5 * logvars - 1, noise


def exact(z: Tensor, means: Tensor, logvars: Tensor, correlation: float) -> tuple[Tensor, Tensor]:
    """log q(z) and log q(z_k) of the mixture over the whole data set, by PyTorch's distributions."""
    weights = Categorical(torch.ones(len(means), dtype=torch.float64))
    joint = MixtureSameFamily(weights, MultivariateNormal(means, covariance(logvars, correlation)))
    marginals = [
        MixtureSameFamily(weights, Normal(means[:, k], (0.5 * logvars[:, k]).exp())).log_prob(z[:, k])
        for k in range(LATENTS)
    ]
    return joint.log_prob(z), torch.stack(marginals, dim=1)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exact_when_the_batch_is_the_data_set(data: tuple, estimator: Estimator, correlation: float) -> None:
    means, logvars, noise = data
    z = reparameterise(means, logvars, noise, correlation)
    found = aggregate_densities(z, means, logvars, torch.tensor(correlation), N, estimator)
    joint, marginals = exact(z, means, logvars, correlation)
    own = MultivariateNormal(means, covariance(logvars, correlation)).log_prob(z)
    torch.testing.assert_close(found.joint, joint, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(found.marginals, marginals, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(found.total_correlation, (joint - marginals.sum(1)).mean(), rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(found.information, (own - joint).mean(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("batch", [2, 3, 5])
def test_stratified_is_unbiased(data: tuple, batch: int) -> None:
    """Over every batch that holds image 0, the mean of the estimated densities at its z is the exact density."""
    means, logvars, noise = data
    z = reparameterise(means, logvars, noise)
    joint, marginals = exact(z, means, logvars, 0.0)
    found = []
    for others in combinations(range(1, N), batch - 1):
        rows = [0, *others]
        found.append(aggregate_densities(z[rows], means[rows], logvars[rows], 0.0, N, "stratified"))
    mean_joint = torch.stack([one.joint[0] for one in found]).exp().mean()
    mean_marginals = torch.stack([one.marginals[0] for one in found]).exp().mean(0)
    torch.testing.assert_close(mean_joint, joint[0].exp(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(mean_marginals, marginals[0].exp(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("batch", [2, 4])
def test_what_stratified_gives_for_images_drawn_with_replacement(data: tuple, batch: int) -> None:
    """The mean over every such batch is q(z) + (q(z|x) − q(z)) / N: the image itself may be among the others."""
    means, logvars, noise = data
    z = reparameterise(means, logvars, noise)
    joint, _ = exact(z, means, logvars, 0.0)
    own = log_density(z[0], means[0], logvars[0]).exp()
    found = []
    for others in product(range(N), repeat=batch - 1):
        rows = [0, *others]
        found.append(aggregate_densities(z[rows], means[rows], logvars[rows], 0.0, N, "stratified").joint[0])
    expected = joint[0].exp() + (own - joint[0].exp()) / N
    torch.testing.assert_close(torch.stack(found).exp().mean(), expected, rtol=1e-10, atol=1e-12)


def test_minibatch_weighted_is_the_batchs_own_mixture(data: tuple) -> None:
    """Kim & Mnih, Eq. 6, whatever the size of the data set."""
    means, logvars, noise = (value[:4] for value in data)
    z = reparameterise(means, logvars, noise)
    found = aggregate_densities(z, means, logvars, 0.0, 10_000, "minibatch-weighted")
    joint, marginals = exact(z, means, logvars, 0.0)
    torch.testing.assert_close(found.joint, joint, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found.marginals, marginals, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_leave_one_out_has_z_from_outside_the_mixture(data: tuple, correlation: float) -> None:
    """Kim & Mnih, Eq. 6 with z from q(z): each z under the mixture over the batch's other images."""
    means, logvars, noise = data
    z = reparameterise(means, logvars, noise, correlation)
    found = aggregate_densities(z, means, logvars, torch.tensor(correlation), 10_000, "leave-one-out")
    for row in range(N):
        others = [other for other in range(N) if other != row]
        joint, marginals = exact(z[row : row + 1], means[others], logvars[others], correlation)
        torch.testing.assert_close(found.joint[row], joint[0], rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(found.marginals[row], marginals[0], rtol=1e-7, atol=1e-7)


def test_leave_one_out_turns_negative_where_posteriors_do_not_overlap() -> None:
    """A divergence would be 0: the latents are independent. Appendix D's failure."""
    generator = torch.Generator().manual_seed(1)
    means = torch.randn(64, 10, dtype=torch.float64, generator=generator)
    logvars = torch.full_like(means, -6.0)
    z = reparameterise(means, logvars, torch.randn(64, 10, dtype=torch.float64, generator=generator))
    of = {name: aggregate_densities(z, means, logvars, 0.0, 10_000, name) for name in (*ESTIMATORS, "leave-one-out")}
    assert of["leave-one-out"].total_correlation < -100 < 0 < of["minibatch-weighted"].total_correlation
    with pytest.raises(HackleError, match="batch of one"):
        log_weights(1, 10, "leave-one-out")


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("batch", "size"), [(1, 1), (1, 10), (2, 2), (7, 7), (64, 737_280)])
def test_weights_sum_to_one(estimator: Estimator, batch: int, size: int) -> None:
    own, others = (math.exp(value) for value in log_weights(batch, size, estimator))
    expected = 1 / size if estimator == "stratified" and batch == 1 else 1.0
    assert own + (batch - 1) * others == pytest.approx(expected, rel=1e-12)
    if estimator == "stratified":
        assert own == pytest.approx(1 / size, rel=1e-12)


def test_how_much_information_each_estimator_can_see() -> None:
    """Posteriors that never overlap: every image is told from every other, I(x; z) = ln N."""
    means = 1000.0 * torch.arange(4, dtype=torch.float64)[:, None].expand(4, 2)
    found = {
        estimator: aggregate_densities(means, means, torch.zeros_like(means), 0.0, 500, estimator).information.item()
        for estimator in ESTIMATORS
    }
    assert found == pytest.approx({"minibatch-weighted": math.log(4), "stratified": math.log(500)})
