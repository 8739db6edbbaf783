"""R² on seen and left-out combinations: closed forms, invariances, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hackle.metrics import MetricError, generalisation_scores

ROWS = np.stack(np.meshgrid(np.arange(8), np.arange(6), np.arange(3), indexing="ij"), axis=-1).reshape(-1, 3)
END = ROWS[:, 0] >= 5


def parts(codes: np.ndarray, left_out: np.ndarray = END) -> tuple:
    seen = np.flatnonzero(~left_out)
    return tuple((codes[rows], ROWS[rows]) for rows in (seen[::2], seen[1::2], np.flatnonzero(left_out)))


def test_perfect_codes_generalise_to_every_combination() -> None:
    for codes in (ROWS * 1.0, ROWS @ np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, 1.0]])):
        found = generalisation_scores(*parts(codes))
        for r in found[:2]:
            np.testing.assert_allclose(r, 1, atol=1e-12)
        np.testing.assert_allclose(found.unseen, [1, np.nan, np.nan], atol=1e-12)


def test_codes_that_saturate_fail_on_values_beyond_training_alone() -> None:
    """A code that stops at the largest value of training, by hand: values 5, 6, 7 are read as 4."""
    codes = ROWS.astype(float)
    codes[:, 0] = np.minimum(codes[:, 0], 4)
    variances = ROWS.var(axis=0)
    found = generalisation_scores(*parts(codes), variances=variances)
    np.testing.assert_allclose(found.seen, 1, atol=1e-12)
    expected = 1 - (1 + 4 + 9) / 3 / ((64 - 1) / 12)
    np.testing.assert_allclose(found.left_out, [expected, 1, 1], atol=1e-12)
    np.testing.assert_allclose(found.unseen[0], expected, atol=1e-12)
    assert found.loss == pytest.approx(1 - expected)


def test_noise_reads_nothing_and_the_training_mean_is_not_the_grids() -> None:
    """Of constant codes the readout is the training rows' mean, 2, whose error over 5, 6, 7 exceeds the variance."""
    found = generalisation_scores(*parts(np.zeros((len(ROWS), 2))), variances=ROWS.var(axis=0))
    assert found.left_out[0] == pytest.approx(1 - (9 + 16 + 25) / 3 / (63 / 12))
    assert found.left_out[1] == pytest.approx(0, abs=0.01)


def test_left_out_rows_of_seen_values_have_no_unseen_entry() -> None:
    composition = (ROWS[:, 0] > 5) & (ROWS[:, 1] > 3)
    found = generalisation_scores(*parts(ROWS * 1.0, composition))
    assert np.isnan(found.unseen).all()
    assert found.loss == pytest.approx(0)


def test_what_is_lost_is_taken_over_the_factors_with_unseen_values() -> None:
    """The other factors are not read at all, seen or not: they neither hide nor add to the loss."""
    codes = np.minimum(ROWS[:, :1], 4.0)
    found = generalisation_scores(*parts(codes), variances=ROWS.var(axis=0))
    assert found.seen[1:] == pytest.approx([0, 0], abs=0.05)
    assert found.loss == pytest.approx(14 / 3 / (63 / 12))


def test_a_value_that_training_had_is_not_unseen_because_the_readout_was_not_fitted_to_it() -> None:
    """Real numbers hardly ever repeat, and few rows do not hold every value."""
    rng = np.random.default_rng(3)
    rows = rng.random((300, 2))
    out = rows[:, 0] > 0.5
    kept = rows[~out]
    points = [(part, part) for part in (kept[::2], kept[1::2], rows[out])]
    found = generalisation_scores(*points, unseen=np.repeat([[True, False]], out.sum(), axis=0))
    assert np.isfinite(found.unseen).tolist() == [True, False]
    few = ROWS[~END & (ROWS[:, 1] != 3)]
    found = generalisation_scores((few, few), (ROWS[~END], ROWS[~END]), (ROWS[END], ROWS[END]))
    assert np.isfinite(found.unseen).tolist() == [True, False, False]
    with pytest.raises(MetricError, match="expected a truth value for each"):
        generalisation_scores(*points, unseen=[True, False])


def test_scale_order_and_constant_codes_change_nothing() -> None:
    rng = np.random.default_rng(0)
    codes = ROWS + rng.normal(size=ROWS.shape)
    more = np.hstack([np.ones((len(ROWS), 1)), 7 - 3 * codes[:, ::-1]])
    for one, other in zip(generalisation_scores(*parts(codes)), generalisation_scores(*parts(more)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_the_readout_is_least_squares() -> None:
    rng = np.random.default_rng(2)
    codes = ROWS @ rng.normal(size=(3, 2)) + rng.normal(size=(len(ROWS), 2))
    train, seen, left_out = parts(codes)
    design = lambda part: np.hstack([part[0], np.ones((len(part[0]), 1))])  # noqa: E731
    weights = np.linalg.pinv(design(train)) @ train[1]
    found = generalisation_scores(train, seen, left_out, variances=[2.0, 3.0, 4.0])
    for part, r in ((seen, found.seen), (left_out, found.left_out)):
        errors = ((design(part) @ weights - part[1]) ** 2).mean(axis=0)
        np.testing.assert_allclose(r, 1 - errors / np.array([2.0, 3.0, 4.0]), atol=1e-10)


def test_what_does_not_fit_together_is_refused() -> None:
    train, seen, left_out = parts(ROWS * 1.0)
    with pytest.raises(MetricError, match="seen has codes"):
        generalisation_scores(train, (seen[0][:, :2], seen[1]), left_out)
    with pytest.raises(MetricError, match="left_out has codes"):
        generalisation_scores(train, seen, (left_out[0][1:], left_out[1]))
    with pytest.raises(MetricError, match="expected a positive number for each"):
        generalisation_scores(train, seen, left_out, variances=[1.0, 2.0, 0.0])
