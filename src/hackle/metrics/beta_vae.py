"""BetaVAE score (Higgins et al. 2017): can a linear classifier tell which factor was held fixed?

A point is the mean of |z − z′| over L pairs that share the value of one factor; the class is that factor. The
score is the classifier's accuracy. Two protocols:

- `classifier="logistic"`: Locatello et al. 2019, appendix B. Scikit-learn's logistic regression with its default
  penalty (L2, C = 1), 10,000 training and 5,000 test points of L = 64 pairs. Departure: the solver runs until it
  converges, whereas scikit-learn's default stops after 100 iterations.
- `classifier="adagrad"`: Kim & Mnih 2018, appendix B. Unpenalised softmax regression by Adagrad with learning rate 0.01,
  10,000 iterations with batch size 10, on points of L = 200 pairs, 800 test points. The paper does not give the initial
  values: weights start at 0 and squared gradients at 0.1, TensorFlow's default.

A score of 1 is not proof of disentanglement: a code for each of K − 1 of K factors reaches it too (Kim & Mnih 2018, §4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from hackle.metrics.checks import Classes, MetricError, Table, TestPair, check_choice, check_groups, varying
from hackle.metrics.metric import Evaluation, Metric, Row

_WIDEST = 1e4
"""The solver's line search fails on differences with a wider range than this."""


def beta_vae_score(
    differences: ArrayLike,
    held: ArrayLike,
    *,
    test: TestPair | None = None,
    classifier: str = "logistic",
    iterations: int = 10_000,
    seed: int = 0,
) -> float:
    """The accuracy, 0 to 1, of predicting the held factor (n,) from mean absolute code differences (n, c).

    `test` is another such pair; without it, the training points are scored. `iterations` and the `seed` of the batches
    apply to `"adagrad"`. A code whose differences never vary is left out; if none varies, the most frequent factor is
    predicted.

    >>> differences = [[0.0, 0.3], [0.4, 0.0]] * 50
    >>> beta_vae_score(differences, [0, 1] * 50)
    1.0
    """
    check_choice(classifier, ("logistic", "adagrad"), "classifier")
    if iterations < 0:
        raise MetricError(f"iterations is {iterations}; expected zero or more, the paper has 10,000")
    points, classes, test_points, test_classes = check_groups(differences, held, test, "differences", "n c")
    if np.ptp(points, axis=0).max() > _WIDEST:
        raise MetricError(
            f"differences span {np.ptp(points, axis=0).max():.3g}; the penalty and step of the classifiers suit codes of "
            "ordinary size: divide the codes by their standard deviation"
        )
    kept = varying(points)
    if not kept.any():
        predicted = np.full(len(test_points), np.bincount(classes).argmax())
    elif classifier == "logistic":
        predicted = _logistic(points[:, kept], classes, test_points[:, kept])
    else:
        predicted = _adagrad(points[:, kept], classes, test_points[:, kept], seed, iterations)
    return float(np.mean(predicted == test_classes))


def _logistic(points: Table, classes: Classes, test_points: Table) -> Classes:
    # The intercept is not penalised, so centring leaves the solution unchanged and spares the solver a poor start.
    centre = points.mean(axis=0)
    return LogisticRegression(max_iter=10_000).fit(points - centre, classes).predict(test_points - centre)


def _adagrad(points: Table, classes: Classes, test_points: Table, seed: int, iterations: int) -> Classes:
    """Softmax regression fitted by Adagrad on batches of 10 drawn with replacement."""
    inputs = np.hstack([points, np.ones((len(points), 1))])
    targets = np.eye(classes.max() + 1)[classes]
    weights = np.zeros((inputs.shape[1], targets.shape[1]))
    squares = np.full_like(weights, 0.1)
    for batch in np.random.default_rng(seed).integers(len(points), size=(iterations, 10)):
        x = inputs[batch]
        gradient = x.T @ (softmax(x @ weights, axis=1) - targets[batch]) / len(batch)
        squares += gradient**2
        weights -= 0.01 * gradient / np.sqrt(squares)
    return np.argmax(test_points @ weights[:-1] + weights[-1], axis=1)


def _compute(e: Evaluation) -> float:
    return beta_vae_score(
        *e.differences("pairs"),
        test=e.differences("test_pairs"),
        classifier=e.protocol.beta_vae_classifier,
        iterations=e.protocol.beta_vae_iterations,
        seed=e.seed,
    )


BETA_VAE = Metric(
    "beta_vae",
    _compute,
    (Row("beta_vae", "BetaVAE score", "BetaVAE"),),
    needs=("two factors",),
    parts=("pairs", "test_pairs"),
)
