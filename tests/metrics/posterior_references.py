"""Slow twins of the posterior metrics, straight from the papers in float64: one loop for each sum of a formula.

They share no code with hackle. The sampled ones take the draws z as an argument, so that both sides see the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
from scipy.stats import norm


def cell_mass(mean: float, logvar: float, low: float, high: float) -> float:
    """Do & Tran A.14: the definite integral of a Gaussian density by erf."""
    scale = math.exp(0.5 * logvar) * math.sqrt(2)
    return 0.5 * (math.erf((high - mean) / scale) - math.erf((low - mean) / scale))


def cell_masses(mean: float, logvar: float, bins: int, low: float = -4.0, high: float = 4.0) -> list[float]:
    """All bins of one posterior, the outermost open."""
    edges = [low + (high - low) * k / bins for k in range(bins + 1)]
    edges[0], edges[-1] = -math.inf, math.inf
    return [cell_mass(mean, logvar, a, b) for a, b in pairwise(edges)]


def entropy(masses) -> float:
    return -sum(p * math.log(p) for p in masses if p > 0)


def code_masses(means, logvars, code: int, bins: int) -> list[list[float]]:
    return [cell_masses(m, v, bins) for m, v in zip(means[:, code], logvars[:, code], strict=True)]


def code_entropy(means, logvars, code: int, bins: int) -> float:
    rows = code_masses(means, logvars, code, bins)
    return entropy(sum(column) / len(rows) for column in zip(*rows, strict=True))


def informativeness(means, logvars, bins: int) -> list[float]:
    """Eq. 1 with sums for integrals: H(z_i) − H(z_i|x)."""
    found = []
    for code in range(means.shape[1]):
        rows = code_masses(means, logvars, code, bins)
        given = sum(entropy(row) for row in rows) / len(rows)
        found.append(code_entropy(means, logvars, code, bins) - given)
    return found


def misjed(means, logvars, i: int, j: int, bins: int) -> float:
    """Eq. 7."""
    width = 8.0 / bins

    def cell(value: float) -> int:
        return min(max(math.ceil((value + 4.0) / width) - 1, 0), bins - 1)

    counts: dict[tuple[int, int], int] = defaultdict(int)
    for row in means:
        counts[cell(row[i]), cell(row[j])] += 1
    joint = entropy(count / len(means) for count in counts.values())
    return code_entropy(means, logvars, i, bins) + code_entropy(means, logvars, j, bins) - joint


def factor_information(means, logvars, labels, code: int, factor: int, bins: int, prior: str = "frequency") -> float:
    """I(z_i; y_k) = Σ Q(s, y) log Q(s, y) / (Q(s) p(y)); the prior of y is its frequency or uniform."""
    rows = code_masses(means, logvars, code, bins)
    values = sorted(set(labels[:, factor].tolist()))
    joint = {}
    for value in values:
        members = [row for row, label in zip(rows, labels[:, factor], strict=True) if label == value]
        weight = len(members) / len(rows) if prior == "frequency" else 1 / len(values)
        joint[value] = [weight * sum(column) / len(members) for column in zip(*members, strict=True)]
    marginal = [sum(column) for column in zip(*joint.values(), strict=True)]
    total = 0.0
    for cells in joint.values():
        weight = sum(cells)
        total += sum(p * math.log(p / (q * weight)) for p, q in zip(cells, marginal, strict=True) if p > 0)
    return total


def factor_entropy(labels, factor: int) -> float:
    column = labels[:, factor].tolist()
    return entropy(column.count(value) / len(column) for value in set(column))


def rmig(means, logvars, labels, bins: int) -> float:
    """Eq. 10 divided by H(y_k), the mean over factors."""
    gaps = []
    for factor in range(labels.shape[1]):
        found = sorted(factor_information(means, logvars, labels, code, factor, bins) for code in range(means.shape[1]))
        gaps.append((found[-1] - found[-2]) / factor_entropy(labels, factor))
    return sum(gaps) / len(gaps)


def jemmig(means, logvars, labels, bins: int) -> float:
    """Section 3.3 with the joint entropy counted itself, and Eq. 17's normaliser."""
    scores = []
    for factor in range(labels.shape[1]):
        found = [factor_information(means, logvars, labels, code, factor, bins) for code in range(means.shape[1])]
        best = int(np.argmax(found))
        second = sorted(found)[-2]
        rows = code_masses(means, logvars, best, bins)
        cells = []
        for value in set(labels[:, factor].tolist()):
            members = [row for row, label in zip(rows, labels[:, factor], strict=True) if label == value]
            cells += [sum(column) / len(rows) for column in zip(*members, strict=True)]
        score = entropy(cells) - found[best] + second
        scores.append(score / (math.log(bins) + factor_entropy(labels, factor)))
    return sum(scores) / len(scores)


def covariance(logvar, correlation: float) -> np.ndarray:
    """Yang et al. Eq. 12: diag(s) Σ diag(s)."""
    scales = np.exp(0.5 * np.asarray(logvar))
    c = len(scales)
    return np.diag(scales) @ ((1 - correlation) * np.eye(c) + correlation * np.ones((c, c))) @ np.diag(scales)


def point_log_density(z, mean, logvar, correlation: float, codes: list[int]) -> float:
    """log q(z_S|x) of one point: a block of the covariance is the marginal's."""
    if not codes:
        return 0.0
    block = covariance(logvar, correlation)[np.ix_(codes, codes)]
    offset = np.asarray(z)[codes] - np.asarray(mean)[codes]
    exponent = float(offset @ np.linalg.inv(block) @ offset)
    return -0.5 * (exponent + float(np.linalg.slogdet(2 * math.pi * block)[1]))


def mixture_log_density(z, means, logvars, correlation: float, codes: list[int]) -> float:
    """Do & Tran Eq. 13: log (1/N) Σ q(z_S|x_n)."""
    terms = [point_log_density(z, m, v, correlation, codes) for m, v in zip(means, logvars, strict=True)]
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms)) - math.log(len(terms))


def sampled_information(z, means, logvars, correlation: float, codes: list[int], mixture=None) -> float:
    """The mean of log q(z_S|x) − log q(z_S), with row m of z drawn from point m."""
    all_means, all_logvars = (means, logvars) if mixture is None else mixture
    ratios = [
        point_log_density(z[m], means[m], logvars[m], correlation, codes)
        - mixture_log_density(z[m], all_means, all_logvars, correlation, codes)
        for m in range(len(z))
    ]
    return sum(ratios) / len(ratios)


def sampled_total_correlation(z, means, logvars, correlation: float) -> float:
    """Yang et al., appendix D."""
    everything = list(range(z.shape[1]))
    ratios = [
        mixture_log_density(row, means, logvars, correlation, everything)
        - sum(mixture_log_density(row, means, logvars, correlation, [code]) for code in everything)
        for row in z
    ]
    return sum(ratios) / len(ratios)


def sampled_factor_information(z, means, logvars, labels, code: int, factor: int) -> float:
    """E[log q(z_i|y_k) − log q(z_i)], one draw for each point."""
    total = 0.0
    for m, row in enumerate(z):
        members = labels[:, factor] == labels[m, factor]
        total += mixture_log_density(row, means[members], logvars[members], 0.0, [code])
        total -= mixture_log_density(row, means, logvars, 0.0, [code])
    return total / len(z)


def mixture_entropy(means, logvars) -> float:
    """The differential entropy of a one-dimensional mixture of Gaussians, on a fine grid."""
    scales = np.exp(0.5 * np.asarray(logvars))
    low, high = (np.asarray(means) - 12 * scales).min(), (np.asarray(means) + 12 * scales).max()
    grid = np.linspace(low, high, 200_001)
    density = np.mean([norm.pdf(grid, m, s) for m, s in zip(means, scales, strict=True)], axis=0)
    return float(np.trapezoid(np.where(density > 0, -density * np.log(np.maximum(density, 1e-300)), 0.0), grid))


def plane_entropy(means, logvars, correlation: float) -> float:
    """The differential entropy of a two-dimensional mixture of Gaussians, on a fine grid."""
    scales = np.exp(0.5 * np.asarray(logvars))
    axes = [np.linspace((means - 9 * scales)[:, k].min(), (means + 9 * scales)[:, k].max(), 1201) for k in range(2)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    density = np.zeros(grid.shape[:2])
    for mean, logvar in zip(means, logvars, strict=True):
        shape = covariance(logvar, correlation)
        exponent = np.einsum("abi,ij,abj->ab", grid - mean, np.linalg.inv(shape), grid - mean)
        density += np.exp(-0.5 * exponent) / np.sqrt(np.linalg.det(2 * math.pi * shape)) / len(means)
    integrand = np.where(density > 0, -density * np.log(np.maximum(density, 1e-300)), 0.0)
    return float(np.trapezoid(np.trapezoid(integrand, axes[1], axis=1), axes[0]))


def gaussian_entropy(logvar, correlation: float) -> float:
    """½ log det 2πe C."""
    return float(0.5 * np.linalg.slogdet(2 * math.pi * math.e * covariance(logvar, correlation))[1])
