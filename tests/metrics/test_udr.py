"""UDR against hand-made similarities, scikit-learn's Lasso and SciPy's Spearman by loops, and closed forms."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso

from hackle.metrics import MetricError, udr_from_similarity, udr_pair, udr_scores

RNG = np.random.default_rng(0)
CODES = RNG.normal(size=(600, 5)) * [1, 2, 0.5, 3, 1]
ROTATION = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
OTHERS = {
    "the same": CODES,
    "permuted, negated and scaled": -CODES[:, [3, 1, 4, 0, 2]] * [1, 5, 1, 0.1, 1],
    "rotated": (CODES / CODES.std(axis=0)) @ ROTATION,
    "noise": RNG.normal(size=(600, 4)),
    "mixed": np.tanh(CODES @ RNG.normal(size=(5, 6)) * 0.3),
}


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (np.eye(3), 1.0),
        ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], 2 / 3),
        (np.ones((3, 3)), 1 / 3),
        (np.zeros((3, 3)), 0.0),
        # Two codes for one: the column's share is 1/2, each row's is 1.
        ([[1], [1]], 0.75),
        # A code that the other model lacks.
        ([[1, 0], [0, 0]], 0.5),
        (0.5 * np.eye(2), 0.5),
    ],
)
def test_known_similarities(similarity, expected):
    assert udr_from_similarity(similarity) == pytest.approx(expected)


def by_loops(first, second, kept, kind):
    """The definition word for word on the codes that are kept."""
    x, y = (((z - z.mean(axis=0)) / z.std(axis=0))[:, own] for z, own in zip((first, second), kept, strict=True))
    matrix = np.empty((x.shape[1], y.shape[1]))
    for b in range(y.shape[1]):
        if kind == "lasso":
            matrix[:, b] = np.abs(Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(x, y[:, b]).coef_)
        else:
            matrix[:, b] = [np.abs(np.asarray(spearmanr(x[:, a], y[:, b]))[0]) for a in range(x.shape[1])]
    shares = []
    for lines in (matrix.T, matrix):
        shares.append(np.mean([max(line) ** 2 / sum(line) if sum(line) > 0 else 0.0 for line in lines]))
    return sum(shares) / 2


@pytest.mark.parametrize("kind", ["lasso", "spearman"])
@pytest.mark.parametrize("name", OTHERS)
def test_pairs_agree_with_the_definition(name, kind):
    other = OTHERS[name]
    kl, other_kl = np.array([1, 0.01, 2, 0.02, 3]), np.linspace(0, 1, other.shape[1])
    for first, second, kls in ((CODES, other, (kl, other_kl)), (other, CODES, (other_kl, kl)), (CODES, other, None)):
        kept = [np.ones(z.shape[1], bool) for z in (first, second)] if kls is None else [one > 0.01 for one in kls]
        found = udr_pair(first, second, *(kls or ()), similarity=kind)
        assert found == pytest.approx(by_loops(first, second, kept, kind), abs=1e-6)


def test_perfect_agreement_scores_one_less_alpha_by_lasso_and_one_by_spearman():
    """Codes that are exactly uncorrelated, and on a full grid also in their ranks."""
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    other = -grid[:, [2, 0, 1]]
    assert udr_pair(grid, other) == pytest.approx(0.9)
    assert udr_pair(grid, other, alpha=0.3) == pytest.approx(0.7)
    assert udr_pair(grid, other, similarity="spearman") == pytest.approx(1.0)


def test_rotated_codes_score_low():
    codes = RNG.normal(size=(5000, 5))
    for kind in ("lasso", "spearman"):
        assert udr_pair(codes, codes @ ROTATION, similarity=kind) < 0.45


def test_a_models_score_is_the_median_over_those_that_predict_it():
    codes = list(OTHERS.values())
    found = udr_scores(codes)
    assert np.isnan(np.diag(found.pairs)).all()
    assert found.pairs[3, 1] == pytest.approx(udr_pair(codes[3], codes[1]), abs=1e-6)
    assert found.scores[1] == pytest.approx(np.median([udr_pair(codes[i], codes[1]) for i in (0, 2, 3, 4)]), abs=1e-6)
    np.testing.assert_array_equal(found.kept, [5, 5, 5, 4, 6])


def test_only_models_of_one_group_are_compared():
    codes = list(OTHERS.values())
    found = udr_scores(codes, groups=["a", "b", "a", "b", "c"])
    assert found.scores[0] == pytest.approx(udr_pair(codes[2], codes[0]))
    assert found.scores[3] == pytest.approx(udr_pair(codes[1], codes[3]))
    assert np.isnan(found.scores[4])
    assert np.isnan(found.pairs[0, 1])


def test_a_model_without_active_codes_scores_nothing():
    dead = np.full((600, 5), 0.3)
    found = udr_scores([CODES, CODES, dead], [np.ones(5), np.ones(5), np.ones(5)])
    assert found.scores[2] == 0
    assert found.kept[2] == 0
    assert udr_pair(CODES, CODES, np.zeros(5), np.ones(5)) == 0
    np.testing.assert_allclose(found.pairs[2, :2], 0)


@pytest.mark.parametrize(
    ("codes", "options", "message"),
    [
        ([CODES], {}, "expected two models or more"),
        ([CODES, CODES[:50]], {}, "different numbers of rows"),
        ([CODES, CODES], {"kls": [np.ones(5), np.ones(4)]}, "KLs of model 1"),
        ([CODES, CODES], {"kls": [np.ones(5)]}, "with a group and the KLs of each"),
        ([CODES, CODES], {"alpha": 1.0}, "alpha is 1.0"),
        ([CODES, CODES], {"similarity": "cosine"}, "expected one of lasso, spearman"),
    ],
)
def test_bad_input_is_refused(codes, options, message):
    with pytest.raises(MetricError, match=message):
        udr_scores(codes, **options)


def test_all_pairs_of_a_hundred_models_take_a_moment():
    """315 models take 2 s of a core."""
    codes = [np.tanh(RNG.normal(size=(512, 10)) @ RNG.normal(size=(10, 10))) for _ in range(100)]
    started = time.process_time()
    udr_scores(codes)
    assert time.process_time() - started < 4
