"""Slow float64 twins of the classical scores: the papers' formulas word for word, with loops and a general optimiser.

They share no code with the package. Optimised scores minimise the documented objective with SciPy, so agreement shows that
the package solves the problem it says it solves.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from scipy.optimize import minimize


def entropy(values) -> float:
    counts = Counter(np.asarray(values).tolist())
    n = sum(counts.values())
    return -sum(k / n * math.log(k / n) for k in counts.values())


def bins_of(code, bins: int) -> list[int]:
    low, high = float(min(code)), float(max(code))
    if low == high:
        return [0] * len(code)
    edges = [low + (high - low) / bins * i for i in range(bins)]
    return [max(i for i in range(bins) if value >= edges[i]) for value in code]


def information(a, b) -> float:
    """I(a; b) = H(a) + H(b) − H(a, b), where the package sums k ln(k n / k k)."""
    joint = [f"{x}|{y}" for x, y in zip(a, b, strict=True)]
    return entropy(a) + entropy(b) - entropy(joint)


def information_matrix(codes, factors, bins: int) -> np.ndarray:
    binned = [bins_of(code, bins) for code in codes.T]
    return np.array([[information(code, factor) for factor in factors.T.tolist()] for code in binned])


def mig(codes, factors, bins: int) -> float:
    m = information_matrix(codes, factors, bins)
    gaps = []
    for k, factor in enumerate(factors.T):
        best = int(np.argmax(m[:, k]))
        rivals = [m[j, k] for j in range(len(m)) if j != best]
        gaps.append((m[best, k] - max(rivals)) / entropy(factor))
    return sum(gaps) / len(gaps)


def modularity_of_matrix(m) -> float:
    scores = []
    for row in m:
        theta, best = max(row), int(np.argmax(row))
        if theta == 0:
            scores.append(0.0)
            continue
        template = [theta if f == best else 0.0 for f in range(len(row))]
        delta = sum((x - t) ** 2 for x, t in zip(row, template, strict=True)) / (theta**2 * (len(row) - 1))
        scores.append(1 - delta)
    return sum(scores) / len(scores)


def dci_of_matrix(importance) -> tuple[float, float]:
    rows, columns = importance.shape

    def concentration(values, base):
        total = sum(values)
        return 1 + sum(v / total * math.log(v / total, base) for v in values if v > 0) if total > 0 else 0.0

    total = importance.sum()
    if total == 0:
        return 0.0, 0.0
    weighted = sum(sum(importance[i]) / total * concentration(importance[i], columns) for i in range(rows))
    return weighted, sum(concentration(importance[:, j], rows) for j in range(columns)) / columns


def gini_variance(values) -> float:
    """Kim & Mnih 2018, Eq. 4, with d(a, b) = 1 for different values."""
    n = len(values)
    return sum(a != b for a in values for b in values) / (2 * n * (n - 1))


def empirical_variance(values) -> float:
    """The same equation with d(a, b) = (a − b)²."""
    n = len(values)
    return sum((a - b) ** 2 for a in values for b in values) / (2 * n * (n - 1))


def factor_vae(groups, held, variances, test_groups, test_held, *, minimum: float, discrete=()) -> float:
    columns = [j for j, v in enumerate(variances) if v >= minimum and v > 0]
    if not columns:
        return 0.0

    def vote(group):
        quotients = [
            (gini_variance(group[:, j]) if j in discrete else empirical_variance(group[:, j])) / variances[j]
            for j in columns
        ]
        return columns[int(np.argmin(quotients))]

    table = Counter((vote(group), k) for group, k in zip(groups, held, strict=True))
    right = 0
    for group, k in zip(test_groups, test_held, strict=True):
        j = vote(group)
        counts = {factor: count for (code, factor), count in table.items() if code == j}
        best = min((f for f in counts if counts[f] == max(counts.values())), default=None)
        right += best == k
    return right / len(test_held)


def standardised(train, test) -> tuple[np.ndarray, np.ndarray]:
    mean = train.mean(axis=0)
    deviation = np.sqrt(((train - mean) ** 2).mean(axis=0))
    return (train - mean) / deviation, (test - mean) / deviation


def logistic_logits(x, positive, x_test) -> np.ndarray:
    """Binary logistic regression, Σ ln(1 + exp(−y f)) + ½|w|² with a free intercept."""
    y = np.where(positive, 1.0, -1.0)

    def objective(parameters):
        margin = y * (x @ parameters[:-1] + parameters[-1])
        slope = -y / (1 + np.exp(np.clip(margin, -500, 500)))
        gradient = np.append(x.T @ slope + parameters[:-1], slope.sum())
        return np.logaddexp(0, -margin).sum() + 0.5 * parameters[:-1] @ parameters[:-1], gradient

    best = minimize(objective, np.zeros(x.shape[1] + 1), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return x_test @ best[:-1] + best[-1]


def softmax_predictions(x, classes, x_test) -> np.ndarray:
    """Multinomial logistic regression, −Σ ln p(class) + ½|W|² with free intercepts."""
    count = max(classes) + 1
    target = np.eye(count)[classes]

    def objective(flat):
        weights = flat.reshape(x.shape[1] + 1, count)
        logits = x @ weights[:-1] + weights[-1]
        top = logits.max(axis=1, keepdims=True)
        log_p = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        slope = np.exp(log_p) - target
        gradient = np.vstack([x.T @ slope + weights[:-1], slope.sum(axis=0)])
        return -(target * log_p).sum() + 0.5 * (weights[:-1] ** 2).sum(), gradient.ravel()

    start = np.zeros((x.shape[1] + 1) * count)
    best = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-15, "maxiter": 10**5}
    )
    weights = best.x.reshape(x.shape[1] + 1, count)
    return np.argmax(x_test @ weights[:-1] + weights[-1], axis=1)


def roc_area(scores, positive) -> float:
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[positive] for b in scores[~positive]]
    return sum(pairs) / len(pairs)


def explicitness(codes, factors, test_codes, test_factors) -> float:
    x, x_test = standardised(codes, test_codes)
    means = []
    for v, v_test in zip(factors.T, test_factors.T, strict=True):
        values = sorted(set(v.tolist()))
        p = np.stack([1 / (1 + np.exp(-logistic_logits(x, v == value, x_test))) for value in values], axis=1)
        p /= p.sum(axis=1, keepdims=True)
        means.append(np.mean([roc_area(p[:, i], v_test == value) for i, value in enumerate(values)]))
    return float(np.mean(means))


def squared_hinge_scores(x, positive, x_test, *, C: float, weight: float) -> np.ndarray:
    """Linear SVM, ½(w² + b²) + C Σ weight · max(0, 1 − y f)²: liblinear's, which penalises the intercept, too."""
    y, cost = np.where(positive, 1.0, -1.0), C * np.where(positive, weight, 1.0)
    inputs = np.hstack([x, np.ones((len(x), 1))])

    def objective(w):
        slack = np.maximum(0, 1 - y * (inputs @ w))
        return 0.5 * w @ w + (cost * slack**2).sum(), w - inputs.T @ (2 * cost * y * slack)

    best = minimize(objective, np.zeros(inputs.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    return x_test @ best[:-1] + best[-1]


def sap_accuracies(codes, factors, test_codes, test_factors, *, C: float) -> np.ndarray:
    """Factors need three values or more: the liblinear weighting differs for two."""
    x, x_test = standardised(codes, test_codes)
    matrix = np.empty((codes.shape[1], factors.shape[1]))
    for j, k in np.ndindex(matrix.shape):
        values = sorted(set(factors[:, k].tolist()))
        scores = []
        for value in values:
            positive = factors[:, k] == value
            balanced = len(positive) / (len(values) * positive.sum())
            scores.append(squared_hinge_scores(x[:, [j]], positive, x_test[:, [j]], C=C, weight=balanced))
        predicted = np.array(values)[np.argmax(scores, axis=0)]
        matrix[j, k] = np.mean(predicted == test_factors[:, k])
    return matrix


def l1_svm_weights(x, positive, *, C: float) -> np.ndarray:
    """|w|₁ + |b| + C Σ max(0, 1 − y f)², by splitting each weight into its positive and negative part."""
    y = np.where(positive, 1.0, -1.0)
    inputs = np.hstack([x, np.ones((len(x), 1))])
    size = inputs.shape[1]

    def objective(parts):
        slack = np.maximum(0, 1 - y * (inputs @ (parts[:size] - parts[size:])))
        slope = -inputs.T @ (2 * C * y * slack)
        return parts.sum() + C * (slack**2).sum(), np.concatenate([1 + slope, 1 - slope])

    start, bounds = np.full(2 * size, 0.01), [(0, None)] * (2 * size)
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10**5, "maxfun": 10**5}
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return (best[:size] - best[size:])[:-1]


def l1_svm_importance(codes, factors) -> np.ndarray:
    x, _ = standardised(codes, codes)
    columns = []
    for v in factors.T:
        machines = [l1_svm_weights(x, v == value, C=1.0) for value in sorted(set(v.tolist()))]
        columns.append(np.abs(machines).mean(axis=0))
    return np.stack(columns, axis=1)
