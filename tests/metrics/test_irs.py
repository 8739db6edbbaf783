"""IRS: the definition in loops, closed forms, noise, and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from samples import disentangled, imperfect, make_sample

from hackle.metrics import MetricError, irs_score
from hackle.scoring.codes import score_codes
from hackle.scoring.protocol import PROTOCOLS

SAMPLE, OTHER = make_sample(disentangled), make_sample(imperfect)
ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
CODES = {
    "perfect": SAMPLE.factors * 1.0,
    "nearly": SAMPLE.codes,
    "rotated": SAMPLE.codes @ ROTATION,
    "noise": np.random.default_rng(1).normal(size=(600, 3)),
}
DSPRITES = (3, 6, 40, 32, 32)


def by_hand(codes: np.ndarray, factors: np.ndarray, quantile: float) -> float:
    weighted, weights = 0.0, 0.0
    for code in codes.T:
        largest = max(abs(z - np.mean(code)) for z in code)
        robust = []
        for factor in factors.T:
            deviations = []
            for value in sorted(set(factor.tolist())):
                here = [z for z, v in zip(code, factor, strict=True) if v == value]
                deviations.append(np.percentile([abs(z - sum(here) / len(here)) for z in here], 100 * quantile))
            robust.append(1 - sum(deviations) / len(deviations) / largest)
        weighted, weights = weighted + largest * max(0.0, *robust), weights + largest
    return weighted / weights


@pytest.mark.parametrize("quantile", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("kind", CODES)
def test_it_is_what_the_definition_says(kind: str, quantile: float) -> None:
    found = irs_score(CODES[kind], SAMPLE.factors, quantile=quantile)
    assert found == pytest.approx(by_hand(CODES[kind], SAMPLE.factors, quantile), abs=1e-12)


def test_closed_forms() -> None:
    for quantile in (0.5, 0.99, 1.0):
        pairs, grid = (np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2) for n in (2, 10))
        assert irs_score(grid * 1.0, grid, quantile=quantile) == pytest.approx(1.0, abs=1e-12)
        assert irs_score(grid * 1.0, grid, quantile=quantile, ranked=True) == pytest.approx(1.0, abs=1e-12)
        assert irs_score(pairs.sum(axis=1) * 1.0, pairs, quantile=quantile) == pytest.approx(0.5, abs=1e-12)
    turned = grid @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert irs_score(turned, grid) == pytest.approx(0.5, abs=1e-12)
    assert irs_score(np.full((100, 3), 2.5), grid) == 0.0


def test_noise_scores_by_its_tails_unless_it_is_ranked() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, DSPRITES, size=(10_000, 5))
    gaussian, uniform = rng.normal(size=(10_000, 10)), rng.random((10_000, 10))
    given: Any = {"kinds": "categorical"}
    assert irs_score(gaussian, factors, **given) == pytest.approx(0.38, abs=0.03)
    assert irs_score(gaussian, factors, quantile=1.0, **given) == pytest.approx(0.25, abs=0.03)
    assert irs_score(uniform, factors, **given) == pytest.approx(0.015, abs=0.005)
    assert irs_score(uniform, factors, quantile=1.0, **given) == pytest.approx(0.0, abs=0.005)
    for codes in (gaussian, uniform):
        assert irs_score(codes, factors, ranked=True, **given) == pytest.approx(0.013, abs=0.006)


def test_order_sign_and_one_scale_do_not_matter_and_ranks_forgive_monotone_functions() -> None:
    codes, factors = OTHER.codes, OTHER.factors
    expected, ranked = irs_score(codes, factors), irs_score(codes, factors, ranked=True)
    assert irs_score(-3.0 * codes[:, ::-1] + 4.0, factors) == pytest.approx(expected, abs=1e-12)
    assert irs_score(np.insert(codes, 2, 1.0, axis=1), factors) == pytest.approx(expected, abs=1e-12)
    assert irs_score(np.exp(codes), factors, ranked=True) == pytest.approx(ranked, abs=1e-12)
    assert irs_score(np.exp(codes), factors) != pytest.approx(expected, abs=0.01)


def test_continuous_factors_are_cut_into_bins_and_never_reach_one() -> None:
    numbers = np.random.default_rng(0).random((5_000, 2))
    wide, narrow = (irs_score(numbers, numbers, factor_bins=bins) for bins in (10, 100))
    assert 0.85 < wide < 0.92 < 0.97 < narrow < 1.0


def test_options_out_of_range_are_refused_and_a_table_has_both_rows() -> None:
    for quantile in (0.0, 1.1, float("nan")):
        with pytest.raises(MetricError, match="quantile is"):
            irs_score(SAMPLE.codes, SAMPLE.factors, quantile=quantile)
    table: Any = score_codes(SAMPLE.codes, SAMPLE.factors, "irs", PROTOCOLS["locatello2019"].smaller(0.02), bootstrap=3)
    assert list(table["metric"]) == ["irs", "irs_ranked"]
    assert ((table["chance"] < table["score"]) & (table["score"] < table["reference"])).all()
    np.testing.assert_allclose(table["reference"], 1.0, atol=1e-6)
