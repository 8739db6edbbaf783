"""Intervals contain their score and cover its expectation, on codes drawn many times; `benchmarks/coverage.py` draws more."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coverage import KINDS, OF_CODES, covered, intervals
from scipy.stats import binom

from hackle.scoring.codes import score_codes

ROWS, HALVES = 150, 4
FEWER = {"explicitness": 12, "sap": 12, "dci": 20, "beta_vae": 20}
"""Simulations of each kind where 40 take long."""


@pytest.mark.parametrize("metric", OF_CODES)
def test_intervals_contain_their_score_and_cover_it(metric: str) -> None:
    """Over kinds of codes, as many as a coverage from 90% to 99% can give in so many draws, but for 1 in 1,000."""
    shares: dict[str, list[float]] = {}
    simulations = FEWER.get(metric, 40)
    for kind in KINDS:
        found = [intervals(metric, kind, ROWS, seed, HALVES) for seed in range(simulations)]
        for rows in found:
            assert all(low <= score <= high for score, low, high in rows.values())
        for key, share in covered(found).items():
            shares.setdefault(key, []).append(share)
    draws = simulations * len(KINDS)
    for key, share in shares.items():
        count = round(np.sum(share) * simulations)
        assert binom.cdf(count, draws, 0.90) > 1e-3, (key, share)
        assert binom.sf(count - 1, draws, 0.99) > 1e-3, (key, share)
        assert min(share) >= 0.75, (key, share)


def test_the_interval_of_a_high_mig_contains_it() -> None:
    """A percentile bootstrap put it below: repeated rows look dependent."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 10, size=(300, 2))
    codes = factors + 0.05 * rng.normal(size=factors.shape)
    (row,) = score_codes(codes, factors, "mig", bootstrap=30).to_dict("records")
    assert row["score"] > 0.8
    assert row["low"] < row["score"] < row["high"] <= 1
    assert row["high"] - row["low"] < 0.1
