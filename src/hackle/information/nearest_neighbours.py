"""Mutual information by nearest neighbours, of continuous variables or of a continuous and a discrete one.

Both continuous: Kraskov et al. 2004, estimator 1 (Eq. 8).

    I(x; y) = ψ(k) + ψ(N) − ⟨ψ(n_x + 1) + ψ(n_y + 1)⟩

Point i has its k-th neighbour at distance ε_i, the larger of the distances in x and in y; n_x and n_y count the other
points that are nearer than ε_i in x and in y alone. No bins are needed, and the estimate is 0 on average for independent
variables. Monotone transformations of x or y change it only through the distances between neighbours.
Variables are divided by their standard deviation first.

Estimates below 0 are set to 0. If one variable is a linear function of the other, the estimate is ψ(N) − ψ(k + 1),
about ln(N / k), the most that N points can show. Ties, as in a code that takes few values, are broken by noise of 1e-10
standard deviations, as the authors advise.

x continuous, y discrete: Ross 2014.

    I(x; y) = ψ(N) + ⟨ψ(k)⟩ − ⟨ψ(N_i)⟩ − ⟨ψ(m_i)⟩

N_i points have the value of y that point i has, d_i is the distance in x to the k-th nearest of them, and m_i counts the
points of any value nearer than d_i, i itself included. As in scikit-learn's `mutual_info_classif`, k is at most N_i − 1, and
values of y that occur once are left out. Where y is a function of x the estimate is ψ(N) − ⟨ψ(N_i)⟩, slightly above H(y).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from scipy.special import digamma

from hackle.core.columns import as_array

Floats = NDArray[np.float64]
NOISE = 1e-10
_FAR = 1e300
"""Farther than any two values, and not so far that differences overflow."""


def neighbour_information(codes: ArrayLike, factors: ArrayLike, *, neighbours: int = 3, seed: int = 0) -> Floats:
    """The mutual information I(code; factor) in nats, (c, f), of real-valued codes (n, c) and factors (n, f).

    `neighbours` is k: a larger k has less variance and more bias; the authors use 2 to 4. `seed` is that of the noise.

    >>> x = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = 0.6 * x[:, :1] + 0.8 * x[:, 1:]
    >>> round(float(neighbour_information(x, y)[0, 0]), 1), round(float(-0.5 * np.log(1 - 0.6**2)), 1)
    (0.2, 0.2)
    """
    x, y = _scaled(codes, seed), _scaled(factors, seed + 1)
    n = len(x)
    if len(y) != n:
        raise ValueError(f"{n} rows of codes but {len(y)} rows of factors; expected as many of each")
    if not 1 <= neighbours < n:
        raise ValueError(f"neighbours is {neighbours}; expected 1 to {n - 1}, fewer than the {n} rows")
    information = np.zeros((x.shape[1], y.shape[1]))
    for i, k in np.ndindex(information.shape):
        pair = np.column_stack([x[:, i], y[:, k]])
        if not pair.any(axis=0).all():
            continue
        radius = KDTree(pair).query(pair, neighbours + 1, p=np.inf)[0][:, -1]
        beside_x, beside_y = (digamma(_nearer(one, radius, np.sort(one)) + 1) for one in (x[:, i], y[:, k]))
        information[i, k] = digamma(neighbours) + digamma(n) - (beside_x + beside_y).mean()
    return np.maximum(information, 0.0)


def ross_information(codes: ArrayLike, classes: ArrayLike, *, neighbours: int = 10, seed: int = 0) -> Floats:
    """The mutual information I(code; factor) in nats, (c, f), of real-valued codes (n, c) and discrete factors (n, f).

    `neighbours` is k, and `seed` that of the noise that breaks ties. One code is a line, on which sorting finds neighbours.

    >>> classes = np.repeat([[0], [1]], 500, axis=0)
    >>> round(float(ross_information(classes + 0.5 * np.random.default_rng(0).random((1000, 1)), classes)[0, 0]), 2)
    0.69
    """
    x, y = _scaled(codes, seed), as_array(classes)
    if y.ndim != 2 or len(y) != len(x):
        raise ValueError(f"classes have shape {y.shape}; expected ({len(x)}, factors), a row for each row of codes")
    if neighbours < 1:
        raise ValueError(f"neighbours is {neighbours}; expected 1 or more")
    factors = []
    for column in y.T:
        label, sizes = np.unique(column, return_inverse=True, return_counts=True)[1:]
        # NumPy sorts numbers of 16 bits by counting, ten times as fast.
        factors.append((label.astype(np.min_scalar_type(len(sizes))), sizes))
    information, psi = np.zeros((x.shape[1], y.shape[1])), digamma(np.arange(len(x) + 1))
    for code, values in enumerate(x.T):
        order = np.argsort(values)
        if values.any():
            information[code] = [
                _of_one(values[order], label[order], sizes, neighbours, psi) for label, sizes in factors
            ]
    return np.maximum(information, 0.0)


def _of_one(values: Floats, label: NDArray, sizes: NDArray[np.int64], neighbours: int, psi: Floats) -> float:
    """The estimate for one code, in ascending order, and one factor, whose value `label` occurs `sizes[label]` times; psi:
    ψ of 0, 1, … n."""
    often = sizes[label] > 1
    values, label, sizes = values[often], label[often], np.where(sizes > 1, sizes, 0)
    if not len(values):
        return 0.0
    # Values of a class are put side by side, in ascending order.
    place = np.argsort(label, kind="stable")
    grouped, own = values[place], sizes[label[place]]
    within = _nearer(grouped, _distances(grouped, sizes, neighbours), values) + 1
    k = np.minimum(neighbours, own - 1)
    return float(psi[len(values)] + np.mean(psi[k] - psi[own] - psi[within]))


def _distances(grouped: Floats, sizes: NDArray[np.int64], neighbours: int) -> Floats:
    """The distance of each value to the k-th nearest of its class; classes of these sizes follow each other, each in
    ascending order, and in a class of k or fewer values it is the farthest that counts."""
    ends = np.cumsum(sizes)
    first, last = (np.repeat(grouped[at[sizes > 0]], sizes[sizes > 0]) for at in (ends - sizes, ends - 1))
    farthest = np.maximum(grouped - first, last - grouped)
    # The k nearest are k places in a row. Between classes there are k places far below the next one and k far above the last.
    room = 2 * neighbours * np.arange(len(sizes)) + neighbours
    here = np.arange(len(grouped)) + np.repeat(room, sizes)
    places = np.full(len(grouped) + 2 * neighbours * len(sizes), _FAR)
    for before in range(neighbours):
        places[ends - sizes + room - 1 - before] = -_FAR
    places[here] = grouped
    middle = places[neighbours:-neighbours]
    nearest = np.full(len(middle), np.inf)
    for low in range(neighbours + 1):
        high = low + neighbours
        reach = np.maximum(middle - places[low : low + len(middle)], places[high : high + len(middle)] - middle)
        np.minimum(nearest, reach, out=nearest)
    return np.where(np.repeat(sizes > neighbours, sizes), nearest[here - neighbours], farthest)


def _scaled(values: ArrayLike, seed: int) -> Floats:
    """Columns with mean 0 and standard deviation 1 plus tie-breaking noise; constant ones are zeros."""
    table = as_array(values).astype(np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(f"values have shape {table.shape}; expected finite numbers (n, columns) with samples in rows")
    low, spread = table.min(axis=0), np.ptp(table, axis=0)
    table = (table - low) / np.where(spread > 0, spread, 1.0)
    deviation = table.std(axis=0)
    noise = NOISE * np.random.default_rng(seed).standard_normal(table.shape)
    scaled = (table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0) + noise
    return np.where(spread > 1e-12 * np.maximum(np.abs(low), np.abs(low + spread)), scaled, 0.0)


def _nearer(values: Floats, radius: Floats, ordered: Floats) -> NDArray[np.int64]:
    """For each value, how many others differ from it by less than its radius; ordered: the values in ascending order."""
    first = np.searchsorted(ordered, values - radius, side="right")
    last = np.searchsorted(ordered, values + radius, side="left")
    # values ± radius is rounded, and the neighbour that sets the radius lies exactly there: compare the distance
    # itself.
    top = len(ordered) - 1
    first += values - ordered[np.minimum(first, top)] >= radius
    first -= (first > 0) & (values - ordered[np.maximum(first - 1, 0)] < radius)
    last -= ordered[np.maximum(last - 1, 0)] - values >= radius
    last += (last <= top) & (ordered[np.minimum(last, top)] - values < radius)
    return last - first - 1
