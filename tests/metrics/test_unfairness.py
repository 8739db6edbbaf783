"""Unfairness: counts by hand, predictors that copy or ignore, and predictions counted one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from hackle.metrics import MetricError, total_variations, unfairness, unfairness_from_counts, unfairness_matrix
from hackle.metrics.predictors import trees

SIZES = (3, 4, 2)
RNG = np.random.default_rng(0)
FACTORS = RNG.integers(SIZES, size=(600, 3))
IMAGES = RNG.integers(SIZES, size=(50, 3))
HELD = np.repeat(np.arange(3), SIZES)
GROUPS = np.stack([np.where(np.arange(3) == s, a, IMAGES) for s, size in enumerate(SIZES) for a in range(size)])
ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


def noisy(rows: np.ndarray) -> np.ndarray:
    return RNG.normal(size=rows.shape)


CODES: dict[str, Any] = {
    "perfect": lambda rows: rows * 1.0,
    "rotated": lambda rows: rows @ ROTATION + 0.8 * RNG.normal(size=rows.shape),
    "noise": noisy,
}


def by_hand(predict: Any, train: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Every prediction on its own, with distributions as dictionaries."""
    found = np.full((3, 3), np.nan)
    for target in range(3):
        answer = predict(train, FACTORS[:, target])
        for sensitive in {0, 1, 2} - {target}:
            tables = [Counter(answer(group).tolist()) for group, s in zip(groups, HELD, strict=True) if s == sensitive]
            shares = [{y: count / 50 for y, count in table.items()} for table in tables]
            classes = {y for share in shares for y in share}
            whole = {y: sum(share.get(y, 0.0) for share in shares) / len(shares) for y in classes}
            apart = [sum(abs(share.get(y, 0.0) - whole[y]) for y in classes) / 2 for share in shares]
            found[target, sensitive] = sum(apart) / len(apart)
    return found


@pytest.mark.parametrize("kind", CODES)
def test_it_is_what_predictions_counted_one_by_one_give(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    train, groups = CODES[kind](FACTORS), CODES[kind](GROUPS.reshape(-1, 3)).reshape(GROUPS.shape)
    mean, deviation = train.mean(axis=0), train.std(axis=0)

    def logistic(codes: np.ndarray, classes: np.ndarray) -> Any:
        model = LogisticRegression(max_iter=10_000).fit((codes - mean) / deviation, classes)
        return lambda rows: model.predict((rows - mean) / deviation)

    # One penalty, C = 1, in place of the best of ten.
    monkeypatch.setattr("hackle.metrics.downstream._PENALTIES", np.array([1.0]))
    found = unfairness_matrix(train, FACTORS, groups, HELD, classifier="logistic-cv")
    np.testing.assert_allclose(found, by_hand(logistic, train, groups), atol=1e-12)
    expected = np.mean([np.nanmean(row) for row in found])
    assert unfairness(train, FACTORS, groups, HELD, classifier="logistic-cv") == pytest.approx(expected, abs=1e-12)
    if kind == "perfect":
        assert expected == 0.0


def test_boosted_trees_are_close_to_those_of_scikit_learn() -> None:
    """Two rounded codes of three factors, so that predictions of one depend on the others."""
    train, groups = (FACTORS @ ROTATION[:, :2]).round(), (GROUPS @ ROTATION[:, :2]).round()

    def boosted(codes: np.ndarray, classes: np.ndarray) -> Any:
        return GradientBoostingClassifier(random_state=0).fit(codes, classes).predict

    found = unfairness_matrix(train, FACTORS, groups, HELD)
    np.testing.assert_allclose(found, by_hand(boosted, train, groups), atol=0.03)
    assert np.nanmean(found) > 0.05


def test_closed_forms() -> None:
    np.testing.assert_allclose(total_variations([[0, 100], [100, 100]]), [1 / 3, 1 / 6])
    assert unfairness_from_counts([[0, 100], [100, 100]]) == pytest.approx(2 / 9, abs=1e-12)
    for values in (2, 5, 40):
        assert unfairness_from_counts(100 * np.eye(values)) == pytest.approx(1 - 1 / values, abs=1e-12)
        assert unfairness_from_counts(np.ones((3, values))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("classifier", ["gbt", "logistic-cv"])
def test_predictors_that_copy_and_that_ignore(classifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_ROUNDS", 20)
    # In training both factors are the same, and the codes hold the first alone: predictions of the second copy the first.
    same = np.repeat(np.arange(4), 50)[:, None].repeat(2, axis=1)
    groups = np.stack([np.full((20, 1), a) for a in range(4)] + [np.arange(20)[:, None] % 4] * 4) * 1.0
    held = np.repeat([0, 1], 4)
    found = unfairness_matrix(same[:, :1] * 1.0, same, groups, held, classifier=classifier)
    np.testing.assert_allclose(found, [[np.nan, 0.0], [0.75, np.nan]], atol=1e-12)
    assert unfairness(same[:, :1] * 1.0, same, groups, held, classifier=classifier) == pytest.approx(0.375, abs=1e-12)
    # Codes that never vary predict the same whatever is set.
    assert unfairness(np.ones((200, 2)), same, np.ones((8, 20, 2)), held, classifier=classifier) == 0.0


def test_fresh_images_for_each_value_have_a_floor() -> None:
    """Forty classes, 32 values, 100 rows of a predictor that ignores the sensitive factor."""
    rng = np.random.default_rng(0)
    counts = np.stack([np.bincount(rng.integers(40, size=100), minlength=40) for _ in range(32)], axis=1)
    assert unfairness_from_counts(counts) == pytest.approx(0.25, abs=0.02)


def test_what_cannot_be_is_refused() -> None:
    codes, groups = FACTORS * 1.0, GROUPS * 1.0
    for given, words in (
        ((codes, FACTORS, groups[:, :, :2], HELD), "interventions have 2 codes, the training rows 3"),
        ((codes, FACTORS, groups, HELD + 1), "expected columns 0 to 2"),
        ((codes, FACTORS, groups, HELD[:-1]), "names 8 factors for 9 groups"),
        ((codes, FACTORS[:, :1], groups[:3], HELD[:3]), "expected interventions on a second factor"),
    ):
        with pytest.raises(MetricError, match=words):
            unfairness(*given, classifier="logistic-cv")
    with pytest.raises(MetricError, match="expected one of logistic-cv, gbt"):
        unfairness(codes, FACTORS, groups, HELD, classifier="forest")
    with pytest.raises(MetricError, match="has no predictions"):
        total_variations([[0, 1], [0, 1]])
