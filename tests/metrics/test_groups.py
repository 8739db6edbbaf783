"""Groups of codes as one representation, stochastic labels and discrete codes: closed forms and the ungrouped twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hackle.information import PosteriorError, Posteriors, factor_information
from hackle.metrics import (
    LabelProbabilities,
    discrete_factor_information,
    discrete_information,
    informativeness,
    jemmig,
    jemmig_from_information,
    latent_order,
    misjed,
    rmig_from_information,
    rmig_score,
    separable_information,
    total_information,
)
from hackle.scoring.codes import score_codes
from hackle.scoring.plan import PlanSizes
from hackle.scoring.protocol import Protocol

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, [2, 3], size=(600, 2))
MEANS = np.column_stack([np.cos(2 * LABELS[:, 1]), np.sin(2 * LABELS[:, 1]), 3.0 * LABELS[:, 0] - 1.5])
MEANS = MEANS + 0.1 * RNG.normal(size=MEANS.shape)
LOGVARS = np.full((600, 3), -3.0)
CIRCLE = [[0, 1], [2]]
SINGLE = [[0], [1], [2]]
SETTINGS = Protocol("tiny", PlanSizes(400, 200, 0, 0, 1, 0, 0, 1), draws=200, posterior_bins=40)


def test_single_codes_as_groups_are_the_codes() -> None:
    labels = factor_information(MEANS, LOGVARS, LABELS, estimator="sampled")
    grouped = factor_information(MEANS, LOGVARS, LABELS, estimator="sampled", groups=SINGLE)
    np.testing.assert_allclose(grouped.information, labels.information, atol=1e-12)
    np.testing.assert_allclose(grouped.quantised_entropies, labels.quantised_entropies, atol=1e-12)
    assert jemmig_from_information(grouped) == pytest.approx(jemmig_from_information(labels), abs=1e-12)
    sampled = informativeness(MEANS, LOGVARS, estimator="sampled")
    np.testing.assert_allclose(informativeness(MEANS, LOGVARS, estimator="sampled", groups=SINGLE), sampled, atol=1e-12)
    plain, ones = separable_information(MEANS, LOGVARS), separable_information(MEANS, LOGVARS, groups=SINGLE)
    np.testing.assert_allclose(ones.separate, plain.separate, atol=1e-9)
    np.testing.assert_allclose(ones.independent, plain.independent, atol=1e-9)
    np.testing.assert_allclose(ones.entropies, plain.entropies, atol=0.05)
    np.testing.assert_allclose(misjed(MEANS, LOGVARS, groups=SINGLE), misjed(MEANS, LOGVARS), atol=0.1)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_information_of_a_group_and_a_factor_by_scipys_densities(correlation: float) -> None:
    """I(z_g; y) = E log q(z_g|y) − log q(z_g), each density a loop over the points with scipy's Gaussian."""
    means, logvars, labels = MEANS[:60], LOGVARS[:60] + 2, LABELS[:60, 1]
    z = Posteriors(means, logvars, correlation).draw(4)[:, :2]
    noise: Any = math.exp(-1.0) * np.array([[1, correlation], [correlation, 1]])
    each: Any = np.stack([multivariate_normal(mean, noise).logpdf(z) for mean in means[:, :2]])
    whole = np.logaddexp.reduce(each, axis=0) - math.log(60)
    known = [
        np.logaddexp.reduce(each[labels == label, row]) - math.log((labels == label).sum())
        for row, label in enumerate(labels)
    ]
    found = factor_information(
        means, logvars, LABELS[:60, 1:], estimator="sampled", seed=4, groups=CIRCLE, correlation=correlation
    )
    assert found.information[0, 0] == pytest.approx(np.mean(known - whole), abs=1e-9)
    assert found.code_entropies[0, 0] == pytest.approx(-whole.mean(), abs=1e-9)


def test_a_group_holds_a_factor_that_its_codes_share() -> None:
    """An angle is in two codes: alone each says part of it, and RMIG of the pair is 1 where that of codes is not."""
    options: Any = {"estimator": "sampled", "samples": 2}
    assert rmig_score(MEANS, LOGVARS, LABELS, groups=CIRCLE, **options) == pytest.approx(1.0, abs=0.02)
    assert rmig_score(MEANS, LOGVARS, LABELS, **options) < 0.8
    found = factor_information(MEANS, LOGVARS, LABELS, groups=CIRCLE, **options)
    np.testing.assert_allclose(found.largest_entropies, np.log(100) * np.array([2, 1]))
    assert 0 <= jemmig_from_information(found) < jemmig(MEANS, LOGVARS, LABELS, **options)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_groups_of_gaussian_codes(correlation: float) -> None:
    means = np.random.default_rng(1).multivariate_normal([0, 0, 0], [[1, 0.5, 0.2], [0.5, 1, 0], [0.2, 0, 0.8]], 2500)
    logvars = np.full((2500, 3), 2 * math.log(0.6))
    noise = 0.36 * ((1 - correlation) * np.eye(3) + correlation)
    whole = np.cov(means, rowvar=False) + noise

    def entropy(codes: list[int], matrix: np.ndarray) -> float:
        return 0.5 * math.log(np.linalg.det(2 * math.pi * math.e * matrix[np.ix_(codes, codes)]))

    def information(codes: list[int]) -> float:
        return entropy(codes, whole) - entropy(codes, noise)

    found = separable_information(means, logvars, correlation=correlation, groups=CIRCLE)
    alone = np.array([information([0, 1]), information([2])])
    np.testing.assert_allclose(found.informativeness, alone, atol=0.05)
    np.testing.assert_allclose(found.separate, information([0, 1, 2]) - alone[::-1], atol=0.05)
    shared = entropy([0, 1], whole) + entropy([2], whole) - entropy([0, 1, 2], whole)
    np.testing.assert_allclose(found.independent, alone - shared, atol=0.05)
    assert found.wsepin() == pytest.approx(alone @ found.separate / alone.sum(), abs=0.05)
    expected = [entropy([0, 1], whole) - 2 * math.log(0.08), entropy([2], whole) - math.log(0.08)]
    np.testing.assert_allclose(found.entropies, expected, atol=0.05)
    given: Any = {"groups": CIRCLE, "correlation": correlation, "bins": 8}
    cells = np.unique(np.floor((means + 4) / 1.0).clip(0, 7), axis=0, return_counts=True)[1] / 2500
    entropies = [entropy([0, 1], whole), entropy([2], whole)]
    assert misjed(means, logvars, **given)[0, 1] == pytest.approx(
        sum(entropies) + (cells * np.log(cells)).sum(), abs=0.05
    )


def test_labels_as_probabilities_are_the_labels_and_noise_lowers_what_is_known() -> None:
    """y flips with probability e: I(z; y) of a code that is the bit itself falls from ln 2 to ln 2 − h(e)."""
    tables = [np.eye(2)[LABELS[:, 0]], np.eye(3)[LABELS[:, 1]]]
    for estimator in ("quantised", "sampled"):
        options: Any = {"estimator": estimator}
        assert rmig_score(MEANS, LOGVARS, LabelProbabilities(tables), **options) == rmig_score(
            MEANS, LOGVARS, LABELS, **options
        )
        assert jemmig(MEANS, LOGVARS, LabelProbabilities(tables), **options) == jemmig(
            MEANS, LOGVARS, LABELS, **options
        )
        even = np.repeat([0, 1], 300)
        means, narrow = np.column_stack([4.0 * even - 2, np.zeros(600)]), np.full((600, 2), -6.0)
        noisy = LabelProbabilities([0.8 * np.eye(2)[even] + 0.1])
        flip = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
        found = factor_information(means, narrow, noisy, **options)
        assert found.information[0, 0] == pytest.approx(math.log(2) - flip, abs=1e-9)
        assert found.information[1, 0] == pytest.approx(0.0, abs=1e-9)
        assert found.factor_entropies[0] == pytest.approx(math.log(2))
        unknown = LabelProbabilities([np.full((600, 2), 0.5)])
        assert factor_information(means, narrow, unknown, **options).information.max() == pytest.approx(0.0, abs=1e-9)


def test_discrete_codes_are_exact() -> None:
    """A binary symmetric channel: I(x; z) = ln 2 − h(e); with a label flipped as well, the two errors add."""
    even = np.repeat([0, 1], 50)
    code, label = 0.8 * np.eye(2)[even] + 0.1, 0.6 * np.eye(2)[even] + 0.2
    flip = lambda e: -e * math.log(e) - (1 - e) * math.log(1 - e)  # noqa: E731
    assert discrete_information([code, np.full((100, 3), 1 / 3)]) == pytest.approx([math.log(2) - flip(0.1), 0.0])
    both = 0.1 * 0.8 + 0.9 * 0.2
    found = discrete_factor_information([code], LabelProbabilities([label]))
    assert found.information[0, 0] == pytest.approx(math.log(2) - flip(both), abs=1e-12)
    sure = discrete_factor_information([np.eye(2)[even], np.eye(2)[even]], even[:, None])
    assert rmig_from_information(sure) == 0.0
    alone = discrete_factor_information([np.eye(2)[even]], even[:, None])
    assert (rmig_from_information(alone), jemmig_from_information(alone)) == (pytest.approx(1.0), pytest.approx(0.0))
    assert discrete_factor_information([code], even[:, None], balanced=True).information[0, 0] == pytest.approx(
        math.log(2) - flip(0.1)
    )


def test_class_numbers_and_groups_are_scored_by_name() -> None:
    codes = np.column_stack([MEANS, LABELS[:, 0]])
    spread = np.column_stack([LOGVARS, np.full(600, -30.0)])
    flags = [False, False, False, True]
    table: Any = score_codes(codes, LABELS, "class_codes", SETTINGS, logvars=spread, discrete=flags, references=False)
    score = table.set_index("metric")["score"]
    assert score["class_informativeness_mean"] == pytest.approx(math.log(2), abs=0.01)
    assert table.set_index("metric")["per_factor"]["class_rmig"]["factor_0"] == pytest.approx(1.0)
    names = "grouped_information,grouped_interpretability"
    with pytest.raises(Exception, match="groups that name each of the 3 codes once"):
        score_codes(MEANS, LABELS, names, SETTINGS, logvars=LOGVARS)
    grouped: Any = score_codes(MEANS, LABELS, names, SETTINGS, logvars=LOGVARS, groups="0,1/2", references=False)
    score = grouped.set_index("metric")["score"]
    assert score["grouped_rmig"] > 0.95
    assert score["grouped_misjed"] > 0
    assert score["grouped_informativeness_mean"] > score["grouped_wsepin"] - 1


def test_bad_groups_and_probabilities_are_refused() -> None:
    with pytest.raises(PosteriorError, match="expected each of the codes 0 to 2 in exactly one group"):
        informativeness(MEANS, LOGVARS, estimator="sampled", groups=[[0, 1]])
    with pytest.raises(PosteriorError, match="a group of codes has no bins"):
        rmig_score(MEANS, LOGVARS, LABELS, groups=CIRCLE)
    with pytest.raises(PosteriorError, match="a group of codes has no bins"):
        informativeness(MEANS, LOGVARS, groups=CIRCLE)
    with pytest.raises(PosteriorError, match="do not sum to 1"):
        LabelProbabilities([[[0.5, 0.4]]])
    with pytest.raises(PosteriorError, match="expected 600, one for each row of means"):
        rmig_score(MEANS, LOGVARS, LabelProbabilities([[[0.5, 0.5]]]))
    with pytest.raises(Exception, match="expected codes by number"):
        score_codes(MEANS, LABELS, "mig", SETTINGS, groups="a/b")


def test_two_entropies_give_the_same_information_with_more_noise() -> None:
    means, logvars = np.random.default_rng(3).normal(size=(1500, 2)), np.full((1500, 2), 2 * math.log(0.8))
    truth = math.log((np.prod(means.var(axis=0) + 0.64)) / 0.64**2) / 2
    estimates = [
        [
            total_information(means[:300], logvars[:300], mixture=(means, logvars), seed=seed, paired=paired)
            for seed in range(8)
        ]
        for paired in (True, False)
    ]
    assert np.std(estimates[1]) > np.std(estimates[0])
    assert np.mean(estimates[1]) == pytest.approx(np.mean(estimates[0]), abs=0.06)
    assert np.mean(estimates[0]) == pytest.approx(truth, abs=0.1)


def test_latents_are_ordered_by_what_is_asked() -> None:
    means = np.column_stack([np.linspace(-0.1, 0.1, 50), np.linspace(-1.5, 1.5, 50), np.full(50, 2.5)])
    logvars = np.tile([-12.0, 0.0, -4.0], (50, 1))
    assert latent_order(means, logvars, by="variance").tolist() == [1, 0, 2]
    assert latent_order(means, logvars, by="informativeness").tolist() == [0, 1, 2]
    assert latent_order(means, logvars, by="kl").tolist() == [0, 2, 1]
    with pytest.raises(PosteriorError, match="expected variance, informativeness or kl"):
        latent_order(means, logvars, by="name")  # type: ignore[arg-type]
