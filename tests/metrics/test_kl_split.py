"""The KL in three: Gaussians whose terms are known, the exact sum, and the score of that name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from hackle.information import Posteriors, SaturatedEstimateWarning
from hackle.metrics import kl_divergence, kl_split
from hackle.scoring.codes import score_codes
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol


def gaussian_points(n: int = 2500, s: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Means with exactly the mean (0.5, 0, −0.2) and the covariance below, so that q(z) is about Gaussian."""
    raw = np.random.default_rng(0).normal(size=(n, 3))
    raw = (raw - raw.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(raw, rowvar=False, bias=True))).T
    covariance = np.array([[1.0, 0.5, 0.0], [0.5, 0.8, 0.1], [0.0, 0.1, 0.3]])
    return raw @ np.linalg.cholesky(covariance).T + [0.5, 0.0, -0.2], np.full((n, 3), 2 * math.log(s))


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_the_terms_of_a_gaussian_aggregate_are_known(correlation: float) -> None:
    means, logvars = gaussian_points()
    noise = 0.36 * ((1 - correlation) * np.eye(3) + correlation)
    whole = np.cov(means, rowvar=False, bias=True) + noise
    variances = np.diag(whole)
    found = kl_split(means, logvars, correlation=correlation, samples=2)
    assert found.information == pytest.approx(0.5 * np.log(np.linalg.det(whole) / np.linalg.det(noise)), abs=0.05)
    tc = 0.5 * (np.log(variances).sum() - np.log(np.linalg.det(whole)))
    assert found.total_correlation == pytest.approx(tc, abs=0.03)
    to_prior = 0.5 * (variances + means.mean(axis=0) ** 2 - 1 - np.log(variances))
    np.testing.assert_allclose(found.to_prior, to_prior, atol=0.03)
    assert found.kl == pytest.approx(kl_divergence(means, logvars, correlation=correlation).total, abs=1e-12)
    assert abs(found.total - found.kl) < 4 * found.error
    assert 0 < found.error < 0.03


def test_the_terms_sum_to_the_sampled_kl_and_its_error_is_right() -> None:
    """Whatever the mixture, the sum is the mean of log q(z|x) − log p(z); over seeds it spreads as its error says."""
    rng = np.random.default_rng(1)
    means, logvars = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) - 3
    with pytest.warns(SaturatedEstimateWarning, match="the first term of the split"):
        found = kl_split(means, logvars, seed=5)
    z = Posteriors(means, logvars).draw(5)
    own = norm.logpdf(z, means, np.exp(0.5 * logvars)).sum(axis=1)
    assert found.total == pytest.approx(np.mean(own - norm.logpdf(z).sum(axis=1)), abs=1e-10)
    broad = means, logvars + 3
    splits = [kl_split(*broad, seed=seed) for seed in range(200)]
    spread = np.std([one.total - one.kl for one in splits])
    assert spread == pytest.approx(np.mean([one.error for one in splits]), rel=0.15)


def test_a_collapsed_encoder_has_three_zeros_and_an_off_centre_one_its_distance() -> None:
    found = kl_split(np.zeros((50, 2)), np.zeros((50, 2)))
    assert found.information == pytest.approx(0.0, abs=1e-12)
    assert found.total_correlation == pytest.approx(0.0, abs=1e-12)
    shifted = kl_split(np.full((500, 1), 2.0), np.zeros((500, 1)), samples=20)
    assert shifted.to_prior[0] == pytest.approx(2.0, abs=0.1)
    assert shifted.kl == pytest.approx(2.0)


def test_the_score_of_that_name_sums_to_the_kl() -> None:
    means, logvars = gaussian_points(900)
    settings = Protocol("tiny", PlanSizes(600, 300, 0, 0, 1, 0, 0, 1), draws=300)
    classes = np.random.default_rng(2).integers(0, 3, (900, 1))
    table: Any = score_codes(means, classes, "kl_split", settings, logvars=logvars, references=False)
    score = table.set_index("metric")["score"]
    parts = score["kl_split_information"] + score["kl_split_tc"] + score["kl_split_to_prior"]
    assert score["kl_split_sum"] == pytest.approx(parts)
    assert abs(score["kl_split_sum"] - score["kl_split_kl"]) < 4 * score["kl_split_error"]
    with_classes = np.column_stack([means, classes])
    spread = np.column_stack([logvars, np.full(900, -40.0)])
    flags = [False, False, False, True]
    mixed: Any = score_codes(
        with_classes, classes, "kl_split", settings, logvars=spread, references=False, discrete=flags
    )
    mixed = mixed.set_index("metric")
    assert mixed["score"]["kl_split_kl"] == pytest.approx(score["kl_split_kl"])
    assert "1 codes are class numbers" in mixed["note"]["kl_split_kl"]
