"""The mutual information gap against its formula and known cases."""

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st

from hackle.metrics import MetricError, mig_from_information, mig_per_factor, mig_score


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 3), st.integers(2, 9))
@settings(deadline=None, max_examples=40)
def test_agrees_with_the_formula(seed, codes, factors, bins):
    rng = np.random.default_rng(seed)
    v = np.vstack([np.zeros(factors, int), np.ones(factors, int), rng.integers(0, 4, size=(40, factors))])
    z = v[:, rng.integers(factors, size=codes)] + rng.normal(size=(42, codes))
    assert mig_score(z, v, bins=bins) == pytest.approx(references.mig(z, v, bins), abs=1e-12)


def test_duplicated_codes_have_no_gap():
    factors = np.random.default_rng(0).integers(0, 4, size=(500, 2))
    codes = factors * 1.0
    assert mig_score(codes, factors) == pytest.approx(1.0, abs=0.02)
    assert mig_score(np.hstack([codes, codes]), factors) == 0.0


def test_twenty_bins_cannot_resolve_forty_values():
    factors = np.random.default_rng(0).integers(0, 40, size=(10_000, 1))
    assert mig_score(factors * 1.0, factors) == pytest.approx(np.log(20) / np.log(40), abs=0.01)
    assert mig_score(factors * 1.0, factors, bins=40) == pytest.approx(1.0)


def test_rows_are_samples_and_not_codes():
    factors = np.random.default_rng(0).integers(0, 4, size=(500, 2))
    with pytest.raises(MetricError):
        mig_score(factors.T * 1.0, factors)


def test_a_sole_code_has_no_rival():
    assert mig_from_information([[0.5, 0.2]], [1.0, 0.4]) == pytest.approx(0.5)


def test_factors_enter_alike():
    gaps = mig_per_factor([[0.6, 0.1], [0.1, 0.5], [0.3, 0.0]], [0.6, 2.0])
    np.testing.assert_allclose(gaps, [0.5, 0.2])


@pytest.mark.parametrize("entropies", [[1.0], [1.0, 0.0], [1.0, np.nan], [[1.0, 1.0]]])
def test_entropies_must_be_positive_and_one_for_each_factor(entropies):
    with pytest.raises(MetricError, match="entropies"):
        mig_from_information([[0.5, 0.2]], entropies)


def test_fewer_samples_than_bins_are_refused():
    with pytest.raises(MetricError, match="10 samples cannot fill 20 bins"):
        mig_score(np.arange(10.0)[:, None], np.arange(10)[:, None] % 2)


def test_rounding_alone_is_no_information():
    factors = np.random.default_rng(0).integers(4, size=(500, 2))
    rounded = 1 + 1e-14 * factors
    assert mig_score(rounded, factors) == 0
    codes = np.hstack([factors * 1.0, rounded])
    assert mig_score(codes, factors) == mig_score(codes[:, :2], factors)
