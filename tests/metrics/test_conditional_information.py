"""I(z_J; x | z_S) and I(x; z_i; z_j) of Gaussians, for any codes; the chain rule holds on the same draws."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hackle.information import PosteriorError, SaturatedEstimateWarning
from hackle.metrics import conditional_information, isolation_gap, multivariate_information, separable_information
from hackle.scoring.codes import score_codes
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol


def points(n: int = 2500, s: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    covariance = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 0.8]])
    means = np.random.default_rng(0).multivariate_normal(np.zeros(3), covariance, size=n)
    return means, np.full((n, 3), 2 * math.log(s))


def gaussian_information(means: np.ndarray, s: float, correlation: float, codes: list[int]) -> float:
    """I(z_S; x) = ½ ln det(A + N) / det N for q(z_S) = N(0, A + N)."""
    if not codes:
        return 0.0
    noise = s**2 * ((1 - correlation) * np.eye(len(codes)) + correlation)
    spread = np.atleast_2d(np.cov(means[:, codes], rowvar=False))
    return 0.5 * math.log(np.linalg.det(spread + noise) / np.linalg.det(noise))


@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize(("codes", "given"), [([0], []), ([0], [1]), ([0], [1, 2]), ([2], [0]), ([0, 2], [1])])
def test_gaussian_codes(correlation: float, codes: list[int], given: list[int]) -> None:
    means, logvars = points()
    found = conditional_information(means, logvars, codes, given, correlation=correlation)
    expected = gaussian_information(means, 0.6, correlation, codes + given) - gaussian_information(
        means, 0.6, correlation, given
    )
    assert found == pytest.approx(expected, abs=0.04)


def test_the_chain_rule_and_the_scores_that_are_special_cases() -> None:
    means, logvars = points(500)
    one = conditional_information(means, logvars, 2)
    two = conditional_information(means, logvars, 0, [2])
    three = conditional_information(means, logvars, 1, [0, 2])
    assert one + two + three == pytest.approx(separable_information(means, logvars).total, abs=1e-9)
    assert three == pytest.approx(separable_information(means, logvars).separate[1], abs=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_multivariate_information_of_gaussians(correlation: float) -> None:
    """Redundant means share information, correlated noise makes two codes say more together than apart."""
    means, logvars = points()
    found = multivariate_information(means, logvars, correlation=correlation)
    np.testing.assert_array_equal(found, found.T)
    for first, second in combinations(range(3), 2):
        parts = [gaussian_information(means, 0.6, correlation, codes) for codes in ([first], [second], [first, second])]
        assert found[first, second] == pytest.approx(parts[0] + parts[1] - parts[2], abs=0.04)
    assert found[0, 1] > 0.1 if correlation == 0 else found[0, 2] < -0.3
    alone = [gaussian_information(means, 0.6, correlation, [code]) for code in range(3)]
    np.testing.assert_allclose(np.diag(found), alone, atol=0.03)


def test_a_pair_is_the_isolation_gap_with_the_other_sign() -> None:
    means, logvars = points(400)
    found = multivariate_information(means, logvars)[0, 1]
    assert found == pytest.approx(-isolation_gap(means, logvars, [0, 1]).gap, abs=0.05)


def test_bad_sets_and_saturation_are_told() -> None:
    means, logvars = points(100)
    with pytest.raises(PosteriorError, match="expected one code or more that is not among the given"):
        conditional_information(means, logvars, 0, [0, 1])
    with pytest.raises(PosteriorError, match="expected different codes out of 0 to 2"):
        conditional_information(means, logvars, 7)
    with pytest.warns(SaturatedEstimateWarning, match="from which that of the given codes"):
        conditional_information(means, logvars - 9, 0, [1])


def test_the_score_of_that_name() -> None:
    means, logvars = points(900)
    settings = Protocol("tiny", PlanSizes(600, 300, 0, 0, 1, 0, 0, 1), draws=600)
    factors = (means[:, :1] > 0).astype(int)
    table: Any = score_codes(means, factors, "multivariate_information", settings, logvars=logvars, references=False)
    score = table.set_index("metric")["score"]
    assert score["multivariate_information_smallest"] < score["multivariate_information"]
    assert score["multivariate_information_largest"] == pytest.approx(
        gaussian_information(means, 0.6, 0.0, [0]) * 2 - gaussian_information(means, 0.6, 0.0, [0, 1]), abs=0.1
    )
