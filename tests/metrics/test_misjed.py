"""MISJED against the slow twin, on exact cases, and the order of pairs that section 3.2 asks for."""

import math

import numpy as np
import posterior_references as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hackle.information import PosteriorError
from hackle.metrics.misjed import misjed


@settings(max_examples=25, deadline=None)
@given(arrays(float, (7, 3), elements=st.floats(-5, 5)), arrays(float, (7, 3), elements=st.floats(-8, 0)))
@pytest.mark.filterwarnings("ignore::hackle.information.OutOfRangeWarning")
def test_equals_the_slow_twin(means, logvars):
    # A third of a bin: means never fall on an edge, where the twin's rounding could differ.
    means = np.round(means / 0.7) * 0.7 + 0.233
    found = misjed(means, logvars, bins=11)
    expected = [[slow.misjed(means, logvars, i, j, 11) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def grid_means(values: int):
    """Two deterministic codes that take every combination of `values` bin centres once."""
    centres = -4 + 8 * (np.arange(values) + 0.5) / values
    return np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)


def test_independent_deterministic_codes_score_zero_and_copies_their_entropy():
    means = grid_means(10)
    sharp = np.full_like(means, -20.0)
    found = misjed(means, sharp, bins=10)
    assert found[0, 1] == pytest.approx(0.0, abs=1e-9)
    copied = misjed(means[:, [0, 0]], sharp, bins=10)
    assert copied[0, 1] == pytest.approx(math.log(10), abs=1e-9)
    assert found[0, 0] == pytest.approx(math.log(10), abs=1e-9)


def test_informative_pairs_come_before_mixed_and_noisy_ones():
    rng = np.random.default_rng(0)
    n = 20_000
    informative = rng.normal(size=(n, 2))
    noisy = 0.01 * rng.normal(size=(n, 2))
    means = np.column_stack([informative, noisy])
    logvars = np.column_stack([np.full((n, 2), -7.0), np.zeros((n, 2))])
    found = misjed(means, logvars, bins=50)
    both, one, none = found[0, 1], found[0, 2], found[2, 3]
    assert -1e-9 <= both < one < none
    assert both < 0.1
    # Both noisy: H(z̄_i, z̄_j) is next to nothing and MISJED about the sum of two N(0, 1) entropies.
    expected = 2 * (0.5 * math.log(2 * math.pi * math.e) - math.log(8 / 50))
    assert none == pytest.approx(expected, abs=1.5)
    # Plain mutual information of the draws would rank them the other way round: all near 0, noise smallest.
    assert misjed(means, logvars, bins=50, normalised=True)[2, 3] <= 1


def test_symmetry_invariance_and_normalisation():
    rng = np.random.default_rng(1)
    means, logvars = rng.normal(size=(400, 3)), rng.normal(-3, 1, size=(400, 3))
    found = misjed(means, logvars)
    np.testing.assert_array_equal(found, found.T)
    order, codes = rng.permutation(400), [2, 0, 1]
    np.testing.assert_allclose(misjed(means[order], logvars[order]), found, atol=1e-12)
    np.testing.assert_allclose(misjed(means[:, codes], logvars[:, codes]), found[np.ix_(codes, codes)], atol=1e-12)
    np.testing.assert_allclose(misjed(-means, logvars), found, atol=1e-12)
    np.testing.assert_allclose(misjed(means, logvars, normalised=True) * 2 * math.log(100), found)


def test_a_collapsed_code_changes_no_other_pair():
    rng = np.random.default_rng(1)
    means, logvars = rng.normal(size=(100, 2)), np.full((100, 2), -3.0)
    more = misjed(np.column_stack([means, np.zeros(100)]), np.column_stack([logvars, np.zeros(100)]))
    np.testing.assert_allclose(more[:2, :2], misjed(means, logvars), atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(PosteriorError, match="a logvar for each mean"):
        misjed(np.zeros((4, 2)), np.zeros((4, 3)))
