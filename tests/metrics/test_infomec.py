"""InfoM, InfoC and InfoE against hand-made matrices, brute force, scikit-learn and the cases of the paper's code."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.special import digamma
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

from hackle.information.entries import Ranges
from hackle.metrics import MetricError, infomec_from_information, infomec_scores
from hackle.metrics.infomec import active_codes

RNG = np.random.default_rng(0)
SIZES = np.array([3, 4, 6])
FACTORS = RNG.integers(0, SIZES, size=(900, 3))
ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
CODES = {
    "perfect": FACTORS + 0.02 * RNG.normal(size=FACTORS.shape),
    "rotated": (FACTORS / SIZES + 0.02 * RNG.normal(size=FACTORS.shape)) @ ROTATION,
    "noise": RNG.normal(size=(900, 4)),
}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        (np.eye(3), (1.0, 1.0)),
        ([[1, 0], [0.5, 0.5]], (0.5, 2 / 3)),
        (np.full((4, 3), 0.2), (0.0, 0.0)),
        (np.vstack([np.eye(2)] * 2), (1.0, 1 / 3)),
        (np.vstack([np.eye(3)] * 4), (1.0, 2 / 11)),
        ([[1, 1, 1]], (0.0, 1.0)),
        ([[1], [0.5]], (1.0, 1 / 3)),
        ([[0.4]], (1.0, 1.0)),
        ([[1, 0], [0, 0]], (1.0, 0.5)),
        (np.zeros((3, 2)), (0.0, 0.0)),
        # Ross's estimate can be slightly above the entropy.
        ([[1.002, 0], [0, 1]], (1.0, 1.0)),
    ],
)
def test_known_matrices(shares, expected):
    """Rows are codes. The factors' entropies scale out."""
    entropies = np.linspace(0.5, 2.0, np.shape(shares)[1])
    assert infomec_from_information(np.array(shares) * entropies, entropies) == pytest.approx(expected)


def brute_information(code, classes, k):
    """Ross 2014 word for word, from the table of all distances."""
    total, rows = 0.0, len(code)
    for i in range(rows):
        same = [abs(code[j] - code[i]) for j in range(rows) if j != i and classes[j] == classes[i]]
        nearest = sorted(same)[min(k, len(same)) - 1]
        within = sum(abs(other - code[i]) < nearest for other in code)
        total += digamma(min(k, len(same))) - digamma(len(same) + 1) - digamma(within)
    return max(0.0, digamma(rows) + total / rows)


@pytest.mark.parametrize("kind", CODES)
def test_codes_are_scored_as_the_paper_defines(kind):
    """InfoM and InfoC by loops, InfoE by scikit-learn's unpenalised regression with balanced classes, run to the end."""
    codes, factors = CODES[kind][:300], FACTORS[:300]
    shares = np.empty((3, codes.shape[1]))
    explicit = []
    standard = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    for k, factor in enumerate(factors.T):
        p = np.bincount(factor) / len(factor)
        entropy = -np.sum(p * np.log(p))
        shares[k] = [min(1.0, brute_information(code.tolist(), factor.tolist(), 10) / entropy) for code in codes.T]
        fit = LogisticRegression(C=math.inf, class_weight="balanced", max_iter=100_000, tol=1e-5).fit(standard, factor)
        explicit.append(1 - log_loss(factor, fit.predict_proba(standard)) / math.log(len(p)))
    informed = shares[:, shares.sum(axis=0) > 0]
    infom = (np.mean(informed.max(axis=0) / informed.sum(axis=0)) - 1 / 3) / (1 - 1 / 3)
    a = codes.shape[1]
    infoc = (np.mean(shares.max(axis=1) / shares.sum(axis=1)) - 1 / a) / (1 - 1 / a)
    found = infomec_scores(codes, factors)
    assert found[:2] == pytest.approx((infom, infoc), abs=1e-9)
    assert found.explicitness == pytest.approx(np.mean(explicit), abs=2e-3)


def test_perfect_rotated_and_noise_codes():
    perfect, rotated, noise = (infomec_scores(CODES[kind], FACTORS) for kind in CODES)
    assert min(perfect[:2]) > 0.97
    assert perfect.explicitness > 0.999
    assert max(rotated[:2]) < 0.6
    assert rotated.explicitness > 0.9
    assert noise.explicitness < 0.05


@pytest.mark.parametrize("size", [2, 6, 40])
@pytest.mark.parametrize("discrete", [False, True])
def test_a_perfect_code_stops_a_little_short_of_explicit(size, discrete):
    factor = RNG.integers(0, size, size=(10_000, 1))
    assert 0.999 < infomec_scores(factor, factor, discrete=discrete, kinds="ordinal").explicitness < 1


def test_discrete_codes_are_counted_and_copies_cost_compactness():
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 2), axis=-1).reshape(-1, 2).repeat(20, axis=0)
    assert infomec_scores(grid, grid, discrete=True)[:2] == pytest.approx((1, 1))
    assert infomec_scores(np.hstack([grid, grid]), grid, discrete=True)[:2] == pytest.approx((1, 1 / 3))
    # One code that names both factors.
    assert infomec_scores(grid @ [[1], [4]], grid, discrete=True)[:2] == pytest.approx((0, 1))
    renamed = np.array([7, -2, 0, 3])[grid]
    assert infomec_scores(renamed, grid, discrete=True)[:2] == pytest.approx((1, 1))
    mixed = np.hstack([grid[:, :1], grid[:, 1:] + 0.01 * RNG.normal(size=(320, 1))])
    assert infomec_scores(mixed, grid, discrete=[True, False])[:2] == pytest.approx((1, 1), abs=0.02)


def test_constant_and_inactive_codes_change_nothing():
    codes = CODES["perfect"]
    plain = infomec_scores(codes, FACTORS)
    assert infomec_scores(np.insert(codes, 1, 3.0, axis=1), FACTORS) == pytest.approx(plain, abs=1e-6)
    dead = np.hstack([codes, 0.01 * RNG.normal(size=(900, 1))])
    assert infomec_scores(dead, FACTORS)[:2] == pytest.approx(plain[:2], abs=1e-6)
    ranges = Ranges(dead.min(axis=0), dead.max(axis=0))
    np.testing.assert_array_equal(active_codes(ranges), [True, True, True, False])
    np.testing.assert_array_equal(active_codes(ranges, np.array([False, False, False, True])), [True] * 4)
    assert infomec_scores(np.ones((900, 2)), FACTORS) == pytest.approx((0, 0, 0), abs=1e-3)


def test_one_factor_or_one_code_divides_nothing_by_zero():
    found = infomec_scores(CODES["perfect"][:, :1], FACTORS[:, :1])
    assert found[:2] == (1.0, 1.0)
    assert infomec_scores(CODES["perfect"], FACTORS[:, :1]).modularity == 1.0
    assert infomec_scores(CODES["perfect"][:, :1], FACTORS, discrete=False).compactness <= 1.0


def test_explicitness_does_not_notice_linear_mixing():
    """Up to where the solver stops, which looks at single entries of the gradient."""
    codes = FACTORS + RNG.normal(size=FACTORS.shape)
    mixed, plain = codes @ RNG.normal(size=(3, 5)) + 7, infomec_scores(codes, FACTORS).explicitness
    assert infomec_scores(mixed, FACTORS).explicitness == pytest.approx(plain, abs=1e-4)


def test_balanced_classes_are_measured_against_the_logarithm_of_their_number():
    """A prediction from the frequencies alone has ln 2 balanced and 0.325 nats otherwise."""
    factor = (np.arange(4000) % 10 == 0).astype(int)
    code = factor[:, None] + RNG.normal(size=(4000, 1))
    for balanced, without in ((True, math.log(2)), (False, 0.3250830)):
        fit = LogisticRegression(C=math.inf, class_weight="balanced" if balanced else None, tol=1e-8).fit(code, factor)
        expected = 1 - log_loss(factor, fit.predict_proba(code)) / without
        assert infomec_scores(code, factor, balanced=balanced).explicitness == pytest.approx(expected, abs=5e-4)


def test_explicitness_of_a_continuous_factor_is_the_r2_of_a_line():
    values = RNG.random((500, 2))
    codes = np.column_stack([values[:, 0] ** 3, values[:, 1], RNG.normal(size=500)])
    expected = np.mean([LinearRegression().fit(codes, v).score(codes, v) for v in values.T])
    assert infomec_scores(codes, values, kinds="continuous").explicitness == pytest.approx(expected, abs=1e-9)


def test_bad_options_are_refused():
    with pytest.raises(MetricError, match="2 flags for 3 codes"):
        infomec_scores(CODES["perfect"], FACTORS, discrete=[True, False])
    with pytest.raises(MetricError, match="neighbours is 0"):
        infomec_scores(CODES["perfect"], FACTORS, neighbours=0)


def test_ten_thousand_rows_of_ten_codes_take_seconds():
    """The figure is 4 s on two free cores; the limit leaves room for a machine that does other work."""
    factors = RNG.integers(0, (3, 6, 40, 32, 32), size=(10_000, 5))
    codes = np.hstack([factors / (3, 6, 40, 32, 32) + 0.1 * RNG.normal(size=(10_000, 5)), RNG.normal(size=(10_000, 5))])
    started = time.process_time()
    infomec_scores(codes, factors, kinds="ordinal")
    assert time.process_time() - started < 8
