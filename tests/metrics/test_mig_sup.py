"""MIG-sup against its formula and known cases."""

import numpy as np
import pytest
import references

from hackle.metrics import mig_score, mig_sup_from_information, mig_sup_per_code, mig_sup_score

GRID = np.stack(np.meshgrid(*[np.arange(4)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, (3, 5, 8), size=(400, 3))
CODES = {
    "perfect": FACTORS + 0.0,
    "rotated": FACTORS @ np.linalg.qr(RNG.normal(size=(3, 3)))[0],
    "noise": RNG.normal(size=(400, 5)),
}


def test_known_matrices():
    shares = np.array([[1, 0], [0, 1], [0, 0]])
    entropies = np.array([0.5, 2.0])
    assert mig_sup_from_information(shares * entropies, entropies) == pytest.approx(2 / 3)
    assert mig_sup_from_information(shares * entropies, entropies, active=True) == pytest.approx(1)
    assert mig_sup_from_information(np.zeros((2, 2)), entropies, active=True) == 0
    # Two factors of one code: the normalised informations count, not the larger information.
    np.testing.assert_allclose(mig_sup_per_code([[0.5, 1.0]], entropies), [0.5])
    np.testing.assert_allclose(mig_sup_per_code([[0.4], [0.0]], [0.5]), [0.8, 0.0])


@pytest.mark.parametrize("kind", CODES)
def test_codes_agree_with_the_formula(kind):
    shares = references.information_matrix(CODES[kind], FACTORS, 20) / [references.entropy(v) for v in FACTORS.T]
    gaps = [sorted(row)[-1] - sorted(row)[-2] for row in shares]
    assert mig_sup_score(CODES[kind], FACTORS) == pytest.approx(np.mean(gaps), abs=1e-9)


def test_it_is_the_mirror_of_mig():
    codes = GRID * 1.0
    assert mig_sup_score(codes, GRID, bins=4) == pytest.approx(1)
    twice = np.hstack([codes, codes])
    assert (mig_sup_score(twice, GRID, bins=4), mig_score(twice, GRID, bins=4)) == pytest.approx((1, 0))
    both = codes @ [[1.0], [4.0]]
    assert (mig_sup_score(both, GRID, bins=16), mig_score(both, GRID, bins=16)) == pytest.approx((0, 1))


def test_dead_codes_count_only_among_all():
    codes = np.hstack([GRID * 1.0, np.ones((16, 1)), 0.01 * (GRID[:, :1] - GRID[:, 1:])])
    assert mig_sup_score(codes, GRID, bins=4) < 0.76
    assert mig_sup_score(codes, GRID, bins=4, active=True) == pytest.approx(1)
    assert mig_sup_score(np.ones((16, 2)), GRID, bins=4, active=True) == 0
