"""MCC: brute force over all matchings, closed forms, invariances, and which factors it takes."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from samples import disentangled, make_sample, values
from scipy.stats import pearsonr, spearmanr

from hackle.core.factors import Factor, FactorGrid
from hackle.core.notes import note_codes
from hackle.metrics import MetricError, mcc_from_correlations, mcc_matrix, mcc_score
from hackle.metrics.mcc import CategoricalFactorsWarning
from hackle.metrics.metric import METRICS
from hackle.metrics.needs import Subject
from hackle.scoring.codes import score_codes
from hackle.scoring.protocol import PROTOCOLS

SAMPLE = make_sample(disentangled)
ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
CODES = {
    "perfect": values(SAMPLE.factors),
    "rotated": values(SAMPLE.factors) @ ROTATION,
    "noise": np.random.default_rng(1).normal(size=(600, 4)),
    "more codes than factors": np.random.default_rng(2).normal(size=(600, 6)),
    "fewer codes than factors": SAMPLE.codes[:, :2],
}


def by_hand(codes: np.ndarray, factors: np.ndarray, correlate: Any) -> float:
    """Every matching tried; the side that is too small is filled up with zeros."""
    size = max(codes.shape[1], factors.shape[1])
    table = np.zeros((size, size))
    for j, k in np.ndindex(codes.shape[1], factors.shape[1]):
        table[j, k] = abs(correlate(codes[:, j], factors[:, k])[0])
    return max(sum(table[j, k] for j, k in enumerate(order)) for order in permutations(range(size))) / factors.shape[1]


@pytest.mark.parametrize("kind", CODES)
def test_it_is_the_best_of_all_matchings(kind: str) -> None:
    for name, correlate in (("pearson", pearsonr), ("spearman", spearmanr)):
        found = mcc_score(CODES[kind], SAMPLE.factors, correlation=name)
        assert found == pytest.approx(by_hand(CODES[kind], SAMPLE.factors, correlate), abs=1e-12)
    if kind == "fewer codes than factors":
        assert 0.45 < found < 0.5


def test_closed_forms() -> None:
    grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(-1, 2)
    turned = grid @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert mcc_score(turned, grid) == pytest.approx(np.sqrt(0.5), abs=1e-12)
    # z = v³ of v uniform on (−1, 1), at the midpoints of equal steps.
    even = (np.arange(100_000) + 0.5) / 50_000 - 1
    assert mcc_score(even**3, even, kinds="continuous") == pytest.approx(np.sqrt(21) / 5, abs=1e-9)
    assert mcc_score(even**3, even, kinds="continuous", correlation="spearman") == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_order_sign_and_scale_of_codes_do_not_matter(correlation: str) -> None:
    factors = SAMPLE.factors
    changed = factors[:, [2, 0, 3, 1]] * np.array([-3.0, 1e-3, 7.0, -1e6]) + 5.0
    assert mcc_score(changed, factors, correlation=correlation) == pytest.approx(1.0, abs=1e-12)
    mixed = CODES["rotated"]
    other = mixed[:, ::-1] * np.array([-2.0, 0.1, 30.0, -1.0]) + 1.0
    expected = mcc_score(mixed, factors, correlation=correlation)
    assert mcc_score(other, factors, correlation=correlation) == pytest.approx(expected, abs=1e-12)
    if correlation == "spearman":
        assert mcc_score(np.exp(mixed), factors, correlation=correlation) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "codes", "factors", "level"),
    [(1_000, 5, 5, 0.047), (1_000, 100, 5, 0.089), (1_000, 1_000, 10, 0.110), (10_000, 5, 5, 0.013)],
)
def test_chance_grows_with_the_number_of_codes(rows: int, codes: int, factors: int, level: float) -> None:
    rng = np.random.default_rng(codes)
    drawn = [(rng.normal(size=(rows, codes)), rng.normal(size=(rows, factors))) for _ in range(8 if codes < 999 else 2)]
    found = np.mean([mcc_score(*one, kinds="continuous") for one in drawn])
    assert found == pytest.approx(level, rel=0.15)


def test_ties_share_their_rank_and_constant_codes_correlate_with_nothing() -> None:
    codes, factors = np.array([[1.0, 7.0], [2.0, 7.0], [2.0, 7.0], [3.0, 7.0]]), np.array([0, 1, 2, 2])
    found = mcc_matrix(codes, factors, correlation="spearman", kinds="ordinal")
    rank_correlation: Any = spearmanr(codes[:, 0], factors)[0]
    np.testing.assert_allclose(found[:, 0], [rank_correlation, 0.0], atol=1e-12)
    assert mcc_score(np.full((4, 2), 7.0), factors) == 0.0
    assert mcc_from_correlations([[0.9], [0.3]]) == 0.9
    assert mcc_from_correlations([[0.9, 0.3]]) == 0.45


def test_categorical_factors_of_more_than_two_values_are_left_out() -> None:
    rng = np.random.default_rng(0)
    factors = {
        "shape": rng.choice(["ball", "box", "cone"], 300),
        "lit": rng.choice(["no", "yes"], 300),
        "x": rng.random(300),
    }
    codes = np.column_stack([factors["lit"] == "yes", factors["x"]]) * 1.0
    with pytest.warns(CategoricalFactorsWarning, match="left out: shape"):
        assert mcc_score(codes, factors) == pytest.approx(1.0)
    with pytest.raises(MetricError, match=r"shape.*categorical with more than two values"):
        mcc_score(codes, {"shape": factors["shape"]})
    with pytest.raises(MetricError, match="expected one of pearson, spearman"):
        mcc_score(codes, factors, correlation="kendall")
    small = PROTOCOLS["locatello2019"].smaller(0.02)
    table: Any = score_codes(codes, factors, "mcc", small)
    assert list(table["metric"]) == ["mcc", "mcc_spearman"]
    np.testing.assert_allclose(table[["score", "reference"]], 1.0, atol=1e-6)
    assert (table["chance"] < 0.25).all()
    assert all("left out: shape" in note and "categorical" in note_codes(note) for note in table["note"])


def test_it_does_not_fit_where_no_factor_has_an_order() -> None:
    shapes = FactorGrid([Factor("shape", 3, "categorical"), Factor("colour", 4, "categorical")])
    lit = FactorGrid([Factor("shape", 3, "categorical"), Factor("lit", 2, "categorical")])
    settings = PROTOCOLS["locatello2019"]
    assert METRICS["mcc"].missing(Subject(shapes, settings, 5)).startswith("a factor with an order or with two values")
    assert METRICS["mcc"].missing(Subject(lit, settings, 5)) == ""
    assert METRICS["mcc"].has_reference
